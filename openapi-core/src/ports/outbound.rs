//! The port of requests to addresses that tenants or web pages name: webhooks, crawls, tools.

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

use crate::values::AgentId;

/// Sends HTTP requests to URLs that are not the operator's own.
///
/// # Contract
/// - An implementation protects the operator's network: it connects to no address that its policy refuses, whatever the
///   URL, the name resolution or a redirect says.
/// - It sends to no proxy, keeps no cookies and decompresses nothing.
/// - Every call ends within [`OutboundRequest::timeout_millis`], and uses bounded memory whatever the receiver sends.
/// - A dropped future ends the request.
#[async_trait]
pub trait Outbound: Send + Sync {
    /// Judges a URL by its text alone: scheme, port, name, and an address where the host is one. No name is resolved,
    /// so [`send`](Outbound::send) may refuse later what passes here.
    ///
    /// # Errors
    /// [`OutboundError::Refused`] with the rule; [`OutboundError::Unavailable`] if this host sends nothing.
    fn check(&self, url: &str, schemes: OutboundSchemes) -> Result<(), OutboundError>;

    /// Sends a request and reads its response.
    ///
    /// # Errors
    /// See [`OutboundError`]. A response of any status is a success.
    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, OutboundError>;
}

/// The schemes that a request accepts, also of the targets of redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutboundSchemes {
    /// `https` only.
    Https,
    /// `http` and `https`.
    HttpAndHttps,
}

/// A request to another service.
#[derive(Clone, Debug)]
pub struct OutboundRequest {
    /// The agent that it is sent for. What the implementation limits is limited for each agent, so that one cannot stop
    /// the requests of another. Requests of the operator have none, and share their limits.
    pub agent: Option<AgentId>,
    /// The method.
    pub method: Method,
    /// The absolute URL.
    pub url: String,
    /// The accepted schemes.
    pub schemes: OutboundSchemes,
    /// Header fields. The implementation adds `Host` and the framing, and refuses a request that brings them.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// How many bytes of the response's body are read; the rest is not received.
    pub max_body_bytes: usize,
    /// How many redirects are followed, at most [`OutboundRequest::MAX_REDIRECTS`]. Each target is judged like the first
    /// URL. With 0, a redirect is a response like any other.
    pub max_redirects: u8,
    /// How long everything may take together, redirects included.
    pub timeout_millis: u64,
    /// Whether the receiver recognises a repeated request. Such a request is sent again, once, if the receiver has
    /// closed an idle connection in the same moment. Requests with `GET` and `HEAD` always are.
    pub is_repeatable: bool,
}

impl OutboundRequest {
    /// The most redirects that are followed.
    pub const MAX_REDIRECTS: u8 = 5;

    /// A request without header fields and body that accepts `https` only, follows no redirect, reads 64 KiB and takes
    /// at most 15 s.
    #[must_use]
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        OutboundRequest {
            agent: None,
            method,
            url: url.into(),
            schemes: OutboundSchemes::Https,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            max_body_bytes: 64 << 10,
            max_redirects: 0,
            timeout_millis: 15_000,
            is_repeatable: false,
        }
    }
}

/// A response of another service.
#[derive(Clone, Debug)]
pub struct OutboundResponse {
    /// The status.
    pub status: StatusCode,
    /// Header fields.
    pub headers: HeaderMap,
    /// The body, up to the limit of the request.
    pub body: Bytes,
    /// Whether the body was longer than the limit.
    pub is_truncated: bool,
    /// The URL that answered: that of the request, or the target of the last redirect.
    pub url: String,
}

/// Why there is no response. No text contains the path, the query or header fields of the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutboundError {
    /// The policy of the operator refuses the target. Show the rule to operators only: it tells tenants what the
    /// operator's network looks like.
    #[error("refused by the rule {rule}: {reason}")]
    Refused {
        /// The word of the rule, from a fixed list.
        rule: &'static str,
        /// The target and why it is refused.
        reason: String,
    },
    /// The name was not resolved.
    #[error("the name was not resolved: {0}")]
    Resolve(String),
    /// No connection was established.
    #[error("the connection failed: {0}")]
    Connect(String),
    /// The TLS handshake failed, for example because the certificate is not valid for the name.
    #[error("the TLS handshake failed: {0}")]
    Tls(String),
    /// A step took too long.
    #[error("timeout of the step {0}")]
    Timeout(&'static str),
    /// The receiver broke the connection off or sent what is not HTTP.
    #[error("the response is incomplete or malformed: {0}")]
    Response(String),
    /// There were more redirects than allowed.
    #[error("there were more than {0} redirects")]
    Redirects(u8),
    /// The request itself cannot be sent as it is.
    #[error("the request is invalid: {0}")]
    Request(&'static str),
    /// This host sends no requests.
    #[error("this server sends no requests to other services")]
    Unavailable,
}

impl OutboundError {
    /// One word for logs and metrics: `refused`, `dns`, `connect`, `tls`, `timeout`, `response`, `redirects`, `request` or
    /// `unavailable`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            OutboundError::Refused { .. } => "refused",
            OutboundError::Resolve(_) => "dns",
            OutboundError::Connect(_) => "connect",
            OutboundError::Tls(_) => "tls",
            OutboundError::Timeout(_) => "timeout",
            OutboundError::Response(_) => "response",
            OutboundError::Redirects(_) => "redirects",
            OutboundError::Request(_) => "request",
            OutboundError::Unavailable => "unavailable",
        }
    }
}

/// Sends nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOutbound;

#[async_trait]
impl Outbound for NoOutbound {
    fn check(&self, _: &str, _: OutboundSchemes) -> Result<(), OutboundError> {
        Err(OutboundError::Unavailable)
    }

    async fn send(&self, _: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        Err(OutboundError::Unavailable)
    }
}
