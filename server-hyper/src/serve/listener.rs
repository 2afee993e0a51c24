//! Accepts connections within limits until the server drains.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use openapi_core::reply::ErrorCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::connection::{self, ConnectionError, Protocols};
use super::connection_limit::{ConnectionLimiter, LimitExceeded, Permit};
use super::drain::Drain;
use super::service::{Handler, ListenerContext, Peer};
use crate::metrics::Listening;

/// Connections that the system queues until they are accepted.
const BACKLOG: u32 = 1024;

/// Concurrent responses to connections that are not admitted; further connections are closed without one.
pub const MAX_REJECTIONS: usize = 64;

/// Timeout of such a response.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Pause after a failure to accept, such as too many open files, so the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Binds a listener to an address.
///
/// # Errors
/// The address is in use or does not belong to this machine.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restart does not wait for connections of the previous process.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts connections until the server drains; open connections then end by themselves.
pub async fn serve<H: Handler>(
    listener: TcpListener,
    context: Arc<ListenerContext<H>>,
    protocols: Arc<Protocols>,
    limiter: Arc<ConnectionLimiter>,
    drain: Arc<Drain>,
) {
    let rejections = Arc::new(Semaphore::new(MAX_REJECTIONS));
    let mut begun = std::pin::pin!(drain.begun());
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut begun => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            // The client disconnected before it was accepted.
            Err(error) if is_clients_doing(&error) => continue,
            Err(error) => {
                tracing::error!(%error, "cannot accept connections; retrying");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let client = address.ip().to_canonical();
        let state = Arc::default();
        let reason = if context.is_for_proxies_only && !context.proxies.contains(client) {
            Rejection::PlainText
        } else {
            match limiter.acquire(client, &state) {
                Ok((permit, evicted)) => {
                    context.count_evicted(evicted);
                    let peer = Peer::new(Arc::clone(&context), client, state);
                    serve_one(stream, address, peer, Arc::clone(&protocols), Arc::clone(&drain), permit);
                    continue;
                }
                Err(limit) => Rejection::Limit(limit),
            }
        };
        reject(stream, reason, &context, &protocols, &rejections);
    }
}

/// Starts a task that serves an admitted connection.
fn serve_one<H: Handler>(
    stream: TcpStream,
    address: SocketAddr,
    peer: Peer<H>,
    protocols: Arc<Protocols>,
    drain: Arc<Drain>,
    permit: Permit,
) {
    let open = drain.open();
    tokio::spawn(async move {
        let context = Arc::clone(peer.context());
        let connections =
            context.metrics.connections.get_or_create_owned(&Listening { listener: context.name });
        connections.inc();
        let ended = connection::serve(stream, context.timeouts, peer, protocols, drain).await;
        connections.dec();
        if let Err(error) = ended {
            note_end(&context, address, &error);
        }
        drop((permit, open));
    });
}

/// Why a connection is not admitted.
#[derive(Clone, Copy, Debug)]
enum Rejection {
    /// A limit is reached.
    Limit(LimitExceeded),
    /// It is not from a proxy, and the listener speaks plain text.
    PlainText,
}

impl Rejection {
    /// The label in metrics.
    fn as_str(self) -> &'static str {
        match self {
            Rejection::Limit(limit) => limit.as_str(),
            Rejection::PlainText => "plain_text",
        }
    }

    fn response(self) -> (ErrorCode, &'static str) {
        match self {
            Rejection::Limit(LimitExceeded::Total) => {
                (ErrorCode::ServiceUnavailable, "The server has too many connections")
            }
            Rejection::Limit(LimitExceeded::Address) => {
                (ErrorCode::ServiceUnavailable, "Too many connections from this address")
            }
            Rejection::PlainText => (
                ErrorCode::BadRequest,
                "This server accepts plain HTTP from its proxies only; send requests to its https address",
            ),
        }
    }
}

fn is_clients_doing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

fn note_end<H>(context: &ListenerContext<H>, address: SocketAddr, error: &ConnectionError) {
    if matches!(error, ConnectionError::Handshake(_)) {
        context.count_refused("handshake");
    }
    tracing::debug!(%address, %error, "a connection broke");
}

/// Responds with an error and closes the connection, within the limit of concurrent rejections.
fn reject<H: Handler>(
    mut stream: TcpStream,
    reason: Rejection,
    context: &Arc<ListenerContext<H>>,
    protocols: &Protocols,
    rejections: &Arc<Semaphore>,
) {
    context.count_refused(reason.as_str());
    let Ok(permit) = Arc::clone(rejections).try_acquire_owned() else { return };
    if protocols.tls.is_some() {
        // A handshake would cost more than serving the connection.
        return;
    }
    let (code, message) = reason.response();
    let response = context.responses.refused(code, message);
    tokio::spawn(async move {
        let _ = timeout(REJECTION_TIMEOUT, async {
            stream.write_all(&to_bytes(&response)).await?;
            stream.shutdown().await?;
            // Closing a socket with unread data resets the connection, and the client loses the response.
            let mut scratch = [0; 4096];
            while stream.read(&mut scratch).await? > 0 {}
            io::Result::Ok(())
        })
        .await;
        drop(permit);
    });
}

/// Serializes a response of HTTP/1.1, for a connection that hyper does not handle.
fn to_bytes(response: &Response<Bytes>) -> Vec<u8> {
    let status = response.status();
    let mut bytes =
        format!("HTTP/1.1 {} {}\r\n", status.as_u16(), status.canonical_reason().unwrap_or("")).into_bytes();
    for (name, value) in response.headers() {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", response.body().len()).as_bytes());
    bytes.extend_from_slice(response.body());
    bytes
}
