//! Changing conversations. Everything here runs inside a transaction that holds the agent.

use std::collections::BTreeMap;

use ::conversations::storage::ConversationWrite;
use ::conversations::{Conversation, Message};
use openapi_core::audit::AuditEntry;
use openapi_core::storage::StorageErrorKind;
use openapi_core::values::{AgentId, ContactId, ConversationId, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::read::{mode_number, status_number};
use crate::connect::{execute, fetch, fetch_one};
use crate::error::Result;
use crate::rows::{Columns, Statement, json_text, signed};
use crate::{agents, audit, documents};

/// As [`conversations::storage::ConversationStore::save_conversation`].
pub(super) async fn save(db: &mut PgConnection, agent: &AgentId, write: &ConversationWrite) -> Result<()> {
    agents::hold(db, agent).await?;
    let conversation = &write.conversation;
    let statement = Statement::new("SELECT version FROM conversation WHERE agent = $1 AND id = $2")
        .bind(agent.as_str())?
        .bind(conversation.id.as_bytes().as_slice())?;
    let row = fetch_one(db, statement).await?;
    let stored = row.map_or(Ok(0), |row| Columns::of(&row).count())?;
    if stored.checked_add(1) != Some(conversation.version) {
        return Err(StorageErrorKind::Stale.into());
    }
    documents::keep(db, agent, &write.keep).await?;
    let sql = format!(
        "{INSERT} ON CONFLICT (agent, id) DO UPDATE SET version = excluded.version, status = excluded.status, \
         mode = excluded.mode, contact = excluded.contact, last_message_at = excluded.last_message_at, \
         expires_at = excluded.expires_at, body = excluded.body"
    );
    execute(db, bind(sql, agent, conversation)?).await?;
    // Of two with one number the later one stands.
    let numbered: BTreeMap<u64, &Message> = write.messages.iter().map(|it| (it.seq, it)).collect();
    let numbered: Vec<_> = numbered.into_values().map(|message| (conversation.id, message)).collect();
    let replacing = "ON CONFLICT (agent, conversation, seq) \
                     DO UPDATE SET id = excluded.id, turn = excluded.turn, body = excluded.body";
    put_messages(db, agent, &numbered, replacing).await?;
    audit::append_all(db, &write.audit).await.map(drop)
}

const INSERT: &str = "INSERT INTO conversation (agent, id, version, status, mode, contact, last_message_at, expires_at, \
                      body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

fn bind(sql: String, agent: &AgentId, conversation: &Conversation) -> Result<Statement> {
    Statement::new(sql)
        .bind(agent.as_str())?
        .bind(conversation.id.as_bytes().as_slice())?
        .bind(signed(conversation.version)?)?
        .bind(status_number(conversation.status))?
        .bind(mode_number(conversation.mode))?
        .bind(conversation.contact_id.as_ref().map(|contact| contact.as_bytes().as_slice()))?
        .bind(conversation.last_message_at.millis())?
        .bind(conversation.expires_at.millis())?
        .bind(json_text(conversation)?)
}

/// Stores a conversation; whether its id was free.
pub(crate) async fn put_new(
    db: &mut PgConnection,
    agent: &AgentId,
    conversation: &Conversation,
) -> Result<bool> {
    let sql = format!("{INSERT} ON CONFLICT DO NOTHING");
    Ok(execute(db, bind(sql, agent, conversation)?).await? == 1)
}

/// Stores messages whose numbers are free.
pub(crate) async fn put_new_messages(
    db: &mut PgConnection,
    agent: &AgentId,
    messages: &[(ConversationId, &Message)],
) -> Result<()> {
    put_messages(db, agent, messages, "").await
}

/// Stores messages, no two of one number; `in_use` says what becomes of one whose number is in use.
async fn put_messages(
    db: &mut PgConnection,
    agent: &AgentId,
    messages: &[(ConversationId, &Message)],
    in_use: &str,
) -> Result<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let statement = Statement::new(format!(
        "INSERT INTO message (agent, conversation, seq, id, turn, body) \
         SELECT $1, * FROM unnest($2::bytea[], $3::bigint[], $4::bytea[], $5::text[], $6::text[]) {in_use}"
    ))
    .bind(agent.as_str())?
    .bind(messages.iter().map(|(of, _)| of.as_bytes().as_slice()).collect::<Vec<_>>())?
    .bind(messages.iter().map(|(_, message)| signed(message.seq)).collect::<Result<Vec<_>>>()?)?
    .bind(messages.iter().map(|(_, message)| message.id.as_bytes().as_slice()).collect::<Vec<_>>())?
    .bind(messages.iter().map(|(_, message)| message.turn.as_deref()).collect::<Vec<_>>())?
    .bind(messages.iter().map(|(_, message)| json_text(message)).collect::<Result<Vec<_>>>()?)?;
    execute(db, statement).await.map(drop)
}

/// As [`conversations::storage::ConversationStore::erase_conversation`].
pub(super) async fn erase(
    db: &mut PgConnection,
    agent: &AgentId,
    id: ConversationId,
    entry: &AuditEntry,
) -> Result<()> {
    agents::hold(db, agent).await?;
    let statement =
        Statement::new("DELETE FROM conversation WHERE agent = $1 AND id = $2 RETURNING id, body")
            .bind(agent.as_str())?
            .bind(id.as_bytes().as_slice())?;
    let rows = fetch(db, statement).await?;
    if rows.is_empty() {
        return Err(StorageErrorKind::Missing.into());
    }
    leave_nothing(db, agent, &rows, entry.at).await?;
    audit::append(db, entry).await
}

/// Removes the conversations of a contact with their messages and what their visitors have sent.
pub(crate) async fn erase_of(
    db: &mut PgConnection,
    agent: &AgentId,
    contact: ContactId,
    now: Timestamp,
) -> Result<()> {
    let rows = fetch(db, of_contact(agent, contact)?).await?;
    leave_nothing(db, agent, &rows, now).await
}

/// Removes the messages and the documents of conversations that are gone: rows with their ids and records.
async fn leave_nothing(db: &mut PgConnection, agent: &AgentId, gone: &[PgRow], now: Timestamp) -> Result<()> {
    let mut ids: Vec<[u8; 12]> = Vec::with_capacity(gone.len());
    let mut uploads = Vec::new();
    for row in gone {
        let mut columns = Columns::of(row);
        ids.push(columns.bytes()?);
        uploads.extend(columns.json::<Conversation>()?.uploads);
    }
    if ids.is_empty() {
        return Ok(());
    }
    execute(db, messages_of(agent, &ids.iter().collect::<Vec<_>>())?).await?;
    for document in uploads {
        documents::remove(db, agent, document, now).await?;
    }
    Ok(())
}

/// Removes the conversations of a contact and returns their ids and records.
pub(crate) fn of_contact(agent: &AgentId, contact: ContactId) -> Result<Statement> {
    Statement::new("DELETE FROM conversation WHERE agent = $1 AND contact = $2 RETURNING id, body")
        .bind(agent.as_str())?
        .bind(contact.as_bytes().as_slice())
}

/// Removes the messages of conversations. The agent comes with each id and not by itself: of one that it takes for a
/// small one, PostgreSQL would go past every row and compare the ids.
pub(crate) fn messages_of(agent: &AgentId, conversations: &[&[u8; 12]]) -> Result<Statement> {
    Statement::new(
        "DELETE FROM message m USING unnest($1::text[], $2::bytea[]) AS u (agent, conversation) \
         WHERE m.agent = u.agent AND m.conversation = u.conversation",
    )
    .bind(vec![agent.as_str(); conversations.len()])?
    .bind(conversations.iter().map(|id| id.as_slice()).collect::<Vec<_>>())
}
