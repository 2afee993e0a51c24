//! Queues: their order, claims, leases, and what is due.

use async_trait::async_trait;
use openapi_core::storage::{
    Job, JobClaim, JobPage, JobQuery, JobState, JobsWrite, Queue, QueueFront, QueueLoad, QueueStore,
    ScopedJob, StorageError, Woken,
};
use openapi_core::values::{AgentId, JobId, PlatformId, Timestamp};
use rusqlite::{Connection, params};
use storage_common::{job_columns, records};

use super::jobs;
use super::scope::number_of;
use crate::error::Result;
use crate::readers::snapshot;
use crate::rows::{self, RowReader};
use crate::store::SqliteStorage;

/// Rows of jobs whose agents are not deleted.
macro_rules! living {
    ($columns:expr, $index:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM job j INDEXED BY ",
            $index,
            " LEFT JOIN agent a ON a.n = j.agent WHERE (j.agent = 0 OR a.status <> 2) AND "
        )
    };
}

/// The next jobs in a queue.
pub(crate) const READY: &str =
    concat!(living!("j.n", "job_ready"), "j.queue = ?1 AND j.state = 0 ORDER BY j.turn, j.id LIMIT ?2");
/// Scheduled jobs that are due.
pub(crate) const DUE: &str =
    concat!(living!("j.n", "job_due"), "j.queue = ?1 AND j.due_at <= ?2 AND j.state = 1 LIMIT ?3");
/// Jobs that are over and due for removal.
pub(crate) const OVER: &str = concat!(
    living!("j.n", "job_due"),
    "j.queue = ?1 AND j.due_at <= ?2 AND j.state BETWEEN 3 AND 5 LIMIT ?3"
);
/// Running jobs whose lease has ended.
pub(crate) const LOST: &str =
    concat!(living!("j.n", "job_running"), "j.queue = ?1 AND j.lease_until <= ?2 AND j.state = 2 LIMIT ?3");
/// Erased jobs.
pub(crate) const ERASED: &str = concat!(
    living!(concat!("a.id, ", job_columns!()), "job_erased"),
    "j.queue = ?1 AND j.state = 6 LIMIT ?2"
);

const SCOPED: &str =
    concat!("SELECT a.id, ", job_columns!(), " FROM job j LEFT JOIN agent a ON a.n = j.agent WHERE j.n = ?1");

fn scoped(r: &mut RowReader<'_>) -> Result<ScopedJob> {
    Ok(ScopedJob { scope: r.optional_text()?, job: records::job(r)? })
}

fn claim(db: &Connection, claim: &JobClaim) -> Result<Vec<ScopedJob>> {
    let next = rows::all(db, READY, params![claim.queue.number(), claim.at_most], |r| r.integer())?;
    let mut claimed = Vec::new();
    for n in next {
        db.prepare_cached(
            "UPDATE job SET state = 2, version = version + 1, attempts = attempts + 1, lease_owner = ?2, \
             lease_until = ?3, started_at = coalesce(started_at, ?4) WHERE n = ?1",
        )?
        .execute(params![n, claim.owner.as_bytes(), claim.until.millis(), claim.now.millis()])?;
        claimed.extend(rows::first(db, SCOPED, [n], scoped)?);
    }
    Ok(claimed)
}

fn renew(
    db: &Connection,
    owner: PlatformId,
    keys: &[(Option<AgentId>, JobId)],
    until: Timestamp,
) -> Result<Vec<bool>> {
    let sql =
        "UPDATE job SET lease_until = ?4 WHERE agent = ?1 AND id = ?2 AND state = 2 AND lease_owner = ?3";
    let renew = |(scope, id): &(Option<AgentId>, JobId)| {
        let Some(number) = number_of(db, scope.as_ref())? else { return Ok(false) };
        let values = params![number, id.as_bytes(), owner.as_bytes(), until.millis()];
        Ok(db.prepare_cached(sql)?.execute(values)? > 0)
    };
    keys.iter().map(renew).collect()
}

/// The numbers of jobs that are due, lost and over.
fn waking(db: &Connection, queue: Queue, now: Timestamp, at_most: u32) -> Result<[Vec<i64>; 3]> {
    let find = |sql| rows::all(db, sql, params![queue.number(), now.millis(), at_most], |r| r.integer());
    Ok([find(DUE)?, find(LOST)?, find(OVER)?])
}

fn wake(db: &Connection, queue: Queue, now: Timestamp, at_most: u32) -> Result<Woken> {
    let [due, lost, over] = waking(db, queue, now, at_most)?;
    for (numbers, sql) in [
        (&due, "UPDATE job SET state = 0, version = version + 1, due_at = NULL WHERE n = ?1"),
        (
            &lost,
            "UPDATE job SET state = 0, version = version + 1, lost = lost + 1, lease_owner = NULL, \
             lease_until = NULL WHERE n = ?1",
        ),
        (&over, "DELETE FROM job WHERE n = ?1"),
    ] {
        let mut statement = db.prepare_cached(sql)?;
        for n in numbers {
            statement.execute([n])?;
        }
    }
    let erased = rows::all(db, ERASED, params![queue.number(), at_most], scoped)?;
    let count = |numbers: &Vec<i64>| numbers.len() as u64;
    Ok(Woken { ready: count(&due), lost: count(&lost), removed: count(&over), erased })
}

fn front(db: &Connection, queue: Queue, scope: Option<&AgentId>) -> Result<QueueFront> {
    const HEAD: &str =
        concat!(living!("j.turn", "job_ready"), "j.queue = ?1 AND j.state = 0 ORDER BY j.turn LIMIT 1");
    const RUNNING: &str = concat!(
        living!("j.turn", "job_running"),
        "j.queue = ?1 AND j.state = 2 ORDER BY j.turn DESC LIMIT 1"
    );
    const LAST: &str = "SELECT j.turn FROM job j INDEXED BY job_unfinished WHERE j.agent = ?1 AND j.queue = ?2 \
                        AND j.state < 3 ORDER BY j.turn DESC LIMIT 1";
    let head = match rows::number(db, HEAD, [queue.number()])? {
        Some(head) => Some(head),
        None => rows::number(db, RUNNING, [queue.number()])?,
    };
    let last = match number_of(db, scope)? {
        Some(scope) => rows::number(db, LAST, params![scope, queue.number()])?,
        None => None,
    };
    Ok(QueueFront { head: head.unwrap_or(0), last: last.unwrap_or(0) })
}

fn load(db: &Connection, queue: Queue) -> Result<QueueLoad> {
    const SQL: &str = "SELECT j.state, count(*), min(j.created_at) FROM job j \
                       LEFT JOIN agent a ON a.n = j.agent WHERE (j.agent = 0 OR a.status <> 2) AND j.queue = ?1 \
                       AND j.state < 3 GROUP BY j.state";
    let mut load = QueueLoad::default();
    rows::each(db, SQL, [queue.number()], |r| {
        let (state, count) = (r.integer()?, r.count()?);
        match u16::try_from(state).ok().and_then(JobState::of_number) {
            Some(JobState::Ready) => (load.ready, load.oldest) = (count, Some(r.time()?)),
            Some(JobState::Scheduled) => load.scheduled = count,
            _ => load.running = count,
        }
        Ok(())
    })?;
    Ok(load)
}

#[async_trait]
impl QueueStore for SqliteStorage {
    async fn job(&self, scope: Option<&AgentId>, id: JobId) -> Result<Option<Job>, StorageError> {
        const SQL: &str = concat!(
            "SELECT ",
            job_columns!(),
            " FROM job j WHERE j.agent = ?1 AND j.id = ?2 AND j.state <> 6"
        );
        self.readers.read_blocking(|db| match number_of(db, scope)? {
            Some(number) => rows::first(db, SQL, params![number, id.as_bytes()], |r| records::job(r)),
            None => Ok(None),
        })
    }

    async fn jobs(&self, scope: Option<&AgentId>, query: &JobQuery) -> Result<JobPage, StorageError> {
        let (scope, query) = (scope.cloned(), query.clone());
        let list = move |db: &Connection| jobs::list(db, scope.as_ref(), &query);
        self.readers.read(move |db, _| snapshot(db, list)).await
    }

    async fn count_jobs(
        &self,
        scope: Option<&AgentId>,
        queue: Queue,
        batch: &str,
    ) -> Result<Vec<(JobState, u64)>, StorageError> {
        let (scope, batch) = (scope.cloned(), batch.to_owned());
        self.readers
            .read(move |db, _| match number_of(db, scope.as_ref())? {
                Some(number) => jobs::count(db, number, queue, &batch),
                None => Ok(Vec::new()),
            })
            .await
    }

    async fn queue_front(&self, queue: Queue, scope: Option<&AgentId>) -> Result<QueueFront, StorageError> {
        self.readers.read_blocking(|db| snapshot(db, |db| front(db, queue, scope)))
    }

    async fn queue_load(&self, queue: Queue) -> Result<QueueLoad, StorageError> {
        self.readers.read(move |db, _| load(db, queue)).await
    }

    async fn claim_jobs(&self, request: &JobClaim) -> Result<Vec<ScopedJob>, StorageError> {
        // Usually none is ready, and a look writes nothing.
        let request = *request;
        let is_any = self.readers.read_blocking(|db| {
            rows::exists(db, READY, params![request.queue.number(), request.at_most.min(1)])
        })?;
        if !is_any {
            return Ok(Vec::new());
        }
        self.writer.write(move |db| claim(db, &request)).await
    }

    async fn renew_jobs(
        &self,
        owner: PlatformId,
        jobs: &[(Option<AgentId>, JobId)],
        until: Timestamp,
    ) -> Result<Vec<bool>, StorageError> {
        let jobs = jobs.to_vec();
        self.writer.write(move |db| renew(db, owner, &jobs, until)).await
    }

    async fn wake_jobs(&self, queue: Queue, now: Timestamp, at_most: u32) -> Result<Woken, StorageError> {
        let looked = move |db: &Connection| {
            let erased = rows::all(db, ERASED, params![queue.number(), at_most], scoped)?;
            Ok((waking(db, queue, now, at_most.min(1))?, erased))
        };
        // Usually nothing is due.
        let (waking, erased) = self.readers.read(move |db, _| looked(db)).await?;
        if waking.iter().all(Vec::is_empty) {
            return Ok(Woken { erased, ..Woken::default() });
        }
        self.writer.write(move |db| wake(db, queue, now, at_most)).await
    }

    async fn save_jobs(&self, scope: Option<&AgentId>, write: &JobsWrite) -> Result<(), StorageError> {
        let (scope, write) = (scope.cloned(), write.clone());
        self.writer.write(move |db| jobs::save(db, scope.as_ref(), &write)).await
    }
}
