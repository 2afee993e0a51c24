//! File contents in memory, for tests and sandboxes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use parking_lot::{Mutex, MutexGuard};

use super::store::{
    BlobEntry, BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
};
use crate::values::Timestamp;

type Blobs = BTreeMap<BlobKey, Bytes>;

/// File contents in memory. Nothing outlives the value; clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryBlobs(Arc<Mutex<Blobs>>);

impl MemoryBlobs {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        MemoryBlobs::default()
    }

    fn blobs(&self) -> MutexGuard<'_, Blobs> {
        self.0.lock()
    }
}

#[async_trait]
impl BlobStore for MemoryBlobs {
    async fn create(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        Ok(Box::new(Writer { blobs: self.clone(), key: key.clone(), bytes: BytesMut::new() }))
    }

    async fn replace(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        self.create(key).await
    }

    async fn read(&self, key: &BlobKey, range: Range<u64>) -> BlobResult<BlobStream> {
        let bytes = self.blobs().get(key).cloned().ok_or(BlobErrorKind::Missing)?;
        let index = |at: u64| usize::try_from(at).ok().filter(|at| *at <= bytes.len());
        let (Some(start), Some(end)) = (index(range.start), index(range.end)) else {
            return Err(BlobErrorKind::Missing.into());
        };
        let bytes = bytes.slice(start.min(end)..end);
        Ok(Box::pin(Items((!bytes.is_empty()).then_some(bytes).into_iter())))
    }

    async fn size(&self, key: &BlobKey) -> BlobResult<Option<u64>> {
        Ok(self.blobs().get(key).map(|bytes| bytes.len() as u64))
    }

    async fn remove(&self, key: &BlobKey) -> BlobResult<()> {
        self.blobs().remove(key);
        Ok(())
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        let entries: Vec<BlobEntry> = self
            .blobs()
            .iter()
            .map(|(key, bytes)| BlobEntry { key: key.clone(), size: bytes.len() as u64 })
            .collect();
        Ok(Box::pin(Items(entries.into_iter())))
    }

    async fn sweep_unfinished(&self, _: Timestamp) -> BlobResult<u64> {
        Ok(0)
    }

    async fn probe(&self) -> BlobResult<()> {
        Ok(())
    }
}

struct Writer {
    blobs: MemoryBlobs,
    key: BlobKey,
    bytes: BytesMut,
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: Bytes) -> BlobResult<()> {
        self.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> BlobResult<()> {
        let Writer { blobs, key, bytes } = *self;
        blobs.blobs().insert(key, bytes.freeze());
        Ok(())
    }
}

/// The listing of a store without blobs.
pub(super) fn no_entries() -> BlobListing {
    Box::pin(Items(std::iter::empty()))
}

/// A stream of items that are all there.
struct Items<I>(I);

impl<I: Iterator + Unpin> Stream for Items<I> {
    type Item = BlobResult<I::Item>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}
