//! Reading conversations and messages.

use ::conversations::Message;
use ::conversations::storage::{ConversationPage, ConversationQuery, MessageQuery, MessageSelector};
use openapi_core::values::{AgentId, ConversationId, Timestamp};
use sqlx::postgres::PgRow;

use crate::error::Result;
use crate::rows::{self, RowReader, Statement, bounded, code};

/// As [`conversations::storage::ConversationStore::conversation`].
pub(crate) fn one(agent: &AgentId, id: ConversationId) -> Result<Statement> {
    Statement::new(
        "SELECT c.body FROM agent a JOIN conversation c ON c.agent = a.id \
         WHERE a.id = $1 AND a.status <> 2 AND c.id = $2",
    )
    .bind(agent.as_str())?
    .bind(id.as_bytes().as_slice())
}

/// The statement of a page: each row has the total and a conversation, or NULL for an empty page.
///
/// Each combination of status and mode is a range of the index, newest last. PostgreSQL merges the ranges, so it skips no
/// rows that do not match. It counts the total in the same ranges without reading the rows, exactly, at a cost that grows
/// with the matches. Counters would change with every message that changes a mode, and could not count from a time on.
pub(crate) fn page(agent: &AgentId, query: &ConversationQuery) -> Result<Statement> {
    let filter = &query.filter;
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let mut condition = String::new();
    if let Some(contact) = filter.contact {
        condition += &format!(" AND c.contact = {}", statement.add(contact.as_bytes().as_slice())?);
    }
    if let Some(since) = filter.since {
        condition += &format!(" AND c.last_message_at >= {}", statement.add(since.millis())?);
    }
    let limit = query.limit;
    // The limit is in the text, because the best plan depends on it.
    let (slice, arm_limit) = if query.offset == 0 {
        (format!("LIMIT {limit}"), format!("LIMIT {limit}"))
    } else {
        let offset = statement.add(bounded(query.offset.min(MAX_OFFSET)))?;
        (format!("LIMIT {limit} OFFSET {offset}"), format!("LIMIT {limit} + {offset}"))
    };
    let statuses = filter.status.map_or(vec![0, 1], |status| vec![code(status)]);
    let modes = filter.mode.map_or(vec![0, 1], |mode| vec![code(mode)]);
    let ranges = statuses.iter().flat_map(|status| modes.iter().map(move |mode| (status, mode)));
    // Each range has its own order and limit: otherwise PostgreSQL does not merge them and reads all of them.
    let (mut keys, mut counts) = (Vec::new(), Vec::new());
    for (status, mode) in ranges {
        let range = format!(
            "FROM conversation c WHERE c.agent = {agent} AND c.status = {status} AND c.mode = {mode}{condition}"
        );
        keys.push(format!(
            "(SELECT c.last_message_at AS key, c.id {range} ORDER BY c.last_message_at DESC, c.id DESC {arm_limit})"
        ));
        counts.push(format!("(SELECT count(*) {range})"));
    }
    // The limit on each conversation makes PostgreSQL look them up one by one.
    statement.push(&format!(
        "SELECT t.total, c.body FROM (SELECT {} AS total) t \
         LEFT JOIN (SELECT key, id FROM ({}) ranges ORDER BY key DESC, id DESC {slice}) p ON true \
         LEFT JOIN LATERAL (SELECT c.body FROM conversation c WHERE c.agent = {agent} AND c.id = p.id LIMIT 1) c \
         ON true WHERE EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2) \
         ORDER BY p.key DESC, p.id DESC",
        counts.join(" + "),
        keys.join(" UNION ALL "),
    ));
    Ok(statement)
}

/// The largest offset whose sum with a limit fits into a `bigint`.
const MAX_OFFSET: u64 = i64::MAX as u64 / 2;

/// Reads the rows of [`page`].
pub(super) fn listed(rows: &[PgRow]) -> Result<ConversationPage> {
    let (conversations, total) = rows::page(rows, |r| r.json())?;
    Ok(ConversationPage { conversations, total })
}

/// The statement of messages, for [`in_order`].
pub(crate) fn messages(agent: &AgentId, query: &MessageQuery) -> Result<Statement> {
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let conversation = statement.add(query.conversation.as_bytes().as_slice())?;
    let range = |beyond, within, seq: String, direction| {
        let key = format!("m.agent{direction}, m.conversation{direction}, m.seq{direction}");
        // A range and not an equality, as in `transfer::read`.
        let condition = format!(
            "(m.agent, m.conversation, m.seq) {beyond} ({agent}, {conversation}, {seq}) \
             AND (m.agent, m.conversation) {within} ({agent}, {conversation})"
        );
        (condition, key)
    };
    let single = |column, value: String| {
        let condition =
            format!("m.agent = {agent} AND m.conversation = {conversation} AND m.{column} = {value}");
        (condition, "m.seq".to_owned())
    };
    let (condition, order) = match &query.which {
        MessageSelector::After(seq) => range(">", "<=", statement.add(bounded(*seq))?, ""),
        MessageSelector::Before(seq) => range("<", ">=", statement.add(bounded(*seq))?, " DESC"),
        MessageSelector::Id(id) => single("id", statement.add(id.as_bytes().as_slice())?),
        MessageSelector::Turn(turn) => single("turn", statement.add(turn.as_str())?),
    };
    let at_most = statement.add(i64::from(query.limit))?;
    statement.push(&format!(
        "SELECT m.body FROM message m WHERE {condition} \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2) \
         ORDER BY {order} LIMIT {at_most}"
    ));
    Ok(statement)
}

/// The messages that [`messages`] finds, by number; the statement returns the last ones newest first.
pub(super) fn in_order(query: &MessageQuery, mut found: Vec<Message>) -> Vec<Message> {
    if matches!(query.which, MessageSelector::Before(_)) {
        found.reverse();
    }
    found
}

/// As [`conversations::storage::ConversationStore::expired_conversations`]. It scans the index and looks
/// up the tenants one by one.
pub(crate) fn expired(now: Timestamp, at_most: u32) -> Result<Statement> {
    Statement::new(
        "SELECT c.agent, c.id FROM conversation c WHERE c.expires_at <= $1 \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = c.agent AND a.status <> 2) \
         ORDER BY c.expires_at, c.agent, c.id LIMIT $2",
    )
    .bind(now.millis())?
    .bind(i64::from(at_most))
}

/// Reads `agent, id`.
pub(super) fn key(r: &mut RowReader<'_>) -> Result<(AgentId, ConversationId)> {
    Ok((r.text()?, ConversationId::from_bytes(r.bytes()?)))
}
