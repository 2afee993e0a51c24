//! One connection: TLS handshake, choice of HTTP version, requests, graceful shutdown.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::drain::Drain;
use super::io::TimeoutStream;
use super::service::{Handler, Peer, handle};
use super::tls::Tls;
use crate::config::timeouts::Timeouts;

/// The largest read buffer of an HTTP/1.1 connection. Each read costs a turn of the runtime: with a quarter of this an
/// upload takes about a sixth longer. hyper starts with 8 KiB and applies the same bound to heads: it answers larger ones
/// with a bare 431, while the API answers smaller ones over the contract's limits with a 431 that has a body.
const READ_BUFFER: usize = 256 * 1024;

/// The largest request head of HTTP/2, in bytes.
const HEADER_LIST: u32 = 64 * 1024;

/// Concurrent requests per HTTP/2 connection.
const STREAMS: u32 = 100;

/// The protocols of a listener.
#[derive(Debug)]
pub struct Protocols {
    /// The certificate, if the listener uses TLS.
    pub tls: Option<Arc<Tls>>,
    /// Whether clients may use HTTP/2, by ALPN with TLS or by prior knowledge without.
    pub http2: bool,
}

/// Serves a connection until it ends.
pub async fn serve<H: Handler>(
    stream: TcpStream,
    timeouts: Timeouts,
    peer: Peer<H>,
    protocols: Arc<Protocols>,
    drain: Arc<Drain>,
) -> Result<(), ConnectionError> {
    // Sends small responses immediately. A socket without this option still works.
    let _ = stream.set_nodelay(true);
    let Some(tls) = &protocols.tls else {
        let prior_knowledge = protocols.http2 && begins_with_http2(&stream, timeouts).await?;
        return speak(stream, prior_knowledge, timeouts, peer, drain).await;
    };
    // Boxed, like HTTP/2 below, so the tasks of plain connections need no memory for it.
    Box::pin(async {
        let handshake = tls.acceptor().accept(stream);
        let stream = timeout(timeouts.handshake, handshake)
            .await
            .map_err(|_| ConnectionError::Handshake(io::ErrorKind::TimedOut.into()))?
            .map_err(ConnectionError::Handshake)?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        speak(stream, http2, timeouts, peer, drain).await
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
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
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
    drain: Arc<Drain>,
) -> Result<(), ConnectionError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let peer = Arc::new(peer);
    let state = Arc::clone(&peer.state);
    let service = service_fn(move |request| {
        let peer = Arc::clone(&peer);
        async move { Ok::<_, std::convert::Infallible>(handle(peer, request).await) }
    });
    if is_http2 {
        let stream = TokioIo::new(TimeoutStream::new(stream, timeouts, None));
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HEADER_LIST)
            .keep_alive_interval(timeouts.idle)
            .keep_alive_timeout(timeouts.head)
            .serve_connection(stream, service);
        Box::pin(async { run(pin!(connection), |connection| connection.graceful_shutdown(), &drain).await })
            .await
    } else {
        let stream = TokioIo::new(TimeoutStream::new(stream, timeouts, Some(state)));
        let connection = http1::Builder::new()
            // `TimeoutStream` limits heads and idle time without a timer per request.
            .header_read_timeout(None)
            .max_buf_size(READ_BUFFER)
            .serve_connection(stream, service);
        run(pin!(connection), |connection| connection.graceful_shutdown(), &drain).await
    }
}

/// Runs a connection to its end and starts its graceful shutdown when the server drains.
async fn run<C>(
    mut connection: Pin<&mut C>,
    shut_down: impl FnOnce(Pin<&mut C>),
    drain: &Drain,
) -> Result<(), ConnectionError>
where
    C: Future<Output = hyper::Result<()>>,
{
    let mut begun = pin!(drain.begun());
    // Polled once to register this task; later wake-ups read the flag, without a lock per request.
    let mut registered = false;
    let mut shut_down = Some(shut_down);
    std::future::poll_fn(|cx: &mut Context<'_>| {
        if !registered {
            registered = true;
            let _ = begun.as_mut().poll(cx);
        }
        if drain.is_draining()
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
