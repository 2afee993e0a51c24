//! Messages of conversations: a JSON record with its number, id and turn.

use ::conversations::Message;
use ::conversations::storage::{MessageQuery, MessageSelector};
use openapi_core::values::{AgentId, ConversationId};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use storage_common::fields::bounded;

use crate::error::Result;
use crate::rows::{self, json_text, signed};

/// Replaces the message of its number.
pub(crate) fn put(
    db: &Connection,
    agent: i64,
    conversation: ConversationId,
    message: &Message,
) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO message (agent, conversation, seq, id, turn, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (agent, conversation, seq) DO UPDATE SET id = excluded.id, turn = excluded.turn, \
         body = excluded.body",
    )?
    .execute(params![
        agent,
        conversation.as_bytes(),
        signed(message.seq)?,
        message.id.as_bytes(),
        message.turn,
        json_text(message)?
    ])?;
    Ok(())
}

/// Removes all messages of a conversation.
pub(super) fn remove_of(db: &Connection, agent: i64, conversation: ConversationId) -> Result<()> {
    db.prepare_cached("DELETE FROM message WHERE agent = ?1 AND conversation = ?2")?
        .execute(params![agent, conversation.as_bytes()])?;
    Ok(())
}

/// As [`::conversations::storage::ConversationStore::messages`].
pub(super) fn some(db: &Connection, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>> {
    // No message has a number beyond what a column holds.
    let number = |seq: u64| Value::Integer(bounded(seq));
    let (index, which, value, order) = match &query.which {
        MessageSelector::After(seq) => ("", "m.seq > ?3", number(*seq), ""),
        MessageSelector::Before(seq) => ("", "m.seq < ?3", number(*seq), " DESC"),
        MessageSelector::Id(id) => {
            ("INDEXED BY message_by_id ", "m.id = ?3", Value::Blob(id.as_bytes().to_vec()), "")
        }
        MessageSelector::Turn(turn) => {
            ("INDEXED BY message_by_turn ", "m.turn = ?3", Value::Text(turn.clone()), "")
        }
    };
    let sql = format!(
        "SELECT m.body FROM agent a CROSS JOIN message m {index}ON m.agent = a.n \
         WHERE a.id = ?1 AND a.status <> 2 AND m.conversation = ?2 AND {which} ORDER BY m.seq{order} LIMIT ?4"
    );
    let values = [
        Value::Text(agent.as_str().to_owned()),
        Value::Blob(query.conversation.as_bytes().to_vec()),
        value,
        Value::Integer(query.limit.into()),
    ];
    let mut messages = rows::all(db, &sql, params_from_iter(values), |r| r.json())?;
    if matches!(query.which, MessageSelector::Before(_)) {
        messages.reverse();
    }
    Ok(messages)
}
