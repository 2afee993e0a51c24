//! The port of the malware scanner for uploaded files.

use async_trait::async_trait;
use bytes::Bytes;

/// Scans every file before it is accepted: the hook for a virus scanner.
///
/// # Contract
/// - A scan sees all bytes of one file, in order, while they arrive.
/// - A failed scan rejects the file: the response is SERVICE_UNAVAILABLE, and nothing of the upload is stored.
#[async_trait]
pub trait FileScanner: Send + Sync {
    /// Begins a scan.
    ///
    /// # Errors
    /// When the scanner cannot be reached.
    async fn begin(&self) -> Result<Box<dyn FileScan>, ScanError>;
}

/// The scan of one file.
#[async_trait]
pub trait FileScan: Send {
    /// Takes the next bytes.
    async fn push(&mut self, bytes: &Bytes) -> Result<(), ScanError>;

    /// The verdict, once all bytes were taken.
    async fn finish(self: Box<Self>) -> Result<Verdict, ScanError>;
}

/// What a scan found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Clean,
    /// Malware, by the name that the scanner gives it; for the log, not for the caller.
    Infected(String),
}

/// A scan that could not be completed.
#[derive(Debug, thiserror::Error)]
#[error("the file scanner failed: {0}")]
pub struct ScanError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// No scanner: every file is clean.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoScanner;

#[async_trait]
impl FileScanner for NoScanner {
    async fn begin(&self) -> Result<Box<dyn FileScan>, ScanError> {
        Ok(Box::new(NoScanner))
    }
}

#[async_trait]
impl FileScan for NoScanner {
    async fn push(&mut self, _: &Bytes) -> Result<(), ScanError> {
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<Verdict, ScanError> {
        Ok(Verdict::Clean)
    }
}
