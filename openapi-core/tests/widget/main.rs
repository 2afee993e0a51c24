//! The widget's side of the service, over its HTTP requests: tokens, turns, events, leads, limits, humans.

#![expect(clippy::disallowed_methods, reason = "a test is a host: threads are its own")]

mod conversation;
mod credits;
mod cuts;
mod leads;
mod limits;
mod support;
mod turns;
mod uploads;
