//! Shared by the contract tests: a sandbox around the API, and the checks for every reply.
//!
//! The tests call [`openapi_core::api::Api`] in process. Each runs on every embedded backend ([`on_every_backend`]).
//! Besides the assertions of the test, every reply is checked against the common rules ([`rules`]): envelope, headers,
//! documented status and code, body under the published schema.

pub mod backend;
pub mod call;
pub mod document;
pub mod extractor;
pub mod form;
pub mod outbound;
pub mod reference;
pub mod reply;
pub mod rules;
pub mod sandbox;
pub mod story;
pub mod table;
mod templates;
pub mod traffic;

pub use backend::Backend;
pub use call::{Call, Credentials};
pub use extractor::Script;
pub use form::Form;
pub use outbound::ScriptedOutbound;
pub use reply::Reply;
pub use sandbox::Sandbox;
pub use testkit::SplitMix64;
pub use testkit::faulty::FaultyStorage;
