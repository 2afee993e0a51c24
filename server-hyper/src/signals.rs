//! The signals that end or refresh a server.

use std::io;

/// Listens for signals from the moment it is made.
#[cfg(unix)]
pub struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Takes over SIGTERM, SIGINT and SIGHUP.
    ///
    /// # Errors
    /// When the system does not let.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for SIGTERM or SIGINT; each SIGHUP before calls `refresh`.
    pub async fn end(&mut self, refresh: impl Fn()) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hang_up.recv() => refresh(),
            }
        }
    }
}

/// Listens for the one signal that other systems have.
#[cfg(not(unix))]
pub struct Signals(());

#[cfg(not(unix))]
impl Signals {
    /// Takes over Ctrl-C.
    ///
    /// # Errors
    /// Never.
    pub fn listen() -> io::Result<Self> {
        Ok(Signals(()))
    }

    /// Waits for Ctrl-C.
    pub async fn end(&mut self, _: impl Fn()) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
