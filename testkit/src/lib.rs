//! What tests a host or a store of `openapi-core`: generators, conformance suites, and a store that fails on demand.
//!
//! - [`strategies`]: proptest generators for values, requests and rows.
//! - [`conformance`]: the suites that every store and every blob store passes, with planted faults that test the suites
//!   themselves.
//! - [`faulty`]: a store that fails, stalls or loses races on demand.
//! - [`SplitMix64`]: a small random generator with a seed.

pub mod conformance;
pub mod faulty;
mod random;
pub mod strategies;

pub use random::SplitMix64;
