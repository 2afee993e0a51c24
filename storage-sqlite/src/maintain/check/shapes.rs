//! Checks of records, jobs and event logs: whether they can be read, whether the credits of jobs agree with the account,
//! and whether a log has a gap.

use openapi_core::credits::{CreditAccount, JobCredits};
use openapi_core::values::AgentId;
use rusqlite::Connection;
use storage_common::{log_columns, record_columns, records};

use super::{FindingKind, Findings, readable};
use crate::error::Result;
use crate::shapes::jobs;
use crate::shapes::scope::INSTALLATION;
use crate::{credits, rows};

const RECORDS: &str = concat!("SELECT ", record_columns!(), " FROM record r WHERE r.agent = ?1");

const LOG: &str = concat!("SELECT ", log_columns!(), " FROM log l WHERE l.agent = ?1 ORDER BY l.seq");

/// Reads all records and events of an agent.
pub(super) fn of_agent(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    readable(db, RECORDS, number, &format!("a record of agent {id}"), findings, |r, _| {
        records::stored_record(r).map(drop)
    })?;
    jobs_of(db, id, number, findings)?;
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

/// What is set aside for jobs is what the jobs have.
fn jobs_of(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    let mut reserved = JobCredits::default();
    readable(db, jobs::EVERY_OF_AGENT, number, &format!("a job of agent {id}"), findings, |r, _| {
        let job = records::job(r)?;
        reserved.plan += job.reserved.plan;
        reserved.top_up += job.reserved.top_up;
        Ok(())
    })?;
    // An account that cannot be read is reported with the credits.
    let account: Result<Option<CreditAccount>> = rows::first(db, credits::ACCOUNT_OF_AGENT, [number], |r| {
        r.count()?;
        r.json()
    });
    let Ok(account) = account else { return Ok(()) };
    let held = account.map_or(JobCredits::default(), |account| account.in_jobs);
    if held != reserved {
        let detail = format_args!(
            "agent {id} has set {} credits aside for jobs, and its jobs have {}",
            held.credits(),
            reserved.credits()
        );
        findings.note(FindingKind::Credits, detail);
    }
    Ok(())
}

/// Reads all records and jobs without an agent.
pub(super) fn of_installation(db: &Connection, findings: &mut Findings) -> Result<()> {
    readable(db, RECORDS, INSTALLATION, "a record of the installation", findings, |r, _| {
        records::stored_record(r).map(drop)
    })?;
    readable(db, jobs::EVERY_OF_AGENT, INSTALLATION, "a job of the installation", findings, |r, _| {
        records::job(r).map(drop)
    })
}
