//! Files and documents: their records, and which contents are to go.

use async_trait::async_trait;
use openapi_core::audit::AuditEntry;
use openapi_core::files::ContactFile;
use openapi_core::ports::{BlobEntry, BlobKey};
use openapi_core::storage::StorageErrorKind::{AlreadyExists, Missing, QuotaExceeded};
use openapi_core::storage::{
    DocumentStore, DocumentWrite, FileDeletion, FilePage, FilePosition, FileQuery, FileStore, FileTombstone,
    FileUsage, FileWrite, QuotaExcess, QuotaUnit, Result, StoredDocument,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};

use crate::MapStorage;
use crate::tables::{FileRow, Tables, page};

impl Tables {
    /// The files of an agent that are not deleted, by id.
    fn live_files(&self, agent: &AgentId) -> impl Iterator<Item = &ContactFile> {
        self.files.of(agent).filter(|(_, row)| row.tombstone.is_none()).map(|(_, row)| &row.file)
    }

    /// Whether a file is there, not deleted, and of this contact.
    pub fn is_file_of(&self, agent: &AgentId, contact: ContactId, file: FileId) -> bool {
        let row = self.files.row(agent, &file);
        row.is_some_and(|row| row.tombstone.is_none() && row.file.contact_id == contact)
    }

    /// Refuses a document for which there is no room, or whose id is used: contents of files and of documents lie under
    /// ids of one kind.
    pub fn refuse_document(&self, agent: &AgentId, write: &DocumentWrite) -> Result<()> {
        let DocumentWrite { document, max_bytes } = write;
        let actual = self.bytes(agent).saturating_add(document.stored_size);
        if let Some(limit) = max_bytes.filter(|limit| actual > *limit) {
            return Err(QuotaExceeded(QuotaExcess { unit: QuotaUnit::Bytes, limit, actual }).into());
        }
        let is_used = self.documents.row(agent, &document.id).is_some()
            || self.files.row(agent, &document.id).is_some();
        if is_used { Err(AlreadyExists.into()) } else { Ok(()) }
    }

    /// Stores a document; its content is to go at its end.
    pub fn keep_document(&mut self, agent: &AgentId, document: &StoredDocument) {
        self.documents.put(agent, document.id, document.clone());
        self.purges.insert(BlobKey::new(agent.clone(), document.id), document.expires_at);
    }

    fn usage(&self, agent: &AgentId, contact: ContactId) -> FileUsage {
        let of_contact = self.live_files(agent).filter(|file| file.contact_id == contact).count();
        FileUsage { files_of_contact: of_contact as u64, bytes_of_agent: self.bytes(agent) }
    }

    /// Bytes of all files and documents of an agent.
    fn bytes(&self, agent: &AgentId) -> u64 {
        let documents = self.documents.of(agent).map(|(_, document)| document.stored_size);
        self.live_files(agent).map(|file| file.file_size).chain(documents).sum()
    }
}

#[async_trait]
impl FileStore for MapStorage {
    async fn file(&self, agent: &AgentId, file: FileId) -> Result<Option<ContactFile>> {
        let Some(tables) = self.of(agent) else { return Ok(None) };
        let row = tables.files.row(agent, &file).filter(|row| row.tombstone.is_none());
        Ok(row.map(|row| row.file.clone()))
    }

    async fn files(&self, agent: &AgentId, query: &FileQuery) -> Result<FilePage> {
        let Some(tables) = self.of(agent) else { return Ok(FilePage::default()) };
        let found: Vec<(FilePosition, &ContactFile)> = tables
            .live_files(agent)
            .filter(|file| file.contact_id == query.contact)
            .map(|file| (query.sort.position(file), file))
            .collect();
        let total = found.len() as u64;
        let shown = page(found, &query.window, |a, b| a.compare(b, query.order));
        Ok(FilePage { files: shown.into_iter().cloned().collect(), total })
    }

    async fn file_usage(&self, agent: &AgentId, contact: ContactId) -> Result<FileUsage> {
        Ok(self.of(agent).map(|tables| tables.usage(agent, contact)).unwrap_or_default())
    }

    async fn insert_file(&self, agent: &AgentId, write: &FileWrite) -> Result<()> {
        let mut tables = self.change(agent)?;
        let file = &write.file;
        tables.refuse_other_contact(agent, file.contact_id, write.contact_version)?;
        tables.refuse_answered(agent, write.effects.replay.as_ref(), write.effects.audit.at)?;
        write.quota.admit(tables.usage(agent, file.contact_id), file.file_size).map_err(QuotaExceeded)?;
        if tables.files.row(agent, &file.id).is_some() {
            return Err(AlreadyExists.into());
        }
        tables.files.put(agent, file.id, FileRow { file: file.clone(), tombstone: None });
        tables.keep_answer(agent, write.effects.replay.as_ref());
        tables.note(&write.effects.audit);
        Ok(())
    }

    async fn delete_file(&self, agent: &AgentId, deletion: &FileDeletion) -> Result<()> {
        let mut tables = self.change(agent)?;
        let file = deletion.tombstone.file;
        if !tables.is_file_of(agent, deletion.contact, file) {
            return Err(Missing.into());
        }
        tables.refuse_other_contact(agent, deletion.contact, deletion.contact_version)?;
        tables.files.row_mut(agent, &file).ok_or(Missing)?.tombstone = Some(deletion.tombstone.clone());
        tables.purges.insert(BlobKey::new(agent.clone(), file), deletion.purge_at);
        tables.note(&deletion.audit);
        Ok(())
    }

    async fn file_tombstone(&self, agent: &AgentId, file: FileId) -> Result<Option<FileTombstone>> {
        let Some(tables) = self.of(agent) else { return Ok(None) };
        Ok(tables.files.row(agent, &file).and_then(|row| row.tombstone.clone()))
    }

    async fn expedite_purges(&self, agent: &AgentId, now: Timestamp, audit: &AuditEntry) -> Result<u64> {
        let mut tables = self.tables();
        let own = tables.purges.iter_mut().filter(|(key, _)| key.agent == *agent);
        let later: Vec<&mut Timestamp> = own.map(|(_, due)| due).filter(|due| **due > now).collect();
        let hastened = later.len() as u64;
        later.into_iter().for_each(|due| *due = now);
        tables.note(audit);
        Ok(hastened)
    }

    async fn blobs_due_for_deletion(&self, now: Timestamp, at_most: u32) -> Result<Vec<BlobKey>> {
        let tables = self.tables();
        let mut due: Vec<(&Timestamp, &BlobKey)> =
            tables.purges.iter().map(|(key, due)| (due, key)).filter(|(due, _)| **due <= now).collect();
        due.sort();
        Ok(due.into_iter().take(at_most as usize).map(|(_, key)| key.clone()).collect())
    }

    async fn remove_blob_records(&self, keys: &[BlobKey]) -> Result<()> {
        let mut tables = self.tables();
        for key in keys {
            tables.purges.remove(key);
            tables.documents.remove(&key.agent, &key.file);
            tables.files.sift(&key.agent, |id, row| *id != key.file || row.tombstone.is_none());
        }
        Ok(())
    }

    async fn existing_blobs(&self, keys: &[BlobKey]) -> Result<Vec<bool>> {
        let tables = self.tables();
        let is_known = |key: &BlobKey| {
            tables.purges.contains_key(key)
                || tables.files.row(&key.agent, &key.file).is_some()
                || tables.documents.row(&key.agent, &key.file).is_some()
        };
        Ok(keys.iter().map(is_known).collect())
    }

    async fn referenced_blobs(&self, after: Option<&BlobKey>, at_most: u32) -> Result<Vec<BlobEntry>> {
        let tables = self.tables();
        let living = tables.agents.keys().filter(|agent| tables.is_living(agent));
        let entries = living.flat_map(|agent| {
            let entry = |file: &ContactFile| (BlobKey::new(agent.clone(), file.id), file.file_size);
            tables.live_files(agent).map(entry)
        });
        let behind = entries.filter(|(key, _)| after.is_none_or(|after| key > after));
        Ok(behind.take(at_most as usize).map(|(key, size)| BlobEntry { key, size }).collect())
    }
}

#[async_trait]
impl DocumentStore for MapStorage {
    async fn insert_document(&self, agent: &AgentId, write: &DocumentWrite) -> Result<()> {
        let mut tables = self.change(agent)?;
        tables.refuse_document(agent, write)?;
        tables.keep_document(agent, &write.document);
        Ok(())
    }

    async fn discard_document(&self, agent: &AgentId, document: FileId, now: Timestamp) -> Result<()> {
        let Some(mut tables) = self.of(agent) else { return Ok(()) };
        if tables.documents.remove(agent, &document).is_some() {
            tables.purges.insert(BlobKey::new(agent.clone(), document), now);
        }
        Ok(())
    }

    async fn document(&self, agent: &AgentId, document: FileId) -> Result<Option<StoredDocument>> {
        Ok(self.of(agent).and_then(|tables| tables.documents.row(agent, &document).cloned()))
    }

    async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        at_most: u32,
    ) -> Result<Vec<StoredDocument>> {
        let Some(tables) = self.of(agent) else { return Ok(Vec::new()) };
        let behind = tables.documents.of(agent).filter(|(id, _)| after.is_none_or(|after| **id > after));
        Ok(behind.take(at_most as usize).map(|(_, document)| document.clone()).collect())
    }
}
