//! Rate limits: exact sliding windows, for keys, addresses (contract 8) and visitors.

mod keys;

pub(crate) use keys::{KeyLimiter, KeyWindow};
pub(crate) use rate_limits::{AddressClass, AddressLimiter};
pub use rate_limits::{
    AddressLimits, Decision, Full, Network, NetworkWindows, OpenCounts, SlidingLog, Window, WindowState,
    WindowUsage, Windows, fits, network_levels, scaled,
};
