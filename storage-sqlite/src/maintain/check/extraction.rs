//! Checks of credits and documents.

use openapi_core::credits::CreditEntry;
use openapi_core::values::{AgentId, FileId, PlatformId};
use rusqlite::{Connection, OptionalExtension, params};

use super::{FindingKind, Findings, text};
use crate::contacts::Columns;
use crate::error::{Result, corrupt};
use crate::{credits, documents};

/// Documents whose contents never fall due. Documents of conversations are removed with the conversation.
pub(super) fn references(db: &Connection, findings: &mut Findings) -> Result<()> {
    let mut statement = db.prepare(
        "SELECT d.id FROM document d JOIN agent a ON a.n = d.agent \
         LEFT JOIN blob_purge p ON p.agent = a.id AND p.file = d.id WHERE p.file IS NULL \
         AND json_extract(d.body, '$.conversation') IS NULL",
    )?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let id = FileId::from_bytes(Columns::of(row).bytes()?);
        findings.note(FindingKind::Reference, format_args!("the content of document {id} never falls due"));
    }
    Ok(())
}

/// Reads all documents and credits of an agent, and compares redundant values.
pub(super) fn of_agent(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    documents_of(db, id, number, findings)?;
    credits_of(db, id, number, findings)
}

fn documents_of(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    let mut every = db.prepare_cached(documents::AFTER)?;
    let mut rows = every.query(params![number, &[] as &[u8], i64::MAX])?;
    while let Some(row) = rows.next()? {
        let mut columns = Columns::from(row, 1);
        let (bytes, key) = (columns.count()?, FileId::from_bytes(columns.bytes()?));
        match documents::read(row) {
            Ok(document) if (document.stored_size, document.id) != (bytes, key) => {
                let detail = format_args!("document {key} of agent {id} is counted or found as another one");
                findings.note(FindingKind::Record, detail);
            }
            Ok(_) => {}
            Err(fault) => {
                findings.note(FindingKind::Record, format_args!("a document of agent {id}: {}", text(fault)));
            }
        }
    }
    Ok(())
}

/// The pools and the reserved credits together equal the sum of the ledger.
fn credits_of(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    let account = db
        .prepare_cached(credits::ACCOUNT_OF_AGENT)?
        .query_row([number], |row| {
            Ok(Columns::of(row).count().and_then(|version| Ok((version, credits::account(row)?))))
        })
        .optional()?
        .transpose();
    let held = match account {
        Ok(None) => 0,
        Ok(Some((version, account))) => {
            if version != account.version {
                let detail = format_args!("the credits of agent {id} are saved under another version");
                findings.note(FindingKind::Record, detail);
            }
            i128::from(account.available()) + i128::from(account.reserved())
        }
        Err(fault) => {
            findings.note(FindingKind::Record, format_args!("the credits of agent {id}: {}", text(fault)));
            return Ok(());
        }
    };
    let Some(noted) = sum_of_ledger(db, id, number, findings)? else { return Ok(()) };
    if noted != held {
        let detail = format_args!("agent {id} has {held} credits, and its ledger adds up to {noted}");
        findings.note(FindingKind::Credits, detail);
    }
    Ok(())
}

/// The sum of all entries of a ledger; `None` when one of them cannot be read.
fn sum_of_ledger(
    db: &Connection,
    id: &AgentId,
    number: i64,
    findings: &mut Findings,
) -> Result<Option<i128>> {
    let mut every = db.prepare_cached("SELECT body, at, id FROM credit_entry WHERE agent = ?1")?;
    let mut rows = every.query([number])?;
    let mut sum = Some(0);
    while let Some(row) = rows.next()? {
        let mut columns = Columns::from(row, 1);
        let key = (columns.time()?, PlatformId::from_bytes(columns.bytes()?));
        let entry: Result<CreditEntry> = credits::entry(row).and_then(|entry| {
            let is_equal = (entry.at, entry.id) == key;
            if is_equal { Ok(entry) } else { Err(corrupt("its key has another time or id than its record")) }
        });
        match entry {
            Ok(entry) => sum = sum.map(|sum| sum + i128::from(entry.plan) + i128::from(entry.top_up)),
            Err(fault) => {
                sum = None;
                let detail = format_args!("an entry of the ledger of agent {id}: {}", text(fault));
                findings.note(FindingKind::Record, detail);
            }
        }
    }
    Ok(sum)
}
