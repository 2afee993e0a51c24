//! Writing a blob: in one request when it is small, in parts when it is not.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, MultipartUpload, ObjectStore, PutMultipartOptions, PutOptions, PutPayloadMut,
};
use openapi_core::ports::{BlobError, BlobErrorKind, BlobResult, BlobWriter};
use tokio::runtime::Handle;

use super::error::failed_to_write;

/// The smallest part that S3 accepts; some stores require all parts but the last to have one size.
const PART: usize = 5 * 1024 * 1024;

/// The size of an allocation.
const BLOCK: usize = 64 * 1024;

/// A writer. Dropped at any moment, it aborts its upload.
pub(super) struct Writer {
    store: Arc<dyn ObjectStore>,
    path: Path,
    attributes: Attributes,
    filling: PutPayloadMut,
    upload: Option<Box<dyn MultipartUpload>>,
    /// A write failed, or its future was dropped: bytes may be missing.
    broken: bool,
}

impl Writer {
    pub(super) fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        let attributes = Attributes::from_iter([(Attribute::ContentType, "application/octet-stream")]);
        Writer { store, path, attributes, filling: empty(), upload: None, broken: false }
    }

    /// Uploads the filled buffer as a part.
    async fn part(&mut self) -> BlobResult<()> {
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => {
                let options =
                    PutMultipartOptions { attributes: self.attributes.clone(), ..Default::default() };
                let begun = self.store.put_multipart_opts(&self.path, options).await;
                none.insert(begun.map_err(failed_to_write)?)
            }
        };
        let full = std::mem::replace(&mut self.filling, empty());
        upload.put_part(full.freeze()).await.map_err(failed_to_write)
    }
}

fn empty() -> PutPayloadMut {
    PutPayloadMut::new().with_block_size(BLOCK)
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: Bytes) -> BlobResult<()> {
        if std::mem::replace(&mut self.broken, true) {
            return Err(broken());
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            // A full part waits for the next byte, because it may be the whole blob.
            if self.filling.content_length() == PART {
                self.part().await?;
            }
            let (taken, later) = rest.split_at(rest.len().min(PART - self.filling.content_length()));
            taken.chunks(BLOCK).for_each(|block| self.filling.extend_from_slice(block));
            rest = later;
        }
        self.broken = false;
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> BlobResult<()> {
        if self.broken {
            return Err(broken());
        }
        if self.upload.is_some() {
            self.part().await?;
            if let Some(upload) = &mut self.upload {
                upload.complete().await.map_err(failed_to_write)?;
            }
            self.upload = None;
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.filling).freeze();
        let options = PutOptions { attributes: std::mem::take(&mut self.attributes), ..Default::default() };
        self.store.put_opts(&self.path, bytes, options).await.map_err(failed_to_write)?;
        Ok(())
    }
}

fn broken() -> BlobError {
    BlobError::new(BlobErrorKind::Internal, "an earlier write did not end well")
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let (Some(mut upload), Ok(runtime)) = (self.upload.take(), Handle::try_current()) {
            runtime.spawn(async move {
                if let Err(error) = upload.abort().await {
                    tracing::debug!(%error, "cannot abort an upload; a lifecycle rule of the bucket must remove it");
                }
            });
        }
    }
}
