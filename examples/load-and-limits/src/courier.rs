//! The program under test: it delivers contacts to the Open API despite errors.

use http::{Response, StatusCode};
use openapi_core::api::ApiBody;

/// The maximum number of attempts per contact.
pub const ATTEMPTS: u32 = 5;

/// The wait without a `Retry-After`, in seconds.
const TIMEOUT: u64 = 2;

/// The reason why a contact was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// The service rejected it permanently.
    Refused(StatusCode),
    /// The service was unavailable at every attempt.
    GaveUp(StatusCode),
}

/// Sends a contact until the service accepts it, and returns the response's `Location`.
///
/// `send` sends one request, always the same one with the same `Idempotency-Key`, so that a lost response creates
/// nothing twice. `wait` waits for this many seconds.
///
/// # Errors
/// If the service rejects it, or is still unavailable at the fifth attempt.
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
                wait(text("Retry-After").and_then(|value| value.parse().ok()).unwrap_or(TIMEOUT)).await;
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {}
            refused => return Err(Undelivered::Refused(refused)),
        }
    }
    Err(Undelivered::GaveUp(last))
}
