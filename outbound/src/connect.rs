//! Connects to judged addresses, and to nothing else.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use openapi_core::ports::OutboundError;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::judge::{Refusal, Rule, canonical};

/// How long an address is tried before the next one is tried too.
const HEAD_START: Duration = Duration::from_millis(250);
/// How many addresses of a name are tried.
const MAX_ADDRESSES: usize = 16;

/// Opens TCP connections.
#[async_trait]
pub trait Dial: Send + Sync {
    /// A connection to exactly this address.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// Opens connections by the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDialer;

#[async_trait]
impl Dial for SystemDialer {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// The addresses in the order of trying: families alternate, IPv6 first (RFC 8305).
fn in_order(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let (six, four): (Vec<_>, Vec<_>) = addresses.iter().copied().partition(SocketAddr::is_ipv6);
    let longer = six.len().max(four.len());
    let alternating = (0..longer).flat_map(|at| [six.get(at).copied(), four.get(at).copied()]);
    alternating.flatten().take(MAX_ADDRESSES).collect()
}

/// Connects to the first of the judged addresses that accepts. Each has a head start before the next one.
pub(crate) async fn connect(
    dialer: &Arc<dyn Dial>,
    judged: &[SocketAddr],
) -> Result<(TcpStream, SocketAddr), OutboundError> {
    let mut rest = in_order(judged).into_iter();
    let mut attempts = JoinSet::new();
    let mut last_error = OutboundError::Resolve("the name has no addresses".to_owned());
    loop {
        let next = rest.next();
        let is_last = next.is_none();
        if let Some(address) = next {
            let dialer = Arc::clone(dialer);
            attempts.spawn(async move { (address, dialer.dial(address).await) });
        }
        tokio::select! {
            Some(attempt) = attempts.join_next() => match attempt {
                Ok((address, Ok(stream))) => return reached(stream, address),
                Ok((address, Err(error))) => {
                    last_error = OutboundError::Connect(format!("{address}: {error}"));
                }
                Err(error) => last_error = OutboundError::Connect(error.to_string()),
            },
            () = tokio::time::sleep(HEAD_START), if !is_last => {}
            else => return Err(last_error),
        }
    }
}

/// Compares the address that was reached with the one that was judged.
fn reached(stream: TcpStream, judged: SocketAddr) -> Result<(TcpStream, SocketAddr), OutboundError> {
    let peer = stream.peer_addr().map_err(|error| OutboundError::Connect(format!("{judged}: {error}")))?;
    if (canonical(peer.ip()), peer.port()) == (judged.ip(), judged.port()) {
        Ok((stream, judged))
    } else {
        Err(Refusal::new(Rule::Peer, format!("the connection to {judged} reached {peer}")).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_alternate_and_the_number_is_bounded() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let [a, b, c, d] = ["192.0.2.1:1", "192.0.2.2:1", "[2001:db8::1]:1", "[2001:db8::2]:1"].map(address);
        assert_eq!(in_order(&[a, b, c, d]), [c, a, d, b]);
        assert_eq!(in_order(&[a, b]), [a, b]);
        let many: Vec<_> = (0..100).map(|port| SocketAddr::from(([192, 0, 2, 1], port))).collect();
        assert_eq!(in_order(&many).len(), MAX_ADDRESSES);
    }
}
