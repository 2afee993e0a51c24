//! One connection from its first byte to its last.

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
use super::io::Watched;
use super::service::{Handler, Peer, answer};
use super::timeouts::Timeouts;
use super::tls::Tls;

/// The most that is read at once of a request of HTTP/1.1, where a large body comes in. Each time costs a turn of the
/// runtime, so that an upload takes about a sixth longer with a quarter of this. hyper begins with 8 KiB, and has the same bound
/// for heads: larger ones get a bare 431 from it, smaller ones over the contract's limits one with a body.
const READ_BUFFER: usize = 256 * 1024;

/// The most of a request head of HTTP/2.
const HEADER_LIST: u32 = 64 * 1024;

/// Requests at a time in one HTTP/2 connection.
const STREAMS: u32 = 100;

/// How connections speak.
#[derive(Debug)]
pub struct Protocols {
    /// The certificate, if the listener speaks TLS.
    pub tls: Option<Arc<Tls>>,
    /// Whether clients may use HTTP/2: chosen in the TLS handshake, or known beforehand without TLS.
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
    // A small answer is to leave at once. A socket that refuses is served all the same.
    let _ = stream.set_nodelay(true);
    let Some(tls) = &protocols.tls else {
        let prior_knowledge = protocols.http2 && begins_with_http2(&stream, timeouts).await?;
        return speak(stream, prior_knowledge, timeouts, peer, drain).await;
    };
    // Boxed, as HTTP/2 is below: the task of a connection without them has no room for them, for as long as it is open.
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

/// Why a connection ended otherwise than in order.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// No TLS handshake came about.
    #[error("the TLS handshake failed: {0}")]
    Handshake(io::Error),
    /// The connection broke, or the client broke the protocol or a time limit.
    #[error("{0}")]
    Broken(#[from] hyper::Error),
}

/// Looks at the first bytes without taking them: HTTP/2 begins with `PRI`, which no method does.
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
            // Part of the word: nothing tells when there is more, so ask again soon.
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
        async move { Ok::<_, std::convert::Infallible>(answer(peer, request).await) }
    });
    if is_http2 {
        let stream = TokioIo::new(Watched::new(stream, timeouts, None));
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
        let stream = TokioIo::new(Watched::new(stream, timeouts, Some(state)));
        let connection = http1::Builder::new()
            // `Watched` limits the time for heads and between them, without a timer for each request.
            .header_read_timeout(None)
            .max_buf_size(READ_BUFFER)
            .serve_connection(stream, service);
        run(pin!(connection), |connection| connection.graceful_shutdown(), &drain).await
    }
}

/// Runs a connection to its end, which it is asked for when the drain begins.
async fn run<C>(
    mut connection: Pin<&mut C>,
    shut_down: impl FnOnce(Pin<&mut C>),
    drain: &Drain,
) -> Result<(), ConnectionError>
where
    C: Future<Output = hyper::Result<()>>,
{
    let mut begun = pin!(drain.begun());
    // Polled once to enrol this task; after that the flag tells at each wake-up, without a lock for each request.
    let mut enrolled = false;
    let mut shut_down = Some(shut_down);
    std::future::poll_fn(|cx: &mut Context<'_>| {
        if !enrolled {
            enrolled = true;
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
