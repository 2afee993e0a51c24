//! Records of tenants and of the installation, as JSON, each replaced as a whole.

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use openapi_core::storage::{
    RecordChange, RecordId, RecordKey, RecordKind, RecordStore, RecordsWrite, StorageError, StorageErrorKind,
    StoredRecord, Subject,
};
use openapi_core::values::{AgentId, Timestamp};
use storage_common::in_transaction;
use storage_common::records::stored_record_after_key;

use crate::document::{FieldReader, Fields, binary, integer, object_text, put as put_value, time};
use crate::error::{Error, Result, corrupt};
use crate::migrate::{collection, index};
use crate::shapes::scope;
use crate::store::MongoStorage;
use crate::tenant;
use crate::transaction::{DocumentReader, Find, Transaction, Update, Work};

/// The `_id` of a record, by the number of its kind. The id is text in hexadecimal digits, because the database orders
/// binary values by their length first.
pub(crate) fn key_of_number(scope: Option<&AgentId>, kind: u64, id: &[u8]) -> Result<Document> {
    Ok(doc! { "agent": scope::value(scope), "kind": integer(kind)?, "id": hexadecimal(id) })
}

fn key_of(scope: Option<&AgentId>, key: &RecordKey) -> Result<Document> {
    key_of_number(scope, key.kind.number().into(), key.id.as_bytes())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits.
pub(crate) fn id_bytes(text: &str) -> Result<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).map_err(corrupt));
    pairs.map(|pair| u8::from_str_radix(pair?, 16).map_err(corrupt)).collect()
}

/// The document of a record.
pub(crate) fn document(scope: Option<&AgentId>, record: &StoredRecord) -> Result<Document> {
    let mut document = doc! { "_id": key_of(scope, &record.key)?, "version": integer(record.version)? };
    put_value(&mut document, "subject", record.subject.map(|subject| binary(&subject.to_bytes())));
    put_value(&mut document, "unique", record.unique.map(|unique| binary(&unique)));
    put_value(&mut document, "dueAt", record.due_at.map(time));
    put_value(&mut document, "body", object_text(&record.body));
    Ok(document)
}

pub(crate) fn read(document: &RawDocument) -> Result<StoredRecord> {
    let mut fields = Fields(document);
    let mut key = fields.within("_id")?;
    let (kind, id) = (key.integer("kind")?, id_bytes(key.str("id")?)?);
    stored_record_after_key(kind, &id, &mut fields)
}

/// Refuses a change of another version than the stored one. The scope is locked.
pub(crate) async fn refuse_stale(
    tx: &mut Transaction,
    scope: Option<&AgentId>,
    change: &RecordChange,
) -> Result<()> {
    let id = doc! { "_id": key_of(scope, change.key())? };
    let found = tx.reads().one(collection::RECORDS, id, Some(doc! { "version": 1 })).await?;
    let stored = found.map_or(Ok(0), |found| Fields(&found).count("version"))?;
    if change.expected() == Some(stored) { Ok(()) } else { Err(StorageErrorKind::Stale.into()) }
}

/// Stores a record, replacing the one before.
pub(crate) async fn put(tx: &mut Transaction, scope: Option<&AgentId>, record: &StoredRecord) -> Result<()> {
    let update = Update::upsert(doc! { "_id": key_of(scope, &record.key)? }, document(scope, record)?);
    tx.update(collection::RECORDS, &[update]).await.map(drop)
}

/// Removes the records of subjects that are erased.
pub(crate) async fn erase_of(tx: &mut Transaction, agent: &AgentId, subjects: &[Subject]) -> Result<()> {
    let subjects: Vec<Bson> = subjects.iter().map(|subject| binary(&subject.to_bytes()).into()).collect();
    let filter = doc! { "_id.agent": agent.as_str(), "subject": { "$in": subjects } };
    tx.delete(collection::RECORDS, filter).await.map(drop)
}

/// Refuses a unique value of another record.
async fn refuse_duplicate(
    tx: &mut Transaction,
    scope: Option<&AgentId>,
    record: &StoredRecord,
) -> Result<()> {
    let Some(unique) = record.unique else { return Ok(()) };
    let mut filter = by_unique(scope, record.key.kind, &unique)?;
    filter.insert("_id", doc! { "$ne": key_of(scope, &record.key)? });
    match tx.reads().one(collection::RECORDS, filter, Some(doc! { "_id": 1 })).await? {
        Some(_) => Err(StorageErrorKind::DuplicateRecord.into()),
        None => Ok(()),
    }
}

fn by_unique(scope: Option<&AgentId>, kind: RecordKind, unique: &[u8; 32]) -> Result<Document> {
    Ok(doc! {
        "_id.agent": scope::value(scope),
        "_id.kind": integer(kind.number().into())?,
        "unique": binary(unique),
    })
}

/// Changes records of a scope that is locked: removals first.
pub(crate) async fn change(
    tx: &mut Transaction,
    scope: Option<&AgentId>,
    changes: &[RecordChange],
) -> Result<()> {
    for change in changes {
        refuse_stale(tx, scope, change).await?;
    }
    for change in changes {
        if let RecordChange::Remove { key, .. } = change {
            tx.delete(collection::RECORDS, doc! { "_id": key_of(scope, key)? }).await?;
        }
    }
    for change in changes {
        if let RecordChange::Save(record) = change {
            refuse_duplicate(tx, scope, record).await?;
            put(tx, scope, record).await?;
        }
    }
    Ok(())
}

/// As [`RecordStore::save_records`] of a tenant, inside a transaction.
async fn save_of(tx: &mut Transaction, agent: &AgentId, write: &RecordsWrite) -> Result<()> {
    save(tx, Some(agent), write).await
}

/// As [`RecordStore::save_records`], inside a transaction.
async fn save(tx: &mut Transaction, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<()> {
    let state = scope::lock(tx, scope).await?;
    change(tx, scope, &write.changes).await?;
    scope::apply(tx, scope, &write.effects, &state).await
}

/// The change of a write that needs no transaction: one record that is saved without effects and belongs to nobody
/// whose erasure it must not outlive.
fn lone(write: &RecordsWrite) -> Option<&StoredRecord> {
    match write.changes.as_slice() {
        [RecordChange::Save(record)] if record.subject.is_none() => {
            (write.effects == openapi_core::storage::Effects::default()).then_some(record)
        }
        _ => None,
    }
}

/// The find for the records of a kind, by scope and id.
pub(crate) fn find_all(
    kind: RecordKind,
    after: Option<(&Option<AgentId>, &str)>,
    at_most: u32,
) -> Result<Find> {
    let mut filter = doc! { "_id.kind": integer(kind.number().into())? };
    if let Some((scope, id)) = after {
        let beyond = match scope {
            Some(agent) => doc! { "_id.agent": { "$gt": agent.as_str() } },
            // Every name comes after null; a comparison with null finds null alone.
            None => doc! { "_id.agent": { "$gte": "" } },
        };
        let same = doc! { "_id.agent": scope::value(scope.as_ref()), "_id.id": { "$gt": id } };
        filter.insert("$or", vec![same, beyond]);
    }
    Ok(Find {
        filter,
        sort: Some(doc! { "_id.kind": 1, "_id.agent": 1, "_id.id": 1 }),
        limit: at_most,
        hint: Some(index::RECORDS_BY_KIND),
        ..Find::default()
    })
}

/// The find for due records of a kind, the longest due first.
pub(crate) fn find_due(kind: RecordKind, now: Timestamp, skip: u64, at_most: u32) -> Result<Find> {
    Ok(Find {
        filter: doc! { "_id.kind": integer(kind.number().into())?, "dueAt": { "$lte": time(now) } },
        sort: Some(doc! { "_id.kind": 1, "dueAt": 1, "_id.agent": 1, "_id.id": 1 }),
        skip,
        limit: at_most,
        hint: Some(index::RECORDS_BY_DUE),
        ..Find::default()
    })
}

impl MongoStorage {
    /// Saves one record with a single statement, outside the tenant's queue: servers save some records often.
    async fn save_lone(&self, scope: Option<&AgentId>, record: &StoredRecord) -> Result<()> {
        let mut reads = DocumentReader::new(&self.handle);
        if let Some(agent) = scope
            && tenant::find(&mut reads, agent).await?.is_none()
        {
            return Err(StorageErrorKind::Missing.into());
        }
        // No store counts as far as a number that does not fit.
        let before = record.version.checked_sub(1).and_then(|before| integer(before).ok());
        let Some(before) = before.filter(|before| *before < i64::MAX) else {
            return Err(StorageErrorKind::Stale.into());
        };
        let (id, records) = (key_of(scope, &record.key)?, self.handle.collection(collection::RECORDS));
        let document = RawDocumentBuf::try_from(&document(scope, record)?).map_err(corrupt)?;
        let saved = if before == 0 {
            records.insert_one(document).await.map(|_| true)
        } else {
            let filter = doc! { "_id": id.clone(), "version": before };
            records.replace_one(filter, document).await.map(|replaced| replaced.matched_count == 1)
        };
        match saved.map_err(Error::from) {
            Ok(true) => Ok(()),
            Ok(false) => Err(StorageErrorKind::Stale.into()),
            Err(Error::Conflict) if before > 0 => Err(StorageErrorKind::DuplicateRecord.into()),
            Err(Error::Conflict) => {
                let stored =
                    reads.one(collection::RECORDS, doc! { "_id": id }, Some(doc! { "_id": 1 })).await?;
                Err(stored.map_or(StorageErrorKind::DuplicateRecord, |_| StorageErrorKind::Stale).into())
            }
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl RecordStore for MongoStorage {
    async fn record(
        &self,
        scope: Option<&AgentId>,
        key: &RecordKey,
    ) -> Result<Option<StoredRecord>, StorageError> {
        let one = async {
            let mut reads = DocumentReader::new(&self.handle);
            let id = doc! { "_id": key_of(scope, key)? };
            // Without a stored record the tenant need not be read.
            let Some(found) = reads.one(collection::RECORDS, id, None).await? else { return Ok(None) };
            Ok(scope::living(&mut reads, &[found], read).await?.pop().map(|(_, record)| record))
        };
        Ok(self.handle.read(one).await?)
    }

    async fn record_by_unique(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        unique: &[u8; 32],
    ) -> Result<Option<StoredRecord>, StorageError> {
        let one = async {
            let mut reads = DocumentReader::new(&self.handle);
            let filter = by_unique(scope, kind, unique)?;
            let Some(found) = reads.one(collection::RECORDS, filter, None).await? else { return Ok(None) };
            Ok(scope::living(&mut reads, &[found], read).await?.pop().map(|(_, record)| record))
        };
        Ok(self.handle.read(one).await?)
    }

    async fn records_of(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        after: Option<&RecordId>,
        at_most: u32,
    ) -> Result<Vec<StoredRecord>, StorageError> {
        // To the database 0 means no limit.
        if at_most == 0 {
            return Ok(Vec::new());
        }
        let list = async {
            let mut reads = DocumentReader::new(&self.handle);
            let mut filter =
                doc! { "_id.agent": scope::value(scope), "_id.kind": integer(kind.number().into())? };
            if let Some(after) = after {
                filter.insert("_id.id", doc! { "$gt": hexadecimal(after.as_bytes()) });
            }
            let find = Find { filter, ..find_all(kind, None, at_most)? };
            let found = reads.find(collection::RECORDS, find).await?;
            Ok(scope::living(&mut reads, &found, read).await?.into_iter().map(|(_, record)| record).collect())
        };
        Ok(self.handle.list(list).await?)
    }

    async fn all_records(
        &self,
        kind: RecordKind,
        after: Option<&(Option<AgentId>, RecordId)>,
        at_most: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>, StorageError> {
        if at_most == 0 {
            return Ok(Vec::new());
        }
        let list = async {
            let mut reads = DocumentReader::new(&self.handle);
            let (mut records, wanted) = (Vec::new(), at_most as usize);
            let mut position = after.map(|(scope, id)| (scope.clone(), hexadecimal(id.as_bytes())));
            loop {
                let after = position.as_ref().map(|(scope, id)| (scope, id.as_str()));
                let found = reads.find(collection::RECORDS, find_all(kind, after, at_most)?).await?;
                records.extend(scope::living(&mut reads, &found, read).await?);
                let Some(last) = found.last().filter(|_| found.len() == wanted && records.len() < wanted)
                else {
                    break;
                };
                position = Some((scope::of(last)?, Fields(last).str("_id.id")?.to_owned()));
            }
            records.truncate(wanted);
            Ok(records)
        };
        Ok(self.handle.list(list).await?)
    }

    async fn due_records(
        &self,
        kind: RecordKind,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>, StorageError> {
        if at_most == 0 {
            return Ok(Vec::new());
        }
        let list = async {
            let mut reads = DocumentReader::new(&self.handle);
            let (mut records, mut seen, wanted) = (Vec::new(), 0, at_most as usize);
            loop {
                let found = reads.find(collection::RECORDS, find_due(kind, now, seen, at_most)?).await?;
                records.extend(scope::living(&mut reads, &found, read).await?);
                seen += found.len() as u64;
                if found.len() < wanted || records.len() >= wanted {
                    break;
                }
            }
            records.truncate(wanted);
            Ok(records)
        };
        Ok(self.handle.list(list).await?)
    }

    async fn save_records(&self, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<(), StorageError> {
        if let Some(record) = lone(write) {
            return Ok(self.handle.read(self.save_lone(scope, record)).await?);
        }
        match scope {
            Some(agent) => in_transaction!(self.writer.write(agent), save_of(agent, write)),
            None => {
                let work: Work<RecordsWrite, ()> = |tx, write| Box::pin(save(tx, None, write));
                Ok(self.handle.transact(write, work).await?)
            }
        }
    }
}
