//! A [`FileScanner`] that asks ClamAV's `clamd` about every upload, by its command INSTREAM.
//!
//! Each file has a connection of its own, over which its bytes go as they arrive; none are kept here. Whatever is not
//! a clear verdict is a [`ScanError`]: the upload is answered 503 and nothing of it is stored.
//!
//! Two settings of `clamd` matter. `StreamMaxLength` must be at least the largest file that is accepted (25 MiB by
//! default, which is also what `clamd` has by default): longer files are answered 503. And a file that is larger than
//! `MaxFileSize` or `MaxScanSize` is called clean without a look, unless `AlertExceedsMax` is set.

mod wire;

#[cfg(unix)]
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use openapi_core::ports::{FileScan, FileScanner, ScanError, Verdict};
use tokio::time::timeout;

use wire::Connection;

/// Where `clamd` listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `host:port`, its `TCPSocket`. Anyone between could read the files and answer in its place: keep to the own machine
    /// or network.
    Tcp(String),
    /// The path of its `LocalSocket`.
    #[cfg(unix)]
    Unix(PathBuf),
}

/// How long `clamd` may take. Longer than that it counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// To accept a connection.
    pub connect: Duration,
    /// To take bytes that it was sent.
    pub take: Duration,
    /// To answer, once it has everything.
    pub answer: Duration,
}

impl Default for Patience {
    /// 2 s, 10 s and 30 s.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Patience { connect: seconds(2), take: seconds(10), answer: seconds(30) }
    }
}

/// Asks a `clamd`. Its scans need a Tokio runtime with sockets and time.
#[derive(Clone, Debug)]
pub struct ClamdScanner {
    address: Address,
    patience: Patience,
}

impl ClamdScanner {
    /// A scanner that asks the `clamd` at this address. It connects with the first upload.
    #[must_use]
    pub fn new(address: Address) -> Self {
        ClamdScanner { address, patience: Patience::default() }
    }

    /// With other time limits.
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        ClamdScanner { patience, ..self }
    }
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum NoVerdict {
    /// It is not there, or the connection broke.
    #[error("clamd cannot be reached: {0}")]
    Unreachable(#[from] std::io::Error),
    /// It did not accept a connection, take bytes or answer in time.
    #[error("clamd did not {0} in time")]
    Slow(&'static str),
    /// It says that it could not scan the file; the size limit is the usual reason.
    #[error("clamd refused: {0}")]
    Refused(String),
    /// What it says is no answer to INSTREAM.
    #[error("the answer is not one of clamd's: {0:?}")]
    Garbled(String),
}

impl From<NoVerdict> for ScanError {
    fn from(reason: NoVerdict) -> Self {
        ScanError(Box::new(reason))
    }
}

#[async_trait]
impl FileScanner for ClamdScanner {
    async fn begin(&self) -> Result<Box<dyn FileScan>, ScanError> {
        let connecting = timeout(self.patience.connect, Connection::open(&self.address));
        let connection = connecting.await.map_err(|_| NoVerdict::Slow("accept a connection"))?;
        let connection = connection.map_err(NoVerdict::from)?;
        Ok(Box::new(Scan { connection, patience: self.patience }))
    }
}

/// The scan of one file.
struct Scan {
    connection: Connection,
    patience: Patience,
}

#[async_trait]
impl FileScan for Scan {
    async fn push(&mut self, bytes: &Bytes) -> Result<(), ScanError> {
        for chunk in bytes.chunks(wire::MAX_CHUNK) {
            let sent = timeout(self.patience.take, self.connection.send(chunk)).await;
            if let Err(broken) = sent.map_err(|_| NoVerdict::Slow("take the file"))? {
                return Err(self.connection.last_words(broken).await.into());
            }
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<Verdict, ScanError> {
        let verdict = timeout(self.patience.answer, self.connection.verdict()).await;
        Ok(verdict.map_err(|_| NoVerdict::Slow("answer"))??)
    }
}
