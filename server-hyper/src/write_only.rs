//! A store of contents that is only written, such as the contents of a backup.

use async_trait::async_trait;
use openapi_core::ports::{
    BlobError, BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
};
use openapi_core::values::Timestamp;

/// Holds what creates the writer of a content. Nothing that was written can be read, and nothing is there.
pub struct WriteOnly<F>(pub F);

fn unsupported() -> BlobError {
    BlobError::new(BlobErrorKind::Internal, "these contents are only written")
}

#[async_trait]
impl<F> BlobStore for WriteOnly<F>
where
    F: Fn(&BlobKey) -> BlobResult<Box<dyn BlobWriter>> + Send + Sync,
{
    async fn create(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        self.0(key)
    }

    async fn replace(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        self.0(key)
    }

    async fn read(&self, _: &BlobKey, _: std::ops::Range<u64>) -> BlobResult<BlobStream> {
        Err(unsupported())
    }

    async fn size(&self, _: &BlobKey) -> BlobResult<Option<u64>> {
        Ok(None)
    }

    async fn remove(&self, _: &BlobKey) -> BlobResult<()> {
        Ok(())
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        Err(unsupported())
    }

    async fn sweep_unfinished(&self, _: Timestamp) -> BlobResult<u64> {
        Ok(0)
    }

    async fn probe(&self) -> BlobResult<()> {
        Ok(())
    }
}
