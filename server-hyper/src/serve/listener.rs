//! Accepts connections within limits until the server drains.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::connection::{self, ConnectionError, Protocols};
use super::connection_limit::{ConnectionLimiter, LimitExceeded};
use super::drain::Drain;
use super::service::{Handler, ListenerContext, Peer};
use crate::metrics::Refused;

/// Connections that the system queues until they are accepted.
const BACKLOG: u32 = 1024;

/// Concurrent 503 responses to connections over the limit; further connections are closed without one.
const MAX_REJECTIONS: usize = 64;

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
        match limiter.acquire(address.ip()) {
            Ok(permit) => {
                let (context, protocols) = (Arc::clone(&context), Arc::clone(&protocols));
                let (open, drain) = (drain.open(), Arc::clone(&drain));
                tokio::spawn(async move {
                    context.metrics.connections.inc();
                    let peer = Peer::new(Arc::clone(&context), address.ip().to_canonical());
                    let ended = connection::serve(stream, context.timeouts, peer, protocols, drain).await;
                    context.metrics.connections.dec();
                    if let Err(error) = ended {
                        note_end(&context, address, &error);
                    }
                    drop((permit, open));
                });
            }
            Err(reason) => reject(stream, reason, &context, &protocols, &rejections),
        }
    }
}

fn is_clients_doing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

fn note_end<H>(context: &ListenerContext<H>, address: SocketAddr, error: &ConnectionError) {
    if matches!(error, ConnectionError::Handshake(_)) {
        context.metrics.refused_connections.get_or_create(&Refused { reason: "handshake" }).inc();
    }
    tracing::debug!(%address, %error, "a connection broke");
}

/// Responds with 503 and closes the connection, within the limit of concurrent rejections.
fn reject<H: Handler>(
    mut stream: TcpStream,
    reason: LimitExceeded,
    context: &Arc<ListenerContext<H>>,
    protocols: &Protocols,
    rejections: &Arc<Semaphore>,
) {
    context.metrics.refused_connections.get_or_create(&Refused { reason: reason.as_str() }).inc();
    let Ok(permit) = Arc::clone(rejections).try_acquire_owned() else { return };
    if protocols.tls.is_some() {
        // A handshake would cost more than serving the connection.
        return;
    }
    let response = context.responses.unavailable(match reason {
        LimitExceeded::Total => "The server has too many connections",
        LimitExceeded::Address => "Too many connections from this address",
    });
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
