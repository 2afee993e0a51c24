//! The way to an endpoint: one request, in the dialect that the endpoint takes.

use std::error::Error as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use url::Url;

use super::config::{EndpointError, LlmEndpoint};
use super::pause::Pauses;
use super::protocol::{Asked, Dialect, Refusal, request};

/// The most bytes that are read of the answer to a refused request.
const REFUSAL_BYTES: usize = 64 << 10;
/// How long an idle connection is kept: shorter than the 5 s after which many servers close it, so that a request seldom
/// meets a connection that is being closed.
const IDLE: Duration = Duration::from_secs(4);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It would be the same the next time.
    Lasting(String),
    /// The next time may be better, after as long as the endpoint says.
    Passing(String, Option<Duration>),
    /// The endpoint was silent too long.
    Silent,
    /// The model refuses.
    Refused,
}

/// The body of an answer, without its head: that keeps all it was read with for as long as it is there.
pub(super) type AnswerBody = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// An endpoint.
pub(super) struct Endpoint {
    pub(super) config: LlmEndpoint,
    pub(super) pauses: Pauses,
    http: Client,
    address: Url,
    dialect: Mutex<Dialect>,
}

impl Endpoint {
    pub(super) fn new(config: LlmEndpoint) -> Result<Self, EndpointError> {
        config.check()?;
        let address = config.completions()?;
        let is_plain = address.scheme() == "http";
        let http = Client::builder()
            .tls_backend_preconfigured(tls(is_plain)?)
            .https_only(!is_plain)
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .user_agent(concat!("chat/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(config.connect)
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(|error| EndpointError::Client(error.without_url().to_string()))?;
        let dialect = Mutex::new(Dialect::first(config.tools));
        Ok(Endpoint { config, pauses: Pauses::default(), http, address, dialect })
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether tools are of use to it, as far as is known.
    pub(super) fn has_tools(&self) -> bool {
        self.dialect().tools
    }

    /// Asks, in other dialects where the endpoint refuses one, and gives the head of the answer.
    pub(super) async fn ask(&self, asked: &Asked<'_>) -> Result<Response, Failure> {
        let mut dialect = self.dialect();
        loop {
            let sent = tokio::time::timeout(self.config.silence, self.send(request(dialect, asked)));
            let response = sent.await.map_err(|_| Failure::Silent)??;
            let status = response.status().as_u16();
            if matches!(status, 400 | 404 | 422) {
                let refusal = Refusal::read(&read(response, REFUSAL_BYTES).await?);
                let next = dialect.next(&refusal);
                dialect = next.ok_or_else(|| {
                    let code = refusal.code();
                    Failure::Lasting(format!(
                        "the endpoint answers {status} {code}; check its address, the name of the model and what it takes"
                    ))
                })?;
                continue;
            }
            if !response.status().is_success() {
                return Err(failed(response).await);
            }
            *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
            return Ok(response);
        }
    }

    async fn send(&self, body: Vec<u8>) -> Result<Response, Failure> {
        let mut request = self
            .http
            .post(self.address.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(body);
        if let Some(key) = &self.config.key {
            request = request.header(AUTHORIZATION, key.header());
        }
        request.send().await.map_err(|error| broken(error, "the endpoint cannot be reached"))
    }

    /// The next bytes of an answer; none at its end.
    pub(super) async fn chunk(&self, body: &mut AnswerBody) -> Result<Option<Vec<u8>>, Failure> {
        let next = poll_fn(|context| body.as_mut().poll_next(context));
        let chunk = tokio::time::timeout(self.config.silence, next).await.map_err(|_| Failure::Silent)?;
        let chunk = chunk.transpose().map_err(|error| broken(error, "the endpoint broke off its answer"))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}

/// What an answer without success says.
async fn failed(response: Response) -> Failure {
    let status = response.status();
    match status.as_u16() {
        300..=399 => {
            return Failure::Lasting(format!(
                "the endpoint answers {status} and sends elsewhere, which is not followed; set its final address"
            ));
        }
        401 | 403 => {
            return Failure::Lasting(format!(
                "the endpoint answers {status}; check its key and what the key may do"
            ));
        }
        408 | 409 | 425 | 429 | 500..=599 => {}
        _ => return Failure::Lasting(format!("the endpoint answers {status}")),
    }
    let asked = retry_after(response.headers());
    let refusal = Refusal::read(&read(response, REFUSAL_BYTES).await.unwrap_or_default());
    let reason = format!("the endpoint answers {} {}", status.as_u16(), refusal.code());
    if refusal.is_spent() { Failure::Lasting(reason) } else { Failure::Passing(reason, asked) }
}

/// The body up to some bytes.
async fn read(mut response: Response, most: usize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| broken(error, "the endpoint broke off its answer"))?
    {
        let room = most - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            break;
        }
    }
    Ok(body)
}

/// A failure of the connection, with its innermost cause: the outer ones repeat the address, which may hold a secret.
fn broken(error: reqwest::Error, what: &str) -> Failure {
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

/// How many seconds an endpoint asks to wait. A date is far enough off not to be waited for.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => Some(Duration::MAX),
    }
}

fn tls(is_plain: bool) -> Result<ClientConfig, EndpointError> {
    let certificates = |error: rustls::Error| EndpointError::Certificates(error.to_string());
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
