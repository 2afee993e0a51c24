//! Keeps contents consistent with records: removes contents that are due, and orphans.
//!
//! The order of every change makes this enough: an upload stores the content first and then the record, a deletion
//! marks the record first. A crash in between leaves a content without a record, never a record without its content.

use std::future::poll_fn;

use super::error::MaintainError;
use crate::platform::Platform;
use crate::ports::BlobKey;
use crate::values::Timestamp;

/// Contents that one step removes or looks up.
const BATCH: u32 = 200;

/// Contents without a record are left alone for so long: they may belong to an upload that is not over.
const ORPHAN_AGE_MILLIS: i64 = 24 * 3_600_000;

/// A crash leaves at most one orphan for each running upload. More than this belong to another data store that shares
/// the content store, or to records that a restored backup lacks. Regular maintenance does not remove them.
const MOST_ORPHANS: usize = 100;

impl Platform {
    /// Removes the contents that are due: of deleted files after their retention, of erased contacts and deleted agents
    /// at once. Returns how many.
    ///
    /// # Errors
    /// When a store fails; what could not be removed stays due.
    pub async fn purge_due_contents(&self) -> Result<u64, MaintainError> {
        let mut removed = 0;
        loop {
            let due = self.storage.blobs_due_for_deletion(self.now(), BATCH).await?;
            let (mut gone, mut failure) = (Vec::with_capacity(due.len()), None);
            for key in &due {
                match self.ports.blobs.remove(key).await {
                    Ok(()) => gone.push(key.clone()),
                    Err(error) => failure = Some(error),
                }
            }
            self.storage.remove_blob_records(&gone).await?;
            removed += gone.len() as u64;
            if let Some(error) = failure {
                return Err(error.into());
            }
            if due.len() < BATCH as usize {
                return Ok(removed);
            }
        }
    }

    /// Removes contents without a record that are older than `age_millis`, and the remains of unfinished uploads.
    /// Returns how many. [`Platform::maintain`] does it every six hours for those older than a day.
    ///
    /// # Errors
    /// When a store fails.
    pub async fn sweep_orphans(&self, age_millis: i64) -> Result<u64, MaintainError> {
        let before = self.now().plus_millis(age_millis.saturating_neg());
        let swept = self.ports.blobs.sweep_unfinished(before).await?;
        Ok(swept + self.remove_orphans(&self.orphans(before).await?).await?)
    }

    /// Contents that no record knows of, made at or before this time.
    async fn orphans(&self, before: Timestamp) -> Result<Vec<BlobKey>, MaintainError> {
        let mut orphans = Vec::new();
        let mut listing = self.ports.blobs.list().await?;
        let mut batch: Vec<BlobKey> = Vec::new();
        loop {
            let entry = poll_fn(|cx| listing.as_mut().poll_next(cx)).await.transpose()?;
            let is_over = entry.is_none();
            batch.extend(entry.map(|entry| entry.key).filter(|key| key.file.created_at() <= before));
            if batch.len() == BATCH as usize || is_over {
                let known = self.storage.existing_blobs(&batch).await?;
                orphans.extend(batch.drain(..).zip(known).filter(|(_, known)| !known).map(|(key, _)| key));
            }
            if is_over {
                return Ok(orphans);
            }
        }
    }

    async fn remove_orphans(&self, orphans: &[BlobKey]) -> Result<u64, MaintainError> {
        for key in orphans {
            self.ports.blobs.remove(key).await?;
        }
        Ok(orphans.len() as u64)
    }

    /// The part of the regular work that concerns contents.
    pub(in crate::platform) async fn maintain_contents(&self) -> Result<(), MaintainError> {
        self.purge_due_contents().await?;
        if !self.sweeps.is_time(self.now()) {
            return Ok(());
        }
        let before = self.now().plus_millis(-ORPHAN_AGE_MILLIS);
        self.ports.blobs.sweep_unfinished(before).await?;
        let orphans = self.orphans(before).await?;
        if orphans.len() > MOST_ORPHANS {
            let found = orphans.len();
            tracing::error!(
                found,
                "not removing file contents without a record, because there are too many: does another data store share this \
                 content store? If not, repair the store"
            );
        } else if self.remove_orphans(&orphans).await? > 0 {
            tracing::info!(removed = orphans.len(), "removed file contents without a record");
        }
        Ok(())
    }
}
