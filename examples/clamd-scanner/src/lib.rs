//! A [`FileScanner`] that scans every upload with ClamAV's `clamd`, by its command INSTREAM.
//!
//! Each file has its own connection, over which its bytes flow as they arrive, without buffering. Anything other than
//! a clear verdict is a [`ScanError`]: the upload gets 503 and nothing of it is stored.
//!
//! Two settings of `clamd` matter. `StreamMaxLength` must be at least the maximum file size (25 MiB by default, as in
//! `clamd`): longer files get 503. A file larger than `MaxFileSize` or `MaxScanSize` counts as clean without a scan,
//! unless `AlertExceedsMax` is set.

mod wire;

#[cfg(unix)]
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use openapi_core::ports::{FileScan, FileScanner, ScanError, Verdict};
use tokio::time::timeout;

use wire::Connection;

/// The address of `clamd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `host:port`, its `TCPSocket`. An attacker on the path could read the files and forge verdicts, so use only the
    /// local machine or a trusted network.
    Tcp(String),
    /// The path of its `LocalSocket`.
    #[cfg(unix)]
    Unix(PathBuf),
}

/// Timeouts of `clamd`, after which it counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For accepting a connection.
    pub connect: Duration,
    /// For accepting data.
    pub take: Duration,
    /// For the verdict, once it has the whole file.
    pub answer: Duration,
}

impl Default for Timeouts {
    /// 2 s, 10 s and 30 s.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Timeouts { connect: seconds(2), take: seconds(10), answer: seconds(30) }
    }
}

/// Scans through a `clamd`. It needs a Tokio runtime with IO and time enabled.
#[derive(Clone, Debug)]
pub struct ClamdScanner {
    address: Address,
    timeouts: Timeouts,
}

impl ClamdScanner {
    /// A scanner for the `clamd` at this address. It connects with the first upload.
    #[must_use]
    pub fn new(address: Address) -> Self {
        ClamdScanner { address, timeouts: Timeouts::default() }
    }

    /// With custom timeouts.
    #[must_use]
    pub fn with_timeouts(self, timeouts: Timeouts) -> Self {
        ClamdScanner { timeouts, ..self }
    }
}

/// The reason for a missing verdict.
#[derive(Debug, thiserror::Error)]
pub enum NoVerdict {
    /// It is unreachable, or the connection broke.
    #[error("clamd cannot be reached: {0}")]
    Unreachable(#[from] std::io::Error),
    /// It timed out.
    #[error("clamd did not {0} in time")]
    Slow(&'static str),
    /// It could not scan the file; the size limit is the usual reason.
    #[error("clamd refused: {0}")]
    Refused(String),
    /// Its response is not valid for INSTREAM.
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
        let connecting = timeout(self.timeouts.connect, Connection::open(&self.address));
        let connection = connecting.await.map_err(|_| NoVerdict::Slow("accept a connection"))?;
        let connection = connection.map_err(NoVerdict::from)?;
        Ok(Box::new(Scan { connection, timeouts: self.timeouts }))
    }
}

/// The scan of one file.
struct Scan {
    connection: Connection,
    timeouts: Timeouts,
}

#[async_trait]
impl FileScan for Scan {
    async fn push(&mut self, bytes: &Bytes) -> Result<(), ScanError> {
        for chunk in bytes.chunks(wire::MAX_CHUNK) {
            let sent = timeout(self.timeouts.take, self.connection.send(chunk)).await;
            if let Err(broken) = sent.map_err(|_| NoVerdict::Slow("take the file"))? {
                return Err(self.connection.last_words(broken).await.into());
            }
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<Verdict, ScanError> {
        let verdict = timeout(self.timeouts.answer, self.connection.verdict()).await;
        Ok(verdict.map_err(|_| NoVerdict::Slow("answer"))??)
    }
}
