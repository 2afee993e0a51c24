//! The console as its callers see it.

mod accounts;
mod authenticator;
mod cross_site;
mod operations;
mod roles;
mod support;
