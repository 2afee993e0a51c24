//! Contents of files: bytes under a key, apart from the records in the data store.

use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::str::FromStr;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;

use crate::values::{AgentId, FileId, Timestamp};

/// The result of a method of a [`BlobStore`].
pub type BlobResult<T> = Result<T, BlobError>;

/// The bytes of a blob as they are read. It ends early only with an error.
pub type BlobStream = Pin<Box<dyn Stream<Item = BlobResult<Bytes>> + Send>>;

/// The blobs of a store, in no guaranteed order.
pub type BlobListing = Pin<Box<dyn Stream<Item = BlobResult<BlobEntry>> + Send>>;

/// A store of file contents: a folder, an object store, memory.
///
/// # Contract
/// - A blob is written once, under a key of its own, and never changes, unless [`BlobStore::replace`] is used.
/// - A blob can be read and is listed only after [`BlobWriter::finish`] has returned, and it is then as durable as the
///   store promises: a local folder has synced the content and its name. What a dropped writer leaves cannot be
///   read, and [`BlobStore::sweep_unfinished`] removes it.
/// - No blob is held in memory as a whole: a writer and a stream need a few hundred KiB, whatever the size.
/// - Dropping a future or stream cancels its work.
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Begins a new blob.
    ///
    /// # Errors
    /// [`Unavailable`](BlobErrorKind::Unavailable), [`Internal`](BlobErrorKind::Internal).
    async fn create(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>>;

    /// Begins a blob that takes the place of the one with this key, in one step: until [`BlobWriter::finish`] returns, the
    /// former one is read, and streams that are open stay with it.
    ///
    /// # Errors
    /// [`Unavailable`](BlobErrorKind::Unavailable), [`Internal`](BlobErrorKind::Internal).
    async fn replace(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>>;

    /// The bytes of a blob from the start of the range up to, but without, its end.
    ///
    /// # Errors
    /// [`Missing`](BlobErrorKind::Missing) without such a blob or when the range reaches beyond it.
    async fn read(&self, key: &BlobKey, range: Range<u64>) -> BlobResult<BlobStream>;

    /// The length of a blob in bytes; `None` if it does not exist.
    async fn size(&self, key: &BlobKey) -> BlobResult<Option<u64>>;

    /// Removes a blob; succeeds if it does not exist.
    async fn remove(&self, key: &BlobKey) -> BlobResult<()>;

    /// All blobs.
    async fn list(&self) -> BlobResult<BlobListing>;

    /// Removes what unfinished writers left and nothing has touched since `before`; returns how
    /// many there were.
    async fn sweep_unfinished(&self, before: Timestamp) -> BlobResult<u64>;

    /// Checks with a small operation that the store can be reached.
    async fn probe(&self) -> BlobResult<()>;
}

/// A blob being written.
#[async_trait]
pub trait BlobWriter: Send {
    /// Takes the next bytes. After an error the blob cannot be finished.
    async fn write(&mut self, bytes: Bytes) -> BlobResult<()>;

    /// Makes the blob durable, and then readable under its key.
    async fn finish(self: Box<Self>) -> BlobResult<()>;
}

/// The key of a blob: the agent and the id of the file whose content it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobKey {
    /// The agent.
    pub agent: AgentId,
    /// The file.
    pub file: FileId,
}

impl BlobKey {
    /// The key of a file's content.
    #[must_use]
    pub fn new(agent: AgentId, file: FileId) -> Self {
        BlobKey { agent, file }
    }
}

/// `<agent>/<file>`, safe as a path on every system: an agent id has letters, digits, `-` and `_`, a file id
/// hexadecimal digits.
impl fmt::Display for BlobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.agent, self.file)
    }
}

/// The text is not the key of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key of a blob is <agent>/<file id>")]
pub struct InvalidBlobKey;

impl FromStr for BlobKey {
    type Err = InvalidBlobKey;

    fn from_str(text: &str) -> Result<Self, InvalidBlobKey> {
        let (agent, file) = text.split_once('/').ok_or(InvalidBlobKey)?;
        let key = BlobKey {
            agent: agent.parse().map_err(|_| InvalidBlobKey)?,
            file: file.parse().map_err(|_| InvalidBlobKey)?,
        };
        // One spelling: upper-case digits would be another object.
        if key.to_string() == text { Ok(key) } else { Err(InvalidBlobKey) }
    }
}

/// A blob in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobEntry {
    /// Its key.
    pub key: BlobKey,
    /// Its length in bytes.
    pub size: u64,
}

/// Why a method of a [`BlobStore`] failed.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub struct BlobError {
    /// What the caller does next.
    pub kind: BlobErrorKind,
    /// What the system or the driver said; for logs, never for callers of the API.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What a failure means to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobErrorKind {
    /// There is no such blob.
    #[error("the file content does not exist")]
    Missing,
    /// The store is unreachable, denies access or is out of space: retry later.
    #[error("the store of file contents is not available")]
    Unavailable,
    /// The store is damaged or misbehaves: an operator must look at it.
    #[error("the store of file contents failed")]
    Internal,
}

impl BlobError {
    /// An error with its cause.
    pub fn new(kind: BlobErrorKind, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        BlobError { kind, source: Some(source.into()) }
    }
}

impl From<BlobErrorKind> for BlobError {
    fn from(kind: BlobErrorKind) -> Self {
        BlobError { kind, source: None }
    }
}
