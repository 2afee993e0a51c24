//! The widget's HTTP requests: tokens, turns, events, leads, limits, human takeover.

#![expect(clippy::disallowed_methods, reason = "the environment sets how long a history is")]

mod abuse;
mod catalogue;
mod conversation;
mod credits;
mod cuts;
mod events;
mod leads;
mod limits;
mod mail;
mod silences;
mod support;
mod turns;
mod uploads;
