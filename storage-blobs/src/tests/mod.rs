//! Tests that need more than the public interface.

mod conformance;
mod local;
#[cfg(feature = "cloud")]
mod objects;
pub(crate) mod power_cuts;
#[cfg(feature = "cloud")]
mod s3_server;
