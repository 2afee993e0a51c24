//! Receivers of webhooks in this process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::machine::since_epoch;
use crate::report::Failure;

/// The longest message, head and body.
const LONGEST_MESSAGE: usize = 64 * 1_024;

/// What a receiver does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Accepts and counts it.
    Count,
    /// Accepts and stores it.
    Store,
    /// Never answers.
    Hang,
}

/// A stored message.
pub(crate) struct Message {
    /// When its first byte arrived, in milliseconds since 1970.
    pub(crate) first_byte: f64,
    /// The body: the event.
    pub(crate) body: Vec<u8>,
}

/// A running receiver.
pub(crate) struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    accepted: AtomicUsize,
    messages: Mutex<Vec<Message>>,
}

impl Receiver {
    /// Starts it on this runtime, on an address of this machine.
    pub(crate) fn start(runtime: &Runtime, on: Ipv4Addr, behaviour: Behaviour) -> Result<Self, Failure> {
        let listener = runtime.block_on(TcpListener::bind((on, 0)))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let receiving = Arc::clone(&shared);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(receive(stream, behaviour, Arc::clone(&receiving)));
            }
        });
        Ok(Receiver { address, shared })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many messages it has accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::Relaxed)
    }

    /// Takes the stored messages.
    pub(crate) fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.shared.messages.lock())
    }
}

/// Reads the messages of a connection.
async fn receive(mut stream: TcpStream, behaviour: Behaviour, shared: Arc<Shared>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::with_capacity(4_096);
    let mut first_byte = 0.0;
    loop {
        let is_first = received.is_empty();
        if stream.read_buf(&mut received).await? == 0 || received.len() > LONGEST_MESSAGE {
            return Ok(());
        }
        if is_first {
            first_byte = since_epoch();
        }
        let Some(body) = body_of(&received) else { continue };
        if behaviour == Behaviour::Hang {
            received.clear();
            continue;
        }
        if behaviour == Behaviour::Store {
            let body = received[body..].to_vec();
            shared.messages.lock().push(Message { first_byte, body });
        }
        received.clear();
        shared.accepted.fetch_add(1, Ordering::Relaxed);
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
    }
}

/// Where the body begins, once all of it is there.
fn body_of(received: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let end = received.windows(4).position(|window| window == b"\r\n\r\n")?;
    let length = received[..end].split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(NAME.len())?;
        let is_length = name.eq_ignore_ascii_case(NAME);
        is_length.then(|| std::str::from_utf8(value).ok()?.trim().parse::<usize>().ok()).flatten()
    });
    (received.len() >= end + 4 + length.unwrap_or(0)).then_some(end + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_complete_with_its_body() {
        let message = b"POST / HTTP/1.1\r\nContent-Length: 2\r\nX: y\r\n\r\n{}";
        assert_eq!(body_of(message), Some(message.len() - 2));
        assert_eq!(body_of(&message[..message.len() - 1]), None);
        assert_eq!(body_of(b"GET / HTTP/1.1\r\n\r\n"), Some(18));
        assert_eq!(body_of(b"GET / HTTP/1.1\r\n"), None);
    }
}
