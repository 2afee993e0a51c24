//! Endpoints of events.

mod pull;
mod types;

pub use pull::Pull;
pub use types::Types;
