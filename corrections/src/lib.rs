//! Corrections of extractions (contract 12.7): what a person says that a document has, as a case of an evaluation set.
//!
//! - [`Corrections`]: corrects, lists and removes, over a platform;
//! - [`check()`]: whether values fit the schema of an extraction;
//! - [`definitions`]: a schema as the manifest of an evaluation set has it.

mod check;
mod correction;
mod document;
mod manifest;
mod service;

pub use check::check;
pub use correction::Correction;
pub use manifest::definitions;
pub use service::Corrections;
