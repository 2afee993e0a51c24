//! Keys, permissions, rate limits, limits per address (contract 7, 8).

mod addresses;
mod credentials;
mod keys;
mod limits;
mod lookups;
mod permissions;
mod restarts;
