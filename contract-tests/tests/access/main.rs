//! Keys, permissions, rate limits, limits per address (contract 7, 8).

mod addresses;
mod credentials;
mod expiring;
mod keys;
mod limits;
mod lookups;
mod permissions;
mod restarts;
