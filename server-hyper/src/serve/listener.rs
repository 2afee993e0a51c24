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
use super::drain::Drain;
use super::places::{NoPlace, Places};
use super::service::{Handler, Peer, Site};
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
    site: Arc<Site<H>>,
    protocols: Arc<Protocols>,
    places: Arc<Places>,
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
        match places.acquire(address.ip()) {
            Ok(permit) => {
                let (site, protocols) = (Arc::clone(&site), Arc::clone(&protocols));
                let (open, drain) = (drain.open(), Arc::clone(&drain));
                tokio::spawn(async move {
                    site.metrics.connections.inc();
                    let peer = Peer::new(Arc::clone(&site), address.ip().to_canonical());
                    let ended = connection::serve(stream, site.timeouts, peer, protocols, drain).await;
                    site.metrics.connections.dec();
                    if let Err(error) = ended {
                        note_end(&site, address, &error);
                    }
                    drop((permit, open));
                });
            }
            Err(reason) => reject(stream, reason, &site, &protocols, &rejections),
        }
    }
}

fn is_clients_doing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

fn note_end<H>(site: &Site<H>, address: SocketAddr, error: &ConnectionError) {
    if matches!(error, ConnectionError::Handshake(_)) {
        site.metrics.refused_connections.get_or_create(&Refused { reason: "handshake" }).inc();
    }
    tracing::debug!(%address, %error, "a connection broke");
}

/// Responds with 503 and closes the connection, within the limit of concurrent rejections.
fn reject<H: Handler>(
    mut stream: TcpStream,
    reason: NoPlace,
    site: &Arc<Site<H>>,
    protocols: &Protocols,
    rejections: &Arc<Semaphore>,
) {
    site.metrics.refused_connections.get_or_create(&Refused { reason: reason.as_str() }).inc();
    let Ok(permit) = Arc::clone(rejections).try_acquire_owned() else { return };
    if protocols.tls.is_some() {
        // A handshake would cost more than serving the connection.
        return;
    }
    let response = site.own.unavailable(match reason {
        NoPlace::Total => "The server has too many connections",
        NoPlace::Address => "Too many connections from this address",
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
