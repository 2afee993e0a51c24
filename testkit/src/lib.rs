//! Tests for hosts and stores of `openapi-core`: strategies, conformance suites, and a store that fails on demand.
//!
//! - [`strategies`]: proptest strategies for values, requests and rows.
//! - [`conformance`]: conformance suites for stores and blob stores, with planted faults that test the suites
//!   themselves.
//! - [`delegate`]: a macro for stores that wrap another store and override single methods.
//! - [`faulty`]: a store that fails, stalls or loses races on demand.
//! - [`queue_race`]: several servers on one queue of jobs.
//! - [`SplitMix64`]: a small seeded random generator.

pub mod conformance;
pub mod delegate;
pub mod faulty;
pub mod queue_race;
mod random;
pub mod strategies;

pub use random::SplitMix64;
