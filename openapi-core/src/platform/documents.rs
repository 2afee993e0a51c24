//! Retained documents: encrypted in the blob store, with a record that says when they are deleted.

use super::Platform;
use super::errors::{agent_gone, quota_exceeded};
use super::seal;
use crate::access::Actor;
use crate::files::{FileName, Sha256Digest};
use crate::ports::BlobKey;
use crate::reply::ApiError;
use crate::storage::{DocumentWrite, StorageErrorKind, StoredDocument};
use crate::values::{AgentId, ConversationId, FileId, Timestamp};

/// A document to be retained; the members are those of [`StoredDocument`].
pub struct NewDocument<'a> {
    /// The id.
    pub id: FileId,
    /// The name of the file.
    pub file_name: String,
    /// The media type.
    pub content_type: String,
    /// The content.
    pub content: &'a [u8],
    /// SHA-256 of the content.
    pub sha256: Sha256Digest,
    /// Who sent it.
    pub uploaded_by: Actor,
    /// When it goes.
    pub expires_at: Timestamp,
    /// The conversation that it belongs to.
    pub conversation: Option<ConversationId>,
}

impl Platform {
    /// Stores the content of a document, sealed, and returns the record that belongs to it. Without that the content is
    /// an orphan, which is swept.
    pub(in crate::platform) async fn store_sealed(
        &self,
        agent: &AgentId,
        new: NewDocument<'_>,
    ) -> Result<StoredDocument, ApiError> {
        let key = BlobKey::new(agent.clone(), new.id);
        let sealed = seal::seal(&self.ports.server_keys, &key, new.content)?;
        let document = StoredDocument {
            id: new.id,
            file_name: new.file_name,
            content_type: new.content_type,
            file_size: new.content.len() as u64,
            sha256: new.sha256,
            stored_size: sealed.len() as u64,
            uploaded_by: new.uploaded_by,
            created_at: self.now(),
            expires_at: new.expires_at,
            conversation: new.conversation,
        };
        let mut writer = self.ports.blobs.create(&key, &FileName::of_sent(None, "bin")).await?;
        writer.write(sealed).await?;
        writer.finish().await?;
        Ok(document)
    }

    /// Stores a document: its content first, then its record, so that no record is without its content.
    ///
    /// # Errors
    /// When the agent has no room for it or is not there, and when a store fails.
    pub async fn put_document(
        &self,
        agent: &AgentId,
        new: NewDocument<'_>,
    ) -> Result<StoredDocument, ApiError> {
        let document = self.store_sealed(agent, new).await?;
        let write = DocumentWrite { document, max_bytes: self.files.max_bytes_of_agent };
        let Err(error) = self.storage.insert_document(agent, &write).await else {
            return Ok(write.document);
        };
        let answer = match error.kind {
            StorageErrorKind::QuotaExceeded(excess) => quota_exceeded(excess),
            StorageErrorKind::Missing => agent_gone(),
            _ => return Err(error.into()),
        };
        let key = BlobKey::new(agent.clone(), write.document.id);
        if let Err(error) = self.ports.blobs.remove(&key).await {
            tracing::warn!(%error, %key, "failed to remove the content of a rejected document; a later sweep removes it");
        }
        Err(answer)
    }
}
