//! Claims, renewals and wake-ups: statements over the jobs of all scopes, which lock no scope.

use std::collections::HashSet;

use openapi_core::storage::{JobClaim, Queue, ScopedJob, Woken};
use openapi_core::values::{AgentId, JobId, PlatformId, Timestamp};
use sqlx::PgConnection;
use storage_common::job_columns;

use super::{number, scoped};
use crate::connect::{execute, fetch};
use crate::error::Result;
use crate::rows::{RowReader, Statement};
use crate::shapes::scope::{self, column, is_living};

/// Changes the jobs that a query locks, found by key one by one.
macro_rules! change_next {
    ($query:expr, $change:literal, $returning:expr) => {
        format!(
            "WITH next AS MATERIALIZED ({}) {} (j.agent, j.id) IN (SELECT n.agent, n.id FROM next n){}",
            $query, $change, $returning
        )
    };
}

/// The statement of a claim.
pub(crate) fn claim(claim: &JobClaim) -> Result<Statement> {
    let next = format!(
        "SELECT j.agent, j.id FROM job j WHERE j.queue = $1 AND j.state = 0 AND {} \
         ORDER BY j.turn, j.id, j.agent LIMIT {} FOR NO KEY UPDATE OF j SKIP LOCKED",
        is_living!("j.agent"),
        claim.at_most
    );
    Statement::new(change_next!(
        next,
        "UPDATE job j SET state = 2, version = j.version + 1, attempts = j.attempts + 1, lease_owner = $2, \
         lease_until = $3, started_at = coalesce(j.started_at, $4) WHERE",
        concat!(" RETURNING j.agent, ", job_columns!())
    ))
    .bind(number(claim.queue.number())?)?
    .bind(claim.owner.as_bytes().as_slice())?
    .bind(claim.until.millis())?
    .bind(claim.now.millis())
}

/// As [`openapi_core::storage::QueueStore::claim_jobs`], in a transaction of its own.
pub(super) async fn take(db: &mut PgConnection, claim: JobClaim) -> Result<Vec<ScopedJob>> {
    let rows = fetch(db, self::claim(&claim)?).await?;
    let mut jobs = rows.iter().map(|row| scoped(&mut RowReader::new(row))).collect::<Result<Vec<_>>>()?;
    jobs.sort_by(|a, b| (a.job.turn, a.job.id, &a.scope).cmp(&(b.job.turn, b.job.id, &b.scope)));
    Ok(jobs)
}

/// The statement of a renewal. The jobs are locked in the order of their keys, as by writes.
pub(crate) fn renewal(
    owner: PlatformId,
    jobs: &[(Option<AgentId>, JobId)],
    until: Timestamp,
) -> Result<Statement> {
    let next = concat!(
        "SELECT j.agent, j.id FROM unnest($1::text[], $2::bytea[]) AS u (agent, id) \
         JOIN job j ON j.agent = u.agent AND j.id = u.id WHERE j.state = 2 AND j.lease_owner = $3 AND ",
        is_living!("j.agent"),
        " ORDER BY j.agent, j.id FOR NO KEY UPDATE OF j"
    );
    Statement::new(change_next!(next, "UPDATE job j SET lease_until = $4 WHERE", " RETURNING j.agent, j.id"))
        .bind(jobs.iter().map(|(scope, _)| column(scope.as_ref())).collect::<Vec<_>>())?
        .bind(jobs.iter().map(|(_, id)| id.as_bytes().as_slice()).collect::<Vec<_>>())?
        .bind(owner.as_bytes().as_slice())?
        .bind(until.millis())
}

/// As [`openapi_core::storage::QueueStore::renew_jobs`], in a transaction of its own: returns the jobs that the server has.
pub(super) async fn renew(
    db: &mut PgConnection,
    owner: PlatformId,
    jobs: &[(Option<AgentId>, JobId)],
    until: Timestamp,
) -> Result<HashSet<(Option<AgentId>, JobId)>> {
    let rows = fetch(db, renewal(owner, jobs, until)?).await?;
    let read = |r: &mut RowReader<'_>| Ok((scope::read(r)?, JobId::from_bytes(r.bytes()?)));
    rows.iter().map(|row| read(&mut RowReader::new(row))).collect()
}

/// The statements that wake up scheduled jobs, take back lost leases and remove ended jobs.
pub(crate) fn wake_ups(queue: Queue, now: Timestamp, at_most: u32) -> Result<[Statement; 3]> {
    let next = |condition: &str, order: &str| {
        format!(
            "SELECT j.agent, j.id FROM job j WHERE j.queue = $1 AND {condition} <= $2 AND {} \
             ORDER BY {order}j.agent, j.id LIMIT {at_most} FOR UPDATE OF j SKIP LOCKED",
            is_living!("j.agent"),
        )
    };
    let statements = [
        change_next!(
            next("j.state = 1 AND j.due_at", "j.due_at, "),
            "UPDATE job j SET state = 0, version = j.version + 1, due_at = NULL WHERE",
            ""
        ),
        change_next!(
            next("j.state = 2 AND j.lease_until", ""),
            "UPDATE job j SET state = 0, version = j.version + 1, lost = j.lost + 1, lease_owner = NULL, \
             lease_until = NULL, due_at = NULL WHERE",
            ""
        ),
        change_next!(
            next("j.state BETWEEN 3 AND 5 AND j.due_at", "j.due_at, "),
            "DELETE FROM job j WHERE",
            ""
        ),
    ];
    let queue = number(queue.number())?;
    let [scheduled, lost, ended] = statements.map(|sql| Statement::new(sql).bind(queue)?.bind(now.millis()));
    Ok([scheduled?, lost?, ended?])
}

/// Does what is due; the three parts are [`wake_ups`].
pub(super) async fn wake(
    db: &mut PgConnection,
    queue: Queue,
    now: Timestamp,
    at_most: u32,
    due: [bool; 3],
) -> Result<Woken> {
    let mut done = [0; 3];
    for ((statement, is_due), done) in wake_ups(queue, now, at_most)?.into_iter().zip(due).zip(&mut done) {
        if is_due {
            *done = execute(db, statement).await?;
        }
    }
    let [ready, lost, removed] = done;
    Ok(Woken { ready, lost, removed, erased: Vec::new() })
}
