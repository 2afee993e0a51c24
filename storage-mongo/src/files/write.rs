//! Changing files. Everything here runs in a transaction.

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use openapi_core::files::ContactFile;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{Effects, FileDeletion, FileTombstone, FileWrite, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};

use super::read;
use crate::connect::Handle;
use crate::document::{FieldReader, Fields, binary, ids, integer, json, key, of_agent, put, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::transaction::{Find, Transaction, Update};
use crate::{contacts, content, documents, effects, tenant};

/// As [`openapi_core::storage::FileStore::insert_file`].
pub(super) async fn create(tx: &mut Transaction, agent: &AgentId, write: &FileWrite) -> Result<()> {
    let ledger = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let file = &write.file;
    contacts::refuse_stale(tx, agent, file.contact_id, write.contact_version).await?;
    effects::refuse_replayed(tx, agent, &write.effects, write.at).await?;
    let usage = read::usage(&mut tx.reads(), agent, &ledger, file.contact_id).await?;
    write.quota.admit(usage, file.file_size).map_err(StorageErrorKind::QuotaExceeded)?;
    let id = doc! { "_id": key(agent, file.id.as_bytes()) };
    if tx.reads().one(collection::FILES, id, Some(doc! { "_id": 1 })).await?.is_some() {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    tx.insert(collection::FILES, &[document(agent, file, &write.name_key)?]).await?;
    content::add_bytes(tx, agent, integer(file.file_size)?).await?;
    effects::apply(tx, agent, &write.effects, ledger.ends).await
}

/// The document of a file.
pub(crate) fn document(agent: &AgentId, file: &ContactFile, name_key: &str) -> Result<Document> {
    let mut document = doc! {
        "_id": key(agent, file.id.as_bytes()),
        "contact": binary(file.contact_id.as_bytes()),
        "live": true,
        "name": file.file_name.as_str(),
        "nameKey": name_key,
        "size": integer(file.file_size)?,
        "contentType": file.content_type.media_type(),
        "sha256": binary(&file.sha256.0),
        "source": &file.source,
        "uploadedBy": json(&file.uploaded_by)?,
        "createdAt": time(file.created_at),
        "updatedAt": time(file.updated_at),
    };
    put(&mut document, "serverKey", file.server_key.as_deref());
    Ok(document)
}

/// As [`openapi_core::storage::FileStore::mark_sealed`]. One document changes, outside the tenant's queue.
pub(super) async fn mark_sealed(handle: &Handle, blob: &BlobKey, server_key: &str) -> Result<()> {
    let filter = doc! { "_id": key(&blob.agent, blob.file.as_bytes()) };
    let change = doc! { "$set": { "serverKey": server_key } };
    handle.collection(collection::FILES).update_one(filter, change).await?;
    Ok(())
}

/// The fields of a deleted file.
pub(crate) fn tombstone(tombstone: &FileTombstone) -> Result<Document> {
    let mut fields = doc! {
        "live": false,
        "deletedAt": time(tombstone.at),
        "deletedBy": json(&tombstone.by)?,
    };
    put(&mut fields, "reason", tombstone.reason.as_ref().map(|reason| reason.as_str()));
    Ok(fields)
}

/// As [`openapi_core::storage::FileStore::delete_file`].
pub(super) async fn delete(tx: &mut Transaction, agent: &AgentId, deletion: &FileDeletion) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let file = deletion.tombstone.file;
    let id = doc! { "_id": key(agent, file.as_bytes()) };
    let mut filter = id.clone();
    filter.extend(doc! { "contact": binary(deletion.contact.as_bytes()), "live": true });
    let found = tx.reads().one(collection::FILES, filter, Some(doc! { "size": 1 })).await?;
    let size = Fields(&found.ok_or(StorageErrorKind::Missing)?).integer("size")?;
    contacts::refuse_stale(tx, agent, deletion.contact, deletion.contact_version).await?;
    let buried = doc! { "$set": tombstone(&deletion.tombstone)? };
    tx.update(collection::FILES, &[Update::one(id, buried)]).await?;
    content::add_bytes(tx, agent, -size).await?;
    content::make_due(tx, agent, [file], deletion.purge_at).await?;
    effects::apply(tx, agent, &deletion.effects, state.ends).await
}

/// Removes the files of a contact, deleted ones included; their contents are due now.
pub(crate) async fn erase_of(
    tx: &mut Transaction,
    agent: &AgentId,
    contact: ContactId,
    now: Timestamp,
) -> Result<()> {
    let find = Find {
        filter: doc! { "_id.agent": agent.as_str(), "contact": binary(contact.as_bytes()) },
        projection: Some(doc! { "size": 1, "live": 1 }),
        hint: Some(index::FILES_BY_CONTACT),
        ..Find::default()
    };
    remove(tx, agent, find, now).await.map(drop)
}

/// Removes up to `at_most` files of a deleted agent and returns how many; their contents are due at once.
pub(crate) async fn purge(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let find = Find {
        filter: of_agent(agent),
        projection: Some(doc! { "size": 1, "live": 1 }),
        limit: at_most,
        ..Find::default()
    };
    remove(tx, agent, find, Timestamp::from_millis(0)).await
}

async fn remove(tx: &mut Transaction, agent: &AgentId, find: Find, due_at: Timestamp) -> Result<u64> {
    let found: Vec<RawDocumentBuf> = tx.reads().find(collection::FILES, find).await?;
    if found.is_empty() {
        return Ok(0);
    }
    let files = found.iter().map(|file| Ok(FileId::from_bytes(Fields(file).id()?)));
    content::make_due(tx, agent, files.collect::<Result<Vec<_>>>()?, due_at).await?;
    let live = found.iter().filter(|file| file.get_bool("live").unwrap_or(false));
    let bytes: i64 = live.map(|file| Fields(file).integer("size")).sum::<Result<i64>>()?;
    if bytes != 0 {
        content::add_bytes(tx, agent, -bytes).await?;
    }
    let filter = doc! { "_id": { "$in": ids(&found)? }, "_id.agent": agent.as_str() };
    tx.delete(collection::FILES, filter).await
}

/// As [`openapi_core::storage::FileStore::expedite_purges`].
pub(super) async fn hasten(
    tx: &mut Transaction,
    agent: &AgentId,
    now: Timestamp,
    effects: &Effects,
) -> Result<u64> {
    let state = tenant::lock_any(tx, Some(agent)).await?.ok_or(StorageErrorKind::Missing)?;
    let mut filter = of_agent(agent);
    filter.insert("dueAt", doc! { "$gt": time(now) });
    let hasten = Update::many(filter, doc! { "$set": { "dueAt": time(now) } });
    let hastened = tx.update(collection::BLOB_PURGES, &[hasten]).await?;
    effects::apply(tx, agent, effects, state.ends).await?;
    Ok(hastened)
}

/// As [`openapi_core::storage::FileStore::remove_blob_records`].
pub(super) async fn forget(tx: &mut Transaction, keys: &[BlobKey]) -> Result<()> {
    let ids: Vec<Document> = keys.iter().map(|blob| key(&blob.agent, blob.file.as_bytes())).collect();
    let ids = || Bson::from(ids.clone());
    tx.delete(collection::BLOB_PURGES, doc! { "_id": { "$in": ids() } }).await?;
    tx.delete(collection::FILES, doc! { "_id": { "$in": ids() }, "live": false }).await?;
    documents::remove(tx, doc! { "_id": { "$in": ids() } }).await.map(drop)
}
