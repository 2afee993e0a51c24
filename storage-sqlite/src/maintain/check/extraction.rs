//! Checks of credits and documents.

use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::storage::StoredDocument;
use openapi_core::values::{AgentId, FileId, PlatformId};
use rusqlite::Connection;

use super::{FindingKind, Findings, readable, text};
use crate::error::{Result, corrupt};
use crate::{credits, documents, rows};

/// Documents whose contents never fall due. Documents of conversations are removed with the conversation.
pub(super) fn references(db: &Connection, findings: &mut Findings) -> Result<()> {
    let sql = "SELECT d.id FROM document d JOIN agent a ON a.n = d.agent \
               LEFT JOIN blob_purge p ON p.agent = a.id AND p.file = d.id WHERE p.file IS NULL \
               AND json_extract(d.body, '$.conversation') IS NULL";
    rows::each(db, sql, (), |r| {
        let id = FileId::from_bytes(r.bytes()?);
        findings.note(FindingKind::Reference, format_args!("the content of document {id} never falls due"));
        Ok(())
    })
}

/// Reads all documents and credits of an agent, and compares redundant values.
pub(super) fn of_agent(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    documents_of(db, id, number, findings)?;
    credits_of(db, id, number, findings)
}

fn documents_of(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    let what = format!("a document of agent {id}");
    readable(db, documents::EVERY_OF_AGENT, number, &what, findings, |r, findings| {
        let document: StoredDocument = r.json()?;
        let (bytes, key) = (r.count()?, FileId::from_bytes(r.bytes()?));
        if (document.stored_size, document.id) != (bytes, key) {
            let detail = format_args!("document {key} of agent {id} is counted or found as another one");
            findings.note(FindingKind::Record, detail);
        }
        Ok(())
    })
}

/// The pools and the reserved credits together equal the sum of the ledger.
fn credits_of(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    let account: Result<Option<(u64, CreditAccount)>> =
        rows::first(db, credits::ACCOUNT_OF_AGENT, [number], |r| Ok((r.count()?, r.json()?)));
    let held = match account {
        Ok(None) => 0,
        Ok(Some((version, account))) => {
            if version != account.version {
                let detail = format_args!("the credits of agent {id} are saved under another version");
                findings.note(FindingKind::Record, detail);
            }
            i128::from(account.available()) + i128::from(account.reserved())
        }
        Err(error) => {
            findings.note(FindingKind::Record, format_args!("the credits of agent {id}: {}", text(error)));
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
    let (mut rows, mut readable_rows, mut sum) = (0, 0, 0);
    let sql = "SELECT at, id, body FROM credit_entry WHERE agent = ?1";
    readable(db, sql, number, &format!("an entry of the ledger of agent {id}"), findings, |r, _| {
        rows += 1;
        let key = (r.time()?, PlatformId::from_bytes(r.bytes()?));
        let entry: CreditEntry = r.json()?;
        if (entry.at, entry.id) != key {
            return Err(corrupt("its key has another time or id than its record"));
        }
        readable_rows += 1;
        sum += i128::from(entry.plan) + i128::from(entry.top_up);
        Ok(())
    })?;
    Ok((rows == readable_rows).then_some(sum))
}
