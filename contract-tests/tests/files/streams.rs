//! A blob store that counts its input and returns a few bytes at a time.

use std::future::poll_fn;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;
use openapi_core::ports::{
    BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter, MemoryBlobs,
};
use openapi_core::values::Timestamp;

/// The kind of failure, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// Starting a blob fails.
    Create,
    /// Writing fails from this byte on.
    Write(usize),
    /// Finishing a blob fails; it does not exist afterwards.
    Finish,
    /// Removing a blob fails.
    Remove,
    /// Reading a blob fails.
    Read,
    /// Reading fails after the first chunk.
    ReadRest,
}

/// A store around [`MemoryBlobs`].
#[derive(Clone)]
pub struct PiecemealBlobs {
    inner: MemoryBlobs,
    piece: usize,
    failing: Arc<Mutex<Option<(Failing, BlobErrorKind)>>>,
    /// The longest chunk written.
    pub longest_chunk: Arc<AtomicUsize>,
    /// The number of blobs begun.
    pub begun: Arc<AtomicUsize>,
    /// The number of bytes written.
    pub written: Arc<AtomicUsize>,
}

impl PiecemealBlobs {
    /// A store that returns `piece` bytes at a time.
    pub fn new(inner: MemoryBlobs, piece: usize) -> Self {
        PiecemealBlobs {
            inner,
            piece,
            failing: Arc::default(),
            longest_chunk: Arc::default(),
            begun: Arc::default(),
            written: Arc::default(),
        }
    }

    /// Makes the store fail from now on, or work again.
    pub fn fail(&self, failing: Option<(Failing, BlobErrorKind)>) {
        *self.failing.lock().expect("no panic") = failing;
    }

    fn check(&self, point: Failing) -> BlobResult<()> {
        match *self.failing.lock().expect("no panic") {
            Some((failing, kind)) if failing == point => Err(kind.into()),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl BlobStore for PiecemealBlobs {
    async fn create(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        self.check(Failing::Create)?;
        self.begun.fetch_add(1, Ordering::SeqCst);
        let inner = self.inner.create(key).await?;
        Ok(Box::new(Writer { store: self.clone(), inner, bytes: 0 }))
    }

    async fn replace(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        self.inner.replace(key).await
    }

    async fn read(&self, key: &BlobKey, range: Range<u64>) -> BlobResult<BlobStream> {
        self.check(Failing::Read)?;
        let mut whole = self.inner.read(key, range).await?;
        let bytes = poll_fn(|cx| whole.as_mut().poll_next(cx)).await.transpose()?.unwrap_or_default();
        let breaks = self.check(Failing::ReadRest).err();
        Ok(Box::pin(Pieces { bytes, piece: self.piece, given: false, breaks }))
    }

    async fn size(&self, key: &BlobKey) -> BlobResult<Option<u64>> {
        self.inner.size(key).await
    }

    async fn remove(&self, key: &BlobKey) -> BlobResult<()> {
        self.check(Failing::Remove)?;
        self.inner.remove(key).await
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        self.inner.list().await
    }

    async fn sweep_unfinished(&self, before: Timestamp) -> BlobResult<u64> {
        self.inner.sweep_unfinished(before).await
    }

    async fn probe(&self) -> BlobResult<()> {
        self.inner.probe().await
    }
}

struct Writer {
    store: PiecemealBlobs,
    inner: Box<dyn BlobWriter>,
    bytes: usize,
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: Bytes) -> BlobResult<()> {
        self.bytes += bytes.len();
        let failing = *self.store.failing.lock().expect("no panic");
        if let Some((Failing::Write(from), kind)) = failing
            && self.bytes > from
        {
            return Err(kind.into());
        }
        self.store.longest_chunk.fetch_max(bytes.len(), Ordering::SeqCst);
        self.store.written.fetch_add(bytes.len(), Ordering::SeqCst);
        self.inner.write(bytes).await
    }

    async fn finish(self: Box<Self>) -> BlobResult<()> {
        self.store.check(Failing::Finish)?;
        self.inner.finish().await
    }
}

/// Bytes in chunks.
struct Pieces {
    bytes: Bytes,
    piece: usize,
    given: bool,
    breaks: Option<openapi_core::ports::BlobError>,
}

impl Stream for Pieces {
    type Item = BlobResult<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<BlobResult<Bytes>>> {
        if self.given
            && let Some(error) = self.breaks.take()
        {
            self.bytes.clear();
            return Poll::Ready(Some(Err(error)));
        }
        self.given = true;
        let piece = self.piece.min(self.bytes.len());
        let bytes = self.bytes.split_to(piece);
        Poll::Ready((!bytes.is_empty()).then_some(Ok(bytes)))
    }
}
