//! The console as its callers see it.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panics, and take counts from variables"
)]

mod accounts;
mod authenticator;
mod corrections;
mod cross_site;
mod extractions;
mod imports;
mod insights;
mod live;
mod members;
mod notes;
mod oidc;
mod operations;
mod roles;
mod schema;
mod studio;
mod support;
mod tokens;
mod totp;
mod webhooks;
