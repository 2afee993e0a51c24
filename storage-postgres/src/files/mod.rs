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

pub(crate) use read::{ALL_COLUMNS, bytes, file_or_tombstone, of_contact, page, split, truths};
pub(crate) use write::{add_bytes, bury, erase_of, forget_bytes, make_due, purge, put_new};

use crate::PostgresStorage;

#[async_trait]
impl FileStore for PostgresStorage {
    async fn file(&self, agent: &AgentId, file: FileId) -> Result<Option<ContactFile>, StorageError> {
        let row = self.db.read_one(read::one(agent, file)?).await?;
        Ok(row.map(|row| read::file(agent, &row)).transpose()?)
    }

    async fn files(&self, agent: &AgentId, query: &FileQuery) -> Result<FilePage, StorageError> {
        let rows = self.db.read(page(agent, query)?).await?;
        Ok(read::listed(agent, &rows)?)
    }

    async fn file_usage(&self, agent: &AgentId, contact: ContactId) -> Result<FileUsage, StorageError> {
        let row = self.db.read_one(read::usage(agent, contact)?).await?;
        Ok(row.map(|row| read::used(&row)).transpose()?.unwrap_or_default())
    }

    async fn insert_file(&self, agent: &AgentId, write: &FileWrite) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), write.clone()), |db, (agent, write)| {
                Box::pin(write::insert(db, agent, write))
            })
            .await
    }

    async fn delete_file(&self, agent: &AgentId, deletion: &FileDeletion) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), deletion.clone()), |db, (agent, deletion)| {
                Box::pin(write::delete(db, agent, deletion))
            })
            .await
    }

    async fn file_tombstone(
        &self,
        agent: &AgentId,
        file: FileId,
    ) -> Result<Option<FileTombstone>, StorageError> {
        let row = self.db.read_one(read::tombstone(agent, file)?).await?;
        Ok(row.map(|row| read::buried(file, &row)).transpose()?)
    }

    async fn expedite_purges(
        &self,
        agent: &AgentId,
        now: Timestamp,
        audit: &AuditEntry,
    ) -> Result<u64, StorageError> {
        self.db
            .write((agent.clone(), now, audit.clone()), |db, (agent, now, audit)| {
                Box::pin(write::hasten(db, agent, *now, audit))
            })
            .await
    }

    async fn blobs_due_for_deletion(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<BlobKey>, StorageError> {
        let rows = self.db.read(read::due(now, at_most)?).await?;
        Ok(rows.iter().map(read::key).collect::<Result<_, _>>()?)
    }

    async fn remove_blob_records(&self, keys: &[BlobKey]) -> Result<(), StorageError> {
        if keys.is_empty() {
            return Ok(());
        }
        self.db.write(keys.to_vec(), |db, keys| Box::pin(write::forget(db, keys))).await
    }

    async fn existing_blobs(&self, keys: &[BlobKey]) -> Result<Vec<bool>, StorageError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.db.read(read::known(keys)?).await?;
        Ok(truths(&rows)?)
    }

    async fn referenced_blobs(
        &self,
        after: Option<&BlobKey>,
        at_most: u32,
    ) -> Result<Vec<BlobEntry>, StorageError> {
        let rows = self.db.read(read::needed(after, at_most)?).await?;
        Ok(rows.iter().map(read::entry).collect::<Result<_, _>>()?)
    }
}
