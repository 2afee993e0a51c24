//! The shapes that carry what is not a resource of its own: records, queues of jobs, and the event log of each agent.

pub(crate) mod jobs;
pub(crate) mod log;
pub(crate) mod queue;
pub(crate) mod records;
pub(crate) mod scope;

use openapi_core::storage::Subject;
use openapi_core::values::Timestamp;
use rusqlite::Connection;

use crate::error::Result;

/// Removes the records of an erased contact or conversation, and erases its jobs.
pub(crate) fn erase_of(db: &Connection, agent: i64, subject: Subject, at: Timestamp) -> Result<()> {
    records::erase_of(db, agent, subject)?;
    jobs::erase_of(db, agent, subject, at)
}

/// The statements with which [`crate::agents`] removes rows of a deleted agent: `?1` is the agent, `?2` the most rows.
pub(crate) const PURGES: [&str; 3] = [
    "DELETE FROM record WHERE agent = ?1 AND (kind, id) IN \
     (SELECT kind, id FROM record WHERE agent = ?1 LIMIT ?2)",
    "DELETE FROM log WHERE agent = ?1 AND seq IN (SELECT seq FROM log WHERE agent = ?1 LIMIT ?2)",
    "DELETE FROM job WHERE n IN (SELECT n FROM job WHERE agent = ?1 LIMIT ?2)",
];
