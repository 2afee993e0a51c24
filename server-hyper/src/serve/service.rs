//! One request: validates the head, calls the handler, catches panics, compresses, records and logs the response.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use openapi_core::api::ResponseSummary;

use super::access_log;
use super::body::{BoxError, RequestTimeoutBody, ResponseBody};
use super::catch_unwind::CatchUnwind;
use super::compress::{Accepted, compress};
use super::connection_state::ConnectionState;
use super::head::{self, Verdict};
use super::responses::ServerResponses;
use crate::config::timeouts::Timeouts;
use crate::metrics::Metrics;
use crate::ports::monotonic;
use crate::proxies::TrustedProxies;

/// The request body that a handler receives.
pub type RequestBody = RequestTimeoutBody<Incoming>;

/// Handles requests: the API, the widget, or a stand-in in a test.
pub trait Handler: Send + Sync + 'static {
    /// The body of its responses.
    type Body: Body<Data = Bytes, Error: Into<BoxError> + Send> + Send + 'static;

    /// The timeout of a whole request body, if it differs from the listener's.
    fn body_timeout(&self, parts: &Parts) -> Option<Duration> {
        let _ = parts;
        None
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

/// What all connections of a listener share.
#[derive(Debug)]
pub struct ListenerContext<H> {
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
    pub fn new(context: Arc<ListenerContext<H>>, address: IpAddr) -> Self {
        let address_text = address.to_string().into();
        Peer { context, address, address_text, state: Arc::default(), requests: AtomicU64::new(0) }
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
    let in_flight = InFlightGuard::new(&peer);
    let number = peer.requests.fetch_add(1, Ordering::Relaxed);
    let (mut parts, body) = request.into_parts();
    let verdict = head::validate(&mut parts, peer.state.ambiguity.reached(number));
    let method = parts.method.clone();
    let address = context.proxies.client(peer.address, &parts.headers);
    let accepted = Accepted::of(&parts.headers);
    let (response, handled) = match verdict {
        Verdict::Accept => {
            let request_id = parts.headers.get(super::responses::REQUEST_ID).cloned();
            let total = context.handler.body_timeout(&parts).unwrap_or(context.timeouts.body_total);
            let request =
                Request::from_parts(parts, RequestTimeoutBody::new(body, context.timeouts.body_idle, total));
            // The future of a handler is large; boxed, it is not moved again.
            match Box::pin(CatchUnwind::new(context.handler.handle(request, address))).await {
                Ok((response, handled)) => (compress(accepted, response).await, handled),
                // The panic hook has logged the location.
                Err(_) => {
                    context.metrics.requests.panics.inc();
                    own(context.responses.internal_error(request_id.as_ref()))
                }
            }
        }
        Verdict::OptionsAsterisk => {
            own(context.responses.options(parts.headers.get(super::responses::REQUEST_ID)))
        }
        Verdict::Reject(reason) => own(context.responses.bad_request(reason, &parts)),
    };
    let status = response.status().as_u16();
    access_log::record(&context.metrics, &method, &peer.text_of(address), started, status, handled.as_ref());
    in_flight.complete();
    response
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
        peer.state.set_busy(true);
        peer.context.metrics.requests.in_flight.inc();
        InFlightGuard { peer, completed: false }
    }

    fn complete(mut self) {
        self.completed = true;
    }
}

impl<H> Drop for InFlightGuard<'_, H> {
    fn drop(&mut self) {
        self.peer.state.set_busy(false);
        self.peer.context.metrics.requests.in_flight.dec();
        if !self.completed {
            self.peer.context.metrics.requests.cancelled.inc();
        }
    }
}
