//! Tests that need more than the public interface.

mod conformance;
#[cfg(target_os = "linux")]
mod disk;
mod folder;
pub(crate) mod power_cuts;
