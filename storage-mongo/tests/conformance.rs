//! The suite that every backend runs.

mod support;

openapi_core::conformance_suite!(support::Server::new);
