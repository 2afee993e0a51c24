//! Jobs: writing them together with what belongs to them, and reading them.

use openapi_core::storage::{
    DocumentWrite, Job, JobChange, JobPage, JobQuery, JobState, JobsWrite, Queue, QuotaExcess, QuotaUnit,
    StorageErrorKind, Subject, Window,
};
use openapi_core::values::{AgentId, FileId, JobId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use storage_common::{job_columns, records};

use super::scope::number_of;
use crate::error::{Result, corrupt};
use crate::rows::{self, signed};
use crate::{audit_chain, contacts, credits, documents, effects};

/// Every job of an agent, erased ones included.
pub(crate) const EVERY_OF_AGENT: &str = concat!("SELECT ", job_columns!(), " FROM job j WHERE j.agent = ?1");

fn remove(db: &Connection, scope: i64, id: JobId) -> Result<()> {
    db.prepare_cached("DELETE FROM job WHERE agent = ?1 AND id = ?2")?
        .execute(params![scope, id.as_bytes()])?;
    Ok(())
}

/// Stores a job that is not there.
pub(crate) fn put_new(db: &Connection, scope: i64, job: &Job) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO job (agent, id, queue, state, version, turn, due_at, lease_owner, lease_until, attempts, \
         lost, batch, client_id, subject, reserved_plan, reserved_top_up, created_at, started_at, body, result) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
    )?
    .execute(params![
        scope,
        job.id.as_bytes(),
        job.queue.number(),
        job.state.number(),
        signed(job.version)?,
        signed(job.turn)?,
        job.due_at.map(Timestamp::millis),
        job.lease.map(|lease| *lease.owner.as_bytes()),
        job.lease.map(|lease| lease.until.millis()),
        job.attempts,
        job.lost,
        job.batch,
        job.client_id,
        job.subject.map(Subject::to_bytes),
        signed(job.reserved.plan)?,
        signed(job.reserved.top_up)?,
        job.created_at.millis(),
        job.started_at.map(Timestamp::millis),
        job.body.as_str(),
        job.result.as_ref().map(|result| result.as_str()),
    ])?;
    Ok(())
}

fn refuse_stale(db: &Connection, scope: i64, change: &JobChange) -> Result<()> {
    let sql = "SELECT version FROM job WHERE agent = ?1 AND id = ?2";
    let stored = rows::number(db, sql, params![scope, change.id().as_bytes()])?.unwrap_or(0);
    match change.expected() {
        Some(expected) if stored == expected => Ok(()),
        _ => Err(StorageErrorKind::Stale.into()),
    }
}

fn apply(db: &Connection, scope: i64, changes: &[JobChange]) -> Result<()> {
    for change in changes {
        remove(db, scope, change.id())?;
        if let JobChange::Save(job) = change {
            put_new(db, scope, job)?;
        }
    }
    Ok(())
}

/// Fails if more jobs are unfinished than may be.
fn refuse_excess(db: &Connection, scope: i64, (queue, limit): (Queue, u64)) -> Result<()> {
    let sql = "SELECT count(*) FROM job WHERE agent = ?1 AND queue = ?2 AND state < 3";
    let actual = rows::count(db, sql, params![scope, queue.number()])?;
    if actual > limit {
        return Err(
            StorageErrorKind::QuotaExceeded(QuotaExcess { unit: QuotaUnit::Jobs, limit, actual }).into()
        );
    }
    Ok(())
}

fn store_documents(db: &Connection, agent_id: &AgentId, agent: i64, write: &JobsWrite) -> Result<()> {
    let discard = |id: &FileId| documents::discard(db, agent_id, *id, write.at);
    write.discard.iter().try_for_each(discard)?;
    for document in &write.documents {
        documents::refuse_excess(db, agent, document)?;
        let DocumentWrite { document, .. } = document;
        documents::insert(db, agent_id, agent, document)?;
    }
    Ok(())
}

/// As [`openapi_core::storage::QueueStore::save_jobs`], inside the writer's transaction.
pub(crate) fn save(db: &Connection, scope: Option<&AgentId>, write: &JobsWrite) -> Result<()> {
    let number = number_of(db, scope)?.ok_or(StorageErrorKind::Missing)?;
    effects::refuse_replayed(db, number, &write.effects, write.at)?;
    for (contact, version) in write.contacts.iter().copied() {
        contacts::refuse_stale(db, number, contact, version)?;
    }
    write.changes.iter().try_for_each(|change| refuse_stale(db, number, change))?;
    super::records::change(db, number, &write.records)?;
    if let Some(account) = &write.account {
        credits::refuse_stale(db, number, account)?;
    }
    apply(db, number, &write.changes)?;
    write.max_unfinished.map_or(Ok(()), |most| refuse_excess(db, number, most))?;
    let Some(agent) = scope else {
        return write.effects.audit.iter().try_for_each(|entry| audit_chain::append(db, entry));
    };
    store_documents(db, agent, number, write)?;
    write.entries.iter().try_for_each(|entry| credits::note_new(db, number, entry))?;
    if let Some(account) = &write.account {
        credits::put(db, number, account)?;
    }
    effects::apply(db, number, &write.effects)
}

/// Erases the jobs of a contact or a conversation.
pub(crate) fn erase_of(db: &Connection, agent: i64, subject: Subject, at: Timestamp) -> Result<()> {
    db.prepare_cached(
        "UPDATE job SET state = 6, version = version + 1, due_at = ?3, lease_owner = NULL, lease_until = NULL, \
         batch = NULL, client_id = NULL, subject = NULL, body = '{}', result = NULL \
         WHERE agent = ?1 AND subject = ?2",
    )?
    .execute(params![agent, subject.to_bytes(), at.millis()])?;
    Ok(())
}

/// The condition of a list with its values, of which the scope is the first one.
fn condition(scope: i64, query: &JobQuery) -> (String, Vec<Value>) {
    let mut values = vec![Value::from(scope), Value::from(i64::from(query.queue.number()))];
    let mut sql = "j.agent = ?1 AND j.queue = ?2".to_owned();
    for (column, value) in [("batch", &query.batch), ("client_id", &query.client_id)] {
        if let Some(value) = value {
            values.push(Value::from(value.to_string()));
            sql.push_str(&format!(" AND j.{column} = ?{}", values.len()));
        }
    }
    let numbers: Vec<String> = query.states.iter().map(|state| state.number().to_string()).collect();
    match numbers.as_slice() {
        [] => sql.push_str(" AND j.state <> 6"),
        numbers => sql.push_str(&format!(" AND j.state IN ({}) AND j.state <> 6", numbers.join(", "))),
    }
    (sql, values)
}

/// The statement of a page of jobs.
pub(crate) fn page_of(scope: i64, query: &JobQuery) -> (String, Vec<Value>) {
    let (condition, mut values) = condition(scope, query);
    let mut sql = format!(concat!("SELECT ", job_columns!(listed), " FROM job j WHERE {}"), condition);
    let order = " ORDER BY j.created_at DESC, j.id DESC";
    let mut add = |value: Value| {
        values.push(value);
        values.len()
    };
    match &query.window {
        Window::Page { offset, limit } => {
            let (limit, offset) =
                (add(i64::from(*limit).into()), add(i64::try_from(*offset).unwrap_or(i64::MAX).into()));
            sql.push_str(&format!("{order} LIMIT ?{limit} OFFSET ?{offset}"));
        }
        Window::After { position: (at, id), limit } => {
            let (at, id) = (add(at.millis().into()), add(id.as_bytes().to_vec().into()));
            let limit = add(i64::from(*limit).into());
            sql.push_str(&format!(" AND (j.created_at, j.id) < (?{at}, ?{id}){order} LIMIT ?{limit}"));
        }
    }
    (sql, values)
}

/// As [`openapi_core::storage::QueueStore::jobs`].
pub(crate) fn list(db: &Connection, scope: Option<&AgentId>, query: &JobQuery) -> Result<JobPage> {
    let Some(number) = number_of(db, scope)? else { return Ok(JobPage::default()) };
    let (sql, values) = page_of(number, query);
    let jobs = rows::all(db, &sql, params_from_iter(values), |r| records::listed_job(r))?;
    let (condition, values) = condition(number, query);
    let sql = format!("SELECT count(*) FROM job j WHERE {condition}");
    let total = rows::count(db, &sql, params_from_iter(values))?;
    Ok(JobPage { jobs, total })
}

/// As [`openapi_core::storage::QueueStore::count_jobs`].
pub(crate) fn count(db: &Connection, scope: i64, queue: Queue, batch: &str) -> Result<Vec<(JobState, u64)>> {
    let sql = "SELECT state, count(*) FROM job WHERE agent = ?1 AND batch = ?2 AND queue = ?3 AND state <> 6 \
               GROUP BY state ORDER BY state";
    rows::all(db, sql, params![scope, batch, queue.number()], |r| {
        let number = r.integer()?;
        let state = u16::try_from(number).ok().and_then(JobState::of_number);
        let state = state.ok_or_else(|| corrupt(format_args!("{number} is no state of a job")))?;
        Ok((state, r.count()?))
    })
}
