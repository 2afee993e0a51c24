//! The way to an endpoint: one request at a time, repeated where repeating helps, never longer than the caller waits.

use std::error::Error as _;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use openapi_core::extraction::ExtractError;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode, Url};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::Instant;

use super::config::{EndpointKey, ModelConfig, ModelConfigError};
use super::protocol::Refusal;

/// The most bytes that are read of the answer to a refused request.
const REFUSAL_BYTES: usize = 64 << 10;
/// The first pause before a request is repeated; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause that an endpoint does not ask for itself.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// How long an idle connection is kept: shorter than the 5 s after which many servers close it, so that a request seldom
/// meets a connection that is being closed.
const IDLE: Duration = Duration::from_secs(4);

/// An answer, as far as HTTP goes.
pub(super) enum Reply {
    /// A body of an answer with success.
    Body(Vec<u8>),
    /// A body with success that is longer than allowed.
    TooLarge,
    /// The endpoint does not take what it was sent.
    Refused(Refusal),
}

/// Why one request got no answer.
enum Failure {
    /// It would be the same the next time.
    Lasting(String),
    /// The next time may be better, after as long as the endpoint says.
    Passing(String, Option<Duration>),
}

/// What one document may use.
pub(super) struct Budget {
    requests: AtomicU32,
    deadline: Instant,
}

impl Budget {
    pub(super) fn new(requests: u32, patience: Duration) -> Self {
        // A patience beyond what the clock can say is as good as a day.
        let day = Duration::from_secs(24 * 60 * 60);
        Budget { requests: AtomicU32::new(requests), deadline: Instant::now() + patience.min(day) }
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// How many requests of `all` were made.
    pub(super) fn used(&self, all: u32) -> u32 {
        all - self.requests.load(Ordering::Relaxed)
    }

    fn take(&self) -> Result<(), ExtractError> {
        let taken =
            self.requests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.map(|_| ()).map_err(|_| {
            unavailable("a document took all the requests that the engine may make for one".to_owned(), None)
        })
    }
}

pub(super) fn unavailable(reason: String, retry_after: Option<Duration>) -> ExtractError {
    ExtractError::Unavailable { reason, retry_after }
}

/// An endpoint.
pub(super) struct Client {
    http: reqwest::Client,
    address: Url,
    key: Option<EndpointKey>,
    answer_bytes: usize,
    retries: u32,
}

impl Client {
    pub(super) fn new(config: &ModelConfig) -> Result<Self, ModelConfigError> {
        let address = config.address()?;
        let is_plain = address.scheme() == "http";
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(is_plain)?)
            .https_only(!is_plain)
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .user_agent(concat!("extraction/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(config.connect)
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(|error| ModelConfigError::Client(error.without_url().to_string()))?;
        Ok(Client {
            http,
            address,
            key: config.key.clone(),
            answer_bytes: config.answer_bytes,
            retries: config.retries,
        })
    }

    /// Asks, and asks again where that can help and there is time.
    pub(super) async fn ask(&self, body: &[u8], budget: &Budget) -> Result<Reply, ExtractError> {
        let mut attempt = 0;
        loop {
            budget.take()?;
            let (reason, asked) = match self.once(body).await {
                Ok(reply) => return Ok(reply),
                Err(Failure::Lasting(reason)) => return Err(unavailable(reason, None)),
                Err(Failure::Passing(reason, asked)) => (reason, asked),
            };
            let pause = asked.unwrap_or_else(|| (PAUSE * 2_u32.pow(attempt.min(10))).min(LONGEST_PAUSE));
            let pause = pause + pause.mul_f64(share() / 4.0);
            let is_late = Instant::now().checked_add(pause).is_none_or(|then| then >= budget.deadline);
            if attempt >= self.retries || is_late {
                return Err(unavailable(reason, asked));
            }
            attempt += 1;
            tokio::time::sleep(pause).await;
        }
    }

    async fn once(&self, body: &[u8]) -> Result<Reply, Failure> {
        let mut request = self
            .http
            .post(self.address.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body.to_vec());
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key.header());
        }
        let response =
            request.send().await.map_err(|error| failure(error, "the endpoint cannot be reached"))?;
        let status = response.status();
        match status.as_u16() {
            200..=299 => self.body(response).await,
            300..=399 => Err(Failure::Lasting(format!(
                "the endpoint answers {status} and sends elsewhere, which is not followed; set its final address"
            ))),
            400 | 413 | 422 => {
                let (body, _) = read(response, REFUSAL_BYTES).await?;
                Ok(Reply::Refused(Refusal::read(status.as_u16(), &body)))
            }
            401 | 403 => Err(Failure::Lasting(format!(
                "the endpoint answers {status}; check its key and what the key may do"
            ))),
            404 | 405 => Err(Failure::Lasting(format!(
                "the endpoint answers {status}; check its address and the name of the model"
            ))),
            408 | 409 | 425 | 429 | 500 | 502..=599 => Err(passing(response, status).await),
            _ => Err(Failure::Lasting(format!("the endpoint answers {status}"))),
        }
    }

    async fn body(&self, response: Response) -> Result<Reply, Failure> {
        let most = self.answer_bytes;
        if response.content_length().is_some_and(|length| length > most as u64) {
            return Ok(Reply::TooLarge);
        }
        let (body, is_whole) = read(response, most).await?;
        Ok(if is_whole { Reply::Body(body) } else { Reply::TooLarge })
    }
}

/// What an endpoint says that is overloaded or broken.
async fn passing(response: Response, status: StatusCode) -> Failure {
    let asked = retry_after(response.headers());
    let refusal = match read(response, REFUSAL_BYTES).await {
        Ok((body, _)) => Refusal::read(status.as_u16(), &body),
        Err(_) => Refusal::read(status.as_u16(), &[]),
    };
    let reason = format!("the endpoint answers {}", refusal.shown());
    if refusal.is_spent() { Failure::Lasting(reason) } else { Failure::Passing(reason, asked) }
}

/// The body up to some bytes, and whether that is all of it.
async fn read(mut response: Response, most: usize) -> Result<(Vec<u8>, bool), Failure> {
    let mut body = Vec::new();
    let broken = |error| failure(error, "the endpoint broke off its answer");
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        let room = most - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

/// A failure of the connection, with its innermost cause: the outer ones repeat the address, which may hold a secret.
fn failure(error: reqwest::Error, what: &str) -> Failure {
    let is_lasting = error.is_builder();
    let error = error.without_url();
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(|cause| cause.source()) {
        cause = Some(inner);
    }
    let reason = match cause {
        Some(cause) => format!("{what}: {cause}"),
        None => format!("{what}: {error}"),
    };
    if is_lasting { Failure::Lasting(reason) } else { Failure::Passing(reason, None) }
}

/// How long an endpoint asks to wait: seconds, or until a time by its own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = jiff::fmt::rfc2822::parse(text).ok()?;
    let now = jiff::fmt::rfc2822::parse(headers.get(DATE)?.to_str().ok()?.trim()).ok()?;
    let wait = then.timestamp().duration_since(now.timestamp());
    Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
}

/// A share from 0 to 1, another one each time, so that many who were refused together do not come back together.
fn share() -> f64 {
    (RandomState::new().hash_one(()) >> 11) as f64 / (1_u64 << 53) as f64
}

fn tls(is_plain: bool) -> Result<ClientConfig, ModelConfigError> {
    let certificates = |error: rustls::Error| ModelConfigError::Certificates(error.to_string());
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(certificates)?;
    // Without TLS no certificates are needed.
    Ok(if is_plain {
        builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
    } else {
        builder.with_platform_verifier().map_err(certificates)?.with_no_client_auth()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_to_wait_until_are_read() {
        let wait = |after: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, after.parse().expect("a header"));
            if let Some(date) = date {
                headers.insert(DATE, date.parse().expect("a header"));
            }
            retry_after(&headers)
        };
        let now = Some("Wed, 21 Oct 2026 07:28:00 GMT");
        assert_eq!(wait("7", None), Some(Duration::from_secs(7)));
        assert_eq!(wait("0.5", None), Some(Duration::from_millis(500)));
        assert_eq!(wait("Wed, 21 Oct 2026 07:28:09 GMT", now), Some(Duration::from_secs(9)));
        assert_eq!(wait("Wed, 21 Oct 2026 07:27:00 GMT", now), Some(Duration::ZERO));
        for (after, date) in
            [("soon", now), ("-1", now), ("1e300", now), ("Wed, 21 Oct 2026 07:28:09 GMT", None)]
        {
            assert_eq!(wait(after, date), None, "{after}");
        }
    }
}
