//! Rate limits: exact sliding windows, for keys and for addresses (contract 8).

mod addresses;
mod keys;
mod log;

pub(crate) use addresses::{AddressClass, AddressLimiter};
pub(crate) use keys::{KeyLimiter, KeyWindow};
pub use log::{Decision, SlidingLog, WindowState};
