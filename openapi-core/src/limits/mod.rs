//! Rate limits: exact sliding windows, for keys, addresses (contract 8) and visitors.

mod addresses;
mod keys;
mod log;
mod windows;

pub use addresses::AddressLimits;
pub(crate) use addresses::{AddressClass, AddressLimiter, network};
pub(crate) use keys::{KeyLimiter, KeyWindow};
pub use log::{Decision, SlidingLog, WindowState};
pub use windows::Window;
pub(crate) use windows::{Full, Windows, fits};
