//! Periodic maintenance, and the orderly shutdown.

use super::extraction::JobSource;
use super::files::MaintainError;
use super::state::Platform;
use crate::storage::StorageError;

impl Platform {
    /// Periodic maintenance: saves last uses of keys, returns expired leases and credits of abandoned extractions,
    /// sweeps expired responses, writes the entries of repeated downloads, removes audit entries and events after their
    /// retention, empties events of erased contacts, removes contents of files that are due, every hour announces keys that
    /// expire soon, and every six hours removes contents without a record.
    /// Call it about every 20 s. Without it, last uses are saved only at shutdown, and expired responses and contents
    /// stay in the store, invisible.
    ///
    /// # Errors
    /// If the store fails; the next call continues.
    pub async fn maintain(&self) -> Result<(), MaintainError> {
        self.authenticator.maintain().await?;
        let abandoned = self.settle_abandoned(JobSource::All).await;
        const BATCH: u32 = 500;
        while self.storage.sweep_idempotency_records(self.now(), BATCH).await? >= u64::from(BATCH) {}
        self.flush_downloads(Some(self.now())).await;
        self.maintain_contents().await?;
        self.purge_old_audit().await?;
        self.maintain_logs().await?;
        Ok(abandoned?)
    }

    /// The orderly shutdown: saves last uses and the entries of repeated downloads, and returns the leases of the rate
    /// limits and the credits of abandoned extractions.
    ///
    /// # Errors
    /// When the store fails; leases then count as used.
    pub async fn drain(&self) -> Result<(), StorageError> {
        let abandoned = self.settle_abandoned(JobSource::All).await;
        self.flush_downloads(None).await;
        self.authenticator.drain().await?;
        abandoned
    }
}
