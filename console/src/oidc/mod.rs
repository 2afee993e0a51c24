//! Signing in at a provider by OpenID Connect: the code flow with PKCE.
//!
//! - `provider` is what owners set of a provider, `identity` whom an operator signs in as there.
//! - `fetch` sends requests to the provider, `discovery` and `keys` read what it publishes, `cache` remembers it.
//! - `flow` leads a browser to the provider and back, `token` verifies what the provider says about the person, and
//!   `landing` decides what follows from it.

pub(crate) mod cache;
pub(crate) mod discovery;
pub(crate) mod fetch;
pub(crate) mod flow;
pub(crate) mod identity;
pub(crate) mod keys;
pub(crate) mod landing;
pub(crate) mod provider;
mod seal;
pub(crate) mod steps;
pub(crate) mod token;
