//! The check of a provider, step by step, before it is switched on.

use openapi_core::json::json_object;
use openapi_core::ports::Outbound;

use super::discovery::{self, Discovery};
use super::keys::Keys;

/// A step of the check.
#[derive(Clone, Debug)]
pub struct Step {
    pub(crate) name: &'static str,
    pub(crate) passed: Option<bool>,
    pub(crate) detail: String,
}

json_object! { Step as "ProviderStep" = |step| {
    "name": &'static str { "enum": ["discovery", "endpoints", "keys"] } = step.name,
    "passed": Option<bool> { "description": "`null`: an earlier step failed." } = step.passed,
    "detail": String { "description": "What was found, or what is wrong and what to do." } = step.detail,
} }

/// The names of the steps, in their order.
const NAMES: [&str; 3] = ["discovery", "endpoints", "keys"];

/// Checks what a provider publishes.
pub(crate) async fn check(outbound: &dyn Outbound, issuer: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let failed = run(outbound, issuer, &mut steps).await.err();
    if let (Some(detail), Some(name)) = (failed, NAMES.get(steps.len())) {
        steps.push(Step { name, passed: Some(false), detail });
    }
    for name in NAMES.iter().skip(steps.len()) {
        steps.push(Step { name, passed: None, detail: String::new() });
    }
    steps
}

/// What a failed check says first.
pub(crate) fn failure(steps: &[Step]) -> Option<String> {
    let failed = steps.iter().find(|step| step.passed == Some(false))?;
    Some(format!("{}: {}", failed.name, failed.detail))
}

async fn run(outbound: &dyn Outbound, issuer: &str, steps: &mut Vec<Step>) -> Result<(), String> {
    let mut passed = |name, detail| steps.push(Step { name, passed: Some(true), detail });
    let document = discovery::fetch(outbound, issuer).await?;
    passed(NAMES[0], format!("The description is of the issuer {issuer}"));
    let found = Discovery::read(issuer, &document)?;
    let Discovery { authorization_endpoint, token_endpoint, .. } = &found;
    passed(NAMES[1], format!("Browsers go to {authorization_endpoint}, codes to {token_endpoint}"));
    let keys = Keys::fetch(outbound, issuer, &found.jwks_uri).await?;
    passed(NAMES[2], format!("Keys: {} ({})", keys.len(), keys.algorithms().join(", ")));
    Ok(())
}
