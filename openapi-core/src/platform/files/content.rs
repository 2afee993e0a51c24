//! Reading the contents of files.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::admin::AdminError;
use crate::files::ContactFile;
use crate::platform::{Platform, Ports};
use crate::ports::{BlobErrorKind, BlobKey, BlobResult, BlobStream};
use crate::reply::ApiError;
use crate::seal::{self, SealFault, Source, unsealed_bytes};
use crate::values::{AgentId, FileId};

/// The bytes of a range of a file.
pub(super) async fn read_content(
    platform: &Platform,
    key: &BlobKey,
    file: &ContactFile,
    range: Range<u64>,
) -> BlobResult<BlobStream> {
    let source = source(&platform.ports, key, file.file_size);
    match file.server_key {
        Some(_) => seal::read(source, range).await,
        None => seal::read_either(source, range).await,
    }
}

fn source<'a>(ports: &'a Ports, key: &'a BlobKey, size: u64) -> Source<'a> {
    Source { blobs: &*ports.blobs, keys: &ports.server_keys, key, size }
}

impl Platform {
    /// The whole content of a file; none if it is gone.
    pub(in crate::platform) async fn content_of(
        &self,
        agent: &AgentId,
        file: &ContactFile,
    ) -> Result<Option<Bytes>, ApiError> {
        let key = BlobKey::new(agent.clone(), file.id);
        match read_content(self, &key, file, 0..file.file_size).await {
            Ok(stream) => Ok(Some(whole(stream).await?)),
            Err(error) if error.kind == BlobErrorKind::Missing => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The content of a file, or of a deleted one whose content is retained; for the operator.
    ///
    /// # Errors
    /// [`AdminError::NotFound`] without such a file, [`AdminError::Conflict`] when its content does not open, and when a
    /// store fails.
    pub async fn file_content(&self, agent: &AgentId, id: FileId) -> Result<BlobStream, AdminError> {
        self.living_agent(agent).await?;
        let not_found = || AdminError::NotFound { what: "file", id: id.to_string() };
        let key = BlobKey::new(agent.clone(), id);
        let read = match self.storage.file(agent, id).await? {
            Some(file) => read_content(self, &key, &file, 0..file.file_size).await,
            None => {
                self.storage.file_tombstone(agent, id).await?.ok_or_else(not_found)?;
                self.retained_content(&key).await
            }
        };
        read.map_err(|error| match &error.source {
            Some(why) if error.kind == BlobErrorKind::Internal && why.is::<SealFault>() => {
                AdminError::Conflict(format!("the content of file {id} cannot be read: {why}"))
            }
            _ => error.into(),
        })
    }

    /// The content of a deleted file, whose record does not say any more how it is stored.
    async fn retained_content(&self, key: &BlobKey) -> BlobResult<BlobStream> {
        let stored = self.ports.blobs.size(key).await?.ok_or(BlobErrorKind::Missing)?;
        if let Some(size) = unsealed_bytes(stored) {
            match seal::read(source(&self.ports, key, size), 0..size).await {
                Err(error) if error.source.as_ref().is_some_and(|why| is_unsealed(&**why)) => {}
                read => return read,
            }
        }
        self.ports.blobs.read(key, 0..stored).await
    }
}

/// All bytes of a stream.
pub(in crate::platform) async fn whole(mut stream: BlobStream) -> Result<Bytes, ApiError> {
    let mut all = BytesMut::new();
    while let Some(bytes) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        all.extend_from_slice(&bytes?);
    }
    Ok(all.freeze())
}

fn is_unsealed(why: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(why.downcast_ref(), Some(SealFault::Unsealed))
}
