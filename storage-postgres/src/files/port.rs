//! The implementation of [`FileStore`].

use async_trait::async_trait;
use openapi_core::files::ContactFile;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    Effects, FileBlob, FileDeletion, FilePage, FileQuery, FileStore, FileTombstone, FileUsage, FileWrite,
    StorageError,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};
use storage_common::{in_transaction, records};

use super::{read, write};
use crate::store::PostgresStorage;

#[async_trait]
impl FileStore for PostgresStorage {
    async fn file(&self, agent: &AgentId, file: FileId) -> Result<Option<ContactFile>, StorageError> {
        self.db.read_one(read::one(agent, file)?, |r| records::file(agent, r)).await
    }

    async fn files(&self, agent: &AgentId, query: &FileQuery) -> Result<FilePage, StorageError> {
        let rows = self.db.read(read::page(agent, query)?).await?;
        Ok(read::listed(agent, &rows)?)
    }

    async fn file_usage(&self, agent: &AgentId, contact: ContactId) -> Result<FileUsage, StorageError> {
        let usage = self.db.read_one(read::usage(agent, contact)?, read::used).await?;
        Ok(usage.unwrap_or_default())
    }

    async fn insert_file(&self, agent: &AgentId, write: &FileWrite) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), write::create(agent, write))
    }

    async fn delete_file(&self, agent: &AgentId, deletion: &FileDeletion) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), write::delete(agent, deletion))
    }

    async fn file_tombstone(
        &self,
        agent: &AgentId,
        file: FileId,
    ) -> Result<Option<FileTombstone>, StorageError> {
        self.db.read_one(read::tombstone(agent, file)?, |r| records::tombstone(file, r)).await
    }

    async fn expedite_purges(
        &self,
        agent: &AgentId,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<u64, StorageError> {
        in_transaction!(self.db.write(), write::hasten(agent, *now, effects))
    }

    async fn blobs_due_for_deletion(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<BlobKey>, StorageError> {
        self.db.read_all(read::due(now, at_most)?, |r| records::blob_key(r)).await
    }

    async fn remove_blob_records(&self, keys: &[BlobKey]) -> Result<(), StorageError> {
        if keys.is_empty() {
            return Ok(());
        }
        in_transaction!(self.db.write(), write::forget(keys))
    }

    async fn existing_blobs(&self, keys: &[BlobKey]) -> Result<Vec<bool>, StorageError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        self.db.read_all(read::known(keys)?, |r| r.bool()).await
    }

    async fn referenced_blobs(
        &self,
        after: Option<&BlobKey>,
        at_most: u32,
    ) -> Result<Vec<FileBlob>, StorageError> {
        self.db.read_all(read::needed(after, at_most)?, |r| records::file_blob(r)).await
    }

    async fn mark_sealed(&self, key: &BlobKey, server_key: &str) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), write::mark_sealed(key, server_key))
    }
}
