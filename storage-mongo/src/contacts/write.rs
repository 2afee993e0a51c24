//! What writes look at, and the erasure of contacts. Everything that writes runs inside a transaction.

use std::collections::HashMap;

use mongodb::bson::{Bson, Document, doc};
use openapi_core::audit::AuditEntry;
use openapi_core::contacts::UniqueValue;
use openapi_core::storage::{Duplicate, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, ExternalId, StoredText};

use super::row::{self, Derived, Stored};
use crate::agents::remove_some;
use crate::document::{Fields, key, keyed, of_agent};
use crate::error::Result;
use crate::ledger::{self, PLACE_NAMES, Tally, ledger_key};
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads, Transaction, Update};
use crate::{audit, conversations, files, forms, replays};

/// Who holds a unique value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) contact: ContactId,
    pub(super) archived: bool,
}

/// The values that no other contact may have, each behind the name of its field, in the order in which they are looked
/// at.
pub(super) fn unique_values(
    external_reference_id: Option<&ExternalId>,
    unique: &[UniqueValue],
) -> Vec<(String, String)> {
    let external =
        external_reference_id.map(|id| (row::EXTERNAL.to_owned(), row::unique(row::EXTERNAL, id.as_str())));
    let others = unique.iter().map(|value| (value.field.clone(), row::unique(&value.field, &value.value)));
    external.into_iter().chain(others).collect()
}

/// Of these values, those that contacts have.
pub(super) async fn holders<'v>(
    reads: &mut Reads<'_>,
    agent: &AgentId,
    values: impl Iterator<Item = &'v String>,
) -> Result<HashMap<String, Holder>> {
    let values: Vec<&str> = values.map(String::as_str).collect();
    let mut holders = HashMap::new();
    if values.is_empty() {
        return Ok(holders);
    }
    let find = Find {
        filter: doc! { "_id.agent": agent.as_str(), "keys.unique": { "$in": values } },
        projection: Some(doc! { "archivedAt": 1, "keys.unique": 1 }),
        hint: Some(index::CONTACTS_BY_UNIQUE),
        ..Find::default()
    };
    for found in &reads.find(collection::CONTACTS, find).await? {
        let fields = Fields(found);
        let holder = Holder {
            contact: ContactId::from_bytes(fields.id()?),
            archived: fields.optional("archivedAt")?.is_some(),
        };
        for value in row::strings(fields.within("keys")?, "unique")? {
            holders.insert(value, holder);
        }
    }
    Ok(holders)
}

/// The first of the values that another contact has.
pub(super) fn duplicate(
    holders: &HashMap<String, Holder>,
    except: Option<ContactId>,
    wanted: &[(String, String)],
) -> Option<Duplicate> {
    wanted.iter().find_map(|(field, value)| {
        let holder = holders.get(value).filter(|holder| Some(holder.contact) != except)?;
        Some(Duplicate { field: field.clone(), existing: holder.contact, archived: holder.archived })
    })
}

/// Of these contacts, those that are stored.
pub(super) async fn stored(
    reads: &mut Reads<'_>,
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

/// Refuses a change of what belongs to a contact unless the contact is there as it was read.
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

/// The external ids that contacts have at present.
pub(crate) async fn external_ids(
    reads: &mut Reads<'_>,
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
    let mut named = HashMap::new();
    for found in &reads.find(collection::CONTACTS, find).await? {
        let fields = Fields(found);
        if let Some(id) = fields.optional("externalReferenceId")? {
            let id = ExternalId::from_stored(crate::document::Value::str(id)?);
            named.insert(ContactId::from_bytes(fields.id()?), id);
        }
    }
    Ok(named)
}

/// What a change of contacts does to the counters of their agent.
#[derive(Default)]
pub(super) struct Difference {
    tally: Tally,
    tags: HashMap<String, [i64; ledger::PLACES]>,
}

impl Difference {
    /// Counts a contact once more, or once less with -1.
    pub(super) fn count(&mut self, derived: &Derived, times: i64) {
        let place = derived.place;
        self.tally.all[place] += times;
        self.tally.without_first_name[place] += if derived.has_first_name { 0 } else { times };
        self.tally.without_last_name[place] += if derived.has_last_name { 0 } else { times };
        for tag in &derived.tags {
            self.tags.entry(tag.clone()).or_default()[place] += times;
        }
    }

    /// Writes the counters.
    pub(super) async fn apply(self, tx: &mut Transaction, agent: &AgentId) -> Result<()> {
        let increments = self.tally.increments();
        if !increments.is_empty() {
            ledger::change(tx, agent, doc! { "$inc": increments }).await?;
        }
        let mut tags: Vec<_> =
            self.tags.into_iter().filter(|(_, counts)| counts.iter().any(|count| *count != 0)).collect();
        tags.sort_unstable();
        if tags.is_empty() {
            return Ok(());
        }
        let update = |(tag, counts): &(String, [i64; ledger::PLACES])| {
            let mut increments = doc! { "all": counts.iter().sum::<i64>() };
            for (place, count) in counts.iter().enumerate() {
                increments.insert(PLACE_NAMES[place], *count);
            }
            Update::upsert(doc! { "_id": tag_key(agent, tag) }, doc! { "$inc": increments })
        };
        tx.update(collection::TAGS, &tags.iter().map(update).collect::<Vec<_>>()).await?;
        let fewer: Vec<Document> = tags
            .iter()
            .filter(|(_, counts)| counts.iter().sum::<i64>() < 0)
            .map(|(tag, _)| tag_key(agent, tag))
            .collect();
        if !fewer.is_empty() {
            let mut unused = keyed(agent, fewer);
            unused.insert("all", 0);
            tx.delete(collection::TAGS, unused).await?;
        }
        Ok(())
    }
}

/// The `_id` of the counters of a tag.
pub(super) fn tag_key(agent: &AgentId, tag: &str) -> Document {
    doc! { "agent": agent.as_str(), "tag": tag }
}

/// As [`openapi_core::storage::ContactStore::erase_contact`].
pub(super) async fn erase(
    tx: &mut Transaction,
    agent: &AgentId,
    id: ContactId,
    entry: &AuditEntry,
) -> Result<()> {
    ledger::take(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let found = stored(&mut tx.reads(), agent, std::iter::once(id)).await?;
    let found = found.get(&id).ok_or(StorageErrorKind::Missing)?;
    let mut difference = Difference::default();
    difference.count(&found.derived, -1);
    tx.delete(collection::CONTACTS, doc! { "_id": key(agent, id.as_bytes()) }).await?;
    difference.apply(tx, agent).await?;
    replays::remove_of(tx, agent, id).await?;
    files::erase_of(tx, agent, id, entry.at).await?;
    forms::erase_of(tx, agent, id).await?;
    conversations::erase_of(tx, agent, id, entry.at).await?;
    audit::empty_payloads(tx, agent, id).await?;
    audit::append(tx, [entry]).await
}

/// All contacts of an agent, without its ledger.
pub(crate) fn every(agent: &AgentId) -> Document {
    let last = doc! { "agent": agent.as_str(), "id": Bson::MaxKey };
    doc! { "_id": { "$gt": ledger_key(agent), "$lt": last }, "_id.agent": agent.as_str() }
}

/// Removes up to `at_most` contacts of a deleted agent and returns how many. Its counters are read no more; those of
/// tags go with the last contacts.
pub(crate) async fn purge(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let removed = remove_some(tx, collection::CONTACTS, every(agent), at_most).await?;
    if removed < u64::from(at_most) {
        tx.delete(collection::TAGS, of_agent(agent)).await?;
    }
    Ok(removed)
}
