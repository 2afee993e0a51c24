//! Faults in the files.

use super::*;

impl Faulty {
    /// All files of a contact that are not deleted.
    async fn live(&self, agent: &AgentId, contact: ContactId) -> Result<Vec<ContactFile>> {
        let query = crate::conformance::files::every_file(contact);
        Ok(self.inner.files(agent, &query).await?.files)
    }

    fn deleted(&self, agent: &AgentId) -> Vec<ContactFile> {
        let deleted = self.deleted_files.lock().expect("lock");
        deleted.iter().filter(|file| file.agent_id == *agent).cloned().collect()
    }

    fn before(&self, query: &FileQuery, a: &ContactFile, b: &ContactFile) -> std::cmp::Ordering {
        let (one, other) = (query.sort.position(a), query.sort.position(b));
        if self.is(PlantedFault::FileTiesAlwaysAscending) && one.key == other.key {
            return a.id.cmp(&b.id);
        }
        if self.is(PlantedFault::FileNamesSortByCase) && query.sort == FileSort::FileName {
            let order = (a.file_name.as_str(), a.id).cmp(&(b.file_name.as_str(), b.id));
            return if query.order == Order::Ascending { order } else { order.reverse() };
        }
        one.compare(&other, query.order)
    }
}

impl Faulty {
    pub(super) async fn file(&self, agent: &AgentId, file: FileId) -> Result<Option<ContactFile>> {
        let own = self.inner.file(agent, file).await?;
        if own.is_none() && self.is(PlantedFault::FileCrossesAgents) {
            for other in self.others(agent) {
                if let Some(file) = self.inner.file(&other, file).await? {
                    return Ok(Some(file));
                }
            }
        }
        if own.is_none() && self.is(PlantedFault::DeletedFileAnswers) {
            return Ok(self.deleted(agent).into_iter().find(|deleted| deleted.id == file));
        }
        Ok(own)
    }

    pub(super) async fn files(&self, agent: &AgentId, query: &FileQuery) -> Result<FilePage> {
        let mut files = self.live(agent, query.contact).await?;
        if self.is(PlantedFault::DeletedFilesListed) {
            files.extend(self.deleted(agent).into_iter().filter(|file| file.contact_id == query.contact));
        }
        if self.is(PlantedFault::FilesOfAllContactsListed) {
            let contacts =
                self.inner.contacts(agent, &crate::conformance::fixture::everything()).await?.contacts;
            for contact in contacts.iter().filter(|contact| contact.id != query.contact) {
                files.extend(self.live(agent, contact.id).await?);
            }
        }
        files.sort_by(|a, b| self.before(query, a, b));
        let mut total = files.len() as u64;
        let files: Vec<ContactFile> = match &query.window {
            Window::Page { offset, limit } => {
                files.into_iter().skip(*offset as usize).take(*limit as usize).collect()
            }
            Window::After { position, limit } => {
                let inclusive = self.is(PlantedFault::FilePositionInclusive);
                let following = |file: &ContactFile| {
                    let order = query.sort.position(file).compare(position, query.order);
                    order.is_gt() || inclusive && order.is_eq()
                };
                files.into_iter().filter(following).take(*limit as usize).collect()
            }
        };
        if self.is(PlantedFault::FileTotalOfPage) {
            total = files.len() as u64;
        }
        Ok(FilePage { files, total })
    }

    pub(super) async fn file_usage(&self, agent: &AgentId, contact: ContactId) -> Result<FileUsage> {
        let mut usage = self.inner.file_usage(agent, contact).await?;
        if self.is(PlantedFault::FileUsageCountsDeleted) {
            usage.bytes_of_agent += self.deleted(agent).iter().map(|file| file.file_size).sum::<u64>();
        }
        if self.is(PlantedFault::UsageIgnoresDocuments) {
            usage.bytes_of_agent -= self.bytes_of_documents(agent).await?;
        }
        Ok(usage)
    }

    pub(super) async fn insert_file(&self, agent: &AgentId, write: &FileWrite) -> Result<()> {
        let mut write = write.clone();
        match self.fault {
            Some(PlantedFault::FileQuotaOffByOne) => write.quota.files_of_contact += 1,
            Some(PlantedFault::FileQuotaIgnoresBytes) => write.quota.bytes_of_agent = None,
            Some(PlantedFault::FileInsertWithoutAudit) => write.effects.audit.clear(),
            Some(PlantedFault::FileIgnoresContactVersion) => {
                let contact = ContactRef::Id(write.file.contact_id);
                if let Some(contact) = self.inner.contact(agent, &contact).await? {
                    write.contact_version = contact.version;
                }
            }
            Some(PlantedFault::FileAnswerNotStored) => write.effects.replay = None,
            Some(PlantedFault::FileNameFolded) => {
                write.file.file_name =
                    write.file.file_name.sort_key().parse().unwrap_or(write.file.file_name);
            }
            _ => {}
        }
        self.inner.insert_file(agent, &write).await
    }

    pub(super) async fn delete_file(&self, agent: &AgentId, deletion: &FileDeletion) -> Result<()> {
        let mut deletion = deletion.clone();
        let file = self.inner.file(agent, deletion.tombstone.file).await?;
        match self.fault {
            Some(PlantedFault::FileDeletedUnderAnyContact) => {
                if let Some(file) = &file {
                    let contact = ContactRef::Id(file.contact_id);
                    let contact = self.inner.contact(agent, &contact).await?;
                    deletion.contact = file.contact_id;
                    deletion.contact_version = contact.map_or(0, |contact| contact.version);
                }
            }
            Some(PlantedFault::FileDeleteWithoutAudit) => deletion.effects.audit.clear(),
            Some(PlantedFault::TombstoneLosesReason) => deletion.tombstone.reason = None,
            _ => {}
        }
        self.inner.delete_file(agent, &deletion).await?;
        self.deleted_files.lock().expect("lock").extend(file);
        Ok(())
    }

    pub(super) async fn expedite_purges(
        &self,
        agent: &AgentId,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<u64> {
        if self.is(PlantedFault::HastenCrossesAgents) {
            for other in self.others(agent) {
                self.inner.expedite_purges(&other, now, effects).await?;
            }
        }
        if self.is(PlantedFault::HastenSkipsDocuments) && !self.documents_of(agent).await?.is_empty() {
            self.note(effects).await?;
            return Ok(0);
        }
        self.inner.expedite_purges(agent, now, effects).await
    }

    pub(super) async fn blobs_due_for_deletion(&self, now: Timestamp, at_most: u32) -> Result<Vec<BlobKey>> {
        let far = Timestamp::from_millis(i64::MAX / 2);
        let now = if self.is(PlantedFault::ContentsDueAtOnce) { far } else { now };
        let at_most = if self.is(PlantedFault::DueContentsUnbounded) { u32::MAX } else { at_most };
        let mut due = self.inner.blobs_due_for_deletion(now, at_most).await?;
        if self.is(PlantedFault::DueContentsByKey) {
            due.sort();
        }
        if self.is(PlantedFault::DocumentsNeverDue) {
            let mut others = Vec::new();
            for key in due {
                if !self.is_document(&key).await? {
                    others.push(key);
                }
            }
            due = others;
        }
        Ok(due)
    }

    pub(super) async fn remove_blob_records(&self, keys: &[BlobKey]) -> Result<()> {
        if self.is(PlantedFault::ForgetsNothing) {
            return Ok(());
        }
        if self.is(PlantedFault::ForgetKeepsDocuments) {
            let mut others = Vec::new();
            for key in keys {
                if !self.is_document(key).await? {
                    others.push(key.clone());
                }
            }
            return self.inner.remove_blob_records(&others).await;
        }
        self.inner.remove_blob_records(keys).await
    }

    pub(super) async fn existing_blobs(&self, keys: &[BlobKey]) -> Result<Vec<bool>> {
        let mut known = self.inner.existing_blobs(keys).await?;
        if self.is(PlantedFault::DeletedContentsUnknown) {
            for (key, known) in keys.iter().zip(&mut known) {
                *known &= self.inner.file(&key.agent, key.file).await?.is_some();
            }
        }
        if self.is(PlantedFault::DocumentContentsUnknown) {
            for (key, known) in keys.iter().zip(&mut known) {
                *known &= !self.is_document(key).await?;
            }
        }
        Ok(known)
    }

    pub(super) async fn mark_sealed(&self, key: &BlobKey, server_key: &str) -> Result<()> {
        if self.is(PlantedFault::SealedMarkIsLost) {
            return Ok(());
        }
        if self.is(PlantedFault::SealedMarkCrossesAgents) {
            for other in self.others(&key.agent) {
                self.inner.mark_sealed(&BlobKey::new(other, key.file), server_key).await?;
            }
        }
        self.inner.mark_sealed(key, server_key).await
    }

    pub(super) async fn server_key_uses(&self) -> Result<ServerKeyUses> {
        let mut uses = self.inner.server_key_uses().await?;
        if self.is(PlantedFault::ServerKeysOfDeletedFilesForgotten) {
            for file in self.deleted_files.lock().expect("lock").iter() {
                if let Some(count) = file.server_key.as_ref().and_then(|key| uses.files.get_mut(key)) {
                    *count -= 1;
                }
            }
        }
        Ok(uses)
    }

    pub(super) async fn referenced_blobs(
        &self,
        after: Option<&BlobKey>,
        at_most: u32,
    ) -> Result<Vec<FileBlob>> {
        let mut entries = self.inner.referenced_blobs(after, at_most).await?;
        if let Some(after) = after.filter(|_| self.is(PlantedFault::NeededContentsEndAtAgent)) {
            entries.retain(|entry| entry.key.agent == after.agent);
        }
        if self.is(PlantedFault::DocumentContentsNeeded) {
            let agents = self.agents.lock().expect("lock").clone();
            for agent in agents {
                let all = self.documents_of(&agent).await?.into_iter();
                entries.extend(all.map(|document| FileBlob {
                    key: BlobKey::new(agent.clone(), document.id),
                    size: document.stored_size,
                    server_key: None,
                }));
            }
        }
        Ok(entries)
    }
}
