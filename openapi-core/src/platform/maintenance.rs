//! Work that is due from time to time, and the orderly end.

use super::extraction::JobSource;
use super::files::MaintainError;
use super::state::Platform;
use crate::storage::StorageError;

impl Platform {
    /// Work that is due from time to time: saves last uses of keys, gives back leases that have ended and credits of
    /// extractions that were given up, sweeps expired answers, removes contents of files that are due and, every six
    /// hours, those that no record knows of.
    /// Call it about every 20 s. Where it is never called, last uses are noted only at the end, and expired answers and
    /// contents stay, unseen.
    ///
    /// # Errors
    /// When the store fails; the next call goes on.
    pub async fn maintain(&self) -> Result<(), MaintainError> {
        self.authenticator.maintain().await?;
        let abandoned = self.settle_abandoned(JobSource::All).await;
        const BATCH: u32 = 500;
        while self.storage.sweep_idempotency_records(self.now(), BATCH).await? >= u64::from(BATCH) {}
        self.maintain_contents().await?;
        Ok(abandoned?)
    }

    /// The orderly end: saves last uses and gives back what the rate limits had leased, and credits of extractions that
    /// were given up.
    ///
    /// # Errors
    /// When the store fails; leases then count as used.
    pub async fn drain(&self) -> Result<(), StorageError> {
        let abandoned = self.settle_abandoned(JobSource::All).await;
        self.authenticator.drain().await?;
        abandoned
    }
}
