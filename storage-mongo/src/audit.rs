//! The audit log.

use std::collections::HashSet;

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, doc};
use openapi_core::agents::AgentStatus;
use openapi_core::audit::{AuditEntry, ChainHead, ChainedEntry, SealedEntry};
use openapi_core::storage::{
    AuditQuery, AuditStore, ChainPosition, ChainQuery, StorageError, StorageErrorKind,
};
use openapi_core::values::{AgentId, ContactId, StoredText};
use storage_common::records::AuditActor;
use storage_common::{in_transaction, records};

use crate::connect::Handle;
use crate::document::{FieldReader, Fields, binary, ids, integer, json, object_text, put, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::store::MongoStorage;
use crate::tenant;
use crate::transaction::{DocumentReader, Find, Transaction, Update, Work};

/// Adds entries whose ids are free.
pub(crate) async fn insert<'e>(
    tx: &mut Transaction,
    entries: impl IntoIterator<Item = &'e ChainedEntry>,
) -> Result<()> {
    let documents = entries.into_iter().map(document).collect::<Result<Vec<_>>>()?;
    if documents.is_empty() { Ok(()) } else { tx.insert(collection::AUDIT, &documents).await }
}

/// The `_id` of an entry. It starts with the tenant, which an entry may lack.
pub(crate) fn entry_key(entry: &AuditEntry) -> Document {
    doc! { "agent": agent_value(entry.agent_id.as_ref()), "at": time(entry.at), "id": binary(entry.id.as_bytes()) }
}

fn agent_value(agent: Option<&AgentId>) -> Bson {
    agent.map_or(Bson::Null, |agent| agent.as_str().into())
}

fn document(entry: &ChainedEntry) -> Result<Document> {
    let mut document = doc! { "_id": entry_key(entry), "action": entry.action.as_str() };
    document.insert("actor", json(&AuditActor::of(entry))?);
    put(&mut document, "resource", entry.resource.clone());
    put(&mut document, "contact", entry.contact_id.map(|id| binary(id.as_bytes())));
    put(&mut document, "address", entry.address.map(|address| address.to_string()));
    put(&mut document, "requestId", entry.request_id.clone());
    put(&mut document, "details", object_text(&entry.details));
    // The records whose erasure empties the payload: the contact, and the resource unless it is the contact.
    let contact = entry.contact_id.map(|id| id.to_string());
    let resource = entry.resource.clone().filter(|resource| contact.as_ref() != Some(resource));
    document.insert("about", contact.into_iter().chain(resource).collect::<Vec<String>>());
    document.insert("sequence", integer(entry.sequence())?);
    if let Some(link) = &entry.link {
        document.insert("serverKey", link.server_key.as_str());
        put(&mut document, "salt", link.salt.map(|salt| binary(&salt)));
        document.insert("digest", binary(&link.digest));
        document.insert("mac", binary(&link.mac));
    }
    Ok(document)
}

/// Adds an entry.
pub(crate) async fn append(tx: &mut Transaction, entry: &SealedEntry) -> Result<()> {
    let state = tenant::lock_any(tx, entry.agent_id.as_ref()).await?.ok_or(StorageErrorKind::Missing)?;
    append_to(tx, entry, state.ends.chain).await
}

async fn append_to(tx: &mut Transaction, entry: &SealedEntry, mut head: ChainHead) -> Result<()> {
    insert(tx, [&head.append(entry)]).await?;
    end_with(tx, entry.agent_id.as_ref(), head).await
}

/// Notes the end of a chain whose tenant is locked.
async fn end_with(tx: &mut Transaction, chain: Option<&AgentId>, head: ChainHead) -> Result<()> {
    let filter = doc! { "_id": tenant::chain_key(chain) };
    let update = Update::one(filter, doc! { "$set": tenant::of_head(head)? });
    tx.update(collection::CONTACTS, &[update]).await.map(drop)
}

/// Stores new entries of a locked tenant, or without one, with the positions that they have in the chain of another store.
/// `head` is the end of the chain so far.
pub(crate) async fn put_all(
    tx: &mut Transaction,
    chain: Option<&AgentId>,
    mut head: ChainHead,
    entries: &[&ChainedEntry],
) -> Result<()> {
    entries.iter().for_each(|entry| head.follow(entry));
    insert(tx, entries.iter().copied()).await?;
    end_with(tx, chain, head).await
}

/// As [`storage_common::transfer::TransferStore::put_chain_without_agent`].
pub(crate) async fn put_chain_without_agent(tx: &mut Transaction, entries: &[ChainedEntry]) -> Result<()> {
    let state = tenant::lock_any(tx, None).await?.ok_or(StorageErrorKind::Missing)?;
    // Looked up first, because a violated constraint would be retried as a race.
    let keys: Vec<Document> = entries.iter().map(|entry| entry_key(entry)).collect();
    let mut known = HashSet::with_capacity(entries.len());
    let is_once = entries.iter().all(|entry| known.insert((entry.at, entry.id)));
    let find = Find {
        filter: doc! { "_id": { "$in": keys } },
        projection: Some(doc! { "_id": 1 }),
        ..Find::default()
    };
    if !is_once || !tx.reads().find(collection::AUDIT, find).await?.is_empty() {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put_all(tx, None, state.ends.chain, &entries.iter().collect::<Vec<_>>()).await
}

/// Removes the entries of a chain up to `through` and adds the entry about it; returns how many were removed.
async fn purge(tx: &mut Transaction, through: ChainPosition, entry: &SealedEntry) -> Result<u64> {
    let state = tenant::lock_any(tx, entry.agent_id.as_ref()).await?.ok_or(StorageErrorKind::Missing)?;
    let mut filter = doc! { "_id.agent": agent_value(entry.agent_id.as_ref()) };
    filter.insert("$or", up_to("$lt", "$lte", &through)?);
    let removed = tx.delete(collection::AUDIT, filter).await?;
    if removed > 0 {
        append_to(tx, entry, state.ends.chain).await?;
    }
    Ok(removed)
}

/// The alternatives of a filter for the entries of a chain on one side of a position.
fn up_to(beyond: &str, last: &str, (sequence, at, id): &ChainPosition) -> Result<Vec<Document>> {
    let (sequence, at, id) = (integer(*sequence)?, time(*at), binary(id.as_bytes()));
    Ok(vec![
        doc! { "sequence": { beyond: sequence } },
        doc! { "sequence": sequence, "_id.at": { beyond: at } },
        doc! { "sequence": sequence, "_id.at": at, "_id.id": { last: id } },
    ])
}

/// The find for a part of a chain.
pub(crate) fn find_chain(query: &ChainQuery) -> Result<Find> {
    let mut filter = doc! { "_id.agent": agent_value(query.chain.as_ref()) };
    if let Some(after) = &query.after {
        // The first condition is for the index.
        filter.insert("sequence", doc! { "$gte": integer(after.0)? });
        filter.insert("$or", up_to("$gt", "$gt", after)?);
    }
    Ok(Find {
        filter,
        sort: Some(doc! { "_id.agent": 1, "sequence": 1, "_id.at": 1, "_id.id": 1 }),
        limit: query.limit,
        hint: Some(index::AUDIT_BY_SEQUENCE),
        ..Find::default()
    })
}

/// Begins each chain after the entries that a former release has stored. It can be repeated.
pub(crate) async fn begin_chains(handle: &Handle) -> Result<()> {
    let states = handle.collection(collection::CONTACTS);
    let state = tenant::new_state(AgentStatus::Deleted, 0)?;
    states
        .update_one(doc! { "_id": tenant::chain_key(None) }, doc! { "$setOnInsert": state })
        .upsert(true)
        .await?;
    let log = handle.collection(collection::AUDIT);
    log.update_many(doc! { "sequence": { "$exists": false } }, doc! { "$set": { "sequence": 0_i64 } })
        .await?;
    let (mut chain, mut after) = (None::<(Option<AgentId>, ChainHead)>, None);
    loop {
        let filter = after.map_or_else(Document::new, |id: Document| doc! { "_id": { "$gt": id } });
        let find = Find { filter, sort: Some(doc! { "_id": 1 }), limit: 1_000, ..Find::default() };
        let found = DocumentReader::new(handle).find(collection::AUDIT, find).await?;
        for earlier in &found {
            let earlier = read(earlier)?;
            if chain.as_ref().is_some_and(|(known, _)| *known != earlier.agent_id) {
                set_head(handle, chain.take()).await?;
            }
            let begin = || (earlier.agent_id.clone(), ChainHead::default());
            chain.get_or_insert_with(begin).1.absorb(&earlier);
        }
        if found.is_empty() {
            return set_head(handle, chain).await;
        }
        after = found.last().map(|last| read(last).map(|last| entry_key(&last))).transpose()?;
    }
}

async fn set_head(handle: &Handle, chain: Option<(Option<AgentId>, ChainHead)>) -> Result<()> {
    let Some((chain, head)) = chain else { return Ok(()) };
    let filter = doc! { "_id": tenant::chain_key(chain.as_ref()), "auditSequence": { "$exists": false } };
    let change = doc! { "$set": tenant::of_head(head)? };
    handle.collection(collection::CONTACTS).update_one(filter, change).await?;
    Ok(())
}

/// Empties the payloads of the entries about a contact and about what belongs to it.
pub(crate) async fn empty_payloads(tx: &mut Transaction, agent: &AgentId, contact: ContactId) -> Result<()> {
    let filter = doc! {
        "_id.agent": agent.as_str(),
        "about": contact.to_string(),
        "details": { "$exists": true },
    };
    let update = Update::many(filter, doc! { "$unset": { "details": true, "salt": true } });
    tx.update(collection::AUDIT, &[update]).await.map(drop)
}

/// Empties up to `at_most` payloads of an agent and returns how many.
pub(crate) async fn empty_some_payloads(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let find = Find {
        filter: doc! { "_id.agent": agent.as_str(), "details": { "$exists": true } },
        projection: Some(doc! { "_id": 1 }),
        limit: at_most,
        hint: Some(index::AUDIT_BY_PAYLOAD),
        ..Find::default()
    };
    let found = tx.reads().find(collection::AUDIT, find).await?;
    if found.is_empty() {
        return Ok(0);
    }
    let filter = doc! { "_id": { "$in": ids(&found)? }, "_id.agent": agent.as_str() };
    let update = Update::many(filter, doc! { "$unset": { "details": true, "salt": true } });
    tx.update(collection::AUDIT, &[update]).await
}

pub(crate) fn read(document: &RawDocument) -> Result<ChainedEntry> {
    records::audit_entry(&mut Fields(document))
}

/// The find for a query.
pub(crate) fn find(query: &AuditQuery) -> Find {
    let (beyond, direction) = if query.newest_first { ("$lt", -1) } else { ("$gt", 1) };
    let mut find = Find { limit: query.limit, ..Find::default() };
    match &query.agent {
        // The entries of a tenant are in order within its range of `_id`.
        Some(agent) => {
            let agent = agent.as_str();
            let (mut low, mut high) = (doc! { "agent": agent }, doc! { "agent": agent, "at": Bson::MaxKey });
            if let Some((at, id)) = &query.after {
                let position = doc! { "agent": agent, "at": time(*at), "id": binary(id.as_bytes()) };
                *(if query.newest_first { &mut high } else { &mut low }) = position;
            }
            find.filter = doc! { "_id": { "$gt": low, "$lt": high } };
            find.sort = Some(doc! { "_id": direction });
        }
        None => {
            if let Some((at, id)) = &query.after {
                // The first condition is for the index, the second excludes entries of the same time.
                let inclusive = format!("{beyond}e");
                let (at, id) = (time(*at), binary(id.as_bytes()));
                find.filter = doc! {
                    "_id.at": { inclusive: at },
                    "$or": [{ "_id.at": { beyond: at } }, { "_id.id": { beyond: id } }],
                };
            }
            find.sort = Some(doc! { "_id.at": direction, "_id.id": direction });
            find.hint = Some(index::AUDIT_BY_TIME);
        }
    }
    find
}

#[async_trait]
impl AuditStore for MongoStorage {
    async fn append_audit(&self, entry: &SealedEntry) -> Result<(), StorageError> {
        match entry.agent_id.clone() {
            Some(agent) => in_transaction!(self.writer.write(&agent), append(entry)),
            None => Ok(self.handle.transact(entry, |tx, entry| Box::pin(append(tx, entry))).await?),
        }
    }

    async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<ChainedEntry>, StorageError> {
        // To the database 0 means no limit.
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        let entries = async {
            let found = DocumentReader::new(&self.handle).find(collection::AUDIT, find(query)).await?;
            found.iter().map(|entry| read(entry)).collect()
        };
        Ok(self.handle.list(entries).await?)
    }

    async fn audit_chain(&self, query: &ChainQuery) -> Result<Vec<ChainedEntry>, StorageError> {
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        let entries = async {
            let found = DocumentReader::new(&self.handle).find(collection::AUDIT, find_chain(query)?).await?;
            found.iter().map(|entry| read(entry)).collect()
        };
        Ok(self.handle.list(entries).await?)
    }

    async fn audit_head(&self, chain: Option<&AgentId>) -> Result<ChainHead, StorageError> {
        let head = async {
            let filter = doc! { "_id": tenant::chain_key(chain) };
            let state = DocumentReader::new(&self.handle).one(collection::CONTACTS, filter, None).await?;
            state.map_or(Ok(ChainHead::default()), |state| tenant::head_of(&state))
        };
        Ok(self.handle.read(head).await?)
    }

    async fn audit_heads(&self) -> Result<Vec<(Option<AgentId>, ChainHead)>, StorageError> {
        let heads = async {
            let mut reads = DocumentReader::new(&self.handle);
            let find = Find { projection: Some(doc! { "_id": 1 }), ..Find::default() };
            let agents = reads.find(collection::AGENTS, find).await?;
            let agents = agents.iter().map(|agent| Fields(agent).str("_id"));
            let keys: Vec<Document> = std::iter::once(Ok(""))
                .chain(agents)
                .map(|agent| Ok(doc! { "agent": agent?, "id": binary(&[]) }))
                .collect::<Result<_>>()?;
            let find = Find {
                filter: doc! { "_id": { "$in": keys }, "auditSequence": { "$exists": true } },
                projection: Some(doc! { "auditSequence": 1, "auditMac": 1 }),
                ..Find::default()
            };
            let states = reads.find(collection::CONTACTS, find).await?;
            let head = |state: &RawDocument| {
                let chain = Some(Fields(state).str("_id.agent")?).filter(|chain| !chain.is_empty());
                Ok((chain.map(StoredText::from_stored), tenant::head_of(state)?))
            };
            states.iter().map(|state| head(state)).collect()
        };
        Ok(self.handle.list(heads).await?)
    }

    async fn purge_audit(&self, through: &ChainPosition, entry: &SealedEntry) -> Result<u64, StorageError> {
        match entry.agent_id.clone() {
            Some(agent) => in_transaction!(self.writer.write_long(&agent), purge(*through, entry)),
            None => {
                let input = (*through, entry.clone());
                let work: Work<(ChainPosition, SealedEntry), u64> =
                    |tx, (through, entry)| Box::pin(purge(tx, *through, entry));
                Ok(self.handle.transact_long(&input, work).await?)
            }
        }
    }
}
