//! The state machine of an endpoint: its rules one by one, and random histories against an observer.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod histories;
mod planted;
mod records;
mod rules;
mod world;
