//! Campaigns on the API in memory: some seconds of each run with the other tests, hours of them when the environment says
//! so (`CONTRIBUTING.md`, longer campaigns).

mod documented;
mod fuzzing;
mod tenants;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// How long a campaign is: `default` unless the environment says otherwise.
#[expect(clippy::disallowed_methods, reason = "the length of a campaign is told by the environment")]
fn length(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")),
        Err(_) => default,
    }
}

/// What a piece of work returns, or the message with which it panics.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("a panic without a text")
            .to_owned()
    })
}
