//! Reading records, jobs and events of a log.

use openapi_core::credits::JobCredits;
use openapi_core::events::EventType;
use openapi_core::json::RawObject;
use openapi_core::storage::{
    Job, JobLease, JobState, LogEntry, Queue, RecordId, RecordKey, RecordKind, StoredRecord, Subject,
};
use openapi_core::values::{ContactId, JobId, PlatformId};

use crate::error::StoreError;
use crate::fields::FieldReader;

/// Reads a record.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn stored_record<'r, R: FieldReader<'r>>(r: &mut R) -> Result<StoredRecord, R::Error> {
    let (kind, id) = (r.code_number("_id.kind")?, r.slice("_id.id")?);
    stored_record_after_key(kind, id, r)
}

/// Reads a record after the number of its kind and its id.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn stored_record_after_key<'r, R: FieldReader<'r>>(
    kind: i64,
    id: &[u8],
    r: &mut R,
) -> Result<StoredRecord, R::Error> {
    let number = u16::try_from(kind).ok().and_then(RecordKind::of_number);
    let kind = number.ok_or_else(|| R::Error::corrupt(format_args!("{kind} is no kind of a record")))?;
    let id = RecordId::from_bytes(id).ok_or_else(|| R::Error::corrupt("an id is too long"))?;
    let version = r.count("version")?;
    let no_subject = || R::Error::corrupt("a record has an unknown subject");
    let subject = r.optional_bytes("subject")?;
    Ok(StoredRecord {
        key: RecordKey { kind, id },
        version,
        subject: subject.map(|bytes| Subject::from_bytes(bytes).ok_or_else(no_subject)).transpose()?,
        unique: r.optional_bytes("unique")?,
        due_at: r.optional_time("dueAt")?,
        body: r.object("body")?,
    })
}

/// Reads a job: its columns, or a document with members of these names.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn job<'r, R: FieldReader<'r>>(r: &mut R) -> Result<Job, R::Error> {
    let job = listed_job(r)?;
    let result = r.optional_str("result")?;
    let result = result.map(|text| RawObject::from_text(text).map_err(R::Error::corrupt)).transpose()?;
    Ok(Job { result, ..job })
}

/// Reads a job of a list, which has no result.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn listed_job<'r, R: FieldReader<'r>>(r: &mut R) -> Result<Job, R::Error> {
    let id = JobId::from_bytes(r.bytes("_id.id")?);
    let (queue, state) = (r.code_number("queue")?, r.code_number("state")?);
    let unknown = |what: &str, number: i64| R::Error::corrupt(format_args!("{number} is no {what} of a job"));
    let queue_of = u16::try_from(queue).ok().and_then(Queue::of_number);
    let state_of = u16::try_from(state).ok().and_then(JobState::of_number);
    let (version, turn, due_at) = (r.count("version")?, r.count("turn")?, r.optional_time("dueAt")?);
    let (owner, until) = (r.optional_bytes("leaseOwner")?, r.optional_time("leaseUntil")?);
    let small = |count: u64| u32::try_from(count).map_err(R::Error::corrupt);
    let (attempts, lost) = (small(r.count("attempts")?)?, small(r.count("lost")?)?);
    let (batch, client_id) = (r.optional_str("batch")?, r.optional_str("clientId")?);
    let no_subject = || R::Error::corrupt("a job has an unknown subject");
    let subject = r.optional_bytes("subject")?;
    let reserved = JobCredits { plan: r.count("reservedPlan")?, top_up: r.count("reservedTopUp")? };
    Ok(Job {
        id,
        queue: queue_of.ok_or_else(|| unknown("queue", queue))?,
        state: state_of.ok_or_else(|| unknown("state", state))?,
        version,
        turn,
        due_at,
        lease: owner
            .zip(until)
            .map(|(owner, until)| JobLease { owner: PlatformId::from_bytes(owner), until }),
        attempts,
        lost,
        batch: batch.map(Box::from),
        client_id: client_id.map(Box::from),
        subject: subject.map(|bytes| Subject::from_bytes(bytes).ok_or_else(no_subject)).transpose()?,
        reserved,
        created_at: r.time("createdAt")?,
        started_at: r.optional_time("startedAt")?,
        body: r.object("body")?,
        result: None,
    })
}

/// Reads an event of a log.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn log_entry<'r, R: FieldReader<'r>>(r: &mut R) -> Result<LogEntry, R::Error> {
    let (seq, id, at) = (r.count("_id.seq")?, PlatformId::from_bytes(r.bytes("id")?), r.time("at")?);
    let number = r.code_number("kind")?;
    let kind = u16::try_from(number).ok().and_then(EventType::of_number);
    Ok(LogEntry {
        seq,
        id,
        at,
        kind: kind.ok_or_else(|| R::Error::corrupt(format_args!("{number} is no type of an event")))?,
        contact: r.optional_bytes("contact")?.map(ContactId::from_bytes),
        body: r
            .optional_str("body")?
            .map(|text| RawObject::from_text(text).map_err(R::Error::corrupt))
            .transpose()?,
    })
}
