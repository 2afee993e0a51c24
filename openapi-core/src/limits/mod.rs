//! Rate limits: exact sliding windows, for keys, addresses (contract 8) and visitors.

mod addresses;
mod keys;
mod log;
mod windows;

pub(crate) use addresses::{AddressClass, AddressLimiter};
pub use addresses::{AddressLimits, network};
pub(crate) use keys::{KeyLimiter, KeyWindow};
pub use log::{Decision, SlidingLog, WindowState};
pub use windows::{Full, Window, WindowUsage, Windows, fits};
