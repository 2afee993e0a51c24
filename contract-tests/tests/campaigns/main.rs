//! Campaigns on the API in memory: a few seconds of each run with the other tests; environment variables make them
//! longer (`CONTRIBUTING.md`, longer campaigns).

mod documented;
mod fuzzing;
mod tenants;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The length of a campaign: `default` unless the environment overrides it.
#[expect(clippy::disallowed_methods, reason = "the length of a campaign comes from the environment")]
fn length(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")),
        Err(_) => default,
    }
}

/// Runs `work`; returns its result, or the message of its panic.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("a panic without a text")
            .to_owned()
    })
}
