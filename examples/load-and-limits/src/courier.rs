//! The program that is tested: brings contacts to the Open API, whatever the day is like.

use http::{Response, StatusCode};
use openapi_core::api::ApiBody;

/// How often a contact is tried.
pub const ATTEMPTS: u32 = 5;

/// How long to wait where the answer does not say, in seconds.
const PATIENCE: u64 = 2;

/// Why a contact was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// The service will not take it as it is.
    Refused(StatusCode),
    /// The service could not take it, however often it was asked.
    GaveUp(StatusCode),
}

/// Sends a contact until it is taken in, and returns the `Location` of what became of it.
///
/// `send` is one request: always the same one, with the same `Idempotency-Key`, so that one whose answer was lost
/// creates nothing twice. `wait` lets so many seconds pass.
///
/// # Errors
/// When the service refuses it, or still has no time for it at the fifth attempt.
pub async fn deliver(
    mut send: impl AsyncFnMut() -> Response<ApiBody>,
    mut wait: impl AsyncFnMut(u64),
) -> Result<String, Undelivered> {
    let mut last = StatusCode::SERVICE_UNAVAILABLE;
    for attempt in 1..=ATTEMPTS {
        let answer = send().await;
        let text = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        last = answer.status();
        match last {
            StatusCode::CREATED => return Ok(text("Location").unwrap_or_default().to_owned()),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE if attempt < ATTEMPTS => {
                wait(text("Retry-After").and_then(|value| value.parse().ok()).unwrap_or(PATIENCE)).await;
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {}
            refused => return Err(Undelivered::Refused(refused)),
        }
    }
    Err(Undelivered::GaveUp(last))
}
