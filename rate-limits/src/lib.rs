//! Rate limits: exact sliding windows, in bounded memory, for keys, addresses, networks, visitors and tenants. The crate
//! `openapi-core` re-exports everything here as `openapi_core::limits`.

mod addresses;
mod log;
mod network_windows;
mod networks;
mod windows;

pub use addresses::{AddressClass, AddressLimiter, AddressLimits};
pub use log::{Decision, HOUR, MINUTE, RateLimits, SlidingLog, WindowState};
pub use network_windows::NetworkWindows;
pub use networks::{Network, OpenCounts, network_levels};
pub use windows::{Full, Window, WindowUsage, Windows, fits, scaled};
