//! The suite that every backend runs.

mod support;

testkit::conformance_suite!(support::Server::new);
