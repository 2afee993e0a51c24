//! Changing conversations. Everything here runs in a transaction that has locked the tenant.

use std::collections::BTreeMap;

use ::conversations::storage::ConversationWrite;
use ::conversations::{Conversation, Message};
use openapi_core::storage::{Effects, StorageErrorKind, Subject};
use openapi_core::values::{AgentId, ContactId, ConversationId, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::connect::{execute, fetch, fetch_version};
use crate::error::Result;
use crate::rows::{RowReader, Statement, code, json_text, signed};
use crate::{documents, effects, shapes, tenant};

/// As [`conversations::storage::ConversationStore::save_conversation`].
pub(super) async fn save(db: &mut PgConnection, agent: &AgentId, write: &ConversationWrite) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    let conversation = &write.conversation;
    let statement = Statement::new("SELECT version FROM conversation WHERE agent = $1 AND id = $2")
        .bind(agent.as_str())?
        .bind(conversation.id.as_bytes().as_slice())?;
    let stored = fetch_version(db, statement).await?.unwrap_or(0);
    if stored.checked_add(1) != Some(conversation.version) {
        return Err(StorageErrorKind::Stale.into());
    }
    documents::retain(db, agent, &write.keep).await?;
    let sql = format!(
        "{INSERT} ON CONFLICT (agent, id) DO UPDATE SET version = excluded.version, status = excluded.status, \
         mode = excluded.mode, contact = excluded.contact, last_message_at = excluded.last_message_at, \
         expires_at = excluded.expires_at, body = excluded.body"
    );
    execute(db, bind(sql, agent, conversation)?).await?;
    // The last one of a number wins.
    let numbered: BTreeMap<u64, &Message> = write.messages.iter().map(|it| (it.seq, it)).collect();
    let numbered: Vec<_> = numbered.into_values().map(|message| (conversation.id, message)).collect();
    let replacing = "ON CONFLICT (agent, conversation, seq) \
                     DO UPDATE SET id = excluded.id, turn = excluded.turn, body = excluded.body";
    put_messages(db, agent, &numbered, replacing).await?;
    effects::apply(db, agent, &write.effects, tenant.head).await
}

const INSERT: &str = "INSERT INTO conversation (agent, id, version, status, mode, contact, last_message_at, expires_at, \
                      body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

fn bind(sql: String, agent: &AgentId, conversation: &Conversation) -> Result<Statement> {
    Statement::new(sql)
        .bind(agent.as_str())?
        .bind(conversation.id.as_bytes().as_slice())?
        .bind(signed(conversation.version)?)?
        .bind(code(conversation.status))?
        .bind(code(conversation.mode))?
        .bind(conversation.contact_id.as_ref().map(|contact| contact.as_bytes().as_slice()))?
        .bind(conversation.last_message_at.millis())?
        .bind(conversation.expires_at.millis())?
        .bind(json_text(conversation)?)
}

/// Stores a conversation; false when its id is taken.
pub(crate) async fn insert(
    db: &mut PgConnection,
    agent: &AgentId,
    conversation: &Conversation,
) -> Result<bool> {
    let sql = format!("{INSERT} ON CONFLICT DO NOTHING");
    Ok(execute(db, bind(sql, agent, conversation)?).await? == 1)
}

/// Stores messages whose numbers are free.
pub(crate) async fn insert_messages(
    db: &mut PgConnection,
    agent: &AgentId,
    messages: &[(ConversationId, &Message)],
) -> Result<()> {
    put_messages(db, agent, messages, "").await
}

/// Stores messages with different numbers; `on_conflict` is the clause for a number that is taken.
async fn put_messages(
    db: &mut PgConnection,
    agent: &AgentId,
    messages: &[(ConversationId, &Message)],
    on_conflict: &str,
) -> Result<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let statement = Statement::new(format!(
        "INSERT INTO message (agent, conversation, seq, id, turn, body) \
         SELECT $1, * FROM unnest($2::bytea[], $3::bigint[], $4::bytea[], $5::text[], $6::text[]) {on_conflict}"
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
    at: Timestamp,
    effects: &Effects,
) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    let statement =
        Statement::new("DELETE FROM conversation WHERE agent = $1 AND id = $2 RETURNING id, body")
            .bind(agent.as_str())?
            .bind(id.as_bytes().as_slice())?;
    let rows = fetch(db, statement).await?;
    if rows.is_empty() {
        return Err(StorageErrorKind::Missing.into());
    }
    remove_contents(db, agent, &rows, at).await?;
    effects::apply(db, agent, effects, tenant.head).await
}

/// Removes the conversations of a contact with their messages and uploads.
pub(crate) async fn erase_of(
    db: &mut PgConnection,
    agent: &AgentId,
    contact: ContactId,
    now: Timestamp,
) -> Result<()> {
    let rows = fetch(db, of_contact(agent, contact)?).await?;
    remove_contents(db, agent, &rows, now).await
}

/// Removes the messages, the uploads and the records of deleted conversations, and erases their jobs: rows with their ids and bodies.
async fn remove_contents(
    db: &mut PgConnection,
    agent: &AgentId,
    deleted: &[PgRow],
    now: Timestamp,
) -> Result<()> {
    let mut ids: Vec<[u8; 12]> = Vec::with_capacity(deleted.len());
    let mut uploads = Vec::new();
    for row in deleted {
        let mut columns = RowReader::new(row);
        ids.push(columns.bytes()?);
        uploads.extend(columns.json::<Conversation>()?.uploads);
    }
    if ids.is_empty() {
        return Ok(());
    }
    execute(db, messages_of(agent, &ids.iter().collect::<Vec<_>>())?).await?;
    let subjects = ids.iter().map(|id| Subject::Conversation(ConversationId::from_bytes(*id)));
    shapes::erase_of(db, agent, &Vec::from_iter(subjects), now).await?;
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

/// Removes the messages of conversations. The statement joins the tenant with each id: a condition on the tenant alone would let
/// PostgreSQL scan all rows of a tenant that it takes for small.
pub(crate) fn messages_of(agent: &AgentId, conversations: &[&[u8; 12]]) -> Result<Statement> {
    Statement::new(
        "DELETE FROM message m USING unnest($1::text[], $2::bytea[]) AS u (agent, conversation) \
         WHERE m.agent = u.agent AND m.conversation = u.conversation",
    )
    .bind(vec![agent.as_str(); conversations.len()])?
    .bind(conversations.iter().map(|id| id.as_slice()).collect::<Vec<_>>())
}
