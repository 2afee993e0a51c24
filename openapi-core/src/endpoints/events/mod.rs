//! Endpoints of events.

mod pull;
mod stream;
mod types;

pub use pull::Pull;
pub use stream::Stream;
pub use types::Types;
