//! The audit log.

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, doc};
use openapi_core::audit::{AuditAction, AuditEntry};
use openapi_core::storage::{AuditQuery, AuditStore, StorageError};
use openapi_core::values::{AgentId, AuditId, ContactId};

use crate::MongoStorage;
use crate::document::{Fields, Value, bytes, ids, json, object_text, put, time};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads, Transaction, Update};

/// Adds entries whose ids are free.
pub(crate) async fn put_new(tx: &mut Transaction, entries: &[&AuditEntry]) -> Result<()> {
    let documents = entries.iter().map(|entry| document(entry)).collect::<Result<Vec<_>>>()?;
    tx.insert(collection::AUDIT, &documents).await
}

/// The `_id` of an entry. It begins with the agent, which an entry may lack.
pub(crate) fn entry_key(entry: &AuditEntry) -> Document {
    let agent = entry.agent_id.as_ref().map_or(Bson::Null, |agent| agent.as_str().into());
    doc! { "agent": agent, "at": time(entry.at), "id": bytes(entry.id.as_bytes()) }
}

fn document(entry: &AuditEntry) -> Result<Document> {
    let mut document = doc! { "_id": entry_key(entry), "action": entry.action.as_str() };
    document.insert("actor", json(&entry.actor)?);
    put(&mut document, "resource", entry.resource.clone());
    put(&mut document, "contact", entry.contact_id.map(|id| bytes(id.as_bytes())));
    put(&mut document, "address", entry.address.map(|address| address.to_string()));
    put(&mut document, "requestId", entry.request_id.clone());
    put(&mut document, "details", object_text(&entry.details));
    // What may be erased and take the payload with it, under one name for both ways of being about a contact.
    let contact = entry.contact_id.map(|id| id.to_string());
    let resource = entry.resource.clone().filter(|resource| contact.as_ref() != Some(resource));
    document.insert("about", contact.into_iter().chain(resource).collect::<Vec<String>>());
    Ok(document)
}

/// Adds entries, each in the place of one with its id.
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

fn action(word: &str) -> Result<AuditAction> {
    let known = AuditAction::ALL.iter().find(|action| action.as_str() == word);
    known.copied().ok_or_else(|| corrupt(format_args!("'{word}' is no action of the audit log")))
}

pub(crate) fn read(document: &RawDocument) -> Result<AuditEntry> {
    let fields = Fields(document);
    let id = fields.within("_id")?;
    Ok(AuditEntry {
        id: AuditId::from_bytes(id.bytes("id")?),
        agent_id: id.optional_text("agent")?,
        at: id.time("at")?,
        actor: fields.json("actor")?,
        action: action(fields.str("action")?)?,
        resource: fields.optional_string("resource")?,
        contact_id: fields.optional_bytes("contact")?.map(ContactId::from_bytes),
        address: fields
            .optional("address")?
            .map(|address| address.str()?.parse().map_err(corrupt))
            .transpose()?,
        request_id: fields.optional_string("requestId")?,
        details: fields.object("details")?,
    })
}

/// What a query asks the database for.
pub(crate) fn find(query: &AuditQuery) -> Find {
    let (beyond, direction) = if query.newest_first { ("$lt", -1) } else { ("$gt", 1) };
    let mut find = Find { limit: query.limit, ..Find::default() };
    match &query.agent {
        // The entries of an agent lie in order within its part of `_id`.
        Some(agent) => {
            let agent = agent.as_str();
            let (mut low, mut high) = (doc! { "agent": agent }, doc! { "agent": agent, "at": Bson::MaxKey });
            if let Some((at, id)) = &query.after {
                let place = doc! { "agent": agent, "at": time(*at), "id": bytes(id.as_bytes()) };
                *(if query.newest_first { &mut high } else { &mut low }) = place;
            }
            find.filter = doc! { "_id": { "$gt": low, "$lt": high } };
            find.sort = Some(doc! { "_id": direction });
        }
        None => {
            if let Some((at, id)) = &query.after {
                // The first condition is that of the index, the second leaves out what shares the instant.
                let inclusive = format!("{beyond}e");
                let (at, id) = (time(*at), bytes(id.as_bytes()));
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
        // No limit is what 0 means to the database.
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        let entries = async {
            let found = Reads::alone(&self.handle).find(collection::AUDIT, find(query)).await?;
            found.iter().map(|entry| read(entry)).collect()
        };
        Ok(self.handle.list(entries).await?)
    }
}
