//! Cleans up after abandoned extractions.

use super::running::{Abandoned, JobSource};
use crate::platform::Platform;
use crate::storage::StorageError;

impl Platform {
    /// Releases what abandoned extractions reserved. What a store refuses stays for the next time; of a process that
    /// ends without it credits go back when their reservation ends, and contents are swept as orphans; only what was
    /// spent on an answer in its last moment stays spent.
    pub(in crate::platform) async fn settle_abandoned(&self, of: JobSource<'_>) -> Result<(), StorageError> {
        let mut outcome = Ok(());
        // What fails goes to the end of the line.
        let count = self.extractions.count_abandoned();
        for _ in 0..count {
            let Some(mut returning) = self.extractions.next_abandoned(of) else { break };
            let done = match &returning.what {
                Some(Abandoned::Credits(agent, id)) => self.release(agent, *id, None).await,
                Some(Abandoned::Answer(agent, id, at)) => match self.release(agent, *id, Some(*at)).await {
                    Ok(()) => self.storage.discard_document(agent, (*id).into(), self.now()).await,
                    failed => failed,
                },
                Some(Abandoned::Document(key)) => {
                    if let Err(error) = self.ports.blobs.remove(key).await {
                        tracing::warn!(%error, %key, "failed to remove the content of a rejected document; a later sweep removes it");
                    }
                    Ok(())
                }
                None => Ok(()),
            };
            match done {
                Ok(()) => returning.what = None,
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }
}
