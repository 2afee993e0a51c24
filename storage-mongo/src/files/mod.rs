//! Files of contacts: their records, and which contents are to go.

mod read;
mod write;

use async_trait::async_trait;
use openapi_core::audit::AuditEntry;
use openapi_core::files::ContactFile;
use openapi_core::ports::{BlobEntry, BlobKey};
use openapi_core::storage::{
    FileDeletion, FilePage, FileQuery, FileStore, FileTombstone, FileUsage, FileWrite, StorageError,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};

#[cfg(test)]
pub(crate) use read::{due_by, find};
pub(crate) use read::{file_or_tombstone, of_contact};
pub(crate) use write::{add_bytes, document, erase_of, make_due, purge, tombstone};

use crate::transaction::Reads;
use crate::{MongoStorage, ledger};

#[async_trait]
impl FileStore for MongoStorage {
    async fn file(&self, agent: &AgentId, file: FileId) -> Result<Option<ContactFile>, StorageError> {
        Ok(self.handle.read(read::one(&self.handle, agent, file)).await?)
    }

    async fn files(&self, agent: &AgentId, query: &FileQuery) -> Result<FilePage, StorageError> {
        Ok(self.handle.list(read::page(&self.handle, agent, query)).await?)
    }

    async fn file_usage(&self, agent: &AgentId, contact: ContactId) -> Result<FileUsage, StorageError> {
        let usage = async {
            let mut session = self.handle.snapshot().await?;
            let mut reads = Reads::of(&self.handle, &mut session);
            match ledger::living(&mut reads, agent).await? {
                Some(ledger) => read::usage(&mut reads, agent, &ledger, contact).await,
                None => Ok(FileUsage::default()),
            }
        };
        Ok(self.handle.read(usage).await?)
    }

    async fn insert_file(&self, agent: &AgentId, write: &FileWrite) -> Result<(), StorageError> {
        let input = (agent.clone(), write.clone());
        self.writer.write(agent, input, |tx, (agent, write)| Box::pin(write::insert(tx, agent, write))).await
    }

    async fn delete_file(&self, agent: &AgentId, deletion: &FileDeletion) -> Result<(), StorageError> {
        let input = (agent.clone(), deletion.clone());
        self.writer
            .write(agent, input, |tx, (agent, deletion)| Box::pin(write::delete(tx, agent, deletion)))
            .await
    }

    async fn file_tombstone(
        &self,
        agent: &AgentId,
        file: FileId,
    ) -> Result<Option<FileTombstone>, StorageError> {
        Ok(self.handle.read(read::tombstone(&self.handle, agent, file)).await?)
    }

    async fn expedite_purges(
        &self,
        agent: &AgentId,
        now: Timestamp,
        audit: &AuditEntry,
    ) -> Result<u64, StorageError> {
        let input = (agent.clone(), now, audit.clone());
        self.writer
            .write(agent, input, |tx, (agent, now, audit)| Box::pin(write::hasten(tx, agent, *now, audit)))
            .await
    }

    async fn blobs_due_for_deletion(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<BlobKey>, StorageError> {
        if at_most == 0 {
            return Ok(Vec::new());
        }
        Ok(self.handle.list(read::due(&self.handle, now, at_most)).await?)
    }

    async fn remove_blob_records(&self, keys: &[BlobKey]) -> Result<(), StorageError> {
        if keys.is_empty() {
            return Ok(());
        }
        // Of several agents at once, and so in no one's turn.
        let keys = keys.to_vec();
        Ok(self.handle.transact(&keys, |tx, keys| Box::pin(write::forget(tx, keys))).await?)
    }

    async fn existing_blobs(&self, keys: &[BlobKey]) -> Result<Vec<bool>, StorageError> {
        Ok(self.handle.list(read::known(&self.handle, keys)).await?)
    }

    async fn referenced_blobs(
        &self,
        after: Option<&BlobKey>,
        at_most: u32,
    ) -> Result<Vec<BlobEntry>, StorageError> {
        Ok(self.handle.list(read::needed(&self.handle, after, at_most)).await?)
    }
}
