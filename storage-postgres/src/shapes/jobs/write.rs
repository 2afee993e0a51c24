//! Changing jobs. Everything here runs in a transaction that has locked the scope.

use std::collections::{BTreeSet, HashMap};

use openapi_core::storage::{
    DocumentWrite, Job, JobChange, JobsWrite, QuotaExcess, QuotaUnit, StorageErrorKind, Subject,
};
use openapi_core::values::{AgentId, FileId, JobId, Timestamp};
use sqlx::PgConnection;

use super::number;
use crate::connect::{execute, fetch, fetch_one};
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement, signed};
use crate::shapes::records;
use crate::shapes::scope::{self, column};
use crate::{contacts, credits, documents, effects};

/// As [`openapi_core::storage::QueueStore::save_jobs`], in a transaction of its own.
pub(super) async fn save(db: &mut PgConnection, scope: Option<&AgentId>, write: &JobsWrite) -> Result<()> {
    let locked = scope::lock(db, scope).await?;
    if let Some(agent) = scope {
        effects::refuse_replayed(db, agent, &write.effects, write.at).await?;
        for (contact, version) in write.contacts.iter().copied() {
            contacts::refuse_stale(db, agent, contact, version).await?;
        }
    }
    let stored = refuse_stale(db, scope, &write.changes).await?;
    records::change(db, scope, &write.records).await?;
    if let (Some(agent), Some(account)) = (scope, &write.account) {
        credits::refuse_stale(db, agent, account).await?;
    }
    refuse_excess(db, scope, write, &stored).await?;
    if let Some(agent) = scope {
        change_documents(db, agent, write).await?;
        for entry in &write.entries {
            if !credits::append(db, agent, entry).await? {
                return Err(StorageErrorKind::AlreadyExists.into());
            }
        }
        if let Some(account) = &write.account {
            credits::put(db, agent, account).await?;
        }
    }
    change(db, scope, &write.changes).await?;
    scope::apply(db, scope, &write.effects, locked.head).await
}

/// What a limit needs to know of a stored job.
struct Stored {
    queue: i16,
    is_unfinished: bool,
}

/// Refuses changes of jobs that have other versions, and locks the jobs against claims, renewals and wake-ups. The order is
/// that of renewals.
async fn refuse_stale(
    db: &mut PgConnection,
    scope: Option<&AgentId>,
    changes: &[JobChange],
) -> Result<Vec<Stored>> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let statement = Statement::new(
        "SELECT j.id, j.version, j.queue, j.state < 3 FROM unnest($1::text[], $2::bytea[]) AS u (agent, id) \
         JOIN job j ON j.agent = u.agent AND j.id = u.id ORDER BY j.agent, j.id FOR NO KEY UPDATE OF j",
    );
    let ids: Vec<JobId> = changes.iter().map(JobChange::id).collect();
    let (mut versions, mut stored) = (HashMap::new(), Vec::new());
    for row in fetch(db, bind_keys(statement, scope, &ids)?).await? {
        let mut r = RowReader::new(&row);
        versions.insert(JobId::from_bytes(r.bytes()?), r.count()?);
        stored.push(Stored { queue: r.small()?, is_unfinished: r.bool()? });
    }
    let is_expected = |change: &JobChange| {
        change.expected() == Some(versions.get(&change.id()).copied().unwrap_or_default())
    };
    if changes.iter().all(is_expected) { Ok(stored) } else { Err(StorageErrorKind::Stale.into()) }
}

/// The statement of the number of unfinished jobs of a scope.
pub(crate) fn unfinished(scope: Option<&AgentId>, queue: i16) -> Result<Statement> {
    Statement::new("SELECT count(*) FROM job j WHERE j.agent = $1 AND j.queue = $2 AND j.state < 3")
        .bind(column(scope))?
        .bind(queue)
}

/// Refuses a write after which more jobs would be unfinished than may be. `stored` are the changed jobs as they are.
async fn refuse_excess(
    db: &mut PgConnection,
    scope: Option<&AgentId>,
    write: &JobsWrite,
    stored: &[Stored],
) -> Result<()> {
    let Some((queue, limit)) = write.max_unfinished else { return Ok(()) };
    let of = number(queue.number())?;
    let row = fetch_one(db, unfinished(scope, of)?).await?;
    let all = RowReader::new(&row.ok_or_else(|| corrupt("a count has no row"))?).count()?;
    let changed = stored.iter().filter(|job| job.queue == of && job.is_unfinished).count() as u64;
    let saved = write.changes.iter().filter(|change| match change {
        JobChange::Save(job) => job.queue == queue && job.state.is_unfinished(),
        JobChange::Remove { .. } => false,
    });
    let actual = all.saturating_sub(changed) + saved.count() as u64;
    if actual > limit {
        return Err(
            StorageErrorKind::QuotaExceeded(QuotaExcess { unit: QuotaUnit::Jobs, limit, actual }).into()
        );
    }
    Ok(())
}

/// Retains and discards documents.
async fn change_documents(db: &mut PgConnection, agent: &AgentId, write: &JobsWrite) -> Result<()> {
    let discarded: BTreeSet<FileId> = write.discard.iter().copied().collect();
    let discarded = documents::sizes(db, agent, &discarded).await?;
    let freed = discarded.iter().map(|(_, size)| size).sum();
    for new in &write.documents {
        documents::refuse_excess(db, agent, new, freed).await?;
        let DocumentWrite { document, .. } = new;
        documents::add(db, agent, document).await?;
    }
    for (document, _) in discarded {
        documents::remove(db, agent, document, write.at).await?;
    }
    Ok(())
}

async fn change(db: &mut PgConnection, scope: Option<&AgentId>, changes: &[JobChange]) -> Result<()> {
    let (mut removed, mut saved) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            JobChange::Remove { id, .. } => removed.push(*id),
            JobChange::Save(job) => saved.push(&**job),
        }
    }
    if !removed.is_empty() {
        let statement = Statement::new(
            "DELETE FROM job j USING unnest($1::text[], $2::bytea[]) AS u (agent, id) \
             WHERE j.agent = u.agent AND j.id = u.id",
        );
        execute(db, bind_keys(statement, scope, &removed)?).await?;
    }
    if saved.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "{INSERT} ON CONFLICT (agent, id) DO UPDATE SET state = excluded.state, version = excluded.version, \
         turn = excluded.turn, due_at = excluded.due_at, lease_owner = excluded.lease_owner, \
         lease_until = excluded.lease_until, attempts = excluded.attempts, lost = excluded.lost, \
         batch = excluded.batch, client_id = excluded.client_id, reserved_plan = excluded.reserved_plan, \
         reserved_top_up = excluded.reserved_top_up, started_at = excluded.started_at, body = excluded.body, \
         result = excluded.result"
    );
    execute(db, bind(sql, scope, &saved)?).await.map(drop)
}

fn bind_keys(statement: Statement, scope: Option<&AgentId>, ids: &[JobId]) -> Result<Statement> {
    statement
        .bind(vec![column(scope); ids.len()])?
        .bind(ids.iter().map(|id| id.as_bytes().as_slice()).collect::<Vec<_>>())
}

const INSERT: &str = "INSERT INTO job (agent, id, queue, state, version, turn, due_at, lease_owner, lease_until, \
     attempts, lost, batch, client_id, subject, reserved_plan, reserved_top_up, created_at, started_at, body, result) \
     SELECT * FROM unnest($1::text[], $2::bytea[], $3::smallint[], $4::smallint[], $5::bigint[], $6::bigint[], \
     $7::bigint[], $8::bytea[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::bytea[], \
     $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[], $20::text[])";

fn bind(
    sql: impl Into<std::borrow::Cow<'static, str>>,
    scope: Option<&AgentId>,
    jobs: &[&Job],
) -> Result<Statement> {
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
    let numbers = |of: fn(&Job) -> u16| jobs.iter().map(|job| number(of(job))).collect::<Result<Vec<_>>>();
    let counts = |of: fn(&Job) -> u64| jobs.iter().map(|job| signed(of(job))).collect::<Result<Vec<_>>>();
    let times = |of: fn(&Job) -> Option<Timestamp>| {
        jobs.iter().map(|job| of(job).map(Timestamp::millis)).collect::<Vec<_>>()
    };
    let owners = jobs.iter().map(|job| job.lease.as_ref().map(|lease| lease.owner.as_bytes().as_slice()));
    let subjects = jobs.iter().map(|job| job.subject.map(|subject| subject.to_bytes().to_vec()));
    bind_keys(Statement::new(sql), scope, &ids)?
        .bind(numbers(|job| job.queue.number())?)?
        .bind(numbers(|job| job.state.number())?)?
        .bind(counts(|job| job.version)?)?
        .bind(counts(|job| job.turn)?)?
        .bind(times(|job| job.due_at))?
        .bind(owners.collect::<Vec<_>>())?
        .bind(times(|job| job.lease.map(|lease| lease.until)))?
        .bind(counts(|job| job.attempts.into())?)?
        .bind(counts(|job| job.lost.into())?)?
        .bind(jobs.iter().map(|job| job.batch.as_deref()).collect::<Vec<_>>())?
        .bind(jobs.iter().map(|job| job.client_id.as_deref()).collect::<Vec<_>>())?
        .bind(subjects.collect::<Vec<_>>())?
        .bind(counts(|job| job.reserved.plan)?)?
        .bind(counts(|job| job.reserved.top_up)?)?
        .bind(times(|job| Some(job.created_at)))?
        .bind(times(|job| job.started_at))?
        .bind(jobs.iter().map(|job| job.body.as_str()).collect::<Vec<_>>())?
        .bind(jobs.iter().map(|job| job.result.as_ref().map(|result| result.as_str())).collect::<Vec<_>>())
}

/// Stores jobs whose keys are free.
pub(crate) async fn insert(db: &mut PgConnection, agent: &AgentId, jobs: &[&Job]) -> Result<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    execute(db, bind(INSERT, Some(agent), jobs)?).await.map(drop)
}

/// The statement that erases the jobs of erased contacts and conversations.
pub(crate) fn erasure(agent: &AgentId, subjects: &[Subject], at: Timestamp) -> Result<Statement> {
    Statement::new(
        "UPDATE job j SET state = 6, version = j.version + 1, due_at = $3, lease_owner = NULL, lease_until = NULL, \
         batch = NULL, client_id = NULL, subject = NULL, body = '{}', result = NULL \
         FROM unnest($1::text[], $2::bytea[]) AS u (agent, subject) \
         WHERE j.agent = u.agent AND j.subject = u.subject AND j.subject IS NOT NULL",
    )
    .bind(vec![agent.as_str(); subjects.len()])?
    .bind(subjects.iter().map(|subject| subject.to_bytes().to_vec()).collect::<Vec<_>>())?
    .bind(at.millis())
}

/// Erases the jobs of erased contacts and conversations.
pub(crate) async fn erase_of(
    db: &mut PgConnection,
    agent: &AgentId,
    subjects: &[Subject],
    at: Timestamp,
) -> Result<()> {
    execute(db, erasure(agent, subjects, at)?).await.map(drop)
}
