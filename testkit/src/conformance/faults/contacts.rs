//! Faults in the contacts.

use super::*;

impl Faulty {
    async fn stored(&self, agent: &AgentId, id: ContactId) -> Option<Contact> {
        self.inner.contact(agent, &ContactRef::Id(id)).await.ok().flatten().map(SharedContact::into_contact)
    }

    /// The stored form of a contact.
    fn mangled(&self, contact: &Contact) -> Contact {
        let mut contact = contact.clone();
        if self.is(PlantedFault::TextComposed) {
            use unicode_normalization::UnicodeNormalization;
            let composed = contact.first_name.as_ref().map(|name| name.as_str().nfc().collect::<String>());
            contact.first_name = composed.and_then(|name| name.parse().ok());
        }
        if self.is(PlantedFault::MembersSorted) {
            let members = contact.custom_fields.members();
            let mut members: Vec<_> =
                members.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            contact.custom_fields = RawObject::new(&members.into_iter().collect());
        }
        if self.is(PlantedFault::SecondsOnly) {
            contact.last_contacted_at =
                contact.last_contacted_at.map(|at| Timestamp::from_millis(at.seconds() * 1_000));
        }
        contact
    }

    /// All contacts of an agent with their index keys.
    async fn rows(&self, agent: &AgentId) -> Result<Vec<(Contact, ContactKeys)>> {
        let mut query = crate::conformance::fixture::everything();
        query.filter.include_archived = true;
        let schema = self.inner.contact_schema(agent).await?;
        let contacts = self.inner.contacts(agent, &query).await?.contacts;
        Ok(contacts
            .into_iter()
            .filter_map(|contact| {
                let keys = ContactKeys::of(&contact, schema.as_ref()?);
                Some((contact, keys))
            })
            .collect())
    }

    fn admits(&self, query: &ContactQuery, contact: &Contact, keys: &ContactKeys) -> bool {
        let mut filter = query.filter.clone();
        let mut keys = keys.clone();
        let mut contact = contact.clone();
        match self.fault {
            Some(PlantedFault::PositionIgnoresFilter) if matches!(query.window, Window::After { .. }) => {
                filter = openapi_core::storage::ContactFilter {
                    include_archived: filter.include_archived,
                    ..Default::default()
                };
            }
            Some(PlantedFault::AnyTermMatches) if filter.search.iter().any(|term| term.matches(&keys)) => {
                filter.search.clear();
            }
            Some(PlantedFault::SearchAcrossFields) => keys.search = keys.search.replace('\n', ""),
            Some(PlantedFault::SearchWildcards) => {
                filter.search.retain(|term| !term.text.contains(['%', '_']));
            }
            Some(PlantedFault::SearchIgnoresDigits) => {
                filter.search.iter_mut().for_each(|term| term.digits.clear());
            }
            Some(PlantedFault::ShortTermsFindNothing)
                if filter.search.iter().any(|term| term.text.chars().count() < 3) =>
            {
                return false;
            }
            Some(PlantedFault::TagMatchesPrefix) => {
                if let Some(tag) =
                    filter.tag.take_if(|tag| keys.tags.iter().any(|known| known.starts_with(tag.as_str())))
                {
                    filter.tag = keys.tags.iter().find(|known| known.starts_with(&tag)).cloned();
                }
            }
            Some(PlantedFault::TagDropsStatus) if filter.tag.is_some() => filter.status = None,
            Some(PlantedFault::ArchivedAlwaysShown) => filter.include_archived = true,
            Some(PlantedFault::CreatedSinceExclusive) => {
                filter.created_since = filter.created_since.map(|since| since.plus_millis(1));
            }
            Some(PlantedFault::UpdatedSinceReadsCreation) => contact.updated_at = contact.created_at,
            _ => {}
        }
        filter.admits(&contact, &keys)
    }

    fn compare(&self, a: &SortPosition, b: &SortPosition, order: Order) -> std::cmp::Ordering {
        let is_null = |candidate: &SortPosition| candidate.key == SortKey::Text(None);
        if self.is(PlantedFault::NullsFirstDescending)
            && order == Order::Descending
            && is_null(a) != is_null(b)
        {
            return is_null(b).cmp(&is_null(a));
        }
        if self.is(PlantedFault::TiesAlwaysAscending) && a.key == b.key {
            return a.id.cmp(&b.id);
        }
        a.compare(b, order)
    }

    async fn faulty_list(&self, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage> {
        let mut rows = self.rows(agent).await?;
        if self.is(PlantedFault::ListCrossesAgents) {
            for other in self.others(agent) {
                rows.extend(self.rows(&other).await?);
            }
        }
        let mut found: Vec<(SortPosition, Contact)> = rows
            .into_iter()
            .filter(|(contact, keys)| self.admits(query, contact, keys))
            .map(|(contact, keys)| {
                (SortPosition { key: query.sort.key(&contact, &keys), id: contact.id }, contact)
            })
            .collect();
        found.sort_by(|(a, _), (b, _)| self.compare(a, b, query.order));
        let (skip, limit) = match &query.window {
            Window::Page { offset, limit } => {
                let extra = u64::from(self.is(PlantedFault::OffsetOffByOne) && *offset > 0);
                (usize::try_from(offset + extra).unwrap_or(usize::MAX), *limit)
            }
            Window::After { position, limit } => {
                let following = |candidate: &SortPosition| {
                    let ordering = self.compare(candidate, position, query.order);
                    ordering.is_gt() || self.is(PlantedFault::PositionInclusive) && ordering.is_eq()
                };
                let known = found.iter().any(|(candidate, _)| candidate.id == position.id);
                let first =
                    found.iter().position(|(candidate, _)| following(candidate)).unwrap_or(found.len());
                (if self.is(PlantedFault::PositionNeedsContact) && !known { 0 } else { first }, *limit)
            }
        };
        let total = found.len() as u64;
        let contacts: Vec<Contact> =
            found.into_iter().skip(skip).take(limit as usize).map(|(_, contact)| contact).collect();
        let total = if self.is(PlantedFault::TotalOfPage) { contacts.len() as u64 } else { total };
        Ok(ContactPage { contacts, total })
    }

    /// The write that reaches the model.
    async fn prepared(&self, agent: &AgentId, write: &ContactWrite) -> ContactWrite {
        let mut write = ContactWrite { contact: self.mangled(&write.contact), ..write.clone() };
        let current = self.inner.contact_schema(agent).await.ok().flatten();
        if self.is(PlantedFault::WriteIgnoresSchemaVersion) {
            write.schema_version = current.map_or(1, |schema| schema.version);
        }
        if self.is(PlantedFault::ExternalIdNotUnique) {
            let external = write.contact.external_reference_id.as_ref();
            let taken = self.inner.duplicate_contact(agent, Some(write.contact.id), external, &[]).await;
            if matches!(taken, Ok(Some(_))) {
                write.contact.external_reference_id = None;
            }
        }
        if self.is(PlantedFault::UniqueIgnoresField) {
            for value in &mut write.keys.unique {
                "any".clone_into(&mut value.field);
            }
        }
        if self.is(PlantedFault::AnswerReplaced)
            && let Some(replay) = &mut write.effects.replay
            && matches!(self.inner.replay(agent, &replay.key, write.at).await, Ok(Some(_)))
        {
            write.effects.replay = None;
        }
        if self.is(PlantedFault::FurtherAuditEntriesLost) {
            write.effects.audit.truncate(1);
        }
        write.effects = self.without_events(&write.effects);
        write
    }

    /// Applies the faults of external ids: the write may fail, or succeed where the model would reject it.
    async fn around_external_ids(&self, agent: &AgentId, write: &ContactWrite) -> Result<()> {
        let Some(external) = &write.contact.external_reference_id else { return Ok(()) };
        let is_held = self.held.lock().expect("lock").contains(&(agent.clone(), external.clone()));
        if is_held {
            let existing = write.contact.id;
            return Err(
                Duplicate { field: "externalReferenceId".to_owned(), existing, archived: false }.into()
            );
        }
        if self.is(PlantedFault::ArchivedFreesExternalId) {
            let found =
                self.inner.duplicate_contact(agent, Some(write.contact.id), Some(external), &[]).await?;
            if let Some(holder) = found.filter(|found| found.archived) {
                self.inner.erase_contact(agent, holder.existing, write.at, &write.effects).await?;
            }
        }
        Ok(())
    }

    fn hold(&self, agent: &AgentId, contact: &Contact) {
        if let Some(external) = &contact.external_reference_id {
            self.held.lock().expect("lock").push((agent.clone(), external.clone()));
        }
    }

    async fn finished(&self, write: &ContactWrite, result: Result<()>) -> Result<()> {
        let mut result = result;
        if result.is_err() && self.is(PlantedFault::AuditOfRefusedWrite) {
            self.note(&write.effects).await?;
        }
        if result.is_err() {
            self.refused_events(Some(&write.contact.agent_id), &write.effects).await?;
        }
        if self.is(PlantedFault::ArchivedHolderUnmarked)
            && let Err(error) = &mut result
            && let StorageErrorKind::Duplicate(duplicate) = &mut error.kind
        {
            duplicate.archived = false;
        }
        result
    }
}

impl Faulty {
    pub(super) async fn contact(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<SharedContact>> {
        let found = self.inner.contact(agent, contact).await?;
        if found.is_some() {
            return Ok(found);
        }
        match (self.fault, contact) {
            (Some(PlantedFault::IdCrossesAgents), ContactRef::Id(id)) => {
                for other in self.others(agent) {
                    if let Some(found) = self.stored(&other, *id).await {
                        return Ok(Some(found.into()));
                    }
                }
                Ok(None)
            }
            (Some(PlantedFault::ExternalIdIgnoresCase), ContactRef::External(id)) => {
                let same = |known: &ExternalId| known.as_str().eq_ignore_ascii_case(id.as_str());
                let rows = self.rows(agent).await?;
                Ok(rows
                    .into_iter()
                    .map(|(contact, _)| contact)
                    .find(|contact| contact.external_reference_id.as_ref().is_some_and(same))
                    .map(SharedContact::from))
            }
            (Some(PlantedFault::ExternalIdReadAsPlatformId), ContactRef::Id(id)) => {
                match id.to_string().parse() {
                    Ok(external) => self.inner.contact(agent, &ContactRef::External(external)).await,
                    Err(_) => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    pub(super) async fn contacts(&self, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage> {
        if self.is(PlantedFault::SearchNotUpdated) && !query.filter.search.is_empty() {
            // A stale index: a search finds only contacts that never changed.
            let mut page = self.inner.contacts(agent, query).await?;
            page.contacts.retain(|contact| contact.version == 1);
            page.total = page.contacts.len() as u64;
            return Ok(page);
        }
        self.faulty_list(agent, query).await
    }

    pub(super) async fn duplicate_contact(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Result<Option<Duplicate>> {
        if self.is(PlantedFault::UniqueIgnoresField) {
            let any =
                |value: &UniqueValue| UniqueValue { field: "any".to_owned(), value: value.value.clone() };
            let unique: Vec<UniqueValue> = unique.iter().map(any).collect();
            return self.inner.duplicate_contact(agent, except, external, &unique).await;
        }
        self.inner.duplicate_contact(agent, except, external, unique).await
    }

    pub(super) async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<()> {
        self.around_external_ids(agent, write).await?;
        let prepared = self.prepared(agent, write).await;
        if self.is(PlantedFault::WriteBeforeCheck) {
            let mut bare = prepared.clone();
            bare.contact.external_reference_id = None;
            let refused = self
                .inner
                .duplicate_contact(agent, None, write.contact.external_reference_id.as_ref(), &[])
                .await?;
            if let Some(duplicate) = refused {
                self.inner.insert_contact(agent, &bare).await?;
                return Err(duplicate.into());
            }
        }
        if self.is(PlantedFault::InsertWithoutAudit) {
            let mut other = prepared.clone();
            other.effects.audit.clear();
            return self.inner.insert_contact(agent, &other).await;
        }
        let result = self.inner.insert_contact(agent, &prepared).await;
        self.finished(write, result).await
    }

    pub(super) async fn update_contact(
        &self,
        agent: &AgentId,
        expected: u64,
        write: &ContactWrite,
    ) -> Result<()> {
        let before = self.stored(agent, write.contact.id).await;
        let mut expected = expected;
        if self.is(PlantedFault::UpdateIgnoresVersion)
            && let Some(before) = &before
        {
            expected = before.version;
        }
        self.around_external_ids(agent, write).await?;
        let mut prepared = self.prepared(agent, write).await;
        if self.is(PlantedFault::UpdateWithoutAudit) {
            prepared.effects.audit.clear();
        }
        let result = self.inner.update_contact(agent, expected, &prepared).await;
        if self.is(PlantedFault::RenameKeepsOldId)
            && result.is_ok()
            && let Some(before) =
                before.filter(|before| before.external_reference_id != write.contact.external_reference_id)
        {
            self.hold(agent, &before);
        }
        self.finished(write, result).await
    }

    pub(super) async fn erase_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<()> {
        let before = self.stored(agent, contact).await;
        if self.is(PlantedFault::EraseKeepsExternalId)
            && let Some(before) = &before
        {
            self.hold(agent, before);
        }
        if self.is(PlantedFault::EraseCrossesAgents) && before.is_none() {
            for other in self.others(agent) {
                if self.inner.erase_contact(&other, contact, at, effects).await.is_ok() {
                    return Ok(());
                }
            }
        }
        let query = AuditQuery { agent: Some(agent.clone()), limit: 10_000, ..AuditQuery::default() };
        let entries = self.inner.audit_entries(&query).await?;
        let keys: Vec<IdempotencyKey> = (0..=9).map(|key| IdempotencyKey([key; 32])).collect();
        let mut answers = Vec::new();
        for key in &keys {
            answers.extend(self.inner.replay(agent, key, at).await?);
        }
        let chat = self.chat_of(agent, contact).await?;
        let uploads = self.uploads_of(agent, contact).await?;
        let records = self.inner.records(agent, TransferKind::Record, None, u32::MAX).await?;
        let jobs = self.jobs_of(agent, contact).await?;
        self.inner.erase_contact(agent, contact, at, effects).await?;
        if self.is(PlantedFault::EraseKeepsJobs) {
            self.restore_jobs(agent, jobs, at).await?;
        }
        if self.is(PlantedFault::EraseKeepsRecords) {
            let left = self.inner.records(agent, TransferKind::Record, None, u32::MAX).await?;
            let gone: Vec<TransferRow> =
                records.into_iter().filter(|record| !left.contains(record)).collect();
            self.inner.put_records(agent, &gone).await?;
        }
        self.put_back(agent, uploads).await?;
        if !chat.is_empty() {
            self.inner.put_records(agent, &chat).await?;
        }
        if self.is(PlantedFault::EraseContactErasesOtherConversations) {
            self.erase_linked(agent, at, effects, |_| true).await?;
        }
        // No port changes an existing audit entry, so later reads of the log are altered instead.
        if self.is(PlantedFault::EraseKeepsPayloads) {
            self.entries().extend(entries.iter().cloned());
        }
        if self.is(PlantedFault::EraseKeepsFilePayloads) {
            let of_files = entries.iter().filter(|entry| entry.action.as_str().starts_with("file."));
            self.entries().extend(of_files.cloned());
        }
        if self.is(PlantedFault::EraseForgetsContents) {
            let due = self.inner.blobs_due_for_deletion(at, u32::MAX).await?;
            self.inner.remove_blob_records(&due).await?;
        }
        if self.is(PlantedFault::EraseEmptiesOtherPayloads) {
            let mut emptied = entries;
            emptied.iter_mut().for_each(ChainedEntry::erase_payload);
            self.entries().extend(emptied);
        }
        if self.is(PlantedFault::EraseKeepsAnswers) {
            let answers: Vec<TransferRow> = answers.into_iter().map(TransferRow::IdempotencyRecord).collect();
            self.inner.put_records(agent, &answers).await?;
        }
        Ok(())
    }
}
