//! Retained documents: encrypted in the blob store while they arrive, with a record that says when they are deleted.

use super::Platform;
use super::errors::{agent_gone, quota_exceeded};
use crate::access::Actor;
use crate::files::Sha256Digest;
use crate::ports::BlobKey;
use crate::reply::ApiError;
use crate::seal::SealedWriter;
use crate::storage::{DocumentWrite, StorageErrorKind, StoredDocument};
use crate::values::{AgentId, ConversationId, FileId, Timestamp};

/// A document to be retained; the members are those of [`StoredDocument`].
pub struct NewDocument {
    /// The name of the file.
    pub file_name: String,
    /// The media type.
    pub content_type: String,
    /// SHA-256 of the content.
    pub sha256: Sha256Digest,
    /// Who sent it.
    pub uploaded_by: Actor,
    /// When it goes.
    pub expires_at: Timestamp,
    /// The conversation that it belongs to.
    pub conversation: Option<ConversationId>,
}

/// The content of a document while it arrives. It is sealed and stored piece by piece; at most a frame of 64 KiB is in
/// memory. What a dropped writer has stored cannot be read and is swept.
pub struct DocumentWriter {
    key: BlobKey,
    content: SealedWriter,
}

impl DocumentWriter {
    /// Stores the next bytes.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), ApiError> {
        Ok(self.content.write(bytes).await?)
    }
}

impl Platform {
    /// Begins the content of a document with this id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin_document(&self, agent: &AgentId, id: FileId) -> Result<DocumentWriter, ApiError> {
        let key = BlobKey::new(agent.clone(), id);
        let content = SealedWriter::create(&*self.ports.blobs, &self.ports.server_keys, &key).await?;
        Ok(DocumentWriter { key, content })
    }

    /// Makes the content of a document durable, and returns the record that belongs to it. Without that the content is an
    /// orphan, which is swept.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn finish_document(
        &self,
        DocumentWriter { key, content }: DocumentWriter,
        new: NewDocument,
    ) -> Result<DocumentWrite, ApiError> {
        let content = content.finish().await?;
        let document = StoredDocument {
            id: key.file,
            file_name: new.file_name,
            content_type: new.content_type,
            file_size: content.bytes,
            sha256: new.sha256,
            stored_size: content.stored_bytes,
            server_key: Some(content.server_key),
            uploaded_by: new.uploaded_by,
            created_at: self.now(),
            expires_at: new.expires_at,
            conversation: new.conversation,
        };
        Ok(DocumentWrite { document, max_bytes: self.files.max_bytes_of_agent })
    }

    /// Stores a document whose content has arrived: the content first, then its record, so that no record is without its
    /// content.
    ///
    /// # Errors
    /// When the agent has no room for it or is not there, and when a store fails.
    pub async fn put_document(
        &self,
        agent: &AgentId,
        content: DocumentWriter,
        new: NewDocument,
    ) -> Result<StoredDocument, ApiError> {
        let write = self.finish_document(content, new).await?;
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
