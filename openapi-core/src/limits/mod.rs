//! Rate limits: exact sliding windows, for keys, addresses (contract 8) and visitors.

mod addresses;
mod keys;
mod log;
mod network_windows;
mod networks;
mod windows;

pub use addresses::AddressLimits;
pub(crate) use addresses::{AddressClass, AddressLimiter};
pub(crate) use keys::{KeyLimiter, KeyWindow};
pub use log::{Decision, SlidingLog, WindowState};
pub use network_windows::NetworkWindows;
pub use networks::{Network, OpenCounts, network_levels};
pub use windows::{Full, Window, WindowUsage, Windows, fits, scaled};
