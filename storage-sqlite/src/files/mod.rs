//! Files of contacts: their records, and contents that are due for deletion.

mod read;
pub(crate) mod usage;
mod write;

use async_trait::async_trait;
use openapi_core::files::ContactFile;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    Effects, FileBlob, FileDeletion, FilePage, FileQuery, FileSort, FileStore, FileTombstone, FileUsage,
    FileWrite, StorageError,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};

pub(crate) use read::{EVERY_OF_AGENT, of_contact};
pub(crate) use usage::{add_bytes, bytes, make_due, remove_counter};
pub(crate) use write::{bury, erase_of, purge, put_new};

use crate::readers::snapshot;
use crate::store::SqliteStorage;
use crate::tenant;

#[async_trait]
impl FileStore for SqliteStorage {
    async fn file(&self, agent: &AgentId, file: FileId) -> Result<Option<ContactFile>, StorageError> {
        self.readers.read_blocking(|db| read::one(db, agent, file))
    }

    async fn files(&self, agent: &AgentId, query: &FileQuery) -> Result<FilePage, StorageError> {
        if query.sort == FileSort::CreatedAt {
            return self.readers.read_blocking(|db| snapshot(db, |db| read::page(db, agent, query)));
        }
        // SQLite sorts all files of the contact.
        let (agent, query) = (agent.clone(), query.clone());
        self.readers.read(move |db, _| snapshot(db, |db| read::page(db, &agent, &query))).await
    }

    async fn file_usage(&self, agent: &AgentId, contact: ContactId) -> Result<FileUsage, StorageError> {
        self.readers.read_blocking(|db| {
            snapshot(db, |db| match tenant::living(db, agent)? {
                Some(agent) => read::usage(db, agent.number, contact),
                None => Ok(FileUsage::default()),
            })
        })
    }

    async fn insert_file(&self, agent: &AgentId, write: &FileWrite) -> Result<(), StorageError> {
        let (agent, write) = (agent.clone(), write.clone());
        self.writer.write(move |db| write::insert(db, &agent, &write)).await
    }

    async fn delete_file(&self, agent: &AgentId, deletion: &FileDeletion) -> Result<(), StorageError> {
        let (agent, deletion) = (agent.clone(), deletion.clone());
        self.writer.write(move |db| write::delete(db, &agent, &deletion)).await
    }

    async fn file_tombstone(
        &self,
        agent: &AgentId,
        file: FileId,
    ) -> Result<Option<FileTombstone>, StorageError> {
        self.readers.read_blocking(|db| read::tombstone(db, agent, file))
    }

    async fn expedite_purges(
        &self,
        agent: &AgentId,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<u64, StorageError> {
        let (agent, effects) = (agent.clone(), effects.clone());
        self.writer.write(move |db| write::hasten(db, &agent, now, &effects)).await
    }

    async fn blobs_due_for_deletion(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<BlobKey>, StorageError> {
        self.readers.read_blocking(|db| read::due(db, now, at_most))
    }

    async fn remove_blob_records(&self, keys: &[BlobKey]) -> Result<(), StorageError> {
        if keys.is_empty() {
            return Ok(());
        }
        let keys = keys.to_vec();
        self.writer.write_erasure(move |db| write::forget(db, &keys)).await
    }

    async fn existing_blobs(&self, keys: &[BlobKey]) -> Result<Vec<bool>, StorageError> {
        let keys = keys.to_vec();
        self.readers.read(move |db, _| snapshot(db, |db| read::known(db, &keys))).await
    }

    async fn referenced_blobs(
        &self,
        after: Option<&BlobKey>,
        at_most: u32,
    ) -> Result<Vec<FileBlob>, StorageError> {
        let after = after.cloned();
        self.readers.read(move |db, _| snapshot(db, |db| read::needed(db, after.as_ref(), at_most))).await
    }

    async fn mark_sealed(&self, key: &BlobKey, server_key: &str) -> Result<(), StorageError> {
        let (key, server_key) = (key.clone(), server_key.to_owned());
        self.writer.write(move |db| write::mark_sealed(db, &key, &server_key)).await
    }
}
