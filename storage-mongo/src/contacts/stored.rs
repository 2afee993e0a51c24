//! What writes need to know of stored contacts.

use std::collections::HashMap;

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::storage::StorageErrorKind;
use openapi_core::values::{AgentId, ContactId, ExternalId};

use super::row;
use crate::document::{FieldReader, Fields, key, keyed};
use crate::error::{Error, Result, corrupt};
use crate::migrate::{collection, index};
use crate::tenant::state_key;
use crate::transaction::{DocumentReader, Find, Transaction};

/// A stored contact, as far as a change needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) version: u64,
    pub(super) archived: bool,
    pub(super) derived: Derived,
}

/// The values of a contact that are counted or unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Derived {
    pub(super) slot: usize,
    pub(super) has_first_name: bool,
    pub(super) has_last_name: bool,
    /// Folded tags, sorted, each once.
    pub(super) tags: Vec<String>,
    /// As [`row::unique`] writes them.
    pub(super) unique: Vec<String>,
}

impl Derived {
    /// The values of a contact with these keys.
    pub(super) fn of(contact: &Contact, keys: &ContactKeys) -> Self {
        let mut tags = keys.tags.clone();
        tags.sort_unstable();
        tags.dedup();
        Derived {
            slot: row::slot(contact.status, contact.is_archived()) as usize,
            has_first_name: keys.first_name.is_some(),
            has_last_name: keys.last_name.is_some(),
            tags,
            unique: row::unique_values(contact, keys),
        }
    }
}

impl Stored {
    /// The fields that [`Stored::read`] reads.
    pub(super) fn projection() -> Document {
        doc! {
            "version": 1, "archivedAt": 1, "keys.slot": 1, "keys.firstName": 1, "keys.lastName": 1,
            "keys.labels": 1, "keys.unique": 1,
        }
    }

    pub(super) fn read(document: &RawDocumentBuf) -> Result<(ContactId, Self)> {
        let mut fields = Fields(document);
        let mut keys = fields.within("keys")?;
        let has = |name: &str| Ok::<_, Error>(keys.value(name)?.as_str().is_some());
        let (has_first_name, has_last_name) = (has("firstName")?, has("lastName")?);
        let mut tags: Vec<String> = row::strings(keys, "labels")?
            .iter()
            .filter_map(|label| row::tag_of_label(label).map(str::to_owned))
            .collect();
        tags.sort_unstable();
        let derived = Derived {
            slot: usize::try_from(keys.integer("slot")?).map_err(corrupt)?,
            has_first_name,
            has_last_name,
            tags,
            unique: row::strings(keys, "unique")?,
        };
        let archived = fields.optional("archivedAt")?.is_some();
        let stored = Stored { version: fields.count("version")?, archived, derived };
        Ok((ContactId::from_bytes(fields.id()?), stored))
    }
}

/// The stored ones of some contacts.
pub(super) async fn find(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    contacts: impl Iterator<Item = ContactId>,
) -> Result<HashMap<ContactId, Stored>> {
    let ids: Vec<Document> = contacts.map(|id| key(agent, id.as_bytes())).collect();
    let find = Find {
        filter: keyed(agent, ids),
        projection: Some(Stored::projection()),
        hint: Some(index::BY_KEY),
        ..Find::default()
    };
    let found = reads.find(collection::CONTACTS, find).await?;
    found.iter().map(Stored::read).collect()
}

/// Refuses a change of a record of a contact unless the contact has the version that the caller read.
pub(crate) async fn refuse_stale(
    tx: &mut Transaction,
    agent: &AgentId,
    contact: ContactId,
    version: u64,
) -> Result<()> {
    let filter = doc! { "_id": key(agent, contact.as_bytes()) };
    let found = tx.reads().one(collection::CONTACTS, filter, Some(doc! { "version": 1 })).await?;
    match found {
        None => Err(StorageErrorKind::Missing.into()),
        Some(found) if Fields(&found).count("version")? != version => Err(StorageErrorKind::Stale.into()),
        Some(_) => Ok(()),
    }
}

/// The current external ids of contacts.
pub(crate) async fn external_ids(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    contacts: impl Iterator<Item = ContactId>,
) -> Result<HashMap<ContactId, ExternalId>> {
    let mut contacts: Vec<ContactId> = contacts.collect();
    contacts.sort_unstable();
    contacts.dedup();
    let ids: Vec<Document> = contacts.iter().map(|id| key(agent, id.as_bytes())).collect();
    let find = Find {
        filter: keyed(agent, ids),
        projection: Some(doc! { "externalReferenceId": 1 }),
        hint: Some(index::BY_KEY),
        ..Find::default()
    };
    let mut external_ids = HashMap::new();
    for found in &reads.find(collection::CONTACTS, find).await? {
        let mut fields = Fields(found);
        if let Some(id) = fields.optional_text("externalReferenceId")? {
            external_ids.insert(ContactId::from_bytes(fields.id()?), id);
        }
    }
    Ok(external_ids)
}

/// The filter for all contacts of a tenant, without its state.
pub(crate) fn every(agent: &AgentId) -> Document {
    let last = doc! { "agent": agent.as_str(), "id": Bson::MaxKey };
    doc! { "_id": { "$gt": state_key(agent), "$lt": last }, "_id.agent": agent.as_str() }
}
