//! The event log of each agent.
//!
//! The writer's lock on the file makes the numbers gapless: a number is read and used inside one transaction, and a
//! transaction that is rolled back takes its rows with it.

use async_trait::async_trait;
use openapi_core::events::NewEvent;
use openapi_core::storage::{ChangeNotifier, ChangeSource, LogEntry, LogPage, LogStore, StorageError};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use rusqlite::{Connection, params};
use storage_common::fields::FieldReader as _;
use storage_common::{log_columns, records};

use crate::error::Result;
use crate::readers::snapshot;
use crate::rows::{self, signed};
use crate::store::SqliteStorage;
use crate::{appended, tenant};

/// Appends events. Runs inside the writer's transaction.
pub(crate) fn append(db: &Connection, agent: i64, events: &[NewEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let mut newest = appended::newest(agent).map_or_else(|| head(db, agent), Ok)?;
    for event in events {
        newest += 1;
        put(db, agent, &event.to_entry(newest))?;
    }
    appended::note(agent, newest, events.iter().map(|event| event.data.kind()));
    Ok(())
}

/// Stores an event under its number.
pub(crate) fn put(db: &Connection, agent: i64, entry: &LogEntry) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO log (agent, seq, at, id, kind, contact, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        agent,
        signed(entry.seq)?,
        entry.at.millis(),
        entry.id.as_bytes(),
        entry.kind.number(),
        entry.contact.as_ref().map(ContactId::as_bytes),
        entry.body.as_ref().map(|body| body.as_str()),
    ])?;
    Ok(())
}

fn end(db: &Connection, sql: &str, agent: i64) -> Result<u64> {
    Ok(rows::number(db, sql, [agent])?.unwrap_or(0))
}

fn head(db: &Connection, agent: i64) -> Result<u64> {
    end(db, "SELECT seq FROM log WHERE agent = ?1 ORDER BY seq DESC LIMIT 1", agent)
}

fn oldest(db: &Connection, agent: i64) -> Result<u64> {
    end(db, "SELECT seq FROM log WHERE agent = ?1 ORDER BY seq LIMIT 1", agent)
}

/// Makes the events of an erased contact unreadable, before the event about the erasure is appended.
pub(crate) fn erase_of(db: &Connection, agent: i64, contact: ContactId) -> Result<()> {
    let head = head(db, agent)?;
    if head > 0 {
        db.prepare_cached(
            "INSERT OR REPLACE INTO log_erased (agent, contact, upto, scrubbed) VALUES (?1, ?2, ?3, 0)",
        )?
        .execute(params![agent, contact.as_bytes(), signed(head)?])?;
    }
    Ok(())
}

/// Removes what is noted of erased contacts of a deleted agent, whose log is gone.
pub(crate) fn purge_erased(db: &Connection, agent: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM log_erased WHERE agent = ?1")?.execute([agent])?;
    Ok(())
}

const ERASED: &str = "SELECT count(*) FROM log_erased";

/// Empties events of erased contacts of one agent, among the next `at_most` of its log; returns how many erased contacts
/// of all agents are left.
fn scrub(db: &Connection, at_most: u32) -> Result<u64> {
    let sql = "SELECT agent, scrubbed FROM log_erased ORDER BY agent, scrubbed LIMIT 1";
    let Some((agent, from)) = rows::first(db, sql, (), |r| Ok((r.integer()?, r.integer()?)))? else {
        return Ok(0);
    };
    // Where no event is left, everything has been looked at.
    let sql =
        "SELECT max(seq) FROM (SELECT seq FROM log WHERE agent = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3)";
    let upto = rows::first(db, sql, params![agent, from, at_most], |r| r.optional_integer("seq"))?.flatten();
    let upto = upto.unwrap_or(if at_most > 0 { i64::MAX } else { from });
    db.prepare_cached(
        "UPDATE log SET contact = NULL, body = NULL WHERE agent = ?1 AND seq > ?2 AND seq <= ?3 AND EXISTS \
         (SELECT 1 FROM log_erased e WHERE e.agent = log.agent AND e.contact = log.contact AND e.upto >= log.seq)",
    )?
    .execute([agent, from, upto])?;
    db.prepare_cached("UPDATE log_erased SET scrubbed = ?2 WHERE agent = ?1 AND scrubbed < ?2")?
        .execute([agent, upto])?;
    db.prepare_cached("DELETE FROM log_erased WHERE agent = ?1 AND upto <= scrubbed")?.execute([agent])?;
    rows::count(db, ERASED, ())
}

/// The number of the last event that a sweep removes, and how many it removes.
fn swept(db: &Connection, agent: i64, before: Timestamp, at_most: u32) -> Result<Option<(u64, u64)>> {
    let head = head(db, agent)?;
    let sql = "SELECT seq, at FROM log WHERE agent = ?1 ORDER BY seq LIMIT ?2";
    let mut last = None;
    let mut statement = db.prepare_cached(sql)?;
    let mut found = statement.query(params![agent, at_most])?;
    while let Some(row) = found.next()? {
        let mut r = rows::RowReader::new(row);
        let (seq, at) = (r.count()?, r.time()?);
        if seq == head || at >= before {
            break;
        }
        last = Some((seq, last.map_or(0, |(_, count)| count) + 1));
    }
    Ok(last)
}

#[async_trait]
impl LogStore for SqliteStorage {
    async fn log(&self, agent: &AgentId, after: u64, at_most: u32) -> Result<LogPage, StorageError> {
        const SQL: &str = concat!(
            "SELECT ",
            log_columns!(),
            " FROM log l WHERE l.agent = ?1 AND l.seq > ?2 ORDER BY l.seq LIMIT ?3"
        );
        let (agent, after) = (agent.clone(), i64::try_from(after).unwrap_or(i64::MAX));
        self.readers
            .read(move |db, _| {
                snapshot(db, |db| {
                    let Some(living) = tenant::living(db, &agent)? else { return Ok(LogPage::default()) };
                    let values = params![living.number, after, at_most];
                    let entries = rows::all(db, SQL, values, |r| records::log_entry(r))?;
                    let (oldest, head) = (oldest(db, living.number)?, head(db, living.number)?);
                    Ok(LogPage { entries, oldest, head })
                })
            })
            .await
    }

    async fn log_heads(&self, agents: &[AgentId]) -> Result<Vec<u64>, StorageError> {
        let agents = agents.to_vec();
        let of = |db: &Connection, agent: &AgentId| match tenant::living(db, agent)? {
            Some(living) => head(db, living.number),
            None => Ok(0),
        };
        self.readers.read(move |db, _| agents.iter().map(|agent| of(db, agent)).collect()).await
    }

    async fn sweep_log(&self, agent: &AgentId, before: Timestamp, at_most: u32) -> Result<u64, StorageError> {
        let agent = agent.clone();
        let of = move |db: &Connection| match tenant::living(db, &agent)? {
            Some(living) => {
                Ok(swept(db, living.number, before, at_most)?.map(|swept| (living.number, swept)))
            }
            None => Ok(None),
        };
        // Usually there is nothing to remove.
        if self.readers.read_blocking(&of)?.is_none() {
            return Ok(0);
        }
        self.writer
            .write(move |db| {
                let Some((agent, (last, count))) = of(db)? else { return Ok(0) };
                db.prepare_cached("DELETE FROM log WHERE agent = ?1 AND seq <= ?2")?
                    .execute([agent, signed(last)?])?;
                Ok(count)
            })
            .await
    }

    async fn scrub_logs(&self, at_most: u32) -> Result<u64, StorageError> {
        if self.readers.read_blocking(|db| rows::count(db, ERASED, ()))? == 0 {
            return Ok(0);
        }
        self.writer.write_erasure(move |db| scrub(db, at_most)).await
    }
}

impl ChangeSource for SqliteStorage {
    fn notifier(&self) -> &ChangeNotifier {
        &self.notifier
    }
}
