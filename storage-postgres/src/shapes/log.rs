//! The event log of each tenant.
//!
//! The statement that appends an event computes its number, after the transaction has locked the tenant: it sees what the
//! last write of the tenant appended, because that write became visible before it released the lock. So numbers have no gap
//! and follow the order of the commits. The newest event is never removed; the numbers go on from it.

use std::collections::BTreeMap;

use async_trait::async_trait;
use openapi_core::events::NewEvent;
use openapi_core::storage::{ChangeNotifier, ChangeSource, LogEntry, LogPage, LogStore, StorageError};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use sqlx::PgConnection;
use storage_common::{in_transaction, log_columns, records};

use crate::connect::{execute, fetch_one};
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement, bounded, signed};
use crate::store::PostgresStorage;

/// The rows of events, as [`bind`] binds them.
macro_rules! log_rows {
    () => {
        "unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::smallint[], $6::bytea[], $7::text[]) \
         AS u (agent, seq, at, id, kind, contact, body)"
    };
}

/// Appends events ([`numbered`]) inside a statement that has the tenants with their last numbers as `head (id, seq)`.
macro_rules! append_log {
    () => {
        concat!(
            "INSERT INTO log (agent, seq, at, id, kind, contact, body) \
             SELECT u.agent, coalesce(h.seq, 0) + u.seq, u.at, u.id, u.kind, u.contact, u.body FROM ",
            $crate::shapes::log::log_rows!(),
            " JOIN head h ON h.id = u.agent"
        )
    };
}

/// The last number of the log of a tenant. The conditions on the tenant are ranges of the key and not equalities, as in
/// `transfer::read`.
macro_rules! last_seq {
    ($agent:literal) => {
        concat!(
            "(SELECT l.seq FROM log l WHERE l.agent >= ",
            $agent,
            " AND l.agent <= ",
            $agent,
            " ORDER BY l.agent DESC, l.seq DESC LIMIT 1)"
        )
    };
}

pub(crate) use {append_log, last_seq, log_rows};

/// Events to append, with their positions after the last event of their tenant as numbers.
pub(crate) fn numbered<'e>(
    events: impl IntoIterator<Item = (&'e AgentId, &'e NewEvent)>,
) -> Vec<(&'e str, LogEntry)> {
    let mut positions: BTreeMap<&str, u64> = BTreeMap::new();
    let numbered = events.into_iter().map(|(agent, event)| {
        let position = positions.entry(agent.as_str()).or_default();
        *position += 1;
        (agent.as_str(), event.to_entry(*position))
    });
    numbered.collect()
}

/// Binds the seven parameters of `log_rows!`.
pub(crate) fn bind(statement: Statement, entries: &[(&str, LogEntry)]) -> Result<Statement> {
    let all = || entries.iter().map(|(_, entry)| entry);
    let kinds = all().map(|entry| i16::try_from(entry.kind.number()).map_err(corrupt));
    statement
        .bind(entries.iter().map(|(agent, _)| *agent).collect::<Vec<_>>())?
        .bind(all().map(|entry| signed(entry.seq)).collect::<Result<Vec<_>>>()?)?
        .bind(all().map(|entry| entry.at.millis()).collect::<Vec<_>>())?
        .bind(all().map(|entry| entry.id.as_bytes().as_slice()).collect::<Vec<_>>())?
        .bind(kinds.collect::<Result<Vec<_>>>()?)?
        .bind(
            all()
                .map(|entry| entry.contact.as_ref().map(|contact| contact.as_bytes().as_slice()))
                .collect::<Vec<_>>(),
        )?
        .bind(all().map(|entry| entry.body.as_ref().map(|body| body.as_str())).collect::<Vec<_>>())
}

/// Stores events under their numbers, which are free.
pub(crate) async fn insert(db: &mut PgConnection, entries: &[(&str, LogEntry)]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let sql =
        concat!("INSERT INTO log (agent, seq, at, id, kind, contact, body) SELECT * FROM ", log_rows!());
    execute(db, bind(Statement::new(sql), entries)?).await.map(drop)
}

/// Makes the events of an erased contact unreadable, before the event about the erasure is appended.
pub(crate) async fn erase_of(db: &mut PgConnection, agent: &AgentId, contact: ContactId) -> Result<()> {
    let statement = Statement::new(
        "INSERT INTO log_erased (agent, contact, upto, scrubbed) \
         SELECT $1, $2, l.seq, 0 FROM log l WHERE l.agent = $1 ORDER BY l.seq DESC LIMIT 1 \
         ON CONFLICT (agent, contact) DO UPDATE SET upto = excluded.upto",
    )
    .bind(agent.as_str())?
    .bind(contact.as_bytes().as_slice())?;
    execute(db, statement).await.map(drop)
}

/// Removes what is noted of the erased contacts of a deleted tenant, whose log is gone.
pub(crate) async fn remove_erased(db: &mut PgConnection, agent: &AgentId) -> Result<()> {
    let statement = Statement::new("DELETE FROM log_erased WHERE agent = $1").bind(agent.as_str())?;
    execute(db, statement).await.map(drop)
}

/// The statement of a part of a log: rows with the first and the last number of the log, and an event or NULL.
pub(crate) fn page(agent: &AgentId, after: u64, at_most: u32) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT e.oldest, e.head, p.* FROM (SELECT \
         (SELECT l.seq FROM log l WHERE l.agent >= $1 AND l.agent <= $1 ORDER BY l.agent, l.seq LIMIT 1) AS oldest, ",
        last_seq!("$1"),
        " AS head) e LEFT JOIN LATERAL (SELECT ",
        log_columns!(),
        " FROM log l WHERE (l.agent, l.seq) > ($1, $2) AND l.agent <= $1 ORDER BY l.agent, l.seq LIMIT $3) p ON true \
         WHERE (SELECT a.status FROM agent a WHERE a.id = $1) <> 2"
    ))
    .bind(agent.as_str())?
    .bind(bounded(after))?
    .bind(i64::from(at_most))
}

/// The statement of the last numbers of logs, in the order of the tenants.
pub(crate) fn heads(agents: &[AgentId]) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT CASE WHEN (SELECT a.status FROM agent a WHERE a.id = u.agent) <> 2 THEN ",
        last_seq!("u.agent"),
        " END FROM unnest($1::text[]) WITH ORDINALITY AS u (agent, n) ORDER BY u.n"
    ))
    .bind(agents.iter().map(AgentId::as_str).collect::<Vec<_>>())
}

/// The statement of the number up to which a sweep removes events, NULL for none. What it returns stays true: events do not
/// change, and new ones come after the last.
pub(crate) fn swept(agent: &AgentId, before: Timestamp, at_most: u32) -> Result<Statement> {
    Statement::new(concat!(
        "WITH oldest AS (SELECT l.seq, l.at FROM log l WHERE l.agent >= $1 AND l.agent <= $1 \
         ORDER BY l.agent, l.seq LIMIT $3) \
         SELECT max(o.seq) FROM oldest o WHERE o.seq < ",
        last_seq!("$1"),
        " AND NOT EXISTS (SELECT 1 FROM oldest n WHERE n.at >= $2 AND n.seq <= o.seq) \
         AND (SELECT a.status FROM agent a WHERE a.id = $1) <> 2"
    ))
    .bind(agent.as_str())?
    .bind(before.millis())?
    .bind(i64::from(at_most))
}

/// Removes the events up to a number.
async fn remove(db: &mut PgConnection, agent: &AgentId, upto: i64) -> Result<u64> {
    let statement =
        Statement::new("DELETE FROM log WHERE agent = $1 AND seq <= $2").bind(agent.as_str())?.bind(upto)?;
    execute(db, statement).await
}

const ERASED: &str = "SELECT count(*) FROM log_erased";

/// Looks at up to `at_most` events and empties those of erased contacts.
async fn scrub(db: &mut PgConnection, at_most: u32) -> Result<()> {
    // Servers take turns.
    let turn = "SELECT pg_advisory_xact_lock(hashtextextended('scrub of ' || current_schema(), 0))";
    execute(db, Statement::new(turn)).await?;
    let mut left = i64::from(at_most);
    while left > 0 {
        // A pass that has begun ends before the next one begins, so that erasures that keep coming cannot hold it up.
        let next = "SELECT agent, scrubbed FROM log_erased ORDER BY scrubbed DESC LIMIT 1";
        let Some(row) = fetch_one(db, Statement::new(next)).await? else { return Ok(()) };
        let mut columns = RowReader::new(&row);
        let (agent, from) = (columns.str()?.to_owned(), columns.integer()?);
        left -= scrub_pass(db, &agent, from, left).await?.max(1);
    }
    Ok(())
}

/// Goes on with a pass of a tenant over up to `at_most` events after `from`; returns how many these were.
async fn scrub_pass(db: &mut PgConnection, agent: &str, from: i64, at_most: i64) -> Result<i64> {
    let part = Statement::new(
        "SELECT count(*), max(p.seq) FROM (SELECT l.seq FROM log l WHERE (l.agent, l.seq) > ($1, $2) \
         AND l.agent <= $1 ORDER BY l.agent, l.seq LIMIT $3) p",
    )
    .bind(agent)?
    .bind(from)?
    .bind(at_most)?;
    let row = fetch_one(db, part).await?.ok_or_else(|| corrupt("an aggregate without a row"))?;
    let mut columns = RowReader::new(&row);
    let (count, last) = (columns.integer()?, columns.number()?);
    // After the last event there is nothing to look at.
    let upto = last.filter(|_| count == at_most).unwrap_or(i64::MAX);
    for sql in [
        "UPDATE log l SET contact = NULL, body = NULL FROM log_erased e WHERE l.agent = $1 AND l.seq > $2 \
         AND l.seq <= $3 AND e.agent = l.agent AND e.contact = l.contact AND e.upto >= l.seq",
        "WITH done AS (DELETE FROM log_erased WHERE agent = $1 AND scrubbed = $2 AND upto <= $3) \
         UPDATE log_erased SET scrubbed = $3 WHERE agent = $1 AND scrubbed = $2 AND upto > $3",
    ] {
        execute(db, Statement::new(sql).bind(agent)?.bind(from)?.bind(upto)?).await?;
    }
    Ok(count)
}

#[async_trait]
impl LogStore for PostgresStorage {
    async fn log(&self, agent: &AgentId, after: u64, at_most: u32) -> Result<LogPage, StorageError> {
        let mut page_of = LogPage::default();
        for row in self.db.read(page(agent, after, at_most)?).await? {
            let mut columns = RowReader::new(&row);
            page_of.oldest = columns.optional_count()?;
            page_of.head = columns.optional_count()?;
            if !columns.is_absent()? {
                page_of.entries.push(records::log_entry(&mut columns)?);
            }
        }
        Ok(page_of)
    }

    async fn log_heads(&self, agents: &[AgentId]) -> Result<Vec<u64>, StorageError> {
        self.db.read_all(heads(agents)?, |r| r.optional_count()).await
    }

    async fn sweep_log(&self, agent: &AgentId, before: Timestamp, at_most: u32) -> Result<u64, StorageError> {
        // Usually there is nothing to remove.
        let upto = self.db.read_one(swept(agent, before, at_most)?, |r| r.number()).await?;
        match upto.flatten() {
            Some(upto) => in_transaction!(self.db.write(), remove(agent, *upto)),
            None => Ok(0),
        }
    }

    async fn scrub_logs(&self, at_most: u32) -> Result<u64, StorageError> {
        let erased = async || self.db.read_one(Statement::new(ERASED), |r| r.count()).await;
        if matches!(erased().await?, None | Some(0)) {
            return Ok(0);
        }
        in_transaction!(self.db.write(), scrub(*at_most))?;
        Ok(erased().await?.unwrap_or_default())
    }
}

impl ChangeSource for PostgresStorage {
    fn notifier(&self) -> &ChangeNotifier {
        self.announcements.listen(&self.db);
        self.db.changes().notifier()
    }
}
