//! Storing contents sealed while they arrive.

use super::{FRAME_BYTES, SealFault, Sealer};
use crate::ports::{BlobError, BlobErrorKind, BlobKey, BlobResult, BlobStore, BlobWriter};
use crate::server_keys::ServerKeys;

/// A content while it arrives. It is sealed and stored piece by piece; at most a frame of 64 KiB is in memory. What a
/// dropped writer has stored cannot be read and is swept.
pub struct SealedWriter {
    sealer: Sealer,
    writer: Box<dyn BlobWriter>,
    server_key: String,
    bytes: u64,
    stored_bytes: u64,
}

/// A content that was stored.
pub struct SealedContent {
    /// Its bytes.
    pub bytes: u64,
    /// What the store holds.
    pub stored_bytes: u64,
    /// The id of the server key that it is sealed with.
    pub server_key: String,
}

impl SealedWriter {
    /// Begins a new content.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn create(blobs: &dyn BlobStore, keys: &ServerKeys, key: &BlobKey) -> BlobResult<Self> {
        Ok(Self::to(blobs.create(key).await?, keys, key))
    }

    /// Begins a content that takes the place of the one that is there.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn replace(blobs: &dyn BlobStore, keys: &ServerKeys, key: &BlobKey) -> BlobResult<Self> {
        Ok(Self::to(blobs.replace(key).await?, keys, key))
    }

    fn to(writer: Box<dyn BlobWriter>, keys: &ServerKeys, key: &BlobKey) -> Self {
        let server_key = keys.current_id().to_owned();
        SealedWriter { sealer: Sealer::new(keys, key), writer, server_key, bytes: 0, stored_bytes: 0 }
    }

    /// Stores the next bytes.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn write(&mut self, bytes: &[u8]) -> BlobResult<()> {
        self.bytes += bytes.len() as u64;
        // A frame at a time, so that no more than that is in memory twice.
        for piece in bytes.chunks(FRAME_BYTES) {
            let sealed = self.sealer.push(piece).map_err(failed)?;
            if !sealed.is_empty() {
                self.stored_bytes += sealed.len() as u64;
                self.writer.write(sealed).await?;
            }
        }
        Ok(())
    }

    /// Makes the content durable.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn finish(self) -> BlobResult<SealedContent> {
        let SealedWriter { sealer, mut writer, server_key, bytes, mut stored_bytes } = self;
        let rest = sealer.finish().map_err(failed)?;
        stored_bytes += rest.len() as u64;
        writer.write(rest).await?;
        writer.finish().await?;
        Ok(SealedContent { bytes, stored_bytes, server_key })
    }
}

fn failed(fault: SealFault) -> BlobError {
    BlobError::new(BlobErrorKind::Internal, fault)
}
