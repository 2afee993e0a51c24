//! Records, queues of jobs and event logs.

pub(crate) mod jobs;
pub(crate) mod log;
pub(crate) mod records;
mod scope;

use mongodb::bson::{Document, RawDocument, RawDocumentBuf, doc};
use openapi_core::storage::{RecordKind, StoredRecord, Subject};
use openapi_core::values::{AgentId, Timestamp};

use crate::connect::Handle;
use crate::document::{FieldReader, Fields};
use crate::error::{Result, corrupt};
use crate::migrate::collection;
use crate::transaction::{DocumentReader, Find, Transaction};

/// Removes the records of erased contacts and conversations, and erases their jobs. The tenant is locked.
pub(crate) async fn erase_of(
    tx: &mut Transaction,
    agent: &AgentId,
    subjects: &[Subject],
    at: Timestamp,
) -> Result<()> {
    records::erase_of(tx, agent, subjects).await?;
    jobs::erase_of(tx, agent, subjects, at).await
}

/// How many documents are moved at once.
const BATCH: u32 = 1_000;

/// Moves what former releases have stored as small records and rate-limit windows. It can be repeated.
pub(crate) async fn move_records(handle: &Handle) -> Result<()> {
    move_all(handle, collection::AGENT_RECORDS, |agent, document| {
        let mut fields = Fields(document);
        let number = u16::try_from(fields.within("_id")?.count("kind")?).map_err(corrupt)?;
        let kind = RecordKind::of_number(number).ok_or_else(|| corrupt(format_args!("no kind {number}")))?;
        let record = StoredRecord::single(kind, fields.count("version")?, fields.object("body")?);
        records::document(Some(&agent), &record)
    })
    .await?;
    move_all(handle, collection::RATE_WINDOWS, |agent, document| {
        let mut fields = Fields(document);
        let mut moved = doc! {
            "_id": records::key_of_number(
                Some(&agent),
                RecordKind::RateLimitWindow.number().into(),
                &fields.id::<12>()?,
            )?,
            "version": fields.value("version")?.as_i64(),
        };
        moved.insert("body", format!("{{\"shares\":{}}}", fields.str("shares")?));
        Ok(moved)
    })
    .await
}

/// Copies the documents of a collection in batches and drops the collection.
async fn move_all(
    handle: &Handle,
    from: &str,
    moved: fn(AgentId, &RawDocument) -> Result<Document>,
) -> Result<()> {
    let (source, target) = (handle.collection(from), handle.collection(collection::RECORDS));
    let mut after: Option<RawDocumentBuf> = None;
    loop {
        let filter = match &after {
            Some(last) => {
                doc! { "_id": { "$gt": mongodb::bson::Bson::try_from(Fields(last).value("_id")?).map_err(corrupt)? } }
            }
            None => Document::new(),
        };
        let find = Find { filter, sort: Some(doc! { "_id": 1 }), limit: BATCH, ..Find::default() };
        let mut found = DocumentReader::new(handle).find(from, find).await?;
        for document in &found {
            let record = moved(Fields(document).agent()?, document)?;
            let id = record.get_document("_id").map_err(corrupt)?.clone();
            // An interrupted move has stored some already.
            target
                .update_one(doc! { "_id": id }, doc! { "$setOnInsert": without_id(record) })
                .upsert(true)
                .await?;
        }
        match found.pop() {
            Some(last) => after = Some(last),
            None => break,
        }
    }
    source.drop().await?;
    Ok(())
}

fn without_id(mut document: Document) -> Document {
    document.remove("_id");
    document
}
