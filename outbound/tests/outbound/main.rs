//! The client over real sockets: what it must not reach, and receivers that misbehave.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod forbidden;
mod lookups;
mod receivers;
mod redirects;
mod reuse;
#[expect(dead_code, reason = "the tests of the judge use the rest")]
mod spellings;
mod support;
mod tls;
