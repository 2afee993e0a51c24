//! Conversations: a JSON record, and the columns that find, list and filter it.

use ::conversations::storage::{
    ConversationFilter, ConversationPage, ConversationQuery, ConversationStore, ConversationWrite,
    MessageQuery,
};
use ::conversations::{Conversation, Message};
use async_trait::async_trait;
use openapi_core::storage::{Effects, StorageError, StorageErrorKind, Subject};
use openapi_core::values::{AgentId, ContactId, ConversationId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use storage_common::fields::bounded;

use super::messages;
use crate::error::Result;
use crate::readers::snapshot;
use crate::rows::{self, RowReader, code, json_text, signed};
use crate::shapes;
use crate::store::SqliteStorage;
use crate::{documents, effects, tenant};

/// Every conversation of an agent: the record and the columns next to it.
pub(crate) const EVERY_OF_AGENT: &str = "SELECT body, id, agent_id, version, status, mode, contact, last_message_at, \
     expires_at FROM conversation INDEXED BY conversation_by_id WHERE agent = ?1";

/// Conversations of all agents that have expired, oldest first.
const EXPIRED: &str = "SELECT c.agent_id, c.id FROM conversation c INDEXED BY conversation_by_expiry \
     CROSS JOIN agent a ON a.n = c.agent WHERE c.expires_at <= ?1 AND a.status <> 2 \
     ORDER BY c.expires_at, c.agent_id, c.id LIMIT ?2";

/// The columns next to the record, in their order.
#[derive(PartialEq)]
pub(crate) struct ConversationColumns {
    id: [u8; 12],
    agent: String,
    version: u64,
    status: i64,
    mode: i64,
    contact: Option<[u8; 12]>,
    last_message_at: Timestamp,
    expires_at: Timestamp,
}

impl ConversationColumns {
    /// The columns of a conversation of this agent.
    pub(crate) fn of(agent: &AgentId, it: &Conversation) -> Self {
        ConversationColumns {
            id: *it.id.as_bytes(),
            agent: agent.as_str().to_owned(),
            version: it.version,
            status: code(it.status),
            mode: code(it.mode),
            contact: it.contact_id.map(|contact| *contact.as_bytes()),
            last_message_at: it.last_message_at,
            expires_at: it.expires_at,
        }
    }

    /// Reads the columns that follow the record in [`EVERY_OF_AGENT`].
    pub(crate) fn read(r: &mut RowReader<'_>) -> Result<Self> {
        Ok(ConversationColumns {
            id: r.bytes()?,
            agent: r.str()?.to_owned(),
            version: r.count()?,
            status: r.integer()?,
            mode: r.integer()?,
            contact: r.optional_bytes()?,
            last_message_at: r.time()?,
            expires_at: r.time()?,
        })
    }

    /// The id of the conversation.
    pub(crate) fn id(&self) -> ConversationId {
        ConversationId::from_bytes(self.id)
    }
}

fn stored_version(db: &Connection, agent: i64, id: ConversationId) -> Result<Option<u64>> {
    let sql = "SELECT version FROM conversation WHERE agent = ?1 AND id = ?2";
    rows::number(db, sql, params![agent, id.as_bytes()])
}

/// Replaces a conversation.
fn put(db: &Connection, agent_id: &AgentId, agent: i64, conversation: &Conversation) -> Result<()> {
    let derived = ConversationColumns::of(agent_id, conversation);
    let values = params![
        agent,
        derived.id,
        derived.agent,
        signed(derived.version)?,
        derived.status,
        derived.mode,
        derived.contact,
        derived.last_message_at.millis(),
        derived.expires_at.millis(),
        json_text(conversation)?
    ];
    // Usually only the text of a reply has grown: the index columns are unchanged, so this statement leaves them out.
    let replaced = db
        .prepare_cached(
            "UPDATE conversation SET version = ?4, body = ?10 WHERE agent = ?1 AND id = ?2 AND agent_id = ?3 \
             AND status = ?5 AND mode = ?6 AND contact IS ?7 AND last_message_at = ?8 AND expires_at = ?9",
        )?
        .execute(values)?;
    if replaced == 0 {
        db.prepare_cached(
            "INSERT INTO conversation \
             (agent, id, agent_id, version, status, mode, contact, last_message_at, expires_at, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
             ON CONFLICT (agent, id) DO UPDATE SET agent_id = excluded.agent_id, version = excluded.version, \
             status = excluded.status, mode = excluded.mode, contact = excluded.contact, \
             last_message_at = excluded.last_message_at, expires_at = excluded.expires_at, body = excluded.body",
        )?
        .execute(values)?;
    }
    Ok(())
}

/// Stores a new conversation.
pub(crate) fn put_new(
    db: &Connection,
    agent_id: &AgentId,
    agent: i64,
    conversation: &Conversation,
) -> Result<()> {
    if stored_version(db, agent, conversation.id)?.is_some() {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put(db, agent_id, agent, conversation)
}

/// Derives the columns of an agent's conversations again. A check lists the records that cannot be read.
pub(crate) fn repair(db: &Connection, agent_id: &AgentId, agent: i64) -> Result<()> {
    let mut wrong: Vec<Conversation> = Vec::new();
    rows::each(db, EVERY_OF_AGENT, [agent], |r| {
        if let (Ok(conversation), Ok(derived)) = (r.json::<Conversation>(), ConversationColumns::read(r))
            && derived.id == *conversation.id.as_bytes()
            && derived != ConversationColumns::of(agent_id, &conversation)
        {
            wrong.push(conversation);
        }
        Ok(())
    })?;
    wrong.iter().try_for_each(|conversation| put(db, agent_id, agent, conversation))
}

/// As [`ConversationStore::save_conversation`], inside the writer's transaction.
fn save(db: &Connection, agent_id: &AgentId, write: &ConversationWrite) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    let conversation = &write.conversation;
    super::refuse_stale(stored_version(db, agent, conversation.id)?, conversation.version)?;
    for document in &write.keep {
        documents::keep(db, agent_id, agent, *document)?;
    }
    put(db, agent_id, agent, conversation)?;
    for message in &write.messages {
        messages::put(db, agent, conversation.id, message)?;
    }
    effects::apply(db, agent, &write.effects)
}

/// As [`ConversationStore::erase_conversation`], inside the writer's transaction.
fn erase(
    db: &Connection,
    agent_id: &AgentId,
    id: ConversationId,
    at: Timestamp,
    effects: &Effects,
) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    messages::remove_of(db, agent, id)?;
    let sql = "DELETE FROM conversation WHERE agent = ?1 AND id = ?2 RETURNING body";
    let removed: Option<Conversation> = rows::first(db, sql, params![agent, id.as_bytes()], |r| r.json())?;
    let removed = removed.ok_or(StorageErrorKind::Missing)?;
    erase_rest(db, agent_id, agent, &removed, at)?;
    effects::apply(db, agent, effects)
}

/// The uploads of an erased conversation's visitor and the records about it are removed with it.
fn erase_rest(
    db: &Connection,
    agent_id: &AgentId,
    agent: i64,
    erased: &Conversation,
    now: Timestamp,
) -> Result<()> {
    shapes::erase_of(db, agent, Subject::Conversation(erased.id), now)?;
    erased.uploads.iter().try_for_each(|document| documents::discard(db, agent_id, *document, now))
}

/// Removes the conversations of a contact with their messages and uploads.
pub(crate) fn erase_of(
    db: &Connection,
    agent_id: &AgentId,
    agent: i64,
    contact: ContactId,
    now: Timestamp,
) -> Result<()> {
    db.prepare_cached(
        "DELETE FROM message WHERE agent = ?1 AND conversation IN (SELECT id FROM conversation \
         INDEXED BY conversation_by_contact WHERE agent = ?1 AND contact = ?2)",
    )?
    .execute(params![agent, contact.as_bytes()])?;
    let sql = "DELETE FROM conversation INDEXED BY conversation_by_contact WHERE agent = ?1 AND contact = ?2 \
               RETURNING body";
    let erased = rows::all(db, sql, params![agent, contact.as_bytes()], |r| r.json())?;
    erased.iter().try_for_each(|conversation| erase_rest(db, agent_id, agent, conversation, now))
}

/// The rows that match a filter, in the index that has them by their last message.
pub(crate) struct Chosen {
    sql: String,
    values: Vec<Value>,
}

impl Chosen {
    pub(crate) fn of(agent: i64, filter: &ConversationFilter) -> Self {
        let by = if filter.contact.is_some() { "contact" } else { "last_message" };
        let mut sql = format!("FROM conversation c INDEXED BY conversation_by_{by} WHERE c.agent = ?");
        let mut values = vec![Value::Integer(agent)];
        let mut narrow = |condition: &str, value| {
            sql += condition;
            values.push(value);
        };
        if let Some(contact) = filter.contact {
            narrow(" AND c.contact = ?", Value::Blob(contact.as_bytes().to_vec()));
        }
        if let Some(since) = filter.since {
            narrow(" AND c.last_message_at >= ?", Value::Integer(since.millis()));
        }
        if let Some(status) = filter.status {
            narrow(" AND c.status = ?", Value::Integer(code(status)));
        }
        if let Some(mode) = filter.mode {
            narrow(" AND c.mode = ?", Value::Integer(code(mode)));
        }
        Chosen { sql, values }
    }

    /// The statement that counts the rows in the index alone, at a cost that grows with the matches. An agent's
    /// conversations expire, so there are too few to be worth a counter.
    pub(crate) fn count(&self) -> String {
        format!("SELECT count(*) {}", self.sql)
    }

    /// The statement of a page; the limit and the offset follow the values.
    pub(crate) fn page(&self) -> String {
        format!("SELECT c.body {} ORDER BY c.last_message_at DESC, c.id DESC LIMIT ? OFFSET ?", self.sql)
    }
}

fn page(db: &Connection, id: &AgentId, query: &ConversationQuery) -> Result<ConversationPage> {
    let Some(agent) = tenant::living(db, id)?.map(|agent| agent.number) else {
        return Ok(ConversationPage::default());
    };
    let chosen = Chosen::of(agent, &query.filter);
    let total = rows::count(db, &chosen.count(), params_from_iter(&chosen.values))?;
    let (sql, mut values) = (chosen.page(), chosen.values);
    values.push(Value::Integer(query.limit.into()));
    values.push(Value::Integer(bounded(query.offset)));
    let conversations = rows::all(db, &sql, params_from_iter(values), |r| r.json())?;
    Ok(ConversationPage { conversations, total })
}

#[async_trait]
impl ConversationStore for SqliteStorage {
    async fn conversation(
        &self,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Option<Conversation>, StorageError> {
        let sql = "SELECT c.body FROM agent a CROSS JOIN conversation c ON c.agent = a.n \
                   WHERE a.id = ?1 AND a.status <> 2 AND c.id = ?2";
        let values = params![agent.as_str(), id.as_bytes()];
        self.readers.read_blocking(|db| rows::first(db, sql, values, |r| r.json()))
    }

    async fn conversations(
        &self,
        agent: &AgentId,
        query: &ConversationQuery,
    ) -> Result<ConversationPage, StorageError> {
        let (agent, query) = (agent.clone(), query.clone());
        self.readers.read(move |db, _| snapshot(db, |db| page(db, &agent, &query))).await
    }

    async fn messages(&self, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>, StorageError> {
        let (agent, query) = (agent.clone(), query.clone());
        self.readers.read(move |db, _| messages::some(db, &agent, &query)).await
    }

    async fn save_conversation(
        &self,
        agent: &AgentId,
        write: &ConversationWrite,
    ) -> Result<(), StorageError> {
        let (agent, write) = (agent.clone(), write.clone());
        if write.deferrable {
            self.writer.write_lingering(move |db| save(db, &agent, &write)).await
        } else {
            self.writer.write(move |db| save(db, &agent, &write)).await
        }
    }

    async fn erase_conversation(
        &self,
        agent: &AgentId,
        id: ConversationId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let (agent, effects) = (agent.clone(), effects.clone());
        self.writer.write_erasure(move |db| erase(db, &agent, id, at, &effects)).await
    }

    async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>, StorageError> {
        let key = |r: &mut RowReader<'_>| Ok((r.text()?, ConversationId::from_bytes(r.bytes()?)));
        self.readers.read(move |db, _| rows::all(db, EXPIRED, params![now.millis(), at_most], key)).await
    }
}
