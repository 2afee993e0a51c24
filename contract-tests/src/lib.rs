//! What the contract tests share: a sandbox around the API, and the checks that every reply must pass.
//!
//! The tests talk to [`openapi_core::api::Api`] in process. Each runs on every embedded backend
//! ([`on_every_backend`]). Whatever a test looks at, each reply is also held to the rules that all replies share
//! ([`rules`]): envelope, headers, documented status and code, body under the published schema.

pub mod backend;
pub mod call;
pub mod document;
pub mod extractor;
pub mod form;
pub mod reply;
pub mod rules;
pub mod sandbox;
pub mod story;
pub mod table;
mod templates;
pub mod traffic;

pub use backend::Backend;
pub use call::Call;
pub use extractor::Script;
pub use form::Form;
pub use reply::Reply;
pub use sandbox::{Credentials, Sandbox};
pub use testkit::SplitMix64;
pub use testkit::faulty::FaultyStorage;
