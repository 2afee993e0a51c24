//! Entries of the audit log about downloads.

use super::downloads::Download;
use crate::access::Actor;
use crate::audit::{AuditAction, AuditEntry};
use crate::files::Issuer;
use crate::json::{Json, Object, RawObject};
use crate::platform::Platform;
use crate::storage::StorageError;
use crate::values::Timestamp;

impl Platform {
    /// Notes a download that is about to begin.
    ///
    /// # Errors
    /// When the store does not take the entry of a first download; nothing may be sent then.
    pub(super) async fn note_download(&self, download: Download) -> Result<(), StorageError> {
        let (first, due) = self.downloads.count(download);
        self.write_downloads(due).await;
        let Some(first) = first else { return Ok(()) };
        self.append_download(&first).await.inspect_err(|_| self.downloads.forget(&first))
    }

    /// Writes the entries of downloads whose hour is over by `now`; without a time, of all.
    pub(in crate::platform) async fn flush_downloads(&self, now: Option<Timestamp>) {
        self.write_downloads(self.downloads.take(now)).await;
    }

    async fn write_downloads(&self, downloads: Vec<Download>) {
        for download in downloads {
            if let Err(error) = self.append_download(&download).await {
                tracing::warn!(%error, "failed to record repeated downloads in the audit log");
            }
        }
    }

    async fn append_download(&self, download: &Download) -> Result<(), StorageError> {
        let now = self.now();
        let mut details = Object::new();
        if download.further > 0 {
            details.insert("count", Json::Number(download.further.into()));
            details.insert("since", download.since.to_string().as_str().into());
            details.insert("until", download.until.to_string().as_str().into());
        }
        let entry = self.seal_audit(AuditEntry {
            id: self.ports.ids.platform_id(now).into(),
            agent_id: Some(download.agent.clone()),
            at: now,
            actor: match &download.issuer {
                Issuer::Key(key) => Actor::ApiKey(key.clone()),
                Issuer::Agent(_) => Actor::Anonymous("signed URL".to_owned()),
            },
            os_user: None,
            action: AuditAction::FileDownload,
            resource: Some(download.file.to_string()),
            contact_id: Some(download.contact),
            address: download.address,
            request_id: None,
            details: RawObject::new(&details),
        });
        self.storage.append_audit(&entry).await
    }
}
