//! Properties over generated requests, schemas and histories (architecture 4).
//!
//! `PROPTEST_CASES` sets the number of cases of each property.

mod any_request;
mod bodies;
mod credit_accounts;
mod isolated_forms;
mod isolation;
mod key_versions;
mod retries;
mod schema_agreement;
mod schemas;
mod typed_calls;

use openapi_core::access::{Actor, Caller, Permissions};
use proptest::test_runner::Config;

/// The settings of a property: `cases` unless the environment overrides it.
fn config(cases: u32) -> Config {
    let default = Config::default();
    let chosen = if default.cases == 256 { cases } else { default.cases };
    Config { cases: chosen, failure_persistence: None, max_shrink_iters: 4_000, ..default }
}

/// A caller that the host authenticated, so that limits do not restrict the number of cases.
fn caller(cx: &contract_tests::Sandbox) -> Caller {
    Caller {
        agent_id: cx.agent.clone(),
        actor: Actor::User("property".into()),
        permissions: Permissions::all(),
        address: None,
        request_id: "property".into(),
    }
}
