//! One request: validates the head, calls the handler, catches panics, compresses, records and logs the response.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, EXPECT, STRICT_TRANSPORT_SECURITY};
use http::request::Parts;
use http::{HeaderValue, Request, Response, Version};
use http_body::Body;
use hyper::body::Incoming;
use openapi_core::api::ResponseSummary;
use openapi_core::reply::ErrorCode;

use super::access_log;
use super::body::{BoxError, ReceivedBody, RequestTimeoutBody, ResponseBody, SharedBody};
use super::catch_unwind::CatchUnwind;
use super::compress::{Accepted, compress};
use super::connection_state::{ActiveRequest, ConnectionState};
use super::head::{self, Verdict};
use super::responses::{ServerResponses, transport_security};
use crate::config::timeouts::Timeouts;
use crate::metrics::{Listening, Metrics, Refused};
use crate::ports::monotonic;
use crate::proxies::TrustedProxies;

/// The request body that a handler receives.
pub type RequestBody = RequestTimeoutBody<ReceivedBody>;

/// Handles requests: the API, the widget, or a stand-in in a test.
pub trait Handler: Send + Sync + 'static {
    /// The body of its responses.
    type Body: Body<Data = Bytes, Error: Into<BoxError> + Send> + Send + 'static;

    /// The timeout of a whole request body, if it differs from the listener's.
    fn body_timeout(&self, parts: &Parts) -> Option<Duration> {
        let _ = parts;
        None
    }

    /// Whether the request had valid credentials, which give its connection and its network precedence in a full pool.
    fn is_authenticated(&self, summary: &ResponseSummary) -> bool {
        let _ = summary;
        false
    }

    /// Handles one request of the client at this address.
    fn handle(
        &self,
        request: Request<RequestBody>,
        client: IpAddr,
    ) -> impl Future<Output = HandlerResponse<Self::Body>> + Send;
}

/// A response and the summary of its request; pages outside the API have no summary.
pub type HandlerResponse<B> = (Response<B>, Option<ResponseSummary>);

/// Concurrent requests of an HTTP/2 connection of a proxy, which carries many clients.
const PROXY_STREAMS: u32 = 100;

/// What all connections of a listener share.
#[derive(Debug)]
pub struct ListenerContext<H> {
    /// The listener's name in metrics.
    pub name: &'static str,
    /// The handler.
    pub handler: H,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The timeouts of connections.
    pub timeouts: Timeouts,
    /// The proxies whose headers name the client.
    pub proxies: TrustedProxies,
    /// The responses of the server itself.
    pub responses: ServerResponses,
    /// Whether the listener terminates TLS; its responses then carry `Strict-Transport-Security`.
    pub is_secure: bool,
    /// Whether the listener takes requests from its proxies only, because it speaks plain text on a network.
    pub is_for_proxies_only: bool,
    /// Concurrent requests of an HTTP/2 connection of a client; a proxy may send 100.
    pub streams: u32,
}

impl<H> ListenerContext<H> {
    /// Counts a connection that was not admitted or failed its handshake.
    pub fn count_refused(&self, reason: &'static str) {
        let labels = Refused { listener: self.name, reason };
        self.metrics.refused_connections.get_or_create(&labels).inc();
    }

    /// Counts idle connections that made room for another one.
    pub fn count_evicted(&self, connections: usize) {
        if connections > 0 {
            let labels = Listening { listener: self.name };
            self.metrics.evicted_connections.get_or_create(&labels).inc_by(connections as u64);
        }
    }
}

/// The connection of a request. Requests reach shared state through it, so none of them modifies a reference count that
/// other processors use.
#[derive(Debug)]
pub struct Peer<H> {
    /// What all connections share.
    context: Arc<ListenerContext<H>>,
    /// The peer address of the socket.
    address: IpAddr,
    /// The same as text, for the log.
    address_text: Box<str>,
    /// What the stream and the requests share.
    pub state: Arc<ConnectionState>,
    /// The number of requests so far.
    requests: AtomicU64,
}

impl<H> Peer<H> {
    /// A connection from `address`.
    #[must_use]
    pub fn new(context: Arc<ListenerContext<H>>, address: IpAddr, state: Arc<ConnectionState>) -> Self {
        let address_text = address.to_string().into();
        Peer { context, address, address_text, state, requests: AtomicU64::new(0) }
    }

    /// What all connections of the listener share.
    #[must_use]
    pub fn context(&self) -> &Arc<ListenerContext<H>> {
        &self.context
    }

    /// Concurrent requests of this connection, if it uses HTTP/2.
    #[must_use]
    pub fn streams(&self) -> u32 {
        if self.context.proxies.contains(self.address) { PROXY_STREAMS } else { self.context.streams }
    }

    /// An address as text. It is mostly that of the socket, which is formatted only once.
    fn text_of(&self, address: IpAddr) -> Cow<'_, str> {
        if address == self.address {
            Cow::Borrowed(&self.address_text)
        } else {
            Cow::Owned(address.to_string())
        }
    }
}

/// Handles one request of a connection.
pub async fn handle<H: Handler>(
    peer: Arc<Peer<H>>,
    request: Request<Incoming>,
) -> Response<ResponseBody<H::Body>> {
    let context = &*peer.context;
    let started = monotonic();
    let active = ActiveRequest::begin(&peer.state);
    let in_flight = InFlightGuard::new(&peer);
    let number = peer.requests.fetch_add(1, Ordering::Relaxed);
    let (mut parts, body) = request.into_parts();
    let verdict = head::validate(&mut parts, peer.state.faults.of(number));
    let method = parts.method.clone();
    let address = context.proxies.client(peer.address, &parts.headers);
    let (mut response, handled) = match verdict {
        Verdict::Accept => respond(context, parts, body, address).await,
        Verdict::OptionsAsterisk => {
            own(context.responses.options(parts.headers.get(super::responses::REQUEST_ID)))
        }
        Verdict::Reject(reason) => own(context.responses.rejected(ErrorCode::BadRequest, reason, &parts)),
        Verdict::TooLong(code, reason) => own(context.responses.rejected(code, reason, &parts)),
    };
    if peer.state.faults.of(number).is_some() {
        // Also found after the head: the start of the next request is uncertain.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if context.is_secure {
        response.headers_mut().entry(STRICT_TRANSPORT_SECURITY).or_insert_with(transport_security);
    }
    if handled.as_ref().is_some_and(|summary| context.handler.is_authenticated(summary)) {
        peer.state.set_authenticated();
    }
    let status = response.status().as_u16();
    access_log::record(&context.metrics, &method, &peer.text_of(address), started, status, handled.as_ref());
    in_flight.complete();
    response.map(|body| body.ending(active))
}

/// Calls the handler.
async fn respond<H: Handler>(
    context: &ListenerContext<H>,
    parts: Parts,
    body: Incoming,
    address: IpAddr,
) -> HandlerResponse<ResponseBody<H::Body>> {
    let accepted = Accepted::of(&parts.headers);
    let request_id = parts.headers.get(super::responses::REQUEST_ID).cloned();
    let total = context.handler.body_timeout(&parts).unwrap_or(context.timeouts.body_total);
    let expects = parts.headers.contains_key(EXPECT);
    // A stream of HTTP/2 ends by itself; a connection of HTTP/1.1 ends unless the body is read.
    let (body, shared) = if parts.version < Version::HTTP_2 && !body.is_end_stream() {
        let shared = SharedBody::new(body);
        (ReceivedBody::Shared(Arc::clone(&shared)), Some(shared))
    } else {
        (ReceivedBody::Plain(body), None)
    };
    let request =
        Request::from_parts(parts, RequestTimeoutBody::new(body, context.timeouts.body_idle, total));
    // The future of a handler is large; boxed, it is not moved again.
    let (mut response, handled) =
        match Box::pin(CatchUnwind::new(context.handler.handle(request, address))).await {
            Ok((response, handled)) => (compress(accepted, response).await, handled),
            // The panic hook has logged the location.
            Err(_) => {
                context.metrics.requests.panics.inc();
                own(context.responses.internal_error(request_id.as_ref()))
            }
        };
    if let Some(shared) = shared
        && !shared.finish(expects).await
    {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    (response, handled)
}

fn own<B: Body>((response, handled): (Response<Bytes>, ResponseSummary)) -> HandlerResponse<ResponseBody<B>> {
    (response.map(ResponseBody::own), Some(handled))
}

/// Counts a request in progress. If it is dropped before completion, the client has disconnected.
struct InFlightGuard<'a, H> {
    peer: &'a Peer<H>,
    completed: bool,
}

impl<'a, H> InFlightGuard<'a, H> {
    fn new(peer: &'a Peer<H>) -> Self {
        peer.context.metrics.requests.in_flight.inc();
        InFlightGuard { peer, completed: false }
    }

    fn complete(mut self) {
        self.completed = true;
    }
}

impl<H> Drop for InFlightGuard<'_, H> {
    fn drop(&mut self) {
        self.peer.context.metrics.requests.in_flight.dec();
        if !self.completed {
            self.peer.context.metrics.requests.cancelled.inc();
        }
    }
}
