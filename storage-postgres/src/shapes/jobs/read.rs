//! The statements that read jobs. States stand in them as literals, so that partial indexes serve.

use openapi_core::storage::{JobQuery, JobState, Queue, Window};
use openapi_core::values::{AgentId, JobId, Timestamp};
use storage_common::job_columns;

use super::number;
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement, bounded};
use crate::shapes::scope::{column, is_living};

/// The statement of one job.
pub(crate) fn one(scope: Option<&AgentId>, id: JobId) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        job_columns!(),
        " FROM job j WHERE j.agent = $1 AND j.id = $2 AND j.state <> 6 AND ",
        is_living!("$1")
    ))
    .bind(column(scope))?
    .bind(id.as_bytes().as_slice())
}

/// The statement of a page: each row has the total and a job, or NULL for an empty page.
pub(crate) fn page(scope: Option<&AgentId>, query: &JobQuery) -> Result<Statement> {
    let mut statement = Statement::new("");
    let agent = statement.add(column(scope))?;
    let queue = statement.add(number(query.queue.number())?)?;
    let mut condition = format!("j.agent = {agent} AND j.queue = {queue}");
    if let Some(batch) = &query.batch {
        condition += &format!(" AND j.batch = {}", statement.add(&**batch)?);
    }
    if let Some(client_id) = &query.client_id {
        condition += &format!(" AND j.client_id = {}", statement.add(&**client_id)?);
    }
    if !query.states.is_empty() {
        let states: Vec<String> = query.states.iter().map(|state| state.number().to_string()).collect();
        condition += &format!(" AND j.state IN ({})", states.join(", "));
    }
    condition += " AND j.state <> 6";
    let (after, slice) = match &query.window {
        Window::Page { offset, limit } => {
            (String::new(), format!("LIMIT {limit} OFFSET {}", statement.add(bounded(*offset))?))
        }
        Window::After { position: (created_at, id), limit } => {
            let at = statement.add(created_at.millis())?;
            let id = statement.add(id.as_bytes().as_slice())?;
            (format!(" AND (j.created_at, j.id) < ({at}, {id})"), format!("LIMIT {limit}"))
        }
    };
    // As in `forms::read`.
    statement.push(&format!(
        "SELECT t.total, {} FROM (SELECT count(*) AS total FROM job j WHERE {condition}) t \
         LEFT JOIN (SELECT j.created_at, j.id FROM job j WHERE {condition}{after} \
         ORDER BY j.created_at DESC, j.id DESC {slice}) p ON true \
         LEFT JOIN LATERAL (SELECT j.* FROM job j WHERE j.agent = {agent} AND j.id = p.id LIMIT 1) j ON true \
         WHERE (SELECT a.status <> 2 OR a.id = '' FROM agent a WHERE a.id = {agent}) \
         ORDER BY p.created_at DESC, p.id DESC",
        job_columns!(listed)
    ));
    Ok(statement)
}

/// The statement of how many jobs of a batch are in each state, by state.
pub(crate) fn counts(scope: Option<&AgentId>, queue: Queue, batch: &str) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT j.state, count(*) FROM job j WHERE j.agent = $1 AND j.queue = $2 AND j.batch = $3 \
         AND j.state <> 6 AND ",
        is_living!("$1"),
        " GROUP BY j.state ORDER BY j.state"
    ))
    .bind(column(scope))?
    .bind(number(queue.number())?)?
    .bind(batch)
}

/// Reads a row of [`counts`].
pub(super) fn count_of_state(r: &mut RowReader<'_>) -> Result<(JobState, u64)> {
    let number = r.small()?;
    let state = u16::try_from(number).ok().and_then(JobState::of_number);
    let state = state.ok_or_else(|| corrupt(format_args!("{number} is no state of a job")))?;
    Ok((state, r.count()?))
}

/// The statement of the head of a queue and the last turn of a scope, NULL for none.
pub(crate) fn front(queue: Queue, scope: Option<&AgentId>) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT coalesce((SELECT j.turn FROM job j WHERE j.queue = $1 AND j.state = 0 AND ",
        is_living!("j.agent"),
        " ORDER BY j.turn, j.id, j.agent LIMIT 1), \
         (SELECT max(j.turn) FROM job j WHERE j.queue = $1 AND j.state = 2 AND ",
        is_living!("j.agent"),
        ")), (SELECT j.turn FROM job j WHERE j.agent = $2 AND j.queue = $1 AND j.state < 3 AND ",
        is_living!("$2"),
        " ORDER BY j.agent DESC, j.queue DESC, j.turn DESC LIMIT 1)"
    ))
    .bind(number(queue.number())?)?
    .bind(column(scope))
}

/// The statement of the load of a queue: how many jobs are ready, when the oldest of them came, how many are scheduled and
/// how many run. The tenants are looked up once each.
pub(crate) fn load(queue: Queue) -> Result<Statement> {
    let of_state = |state: &str| {
        format!(
            "(SELECT coalesce(sum(g.jobs), 0)::bigint AS jobs, min(g.oldest) AS oldest FROM \
             (SELECT j.agent, count(*) AS jobs, min(j.created_at) AS oldest FROM job j \
             WHERE j.queue = $1 AND j.state = {state} GROUP BY j.agent) g WHERE {})",
            is_living!("g.agent")
        )
    };
    Statement::new(format!(
        "SELECT r.jobs, r.oldest, s.jobs, u.jobs FROM {} r, {} s, {} u",
        of_state("0"),
        of_state("1"),
        of_state("2")
    ))
    .bind(number(queue.number())?)
}

/// The statement of whether scheduled jobs, lost leases and jobs to be removed are due.
pub(crate) fn due(queue: Queue, now: Timestamp) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT EXISTS (SELECT 1 FROM job j WHERE j.queue = $1 AND j.state = 1 AND j.due_at <= $2 AND ",
        is_living!("j.agent"),
        "), EXISTS (SELECT 1 FROM job j WHERE j.queue = $1 AND j.state = 2 AND j.lease_until <= $2 AND ",
        is_living!("j.agent"),
        "), EXISTS (SELECT 1 FROM job j WHERE j.queue = $1 AND j.state BETWEEN 3 AND 5 AND j.due_at <= $2 AND ",
        is_living!("j.agent"),
        ")"
    ))
    .bind(number(queue.number())?)?
    .bind(now.millis())
}

/// The statement of some erased jobs of all scopes.
pub(crate) fn erased(queue: Queue, at_most: u32) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT j.agent, ",
        job_columns!(),
        " FROM job j WHERE j.queue = $1 AND j.state = 6 AND ",
        is_living!("j.agent"),
        " LIMIT $2"
    ))
    .bind(number(queue.number())?)?
    .bind(i64::from(at_most))
}
