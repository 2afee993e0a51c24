//! One connection: TLS handshake, choice of HTTP version, requests, graceful shutdown.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connection_state::ConnectionState;
use super::drain::Drain;
use super::http2::{PacedBody, StreamExecutor};
use super::io::TimeoutStream;
use super::service::{Handler, Peer, handle};
use super::tls::Tls;
use crate::config::timeouts::Timeouts;

/// The largest read buffer of an HTTP/1.1 connection. Each read costs a turn of the runtime: with a quarter of this an
/// upload takes about a sixth longer. hyper starts with 8 KiB. A head gets less ([`Protocols::max_head_bytes`]).
const READ_BUFFER: usize = 256 * 1024;

/// Bytes that HTTP/2 buffers for a stream beyond the client's window.
const SEND_BUFFER: usize = 64 * 1024;

/// How long an evicted connection may take to close.
const EVICTION_GRACE: Duration = Duration::from_millis(20);

/// The protocols of a listener.
#[derive(Debug)]
pub struct Protocols {
    /// The certificate, if the listener uses TLS.
    pub tls: Option<Arc<Tls>>,
    /// Whether clients may use HTTP/2, by ALPN with TLS or by prior knowledge without.
    pub http2: bool,
    /// The most bytes of a request head that are buffered. Longer heads are rejected before their end; the API rejects
    /// shorter ones over its own limits.
    pub max_head_bytes: usize,
}

/// Serves a connection until it ends or is evicted.
pub async fn serve<H: Handler>(
    stream: TcpStream,
    timeouts: Timeouts,
    peer: Peer<H>,
    protocols: Arc<Protocols>,
    drain: Arc<Drain>,
) -> Result<(), ConnectionError> {
    let state = Arc::clone(&peer.state);
    let mut evicted = pin!(async {
        state.eviction.raised().await;
        while state.is_established() {
            tokio::time::sleep(EVICTION_GRACE).await;
            // A request may have arrived at the same time.
            if state.idle_since().is_some() {
                break;
            }
        }
    });
    let mut serving = pin!(open(stream, timeouts, peer, protocols, drain));
    std::future::poll_fn(|cx| {
        if let Poll::Ready(ended) = serving.as_mut().poll(cx) {
            return Poll::Ready(ended);
        }
        evicted.as_mut().poll(cx).map(Ok)
    })
    .await
}

async fn open<H: Handler>(
    stream: TcpStream,
    timeouts: Timeouts,
    peer: Peer<H>,
    protocols: Arc<Protocols>,
    drain: Arc<Drain>,
) -> Result<(), ConnectionError> {
    // Sends small responses immediately. A socket without this option still works.
    let _ = stream.set_nodelay(true);
    let max_head_bytes = protocols.max_head_bytes;
    let Some(tls) = &protocols.tls else {
        let prior_knowledge = protocols.http2 && begins_with_http2(&stream, timeouts).await?;
        return speak(stream, prior_knowledge, timeouts, peer, max_head_bytes, drain).await;
    };
    // Boxed, like HTTP/2 below, so the tasks of plain connections need no memory for it.
    Box::pin(async {
        let handshake = tls.acceptor().accept(stream);
        let stream = timeout(timeouts.handshake, handshake)
            .await
            .map_err(|_| ConnectionError::Handshake(io::ErrorKind::TimedOut.into()))?
            .map_err(ConnectionError::Handshake)?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        speak(stream, http2, timeouts, peer, max_head_bytes, drain).await
    })
    .await
}

/// Why a connection ended abnormally.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The TLS handshake failed.
    #[error("the TLS handshake failed: {0}")]
    Handshake(io::Error),
    /// The connection broke, or the client violated the protocol or a timeout.
    #[error("{0}")]
    Broken(#[from] hyper::Error),
}

/// Peeks at the first bytes: HTTP/2 begins with `PRI`, which no method does.
async fn begins_with_http2(stream: &TcpStream, timeouts: Timeouts) -> Result<bool, ConnectionError> {
    let mut first = [0; 3];
    let look = async {
        loop {
            let seen = stream.peek(&mut first).await?;
            if seen == 0 || first[..seen] != b"PRI"[..seen] {
                return Ok(false);
            }
            if seen == first.len() {
                return Ok(true);
            }
            // Only a part has arrived, and nothing signals more while it is unread: poll.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    match timeout(timeouts.head, look).await {
        Ok(Ok(http2)) => Ok(http2),
        Ok(Err(error)) => Err(ConnectionError::Handshake(error)),
        Err(_) => Err(ConnectionError::Handshake(io::ErrorKind::TimedOut.into())),
    }
}

async fn speak<S, H>(
    stream: S,
    is_http2: bool,
    timeouts: Timeouts,
    peer: Peer<H>,
    max_head_bytes: usize,
    drain: Arc<Drain>,
) -> Result<(), ConnectionError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let peer = Arc::new(peer);
    let state = Arc::clone(&peer.state);
    state.set_established();
    if is_http2 {
        return Box::pin(speak_http2(stream, timeouts, peer, max_head_bytes, drain)).await;
    }
    let service = service_fn(move |request| {
        let peer = Arc::clone(&peer);
        async move { Ok::<_, Infallible>(handle(peer, request).await) }
    });
    let stream = TokioIo::new(TimeoutStream::of_http1(stream, timeouts, Arc::clone(&state), max_head_bytes));
    let connection = http1::Builder::new()
        // `TimeoutStream` limits heads and idle time without a timer per request.
        .header_read_timeout(None)
        .max_buf_size(READ_BUFFER)
        .serve_connection(stream, service);
    run(pin!(connection), |connection| connection.graceful_shutdown(), &drain, &state).await
}

async fn speak_http2<S, H>(
    stream: S,
    timeouts: Timeouts,
    peer: Arc<Peer<H>>,
    max_head_bytes: usize,
    drain: Arc<Drain>,
) -> Result<(), ConnectionError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let state = Arc::clone(&peer.state);
    let executor = StreamExecutor::new(timeouts.write, Arc::clone(&peer.context().metrics));
    let streams = peer.streams();
    let service = service_fn(move |request| {
        let peer = Arc::clone(&peer);
        async move { Ok::<_, Infallible>(handle(peer, request).await.map(PacedBody::new)) }
    });
    let connection = http2::Builder::new(executor)
        .timer(TokioTimer::new())
        .max_concurrent_streams(streams)
        .max_header_list_size(u32::try_from(max_head_bytes).unwrap_or(u32::MAX))
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(timeouts.idle)
        .keep_alive_timeout(timeouts.head)
        .serve_connection(
            TokioIo::new(TimeoutStream::of_http2(stream, timeouts, Arc::clone(&state))),
            service,
        );
    let mut idle = pin!(idle_out(&state, timeouts.idle));
    let connection = pin!(connection);
    let mut serving = pin!(run(connection, |connection| connection.graceful_shutdown(), &drain, &state));
    std::future::poll_fn(|cx| {
        if !state.eviction.is_raised() && idle.as_mut().poll(cx).is_ready() {
            state.eviction.raise();
        }
        serving.as_mut().poll(cx)
    })
    .await
}

/// Waits until a connection has had no request for `timeout`. Pings keep the transport alive, but not an idle connection.
async fn idle_out(state: &ConnectionState, timeout: Duration) {
    loop {
        match state.idle_time() {
            Some(idle) if idle >= timeout => return,
            Some(idle) => tokio::time::sleep(timeout - idle).await,
            None => tokio::time::sleep(timeout).await,
        }
    }
}

/// Runs a connection to its end, and starts its graceful shutdown when the server drains or the connection is evicted.
async fn run<C>(
    mut connection: Pin<&mut C>,
    shut_down: impl FnOnce(Pin<&mut C>),
    drain: &Drain,
    state: &ConnectionState,
) -> Result<(), ConnectionError>
where
    C: Future<Output = hyper::Result<()>>,
{
    let mut begun = pin!(drain.begun());
    let mut evicted = pin!(state.eviction.raised());
    // Polled once to register this task; later wake-ups read the flags, without a lock per request.
    let mut registered = false;
    let mut shut_down = Some(shut_down);
    std::future::poll_fn(|cx: &mut Context<'_>| {
        if !registered {
            registered = true;
            let _ = begun.as_mut().poll(cx);
            let _ = evicted.as_mut().poll(cx);
        }
        if (drain.is_draining() || state.eviction.is_raised())
            && let Some(shut_down) = shut_down.take()
        {
            shut_down(connection.as_mut());
        }
        match connection.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(result.map_err(ConnectionError::from)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
