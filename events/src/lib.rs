//! Events that leave the service: streams and webhooks.
//!
//! The parts without sockets and runtime:
//!
//! - [`streams`]: events as they happen, in process and as `text/event-stream`;
//! - [`message`]: the request that carries an event, signed as [Standard Webhooks](https://www.standardwebhooks.com)
//!   says;
//! - [`secrets`]: the secrets of an endpoint, derived from the server keys, two of them while they are rotated;
//! - [`schedule`]: when a failed event is sent again;
//! - [`delivery`]: the state machine of an endpoint.
//!
//! On them, over a platform and the port `Outbound`:
//!
//! - [`webhooks`]: the endpoints as people see them: create, edit, rotate, test, replay;
//! - [`endpoints`]: the same under the Open API;
//! - [`runner`]: the future that delivers.

pub mod delivery;
pub mod endpoints;
pub mod message;
pub mod runner;
pub mod schedule;
pub mod secrets;
pub mod streams;
pub mod webhooks;

pub use webhooks::{WebhookSettings, Webhooks};
