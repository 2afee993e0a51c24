//! The documents of corrections: files of contacts, and copies of documents that were sent.

use futures_util::TryStreamExt;
use openapi_core::access::Caller;
use openapi_core::extraction::ExtractionJob;
use openapi_core::files::Sha256Digest;
use openapi_core::platform::{NewDocument, Platform};
use openapi_core::ports::{BlobErrorKind, BlobKey, BlobStream};
use openapi_core::reply::ApiError;
use openapi_core::seal::{self, Source};
use openapi_core::storage::DocumentWrite;
use openapi_core::values::{AgentId, ContactId, FileId};

/// How long a copy stays at the longest: 100 years. It goes with its correction.
const RETENTION_MILLIS: i64 = 100 * 365 * 24 * 3_600_000;

/// The content of a document that the service holds, else that of a file of a contact; none if it is gone.
pub(crate) async fn content(
    platform: &Platform,
    agent: &AgentId,
    held: Option<FileId>,
    file: Option<(FileId, ContactId)>,
) -> Result<Option<BlobStream>, ApiError> {
    let (id, size, is_sealed) = match (held, file) {
        (Some(id), _) => match platform.storage().document(agent, id).await? {
            Some(found) => (id, found.file_size, true),
            None => return Ok(None),
        },
        (None, Some((id, contact))) => match platform.storage().file(agent, id).await? {
            Some(found) if found.contact_id == contact => (id, found.file_size, found.server_key.is_some()),
            _ => return Ok(None),
        },
        (None, None) => return Ok(None),
    };
    let (ports, key) = (platform.ports(), BlobKey::new(agent.clone(), id));
    let source = Source { blobs: &*ports.blobs, keys: &ports.server_keys, key: &key, size };
    let read = match is_sealed {
        true => seal::read(source, 0..size).await,
        false => seal::read_either(source, 0..size).await,
    };
    match read {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if error.kind == BlobErrorKind::Missing => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Stores a copy of the content of an extraction's document; its record is to be written with the correction.
pub(crate) async fn copy(
    platform: &Platform,
    caller: &Caller,
    job: &ExtractionJob,
    mut content: BlobStream,
) -> Result<DocumentWrite, ApiError> {
    let facts = &job.body.document;
    let sha256: Sha256Digest = facts.sha256.parse().map_err(|_| ApiError::internal())?;
    let id: FileId = platform.ports().ids.platform_id(platform.now()).into();
    let mut writer = platform.begin_document(&caller.agent_id, id).await?;
    while let Some(bytes) = content.try_next().await? {
        writer.write(&bytes).await?;
    }
    let document = NewDocument {
        file_name: facts.file_name.clone(),
        content_type: facts.content_type.clone(),
        sha256,
        uploaded_by: caller.actor.clone(),
        expires_at: platform.now().plus_millis(RETENTION_MILLIS),
        conversation: None,
    };
    platform.finish_document(writer, document).await
}

/// Removes the content of a copy whose record was not stored.
pub(crate) async fn forget(platform: &Platform, agent: &AgentId, copy: &DocumentWrite) {
    let key = BlobKey::new(agent.clone(), copy.document.id);
    if let Err(error) = platform.ports().blobs.remove(&key).await {
        tracing::warn!(%error, %key, "failed to remove the content of a rejected document; a later sweep removes it");
    }
}
