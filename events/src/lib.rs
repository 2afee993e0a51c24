//! Streams of events, and delivery of events to webhook endpoints, without sockets and runtime:
//!
//! - [`streams`]: events as they happen, in process and as `text/event-stream`;
//! - [`message`]: the request that carries an event, signed as [Standard Webhooks](https://www.standardwebhooks.com)
//!   says;
//! - [`secrets`]: the secrets of an endpoint, derived from the server keys, two of them while they are rotated;
//! - [`schedule`]: when a failed event is sent again;
//! - [`delivery`]: the state machine of an endpoint.

pub mod delivery;
pub mod message;
pub mod schedule;
pub mod secrets;
pub mod streams;
