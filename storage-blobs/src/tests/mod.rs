//! Tests that need more than the public interface.

mod conformance;
#[cfg(target_os = "linux")]
mod disk;
mod folder;
#[cfg(feature = "cloud")]
mod objects;
pub(crate) mod power_cuts;
#[cfg(feature = "cloud")]
mod s3_server;
