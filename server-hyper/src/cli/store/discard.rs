//! A store of contents that keeps nothing: what is copied to it is only verified.

use async_trait::async_trait;
use bytes::Bytes;
use openapi_core::ports::{
    BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
};
use openapi_core::values::Timestamp;

/// Accepts every content and has none.
pub struct Discard;

#[async_trait]
impl BlobStore for Discard {
    async fn create(&self, _: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        Ok(Box::new(Discard))
    }

    async fn replace(&self, _: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        Ok(Box::new(Discard))
    }

    async fn read(&self, _: &BlobKey, _: std::ops::Range<u64>) -> BlobResult<BlobStream> {
        Err(BlobErrorKind::Missing.into())
    }

    async fn size(&self, _: &BlobKey) -> BlobResult<Option<u64>> {
        Ok(None)
    }

    async fn remove(&self, _: &BlobKey) -> BlobResult<()> {
        Ok(())
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        Err(BlobErrorKind::Missing.into())
    }

    async fn sweep_unfinished(&self, _: Timestamp) -> BlobResult<u64> {
        Ok(0)
    }

    async fn probe(&self) -> BlobResult<()> {
        Ok(())
    }
}

#[async_trait]
impl BlobWriter for Discard {
    async fn write(&mut self, _: Bytes) -> BlobResult<()> {
        Ok(())
    }

    async fn finish(self: Box<Self>) -> BlobResult<()> {
        Ok(())
    }
}
