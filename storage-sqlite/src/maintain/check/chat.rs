//! Checks of the chat: whether its records can be read and agree with their columns.

use openapi_core::values::{AgentId, KnowledgeId, MessageId};
use rusqlite::{Connection, Row, params};

use super::{FindingKind, Findings, text};
use crate::chat::{agent_records, conversations, knowledge, messages};
use crate::contacts::Columns;
use crate::error::Result;

/// Calls `check` with every row of `sql` for an agent, and reports rows that cannot be read.
fn every(
    db: &Connection,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
    what: &str,
    findings: &mut Findings,
    check: impl Fn(&Row<'_>, &mut Findings) -> Result<()>,
) -> Result<()> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        if let Err(fault) = check(row, findings) {
            findings.note(FindingKind::Record, format_args!("{what}: {}", text(fault)));
        }
    }
    Ok(())
}

/// Reads all chat data of an agent.
pub(super) fn of_agent(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    let nothing: &[u8] = &[];
    let by_id = params![number, nothing, i64::MAX];
    let by_position = params![number, nothing, 0, i64::MAX];
    let of = |what: &str| format!("{what} of agent {id}");
    every(db, conversations::AFTER, by_id, &of("a conversation"), findings, |row, findings| {
        let (conversation, stored) =
            (conversations::read(row)?, conversations::ConversationColumns::read(row)?);
        if conversation.id != stored.id() {
            let detail =
                format_args!("conversation {} of agent {id} is found as another one", conversation.id);
            findings.note(FindingKind::Record, detail);
        } else if stored != conversations::ConversationColumns::of(id, &conversation) {
            let detail =
                format_args!("conversation {} of agent {id} is listed as it is not", conversation.id);
            findings.note(FindingKind::Keys, detail);
        }
        Ok(())
    })?;
    every(db, messages::AFTER, by_position, &of("a message"), findings, |row, findings| {
        let mut columns = Columns::from(row, 2);
        let stored = (columns.count()?, MessageId::from_bytes(columns.bytes()?), columns.optional_str()?);
        let message = messages::read(row)?;
        if stored != (message.seq, message.id, message.turn.as_deref()) {
            let detail = format_args!("message {} of agent {id} is found as another one", message.id);
            findings.note(FindingKind::Record, detail);
        }
        Ok(())
    })?;
    every(db, knowledge::AFTER, by_id, &of("a document"), findings, |row, findings| {
        let (document, key) = (knowledge::read(row)?, Columns::from(row, 1).bytes()?);
        if document.id != KnowledgeId::from_bytes(key) {
            let detail = format_args!("knowledge {} of agent {id} is found as another one", document.id);
            findings.note(FindingKind::Record, detail);
        }
        Ok(())
    })?;
    every(db, knowledge::PASSAGES_AFTER, by_position, &of("a passage"), findings, |row, findings| {
        let ((document, passage), position) = (knowledge::passage(row)?, Columns::from(row, 2).count()?);
        if u64::from(passage.position) != position {
            let detail =
                format_args!("a passage of knowledge {document} of agent {id} is at another position");
            findings.note(FindingKind::Record, detail);
        }
        Ok(())
    })?;
    every(
        db,
        agent_records::AFTER,
        params![number, 0, i64::MAX],
        &of("a small record"),
        findings,
        |row, _| agent_records::read(row).map(drop),
    )
}
