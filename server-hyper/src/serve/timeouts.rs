//! How long a connection may take for what.

use std::time::Duration;

/// The patience of the server with a client.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// From the first octet of a request head (of a new connection: from its start) to its end.
    pub head: Duration,
    /// Between two requests of a connection.
    pub idle: Duration,
    /// Without an octet of a request body (contract 9).
    pub body_idle: Duration,
    /// For a request body as a whole (contract 9).
    pub body_total: Duration,
    /// Without a client taking an octet of an answer.
    pub write: Duration,
    /// For a TLS handshake.
    pub handshake: Duration,
    /// For what a client still sends after it was answered and the connection is to end.
    pub linger: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            body_idle: Duration::from_secs(30),
            body_total: Duration::from_secs(300),
            write: Duration::from_secs(30),
            handshake: Duration::from_secs(10),
            linger: Duration::from_secs(5),
        }
    }
}
