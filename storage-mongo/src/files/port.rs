//! The implementation of [`FileStore`].

use async_trait::async_trait;
use openapi_core::files::ContactFile;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    Effects, FileBlob, FileDeletion, FilePage, FileQuery, FileStore, FileTombstone, FileUsage, FileWrite,
    StorageError,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};
use storage_common::in_transaction;

use super::{read, write};
use crate::store::MongoStorage;
use crate::tenant;
use crate::transaction::DocumentReader;

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
            let mut reads = DocumentReader::in_session(&self.handle, &mut session);
            match tenant::find(&mut reads, agent).await? {
                Some(ledger) => read::usage(&mut reads, agent, &ledger, contact).await,
                None => Ok(FileUsage::default()),
            }
        };
        Ok(self.handle.read(usage).await?)
    }

    async fn insert_file(&self, agent: &AgentId, write: &FileWrite) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), write::create(agent, write))
    }

    async fn delete_file(&self, agent: &AgentId, deletion: &FileDeletion) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), write::delete(agent, deletion))
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
        effects: &Effects,
    ) -> Result<u64, StorageError> {
        in_transaction!(self.writer.write(agent), write::hasten(agent, *now, effects))
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
        // It changes several tenants, so it has no queue.
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
    ) -> Result<Vec<FileBlob>, StorageError> {
        Ok(self.handle.list(read::needed(&self.handle, after, at_most)).await?)
    }

    async fn mark_sealed(&self, key: &BlobKey, server_key: &str) -> Result<(), StorageError> {
        Ok(self.handle.read(write::mark_sealed(&self.handle, key, server_key)).await?)
    }
}
