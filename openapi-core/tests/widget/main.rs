//! The widget's side of the service, over its HTTP requests: tokens, turns, events, leads, limits, humans.

mod conversation;
mod leads;
mod limits;
mod support;
mod turns;
