//! Document extraction over the ports, credits, and retained documents.

mod abandoned;
mod admin;
mod credits;
mod documents;
mod errors;
pub(super) mod jobs;
mod run;
mod running;
mod settings;
mod task;

pub(super) use admin::{change_credits, credits as credits_of, document};
pub(super) use run::extract;
pub use running::JobFigures;
pub(super) use running::{Extractions, JobSource};
pub use settings::ExtractionSettings;
