//! One request: judge its head, hand it on, contain its panic, compress, count and log the answer.

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
use super::body::{AnswerBody, BoxError, Received};
use super::catch_unwind::CatchUnwind;
use super::compress::{Accepted, compress};
use super::connection_state::ConnectionState;
use super::head::{self, Verdict};
use super::proxies::TrustedProxies;
use super::responses::ServerResponses;
use super::timeouts::Timeouts;
use crate::metrics::Metrics;
use crate::ports::monotonic;

/// The body of a request as a handler gets it.
pub type RequestBody = Received<Incoming>;

/// What answers requests: the API, or a stand-in of a test.
pub trait Handler: Send + Sync + 'static {
    /// The body of its answers.
    type Body: Body<Data = Bytes, Error: Into<BoxError> + Send> + Send + 'static;

    /// How long the body of a request may take as a whole, where the listener's patience is not the measure.
    fn body_time(&self, parts: &Parts) -> Option<Duration> {
        let _ = parts;
        None
    }

    /// Answers one request of the client at this address.
    fn handle(
        &self,
        request: Request<RequestBody>,
        client: IpAddr,
    ) -> impl Future<Output = Answered<Self::Body>> + Send;
}

/// An answer, and what became of the request; nothing is told of pages that are no part of the API.
pub type Answered<B> = (Response<B>, Option<ResponseSummary>);

/// What all connections of a listener share.
#[derive(Debug)]
pub struct ListenerContext<H> {
    /// What answers.
    pub handler: H,
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// The patience with clients.
    pub timeouts: Timeouts,
    /// Whose word about a client's address is taken.
    pub proxies: TrustedProxies,
    /// What the server answers by itself.
    pub responses: ServerResponses,
}

/// One connection, as its requests see it. What all connections share is reached through it, so that a request touches
/// no counter that other processors write.
#[derive(Debug)]
pub struct Peer<H> {
    /// What all connections share.
    context: Arc<ListenerContext<H>>,
    /// The address of the socket.
    address: IpAddr,
    /// The same, for the log.
    address_text: Box<str>,
    /// What the stream below and the requests above know of each other.
    pub state: Arc<ConnectionState>,
    /// Requests so far.
    requests: AtomicU64,
}

impl<H> Peer<H> {
    /// A connection from `address`.
    #[must_use]
    pub fn new(context: Arc<ListenerContext<H>>, address: IpAddr) -> Self {
        let address_text = address.to_string().into();
        Peer { context, address, address_text, state: Arc::default(), requests: AtomicU64::new(0) }
    }

    /// An address as text: mostly that of the socket, which need not be written anew for each request.
    fn text_of(&self, address: IpAddr) -> Cow<'_, str> {
        if address == self.address {
            Cow::Borrowed(&self.address_text)
        } else {
            Cow::Owned(address.to_string())
        }
    }
}

/// Answers one request of a connection.
pub async fn answer<H: Handler>(
    peer: Arc<Peer<H>>,
    request: Request<Incoming>,
) -> Response<AnswerBody<H::Body>> {
    let context = &*peer.context;
    let begun = monotonic();
    let under_way = UnderWay::begin(&peer);
    let number = peer.requests.fetch_add(1, Ordering::Relaxed);
    let (mut parts, body) = request.into_parts();
    let verdict = head::judge(&mut parts, peer.state.ambiguity.reached(number));
    let method = parts.method.clone();
    let address = context.proxies.client(peer.address, &parts.headers);
    let accepted = Accepted::of(&parts.headers);
    let (response, handled) = match verdict {
        Verdict::Pass => {
            let request_id = parts.headers.get(super::responses::REQUEST_ID).cloned();
            let total = context.handler.body_time(&parts).unwrap_or(context.timeouts.body_total);
            let request = Request::from_parts(parts, Received::new(body, context.timeouts.body_idle, total));
            // The future of a handler is large: from its box it is not moved again.
            match Box::pin(CatchUnwind::new(context.handler.handle(request, address))).await {
                Ok((response, handled)) => (compress(accepted, response).await, handled),
                // What panicked and where is in the log already, by the panic hook.
                Err(_) => {
                    context.metrics.panics.inc();
                    own(context.responses.internal_error(request_id.as_ref()))
                }
            }
        }
        Verdict::AboutTheServer => {
            own(context.responses.options(parts.headers.get(super::responses::REQUEST_ID)))
        }
        Verdict::Refuse(reason) => own(context.responses.bad_request(reason, &parts)),
    };
    let status = response.status().as_u16();
    access_log::note(&context.metrics, &method, &peer.text_of(address), begun, status, handled.as_ref());
    under_way.end();
    response
}

fn own<B: Body>((response, handled): (Response<Bytes>, ResponseSummary)) -> Answered<AnswerBody<B>> {
    (response.map(AnswerBody::own), Some(handled))
}

/// Marks a request as worked on. One that is dropped before its end was given up by the client.
struct UnderWay<'a, H> {
    peer: &'a Peer<H>,
    ended: bool,
}

impl<'a, H> UnderWay<'a, H> {
    fn begin(peer: &'a Peer<H>) -> Self {
        peer.state.set_busy(true);
        peer.context.metrics.tally().begin();
        UnderWay { peer, ended: false }
    }

    fn end(mut self) {
        self.ended = true;
    }
}

impl<H> Drop for UnderWay<'_, H> {
    fn drop(&mut self) {
        self.peer.state.set_busy(false);
        self.peer.context.metrics.tally().end();
        if !self.ended {
            self.peer.context.metrics.abandoned.inc();
        }
    }
}
