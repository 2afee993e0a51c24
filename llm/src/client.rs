//! The client: sends requests in the dialect that the endpoint accepts.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::Instant;
use url::Url;

use crate::budget::Budget;
use crate::circuit_breaker::CircuitBreaker;
use crate::config::{ConfigError, EndpointConfig, Structured};
use crate::error::Error;
use crate::request::{Dialect, Request};
use crate::response::{Completion, Rejection};
use crate::retry::{RetryPolicy, retry_after};
use crate::stream::ChunkStream;

/// How much of the body of a failed response the client reads.
const MAX_REJECTION_BYTES: usize = 64 << 10;
/// How long an idle connection stays open: less than the 5 s after which many servers close it, so that a request
/// seldom meets a connection that is being closed.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// What the client has learnt about an endpoint.
#[derive(Clone, Copy, Debug)]
struct Learnt {
    dialect: Dialect,
    /// Whether the endpoint has accepted a request in this dialect.
    is_proven: bool,
}

/// A client of one endpoint. Share it: it pools connections and remembers what the endpoint accepts.
pub struct Client {
    config: EndpointConfig,
    circuit_breaker: CircuitBreaker,
    http: reqwest::Client,
    url: Url,
    learnt: Mutex<Learnt>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of an endpoint. It connects with the first request.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration is invalid or the system lacks what it needs.
    pub fn new(config: EndpointConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let url = config.completions_url()?;
        let is_plain = url.scheme() == "http";
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(is_plain)?)
            .https_only(!is_plain)
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .user_agent(concat!("llm/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(config.connect_timeout)
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .build()
            .map_err(|error| ConfigError::Client(error.without_url().to_string()))?;
        let dialect = Dialect::first(config.tools, config.structured);
        let learnt = Mutex::new(Learnt { dialect, is_proven: false });
        Ok(Client { config, circuit_breaker: CircuitBreaker::default(), http, url, learnt })
    }

    /// The configuration of the endpoint.
    #[must_use]
    pub fn config(&self) -> &EndpointConfig {
        &self.config
    }

    /// The circuit breaker of the endpoint. The caller consults it and reports failures to it.
    #[must_use]
    pub fn circuit_breaker(&self) -> &CircuitBreaker {
        &self.circuit_breaker
    }

    /// Whether the model accepts tools, as far as the client knows.
    #[must_use]
    pub fn supports_tools(&self) -> bool {
        self.learnt.lock().dialect.tools
    }

    /// Sends a request and returns the whole response, after retries where they can help and `budget` allows them.
    ///
    /// The call has no timeout of its own, because a model may take minutes before its first byte: race it against
    /// [`Budget::deadline`].
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn complete(
        &self,
        request: &Request<'_>,
        retries: RetryPolicy,
        budget: &Budget,
    ) -> Result<Completion, Error> {
        let mut negotiation = Negotiation::new(self, request, false);
        loop {
            match self.send_with_retries(negotiation.body(), retries, budget).await? {
                Ok(body) => {
                    negotiation.accepted();
                    let body = body.ok_or(Error::Unusable("it has too many bytes"))?;
                    return Completion::read(&body).map_err(Error::Unusable);
                }
                Err(rejection) => negotiation.rejected(&rejection)?,
            }
        }
    }

    /// Sends a request, once, and returns the stream of its response.
    ///
    /// # Errors
    /// See [`Error`]. [`Error::Timeout`] if the endpoint sends nothing for longer than its idle timeout.
    pub async fn stream(&self, request: &Request<'_>) -> Result<ChunkStream, Error> {
        let mut negotiation = Negotiation::new(self, request, true);
        loop {
            let sent = tokio::time::timeout(self.config.idle_timeout, self.send(negotiation.body()));
            match accepted(sent.await.map_err(|_| Error::Timeout)??).await? {
                Ok(response) => {
                    negotiation.accepted();
                    return Ok(ChunkStream::new(response, &self.config));
                }
                Err(rejection) => negotiation.rejected(&rejection)?,
            }
        }
    }

    async fn send(&self, body: Vec<u8>) -> Result<Response, Error> {
        let mut request = self
            .http
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(body);
        if let Some(key) = &self.config.api_key {
            request = request.header(AUTHORIZATION, key.header());
        }
        request.send().await.map_err(|error| Error::connection(error, "the endpoint cannot be reached"))
    }

    async fn send_with_retries(
        &self,
        body: Vec<u8>,
        retries: RetryPolicy,
        budget: &Budget,
    ) -> Result<Result<Option<Vec<u8>>, Rejection>, Error> {
        let mut attempt = 0;
        loop {
            if !budget.take() {
                let reason = "the task has sent as many requests as it may";
                return Err(Error::Permanent(reason.to_owned()));
            }
            let error = match self.send_whole(body.clone()).await {
                Ok(outcome) => return Ok(outcome),
                Err(error) => error,
            };
            let Some(wait) = retries.wait(attempt, &error) else { return Err(error) };
            if Instant::now().checked_add(wait).is_none_or(|then| then >= budget.deadline()) {
                return Err(error);
            }
            attempt += 1;
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends a request; the body of its response, or `None` if that is larger than allowed.
    async fn send_whole(&self, body: Vec<u8>) -> Result<Result<Option<Vec<u8>>, Rejection>, Error> {
        let response = match accepted(self.send(body).await?).await? {
            Ok(response) => response,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let max = self.config.max_response_bytes;
        if response.content_length().is_some_and(|length| length > max as u64) {
            return Ok(Ok(None));
        }
        let (body, is_whole) = read(response, max).await?;
        Ok(Ok(is_whole.then_some(body)))
    }
}

/// The search for a dialect that the endpoint accepts for one request.
struct Negotiation<'a> {
    client: &'a Client,
    request: &'a Request<'a>,
    is_stream: bool,
    dialect: Dialect,
}

impl<'a> Negotiation<'a> {
    fn new(client: &'a Client, request: &'a Request<'a>, is_stream: bool) -> Self {
        Negotiation { client, request, is_stream, dialect: client.learnt.lock().dialect }
    }

    fn body(&self) -> Vec<u8> {
        self.request.body(self.dialect, &self.client.config.model, self.is_stream)
    }

    /// Remembers the dialect. A format that has worked is not given up because the endpoint rejects one schema.
    fn accepted(&self) {
        let mut learnt = self.client.learnt.lock();
        let structured = if learnt.is_proven { learnt.dialect.structured } else { self.dialect.structured };
        *learnt = Learnt { dialect: self.dialect.with_structured(structured), is_proven: true };
    }

    /// Goes on to the next dialect.
    fn rejected(&mut self, rejection: &Rejection) -> Result<(), Error> {
        if rejection.is_prompt_too_long() {
            return Err(Error::PromptTooLong);
        }
        let can_change_format = self.client.config.structured == Structured::Auto;
        let next = self.dialect.next(rejection, self.request, self.is_stream, can_change_format);
        self.dialect = next.ok_or_else(|| {
            let summary = rejection.summary();
            Error::Permanent(format!(
                "the endpoint refuses the request ({summary}); check its address, the name of the model and what it takes"
            ))
        })?;
        Ok(())
    }
}

/// A successful response, or why the endpoint rejects the request itself.
async fn accepted(response: Response) -> Result<Result<Response, Rejection>, Error> {
    let status = response.status();
    match status.as_u16() {
        200..=299 => Ok(Ok(response)),
        300..=399 => Err(Error::Permanent(format!(
            "the endpoint answers {status} and redirects, which is not followed; set its final address"
        ))),
        400 | 404 | 413 | 422 => {
            let (body, _) = read(response, MAX_REJECTION_BYTES).await?;
            Ok(Err(Rejection::read(status.as_u16(), &body)))
        }
        401 | 403 => Err(Error::Permanent(format!(
            "the endpoint answers {status}; check its key and what the key may do"
        ))),
        405 => Err(Error::Permanent(format!(
            "the endpoint answers {status}; check its address and the name of the model"
        ))),
        408 | 409 | 425 | 429 | 500 | 502..=599 => Err(overloaded(response, status).await),
        _ => Err(Error::Permanent(format!("the endpoint answers {status}"))),
    }
}

/// The error of an endpoint that is overloaded or broken.
async fn overloaded(response: Response, status: StatusCode) -> Error {
    let retry_after = retry_after(response.headers());
    let (body, _) = read(response, MAX_REJECTION_BYTES).await.unwrap_or_default();
    let rejection = Rejection::read(status.as_u16(), &body);
    let reason = format!("the endpoint answers {}", rejection.summary());
    if rejection.is_quota_exhausted() {
        Error::Permanent(reason)
    } else {
        Error::Transient { reason, retry_after, may_be_charged: status.is_server_error() }
    }
}

/// The body up to a limit, and whether that is all of it.
async fn read(mut response: Response, max: usize) -> Result<(Vec<u8>, bool), Error> {
    let mut body = Vec::new();
    let broken = |error| Error::connection(error, "the endpoint broke off its answer");
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        let room = max - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

fn tls(is_plain: bool) -> Result<ClientConfig, ConfigError> {
    let certificates = |error: rustls::Error| ConfigError::Certificates(error.to_string());
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
