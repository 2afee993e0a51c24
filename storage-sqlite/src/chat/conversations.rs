//! Conversations: a JSON record, and the columns that find, list and filter it.

use ::conversations::storage::{
    ConversationFilter, ConversationPage, ConversationQuery, ConversationStore, ConversationWrite,
    MessageQuery,
};
use ::conversations::{Conversation, ConversationMode, ConversationStatus, Message};
use async_trait::async_trait;
use openapi_core::storage::{Effects, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, ConversationId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::messages;
use crate::contacts::Columns;
use crate::error::{Result, corrupt};
use crate::readers::snapshot;
use crate::store::SqliteStorage;
use crate::{documents, effects, tenant};

/// Conversations of an agent after an id, by id; the columns follow the record.
pub(crate) const AFTER: &str = "SELECT body, id, agent_id, version, status, mode, contact, last_message_at, \
     expires_at FROM conversation INDEXED BY conversation_by_id WHERE agent = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

/// Conversations of all agents that have expired, oldest first.
const EXPIRED: &str = "SELECT c.agent_id, c.id FROM conversation c INDEXED BY conversation_by_expiry \
     CROSS JOIN agent a ON a.n = c.agent WHERE c.expires_at <= ?1 AND a.status <> 2 \
     ORDER BY c.expires_at, c.agent_id, c.id LIMIT ?2";

/// Reads a row that begins with the record.
pub(crate) fn read(row: &Row<'_>) -> Result<Conversation> {
    Columns::of(row).json()
}

const fn status_number(status: ConversationStatus) -> i64 {
    match status {
        ConversationStatus::Open => 0,
        ConversationStatus::Closed => 1,
    }
}

const fn mode_number(mode: ConversationMode) -> i64 {
    match mode {
        ConversationMode::Ai => 0,
        ConversationMode::Human => 1,
    }
}

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
            status: status_number(it.status),
            mode: mode_number(it.mode),
            contact: it.contact_id.map(|contact| *contact.as_bytes()),
            last_message_at: it.last_message_at,
            expires_at: it.expires_at,
        }
    }

    /// The values of a row of [`AFTER`].
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let mut columns = Columns::from(row, 1);
        Ok(ConversationColumns {
            id: columns.bytes()?,
            agent: columns.str()?.to_owned(),
            version: columns.count()?,
            status: columns.integer()?,
            mode: columns.integer()?,
            contact: columns.optional_bytes()?,
            last_message_at: columns.time()?,
            expires_at: columns.time()?,
        })
    }

    /// The id of the conversation.
    pub(crate) fn id(&self) -> ConversationId {
        ConversationId::from_bytes(self.id)
    }
}

fn stored_version(db: &Connection, agent: i64, id: ConversationId) -> Result<Option<i64>> {
    Ok(db
        .prepare_cached("SELECT version FROM conversation WHERE agent = ?1 AND id = ?2")?
        .query_row(params![agent, id.as_bytes()], |row| row.get(0))
        .optional()?)
}

/// Replaces a conversation.
fn put(db: &Connection, agent_id: &AgentId, agent: i64, conversation: &Conversation) -> Result<()> {
    let derived = ConversationColumns::of(agent_id, conversation);
    let values = params![
        agent,
        derived.id,
        derived.agent,
        i64::try_from(derived.version).map_err(corrupt)?,
        derived.status,
        derived.mode,
        derived.contact,
        derived.last_message_at.millis(),
        derived.expires_at.millis(),
        serde_json::to_string(conversation).map_err(corrupt)?
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
    let mut every = db.prepare_cached(AFTER)?;
    let mut rows = every.query(params![agent, &[] as &[u8], i64::MAX])?;
    let mut wrong = Vec::new();
    while let Some(row) = rows.next()? {
        let (Ok(conversation), Ok(derived)) = (read(row), ConversationColumns::read(row)) else { continue };
        if derived.id == *conversation.id.as_bytes()
            && derived != ConversationColumns::of(agent_id, &conversation)
        {
            wrong.push(conversation);
        }
    }
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
    let removed: Option<Conversation> = db
        .prepare_cached("DELETE FROM conversation WHERE agent = ?1 AND id = ?2 RETURNING body")?
        .query_row(params![agent, id.as_bytes()], |row| Ok(read(row)))
        .optional()?
        .transpose()?;
    let removed = removed.ok_or(StorageErrorKind::Missing)?;
    discard_uploads(db, agent_id, &removed, at)?;
    effects::apply(db, agent, effects)
}

/// The uploads of an erased conversation's visitor are removed with it.
fn discard_uploads(db: &Connection, agent: &AgentId, erased: &Conversation, now: Timestamp) -> Result<()> {
    erased.uploads.iter().try_for_each(|document| documents::discard(db, agent, *document, now))
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
    let mut removal = db.prepare_cached(
        "DELETE FROM conversation INDEXED BY conversation_by_contact WHERE agent = ?1 AND contact = ?2 \
         RETURNING body",
    )?;
    let mut rows = removal.query(params![agent, contact.as_bytes()])?;
    let mut erased = Vec::new();
    while let Some(row) = rows.next()? {
        erased.push(read(row)?);
    }
    erased.iter().try_for_each(|conversation| discard_uploads(db, agent_id, conversation, now))
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
            narrow(" AND c.status = ?", Value::Integer(status_number(status)));
        }
        if let Some(mode) = filter.mode {
            narrow(" AND c.mode = ?", Value::Integer(mode_number(mode)));
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
    let total: i64 =
        db.prepare_cached(&chosen.count())?.query_row(params_from_iter(&chosen.values), |row| row.get(0))?;
    let mut statement = db.prepare_cached(&chosen.page())?;
    let mut values = chosen.values;
    values.push(Value::Integer(query.limit.into()));
    values.push(Value::Integer(i64::try_from(query.offset).unwrap_or(i64::MAX)));
    let mut rows = statement.query(params_from_iter(values))?;
    let mut conversations = Vec::new();
    while let Some(row) = rows.next()? {
        conversations.push(read(row)?);
    }
    Ok(ConversationPage { conversations, total: u64::try_from(total).map_err(corrupt)? })
}

#[async_trait]
impl ConversationStore for SqliteStorage {
    async fn conversation(
        &self,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Option<Conversation>, StorageError> {
        self.readers.read_blocking(|db| {
            let mut statement = db.prepare_cached(
                "SELECT c.body FROM agent a CROSS JOIN conversation c ON c.agent = a.n \
                 WHERE a.id = ?1 AND a.status <> 2 AND c.id = ?2",
            )?;
            let mut rows = statement.query(params![agent.as_str(), id.as_bytes()])?;
            rows.next()?.map(read).transpose()
        })
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
        self.writer.write(move |db| erase(db, &agent, id, at, &effects)).await
    }

    async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>, StorageError> {
        self.readers
            .read(move |db, _| {
                let mut statement = db.prepare_cached(EXPIRED)?;
                let mut rows = statement.query(params![now.millis(), at_most])?;
                let mut due = Vec::new();
                while let Some(row) = rows.next()? {
                    let mut columns = Columns::of(row);
                    due.push((columns.text()?, ConversationId::from_bytes(columns.bytes()?)));
                }
                Ok(due)
            })
            .await
    }
}
