//! The event log of each tenant. The tenant's state counts the events, so their numbers have no gap and follow the
//! commits: two transactions that change one state cannot both commit.

use std::collections::HashMap;

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use openapi_core::events::NewEvent;
use openapi_core::storage::{ChangeNotifier, ChangeSource, LogEntry, LogPage, LogStore, StorageError};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use storage_common::records;

use crate::document::{FieldReader, Fields, binary, integer, key, put, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::store::MongoStorage;
use crate::tenant;
use crate::transaction::{DocumentReader, Find, Transaction, Update};

/// The `_id` of an event. The empty stream is the log of events.
pub(crate) fn key_of(agent: &AgentId, seq: u64) -> Result<Document> {
    Ok(doc! { "agent": agent.as_str(), "stream": binary(&[]), "seq": integer(seq)? })
}

/// The document of an event.
pub(crate) fn document(agent: &AgentId, entry: &LogEntry) -> Result<Document> {
    let mut document = doc! {
        "_id": key_of(agent, entry.seq)?,
        "id": binary(entry.id.as_bytes()),
        "at": time(entry.at),
        "kind": i32::from(entry.kind.number()),
    };
    put(&mut document, "contact", entry.contact.map(|contact| binary(contact.as_bytes())));
    put(&mut document, "body", entry.body.as_ref().map(|body| body.as_str().to_owned()));
    Ok(document)
}

/// Appends events after the number `newest` and returns the number of the last one. The tenant is locked.
pub(crate) async fn append<'e>(
    tx: &mut Transaction,
    agent: &AgentId,
    newest: u64,
    events: impl Iterator<Item = &'e NewEvent>,
) -> Result<u64> {
    let entries: Vec<LogEntry> = events.zip(newest + 1..).map(|(event, seq)| event.to_entry(seq)).collect();
    let documents: Vec<Document> =
        entries.iter().map(|entry| document(agent, entry)).collect::<Result<_>>()?;
    if documents.is_empty() {
        return Ok(newest);
    }
    tx.insert(collection::LOG, &documents).await?;
    tx.notify_after_commit(agent, entries.iter().map(|entry| entry.kind));
    Ok(newest + documents.len() as u64)
}

/// Notes that the events of a contact up to the number `newest` are erased.
pub(crate) async fn note_erasure(
    tx: &mut Transaction,
    agent: &AgentId,
    contact: ContactId,
    newest: u64,
) -> Result<()> {
    if newest == 0 {
        return Ok(());
    }
    let note = doc! { "$set": { "upto": integer(newest)? }, "$setOnInsert": { "scrubbed": 0_i64 } };
    let update = Update::upsert(doc! { "_id": key(agent, contact.as_bytes()) }, note);
    tx.update(collection::LOG_ERASED, &[update]).await.map(drop)
}

/// The find for a tenant's events of some numbers, oldest first.
pub(crate) fn find(agent: &AgentId, after: u64, upto: Option<u64>, at_most: u32) -> Result<Find> {
    let (mut from, mut to) = (key_of(agent, 0)?, key_of(agent, 0)?);
    from.insert("seq", i64::try_from(after).unwrap_or(i64::MAX));
    to.insert("seq", upto.map_or(Ok(Bson::MaxKey), |upto| integer(upto).map(Bson::Int64))?);
    Ok(Find {
        filter: doc! { "_id": { "$gt": from, "$lte": to }, "_id.agent": agent.as_str() },
        sort: Some(doc! { "_id": 1 }),
        limit: at_most,
        hint: Some(index::BY_KEY),
        ..Find::default()
    })
}

/// The events of documents as readers see them: those of erased contacts are empty.
pub(crate) async fn shown(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    found: &[RawDocumentBuf],
) -> Result<Vec<LogEntry>> {
    let mut entries: Vec<LogEntry> =
        found.iter().map(|document| records::log_entry(&mut Fields(document))).collect::<Result<_>>()?;
    let mut contacts: Vec<ContactId> = entries.iter().filter_map(|entry| entry.contact).collect();
    contacts.sort_unstable();
    contacts.dedup();
    if contacts.is_empty() {
        return Ok(entries);
    }
    let keys = contacts.iter().map(|contact| key(agent, contact.as_bytes())).collect();
    let find =
        Find { filter: crate::document::keyed(agent, keys), hint: Some(index::BY_KEY), ..Find::default() };
    let notes = reads.find(collection::LOG_ERASED, find).await?;
    let note =
        |note: &RawDocumentBuf| Ok((ContactId::from_bytes(Fields(note).id()?), Fields(note).count("upto")?));
    let erased: HashMap<ContactId, u64> = notes.iter().map(note).collect::<Result<_>>()?;
    for entry in &mut entries {
        let upto = entry.contact.and_then(|contact| erased.get(&contact));
        if upto.is_some_and(|upto| entry.seq <= *upto) {
            (entry.contact, entry.body) = (None, None);
        }
    }
    Ok(entries)
}

/// A page of a tenant's log, all of it of one snapshot.
async fn page(reads: &mut DocumentReader<'_>, agent: &AgentId, after: u64, at_most: u32) -> Result<LogPage> {
    let Some(state) = tenant::find(reads, agent).await? else { return Ok(LogPage::default()) };
    let head = state.ends.events;
    if head == 0 {
        return Ok(LogPage::default());
    }
    let first = Find { projection: Some(doc! { "_id": 1 }), ..find(agent, 0, None, 1)? };
    let first = reads.find(collection::LOG, first).await?;
    let oldest = first.first().map_or(Ok(0), |first| Fields(first).within("_id")?.count("seq"))?;
    // To the database 0 means no limit.
    let found = match at_most {
        0 => Vec::new(),
        at_most => reads.find(collection::LOG, find(agent, after, None, at_most)?).await?,
    };
    Ok(LogPage { entries: shown(reads, agent, &found).await?, oldest, head })
}

/// Removes the oldest events of a tenant, up to the first of `before` or later.
async fn sweep(tx: &mut Transaction, agent: &AgentId, before: Timestamp, at_most: u32) -> Result<u64> {
    let Some(state) = tenant::lock(tx, agent).await? else { return Ok(0) };
    let newest = state.ends.events;
    if newest == 0 || at_most == 0 {
        return Ok(0);
    }
    let oldest = Find { projection: Some(doc! { "at": 1 }), ..find(agent, 0, Some(newest - 1), at_most)? };
    let found = tx.reads().find(collection::LOG, oldest).await?;
    let mut last = None;
    for document in &found {
        let mut fields = Fields(document);
        if fields.time("at")? >= before {
            break;
        }
        last = Some(fields.within("_id")?.count("seq")?);
    }
    let Some(last) = last else { return Ok(0) };
    tx.delete(collection::LOG, find(agent, 0, Some(last), 0)?.filter).await
}

/// An erased contact whose events are not emptied yet.
struct Note {
    agent: AgentId,
    contact: ContactId,
    upto: u64,
    scrubbed: u64,
}

impl Note {
    fn read(document: &RawDocumentBuf) -> Result<Self> {
        let mut fields = Fields(document);
        Ok(Note {
            agent: fields.agent()?,
            contact: ContactId::from_bytes(fields.id()?),
            upto: fields.count("upto")?,
            scrubbed: fields.count("scrubbed")?,
        })
    }

    fn key(&self) -> Document {
        doc! { "_id": key(&self.agent, self.contact.as_bytes()) }
    }
}

impl MongoStorage {
    /// Empties events of one erased contact and returns how many events it has looked at. Repeating it, or doing it on
    /// two servers at once, changes nothing more: the contact's id is never given again.
    async fn scrub(&self, note: &Note, at_most: u64) -> Result<u64> {
        let end = note.upto.min(note.scrubbed.saturating_add(at_most));
        let mut filter = find(&note.agent, note.scrubbed, Some(end), 0)?.filter;
        filter.insert("contact", binary(note.contact.as_bytes()));
        let log = self.handle.collection(collection::LOG);
        log.update_many(filter, doc! { "$unset": { "contact": "", "body": "" } }).await?;
        let notes = self.handle.collection(collection::LOG_ERASED);
        if end == note.upto {
            notes.delete_one(note.key()).await?;
        } else {
            notes.update_one(note.key(), doc! { "$max": { "scrubbed": integer(end)? } }).await?;
        }
        Ok(end - note.scrubbed)
    }
}

#[async_trait]
impl LogStore for MongoStorage {
    async fn log(&self, agent: &AgentId, after: u64, at_most: u32) -> Result<LogPage, StorageError> {
        let read = async {
            let mut session = self.handle.snapshot().await?;
            page(&mut DocumentReader::in_session(&self.handle, &mut session), agent, after, at_most).await
        };
        Ok(self.handle.list(read).await?)
    }

    async fn log_heads(&self, agents: &[AgentId]) -> Result<Vec<u64>, StorageError> {
        Ok(self.handle.list(tenant::event_heads(&self.handle, agents)).await?)
    }

    async fn sweep_log(&self, agent: &AgentId, before: Timestamp, at_most: u32) -> Result<u64, StorageError> {
        storage_common::in_transaction!(self.writer.write(agent), sweep(agent, *before, *at_most))
    }

    async fn scrub_logs(&self, at_most: u32) -> Result<u64, StorageError> {
        let scrub = async {
            let mut left = u64::from(at_most);
            let notes = Find { sort: Some(doc! { "_id": 1 }), limit: at_most.max(1), ..Find::default() };
            for note in DocumentReader::new(&self.handle).find(collection::LOG_ERASED, notes).await? {
                if left == 0 {
                    break;
                }
                left -= self.scrub(&Note::read(&note)?, left).await?.min(left);
            }
            DocumentReader::new(&self.handle).count(collection::LOG_ERASED, Document::new(), None).await
        };
        Ok(self.handle.list(scrub).await?)
    }
}

impl ChangeSource for MongoStorage {
    fn notifier(&self) -> &ChangeNotifier {
        &self.handle.notifier
    }
}
