//! No store of file contents.

use std::ops::Range;

use async_trait::async_trait;

use super::memory::no_entries;
use super::store::{
    BlobError, BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
};
use crate::values::Timestamp;

/// No store of file contents: every upload is answered STORAGE_UNAVAILABLE. What a platform has that was given none, so
/// that no file is ever stored where it would be lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBlobs;

impl NoBlobs {
    fn error() -> BlobError {
        BlobError::new(BlobErrorKind::Unavailable, "no store of file contents is configured")
    }
}

#[async_trait]
impl BlobStore for NoBlobs {
    async fn create(&self, _: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        Err(Self::error())
    }

    async fn replace(&self, _: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        Err(Self::error())
    }

    async fn read(&self, _: &BlobKey, _: Range<u64>) -> BlobResult<BlobStream> {
        Err(Self::error())
    }

    async fn size(&self, _: &BlobKey) -> BlobResult<Option<u64>> {
        Ok(None)
    }

    /// Nothing is taken for removed: what is due stays due until there is a store.
    async fn remove(&self, _: &BlobKey) -> BlobResult<()> {
        Err(Self::error())
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        Ok(no_entries())
    }

    async fn sweep_unfinished(&self, _: Timestamp) -> BlobResult<u64> {
        Ok(0)
    }

    async fn probe(&self) -> BlobResult<()> {
        Ok(())
    }
}
