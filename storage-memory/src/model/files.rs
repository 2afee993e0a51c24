//! Files in the model.

use super::stored::StoredFile;
use super::{Tenant, World, window};
use openapi_core::files::ContactFile;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    Effects, FileBlob, FileDeletion, FilePage, FilePosition, FileQuery, FileTombstone, FileUsage, FileWrite,
    Result, ServerKeyUses, StorageErrorKind,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};

impl Tenant {
    pub(super) fn live_files(&self) -> impl Iterator<Item = &ContactFile> {
        self.files.values().filter(|stored| stored.tombstone.is_none()).map(|stored| &stored.file)
    }

    /// The total bytes of all files and documents.
    pub(super) fn bytes(&self) -> u64 {
        let documents: u64 = self.documents.values().map(|document| document.stored_size).sum();
        self.live_files().map(|file| file.file_size).sum::<u64>() + documents
    }

    fn usage(&self, contact: ContactId) -> FileUsage {
        FileUsage {
            files_of_contact: self.live_files().filter(|file| file.contact_id == contact).count() as u64,
            bytes_of_agent: self.bytes(),
        }
    }

    /// Checks that the contact is unchanged since the caller read it.
    pub(super) fn refuse_stale(&self, contact: ContactId, version: u64) -> Result<()> {
        match self.contacts.get(&contact) {
            None => Err(StorageErrorKind::Missing.into()),
            Some((contact, _)) if contact.version != version => Err(StorageErrorKind::Stale.into()),
            Some(_) => Ok(()),
        }
    }
}

impl World {
    pub(crate) fn file(&self, agent: &AgentId, file: FileId) -> Option<ContactFile> {
        let stored = self.tenant(agent)?.files.get(&file)?;
        stored.tombstone.is_none().then(|| stored.file.clone())
    }

    pub(crate) fn files(&self, agent: &AgentId, query: &FileQuery) -> FilePage {
        let Some(tenant) = self.tenant(agent) else { return FilePage::default() };
        let found: Vec<(FilePosition, &ContactFile)> = tenant
            .live_files()
            .filter(|file| file.contact_id == query.contact)
            .map(|file| (query.sort.position(file), file))
            .collect();
        let total = found.len() as u64;
        let files = window(found, &query.window, |a, b| a.compare(b, query.order));
        FilePage { files, total }
    }

    pub(crate) fn file_usage(&self, agent: &AgentId, contact: ContactId) -> FileUsage {
        self.tenant(agent).map(|tenant| tenant.usage(contact)).unwrap_or_default()
    }

    pub(crate) fn insert_file(&mut self, agent: &AgentId, write: &FileWrite) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        let file = &write.file;
        tenant.refuse_stale(file.contact_id, write.contact_version)?;
        tenant.refuse_replayed(&write.effects, write.at)?;
        let usage = tenant.usage(file.contact_id);
        write.quota.admit(usage, file.file_size).map_err(StorageErrorKind::QuotaExceeded)?;
        if tenant.files.contains_key(&file.id) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        tenant.files.insert(file.id, StoredFile { file: file.clone(), tombstone: None });
        self.apply(agent, &write.effects);
        Ok(())
    }

    pub(crate) fn delete_file(&mut self, agent: &AgentId, deletion: &FileDeletion) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        let file = deletion.tombstone.file;
        let is_there = tenant.live_files().any(|live| live.id == file && live.contact_id == deletion.contact);
        if !is_there {
            return Err(StorageErrorKind::Missing.into());
        }
        tenant.refuse_stale(deletion.contact, deletion.contact_version)?;
        if let Some(stored) = tenant.files.get_mut(&file) {
            stored.tombstone = Some(deletion.tombstone.clone());
        }
        self.purges.insert(BlobKey::new(agent.clone(), file), deletion.purge_at);
        self.apply(agent, &deletion.effects);
        Ok(())
    }

    pub(crate) fn file_tombstone(&self, agent: &AgentId, file: FileId) -> Option<FileTombstone> {
        self.tenant(agent)?.files.get(&file)?.tombstone.clone()
    }

    pub(crate) fn expedite_purges(
        &mut self,
        agent: &AgentId,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<u64> {
        if !self.agents.contains_key(agent) {
            return Err(StorageErrorKind::Missing.into());
        }
        let mut hastened = 0;
        for (key, due) in &mut self.purges {
            if key.agent == *agent && *due > now {
                *due = now;
                hastened += 1;
            }
        }
        self.apply(agent, effects);
        Ok(hastened)
    }

    pub(crate) fn blobs_due_for_deletion(&self, now: Timestamp, at_most: u32) -> Vec<BlobKey> {
        let mut due: Vec<(Timestamp, &BlobKey)> =
            self.purges.iter().filter(|(_, due)| **due <= now).map(|(key, due)| (*due, key)).collect();
        due.sort();
        due.into_iter().take(at_most as usize).map(|(_, key)| key.clone()).collect()
    }

    pub(crate) fn remove_blob_records(&mut self, keys: &[BlobKey]) {
        for key in keys {
            self.purges.remove(key);
            if let Some(tenant) = self.agents.get_mut(&key.agent) {
                tenant.files.retain(|id, stored| *id != key.file || stored.tombstone.is_none());
                tenant.documents.remove(&key.file);
            }
        }
    }

    pub(crate) fn existing_blobs(&self, keys: &[BlobKey]) -> Vec<bool> {
        keys.iter()
            .map(|key| {
                let tenant = self.agents.get(&key.agent);
                self.purges.contains_key(key)
                    || tenant.is_some_and(|tenant| {
                        tenant.files.contains_key(&key.file) || tenant.documents.contains_key(&key.file)
                    })
            })
            .collect()
    }

    pub(crate) fn referenced_blobs(&self, after: Option<&BlobKey>, at_most: u32) -> Vec<FileBlob> {
        let mut agents: Vec<&AgentId> = self.agents.keys().collect();
        agents.sort();
        agents
            .into_iter()
            .filter_map(|agent| self.tenant(agent))
            .flat_map(Tenant::live_files)
            .map(FileBlob::of)
            .filter(|blob| after.is_none_or(|after| blob.key > *after))
            .take(at_most as usize)
            .collect()
    }

    pub(crate) fn mark_sealed(&mut self, key: &BlobKey, server_key: &str) {
        let tenant = self.agents.get_mut(&key.agent);
        if let Some(stored) = tenant.and_then(|tenant| tenant.files.get_mut(&key.file)) {
            stored.file.server_key = Some(server_key.to_owned());
        }
    }

    pub(crate) fn server_key_uses(&self) -> ServerKeyUses {
        let mut uses = ServerKeyUses::default();
        for stored in self.agents.values().flat_map(|tenant| tenant.files.values()) {
            match &stored.file.server_key {
                Some(key) => *uses.files.entry(key.clone()).or_default() += 1,
                None => uses.unsealed_files += 1,
            }
        }
        for link in self.audit.values().filter_map(|entry| entry.link.as_ref()) {
            *uses.audit_entries.entry(link.server_key.clone()).or_default() += 1;
        }
        uses
    }
}
