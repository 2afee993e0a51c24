//! Retained documents: encrypted in the blob store, with a record, stored with the response, that says when they are
//! deleted.

use super::running::Abandoned;
use crate::access::Caller;
use crate::extraction::SentDocument;
use crate::files::Sha256Digest;
use crate::platform::Platform;
use crate::platform::documents::NewDocument;
use crate::platform::errors::quota_exceeded;
use crate::ports::BlobKey;
use crate::reply::ApiError;
use crate::storage::{DocumentWrite, FileQuota};
use crate::values::{ContactId, FileId};

/// Step 14: whether the agent has room for so many bytes as they are stored.
pub(super) async fn refuse_excess(platform: &Platform, caller: &Caller, bytes: u64) -> Result<(), ApiError> {
    if bytes == 0 {
        return Ok(());
    }
    let Some(bytes_of_agent) = platform.files.max_bytes_of_agent else { return Ok(()) };
    // Of no contact: only what the agent has in all counts.
    let nobody = ContactId::from_bytes([0; 12]);
    let usage = platform.storage.file_usage(&caller.agent_id, nobody).await?;
    let quota = FileQuota { files_of_contact: u64::MAX, bytes_of_agent: Some(bytes_of_agent) };
    quota.admit(usage, bytes).map_err(quota_exceeded)
}

/// A document whose content is stored. Its record comes with the answer; dropped before, the content goes again.
pub(super) struct DocumentRetention<'a> {
    platform: &'a Platform,
    key: BlobKey,
    write: DocumentWrite,
    stays: bool,
}

impl<'a> DocumentRetention<'a> {
    /// Stores the content of a document.
    pub(super) async fn store(
        platform: &'a Platform,
        caller: &Caller,
        id: FileId,
        sent: &SentDocument,
        sha256: Sha256Digest,
        content_type: &str,
    ) -> Result<Self, ApiError> {
        let retention = i64::try_from(platform.extraction.retention_millis).unwrap_or(i64::MAX);
        let document = NewDocument {
            file_name: sent.file_name.clone(),
            content_type: content_type.to_owned(),
            sha256,
            uploaded_by: caller.actor.clone(),
            expires_at: platform.now().plus_millis(retention),
            conversation: None,
        };
        let mut content = platform.begin_document(&caller.agent_id, id).await?;
        content.write(&sent.content).await?;
        let write = platform.finish_document(content, document).await?;
        let key = BlobKey::new(caller.agent_id.clone(), id);
        Ok(DocumentRetention { platform, key, write, stays: false })
    }

    pub(super) fn id(&self) -> FileId {
        self.key.file
    }

    /// Its record.
    pub(super) fn write(&self) -> DocumentWrite {
        self.write.clone()
    }

    /// Whether the content stays when this is dropped.
    pub(super) fn set_stays(&mut self, stays: bool) {
        self.stays = stays;
    }
}

impl Drop for DocumentRetention<'_> {
    fn drop(&mut self) {
        if !self.stays {
            self.platform.extractions.abandon(Abandoned::Document(self.key.clone()));
        }
    }
}
