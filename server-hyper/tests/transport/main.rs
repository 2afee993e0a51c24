//! The transport over real sockets.

#![expect(clippy::disallowed_methods, reason = "tests measure how long the server waits")]
#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod conduct;
mod heads;
mod limits;
mod pools;
mod secrecy;
mod support;
mod timeouts;
mod unread;
