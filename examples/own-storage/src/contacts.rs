//! Contact schemas and contacts.

use async_trait::async_trait;
use openapi_core::audit::AuditEntry;
use openapi_core::contacts::{Contact, ContactKeys, ContactRef, SharedContact, UniqueValue};
use openapi_core::json::RawObject;
use openapi_core::ports::BlobKey;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::StorageErrorKind::{AlreadyExists, Missing, Stale};
use openapi_core::storage::{
    ContactPage, ContactQuery, ContactSchemaStore, ContactStore, ContactWrite, Duplicate, Result,
    SortPosition,
};
use openapi_core::values::{AgentId, ContactId, ExternalId};

use crate::MapStorage;
use crate::tables::{Tables, page, refuse_stale};

#[async_trait]
impl ContactSchemaStore for MapStorage {
    async fn contact_schema(&self, agent: &AgentId) -> Result<Option<ContactSchema>> {
        Ok(self.of(agent).and_then(|tables| tables.schema(agent).cloned()))
    }

    async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>> {
        let Some(tables) = self.of(agent) else { return Ok(Vec::new()) };
        Ok(tables.schemas.of(agent).map(|(_, schema)| schema.clone()).collect())
    }

    async fn replace_contact_schema(
        &self,
        agent: &AgentId,
        schema: &ContactSchema,
        audit: &AuditEntry,
    ) -> Result<()> {
        let mut tables = self.change(agent)?;
        let current = tables.schema(agent).ok_or(Missing)?;
        refuse_stale(Some(current.version), schema.version)?;
        if current.keys_differ(schema) {
            let keys = tables.keys_under(agent, schema)?;
            for ((_, (_, stored)), keys) in tables.contacts.of_mut(agent).zip(keys) {
                *stored = keys;
            }
        }
        tables.schemas.put(agent, schema.version, schema.clone());
        tables.note(audit);
        Ok(())
    }
}

impl Tables {
    fn schema(&self, agent: &AgentId) -> Option<&ContactSchema> {
        self.schemas.of(agent).next_back().map(|(_, schema)| schema)
    }

    /// The keys of all contacts, in their order, under another schema.
    fn keys_under(&self, agent: &AgentId, schema: &ContactSchema) -> Result<Vec<ContactKeys>> {
        let mut held: Vec<(UniqueValue, &Contact)> = Vec::new();
        let mut all = Vec::new();
        for (_, (contact, _)) in self.contacts.of(agent) {
            let keys = ContactKeys::of(contact, schema);
            for value in &keys.unique {
                if let Some((_, holder)) = held.iter().find(|(held, _)| held == value) {
                    return Err(duplicate(&value.field, holder).into());
                }
                held.push((value.clone(), contact));
            }
            all.push(keys);
        }
        Ok(all)
    }

    fn find_duplicate(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Option<Duplicate> {
        let others = || {
            let rows = self.contacts.of(agent).map(|(_, row)| row);
            rows.filter(|(contact, _)| Some(contact.id) != except)
        };
        let holder = external
            .and_then(|id| others().find(|(contact, _)| contact.external_reference_id.as_ref() == Some(id)));
        if let Some((holder, _)) = holder {
            return Some(duplicate("externalReferenceId", holder));
        }
        unique.iter().find_map(|value| {
            let (holder, _) = others().find(|(_, keys)| keys.unique.contains(value))?;
            Some(duplicate(&value.field, holder))
        })
    }

    /// What may refuse any write of a contact.
    fn check_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<()> {
        if self.schema(agent).is_none_or(|schema| schema.version != write.schema_version) {
            return Err(Stale.into());
        }
        self.refuse_answered(agent, write.effects.replay.as_ref(), write.effects.audit.at)?;
        let (contact, unique) = (&write.contact, &write.keys.unique);
        let external = contact.external_reference_id.as_ref();
        match self.find_duplicate(agent, Some(contact.id), external, unique) {
            Some(duplicate) => Err(duplicate.into()),
            None => Ok(()),
        }
    }

    fn put_contact(&mut self, agent: &AgentId, write: &ContactWrite) {
        self.contacts.put(agent, write.contact.id, (write.contact.clone(), write.keys.clone()));
        self.keep_answer(agent, write.effects.replay.as_ref());
        self.note(&write.effects.audit);
    }
}

fn duplicate(field: &str, holder: &Contact) -> Duplicate {
    Duplicate { field: field.to_owned(), existing: holder.id, archived: holder.is_archived() }
}

#[async_trait]
impl ContactStore for MapStorage {
    async fn contact(&self, agent: &AgentId, contact: &ContactRef) -> Result<Option<SharedContact>> {
        let Some(tables) = self.of(agent) else { return Ok(None) };
        let found = match contact {
            ContactRef::Id(id) => tables.contacts.row(agent, id),
            ContactRef::External(id) => {
                let mut rows = tables.contacts.of(agent).map(|(_, row)| row);
                rows.find(|(contact, _)| contact.external_reference_id.as_ref() == Some(id))
            }
        };
        Ok(found.map(|(contact, _)| contact.clone().into()))
    }

    async fn contacts(&self, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage> {
        let Some(tables) = self.of(agent) else { return Ok(ContactPage::default()) };
        let found: Vec<(SortPosition, &Contact)> = tables
            .contacts
            .of(agent)
            .filter(|(_, (contact, keys))| query.filter.admits(contact, keys))
            .map(|(id, (contact, keys))| {
                (SortPosition { key: query.sort.key(contact, keys), id: *id }, contact)
            })
            .collect();
        let total = found.len() as u64;
        let shown = page(found, &query.window, |a, b| a.compare(b, query.order));
        Ok(ContactPage { contacts: shown.into_iter().cloned().collect(), total })
    }

    async fn duplicate_contact(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external_reference_id: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Result<Option<Duplicate>> {
        let Some(tables) = self.of(agent) else { return Ok(None) };
        Ok(tables.find_duplicate(agent, except, external_reference_id, unique))
    }

    async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<()> {
        let mut tables = self.change(agent)?;
        tables.check_contact(agent, write)?;
        if tables.contacts.row(agent, &write.contact.id).is_some() {
            return Err(AlreadyExists.into());
        }
        tables.put_contact(agent, write);
        Ok(())
    }

    async fn update_contact(
        &self,
        agent: &AgentId,
        expected_version: u64,
        write: &ContactWrite,
    ) -> Result<()> {
        let mut tables = self.change(agent)?;
        tables.refuse_other_contact(agent, write.contact.id, expected_version)?;
        tables.check_contact(agent, write)?;
        tables.put_contact(agent, write);
        Ok(())
    }

    async fn erase_contact(&self, agent: &AgentId, contact: ContactId, audit: &AuditEntry) -> Result<()> {
        let mut tables = self.change(agent)?;
        tables.contacts.remove(agent, &contact).ok_or(Missing)?;
        tables.submissions.sift(agent, |_, row| row.submission.contact_id != contact);
        tables.replays.sift(agent, |_, replay| replay.resource != Some(contact));
        for file in tables.files.sift(agent, |_, row| row.file.contact_id != contact) {
            tables.purges.insert(BlobKey::new(agent.clone(), file), audit.at);
        }
        tables.erase_conversations(agent, audit.at, |_, row| row.contact_id == Some(contact));
        let name = contact.to_string();
        let own = tables.audit.values_mut().filter(|entry| entry.agent_id.as_ref() == Some(agent));
        for entry in own {
            if entry.contact_id == Some(contact) || entry.resource.as_ref() == Some(&name) {
                entry.details = RawObject::default();
            }
        }
        tables.note(audit);
        Ok(())
    }
}
