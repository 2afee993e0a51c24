//! The audit log.

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, doc};
use openapi_core::audit::AuditEntry;
use openapi_core::storage::{AuditQuery, AuditStore, StorageError};
use openapi_core::values::{AgentId, ContactId};
use storage_common::records;

use crate::document::{Fields, binary, ids, json, object_text, put, time};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::store::MongoStorage;
use crate::transaction::{DocumentReader, Find, Transaction, Update};

/// Adds entries whose ids are free.
pub(crate) async fn insert(tx: &mut Transaction, entries: &[&AuditEntry]) -> Result<()> {
    let documents = entries.iter().map(|entry| document(entry)).collect::<Result<Vec<_>>>()?;
    tx.insert(collection::AUDIT, &documents).await
}

/// The `_id` of an entry. It starts with the tenant, which an entry may lack.
pub(crate) fn entry_key(entry: &AuditEntry) -> Document {
    let agent = entry.agent_id.as_ref().map_or(Bson::Null, |agent| agent.as_str().into());
    doc! { "agent": agent, "at": time(entry.at), "id": binary(entry.id.as_bytes()) }
}

fn document(entry: &AuditEntry) -> Result<Document> {
    let mut document = doc! { "_id": entry_key(entry), "action": entry.action.as_str() };
    document.insert("actor", json(&entry.actor)?);
    put(&mut document, "resource", entry.resource.clone());
    put(&mut document, "contact", entry.contact_id.map(|id| binary(id.as_bytes())));
    put(&mut document, "address", entry.address.map(|address| address.to_string()));
    put(&mut document, "requestId", entry.request_id.clone());
    put(&mut document, "details", object_text(&entry.details));
    // The records whose erasure empties the payload: the contact, and the resource unless it is the contact.
    let contact = entry.contact_id.map(|id| id.to_string());
    let resource = entry.resource.clone().filter(|resource| contact.as_ref() != Some(resource));
    document.insert("about", contact.into_iter().chain(resource).collect::<Vec<String>>());
    Ok(document)
}

/// Adds entries and replaces those with the same id.
pub(crate) async fn append(
    tx: &mut Transaction,
    entries: impl IntoIterator<Item = &AuditEntry>,
) -> Result<()> {
    let updates = entries.into_iter().map(|entry| {
        let document = document(entry)?;
        Ok(Update::upsert(doc! { "_id": entry_key(entry) }, document))
    });
    tx.update(collection::AUDIT, &updates.collect::<Result<Vec<_>>>()?).await.map(drop)
}

/// Empties the payloads of the entries about a contact and about what belongs to it.
pub(crate) async fn empty_payloads(tx: &mut Transaction, agent: &AgentId, contact: ContactId) -> Result<()> {
    let filter = doc! {
        "_id.agent": agent.as_str(),
        "about": contact.to_string(),
        "details": { "$exists": true },
    };
    let update = Update::many(filter, doc! { "$unset": { "details": true } });
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
    let update = Update::many(filter, doc! { "$unset": { "details": true } });
    tx.update(collection::AUDIT, &[update]).await
}

pub(crate) fn read(document: &RawDocument) -> Result<AuditEntry> {
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
    async fn append_audit(&self, entry: &AuditEntry) -> Result<(), StorageError> {
        let append = async {
            let log = self.handle.collection(collection::AUDIT);
            let document = mongodb::bson::RawDocumentBuf::try_from(document(entry)?).map_err(corrupt)?;
            log.replace_one(doc! { "_id": entry_key(entry) }, document).upsert(true).await?;
            Ok(())
        };
        Ok(self.handle.read(append).await?)
    }

    async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>, StorageError> {
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
}
