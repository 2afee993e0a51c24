//! Checks of records and event logs: whether they can be read, and whether a log has a gap.

use openapi_core::values::AgentId;
use rusqlite::Connection;
use storage_common::{log_columns, record_columns, records};

use super::{FindingKind, Findings, readable};
use crate::error::Result;
use crate::shapes::records::INSTALLATION;

const RECORDS: &str = concat!("SELECT ", record_columns!(), " FROM record r WHERE r.agent = ?1");

const LOG: &str = concat!("SELECT ", log_columns!(), " FROM log l WHERE l.agent = ?1 ORDER BY l.seq");

/// Reads all records and events of an agent.
pub(super) fn of_agent(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    readable(db, RECORDS, number, &format!("a record of agent {id}"), findings, |r, _| {
        records::stored_record(r).map(drop)
    })?;
    let mut last = None;
    readable(db, LOG, number, &format!("an event of agent {id}"), findings, |r, findings| {
        let seq = records::log_entry(r)?.seq;
        if let Some(last) = last.filter(|last| last + 1 != seq) {
            let detail = format_args!("the log of agent {id} has no event between {last} and {seq}");
            findings.note(FindingKind::Record, detail);
        }
        last = Some(seq);
        Ok(())
    })
}

/// Reads all records without an agent.
pub(super) fn of_installation(db: &Connection, findings: &mut Findings) -> Result<()> {
    readable(db, RECORDS, INSTALLATION, "a record of the installation", findings, |r, _| {
        records::stored_record(r).map(drop)
    })
}
