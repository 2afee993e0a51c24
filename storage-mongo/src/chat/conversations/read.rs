//! Reading conversations and messages.

use std::collections::HashMap;

use ::conversations::storage::{
    ConversationFilter, ConversationPage, ConversationQuery, MessageQuery, MessageSelector,
};
use ::conversations::{Conversation, Message};
use mongodb::bson::{Binary, Bson, Document, RawDocument, doc};
use openapi_core::values::{AgentId, ConversationId, Timestamp};

use crate::connect::Handle;
use crate::document::{FieldReader, Fields, binary, code, integer, key, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::tenant;
use crate::transaction::{DocumentReader, Find};

pub(crate) fn conversation(document: &RawDocument) -> Result<Conversation> {
    Fields(document).json("body")
}

pub(crate) fn message(document: &RawDocument) -> Result<Message> {
    Fields(document).json("body")
}

/// The `_id` of a message.
pub(crate) fn message_key(agent: &AgentId, conversation: &[u8; 12], seq: u64) -> Result<Document> {
    let mut id = key(agent, conversation);
    id.insert("seq", integer(seq)?);
    Ok(id)
}

/// As [`conversations::storage::ConversationStore::conversation`].
pub(super) async fn one(
    handle: &Handle,
    agent: &AgentId,
    id: ConversationId,
) -> Result<Option<Conversation>> {
    let mut reads = DocumentReader::new(handle);
    let id = doc! { "_id": key(agent, id.as_bytes()) };
    let Some(found) = reads.one(collection::CONVERSATIONS, id, None).await? else { return Ok(None) };
    let living = tenant::find(&mut reads, agent).await?;
    living.map(|_| conversation(&found)).transpose()
}

/// The filter of a list, and the index that has its documents by their last message. Each combination of status and
/// mode is a range of the index. The server merges the ranges, so it skips no documents that do not match.
pub(crate) fn chosen(agent: &AgentId, filter: &ConversationFilter) -> (Document, &'static str) {
    let mut chosen = doc! { "_id.agent": agent.as_str() };
    if let Some(contact) = &filter.contact {
        chosen.insert("contact", binary(contact.as_bytes()));
    }
    let statuses = filter.status.map_or(vec![0, 1], |status| vec![code(status)]);
    chosen.insert("status", doc! { "$in": statuses });
    let modes = filter.mode.map_or(vec![0, 1], |mode| vec![code(mode)]);
    chosen.insert("mode", doc! { "$in": modes });
    if let Some(since) = filter.since {
        chosen.insert("lastMessageAt", doc! { "$gte": time(since) });
    }
    let index = match filter.contact {
        Some(_) => index::CONVERSATIONS_BY_CONTACT,
        None => index::CONVERSATIONS_BY_LAST_MESSAGE,
    };
    (chosen, index)
}

/// The find for a page.
pub(crate) fn find(agent: &AgentId, query: &ConversationQuery) -> Find {
    let (filter, hint) = chosen(agent, &query.filter);
    Find {
        filter,
        sort: Some(doc! { "lastMessageAt": -1, "_id.id": -1 }),
        skip: query.offset,
        limit: query.limit,
        hint: Some(hint),
        ..Find::default()
    }
}

/// As [`conversations::storage::ConversationStore::conversations`]. The total is counted in the index alone, without
/// reading the documents: exactly, at a cost that grows with the matches. Counters would change with every message that
/// changes a mode, and could not count from a time on.
pub(super) async fn page(
    handle: &Handle,
    agent: &AgentId,
    query: &ConversationQuery,
) -> Result<ConversationPage> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(ConversationPage::default());
    }
    let (filter, hint) = chosen(agent, &query.filter);
    let total = reads.count(collection::CONVERSATIONS, filter, Some(hint)).await?;
    // To the database 0 means no limit.
    if query.limit == 0 || query.offset >= total {
        return Ok(ConversationPage { conversations: Vec::new(), total });
    }
    let found = reads.find(collection::CONVERSATIONS, find(agent, query)).await?;
    let conversations = found.iter().map(|document| conversation(document)).collect::<Result<_>>()?;
    Ok(ConversationPage { conversations, total })
}

/// The messages of conversations, which are together in the index of their ids.
pub(crate) fn messages_of(agent: &AgentId, conversations: &[ConversationId]) -> Document {
    let ids: Vec<Binary> = conversations.iter().map(|conversation| binary(conversation.as_bytes())).collect();
    doc! { "_id.agent": agent.as_str(), "_id.id": { "$in": ids } }
}

/// The messages of a conversation, by their numbers.
fn stretch(agent: &AgentId, conversation: ConversationId) -> Document {
    let first = key(agent, conversation.as_bytes());
    let mut last = first.clone();
    last.insert("seq", Bson::MaxKey);
    doc! { "$gt": first, "$lt": last }
}

/// The find for messages.
pub(crate) fn find_messages(agent: &AgentId, query: &MessageQuery) -> Result<Find> {
    let conversation = query.conversation;
    let of = || doc! { "_id.agent": agent.as_str(), "_id.id": binary(conversation.as_bytes()) };
    let along = |bound: &str, seq: u64| -> Result<Document> {
        let mut stretch = stretch(agent, conversation);
        // No stored number is as high as one that does not fit.
        stretch.insert(bound, message_key(agent, conversation.as_bytes(), seq.min(i64::MAX as u64))?);
        Ok(doc! { "_id": stretch, "_id.agent": agent.as_str() })
    };
    let (filter, sort, hint) = match &query.which {
        MessageSelector::After(seq) => (along("$gt", *seq)?, doc! { "_id": 1 }, index::BY_KEY),
        MessageSelector::Before(seq) => (along("$lt", *seq)?, doc! { "_id": -1 }, index::BY_KEY),
        MessageSelector::Id(id) => {
            let mut filter = of();
            filter.insert("message", binary(id.as_bytes()));
            (filter, doc! { "_id.seq": 1 }, index::MESSAGES_BY_ID)
        }
        MessageSelector::Turn(turn) => {
            let mut filter = of();
            filter.insert("turn", turn.as_str());
            (filter, doc! { "_id.seq": 1 }, index::MESSAGES_BY_TURN)
        }
    };
    Ok(Find { filter, sort: Some(sort), limit: query.limit, hint: Some(hint), ..Find::default() })
}

/// As [`conversations::storage::ConversationStore::messages`], of an existing tenant.
pub(super) async fn messages(handle: &Handle, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>> {
    let mut reads = DocumentReader::new(handle);
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(Vec::new());
    }
    let found = reads.find(collection::MESSAGES, find_messages(agent, query)?).await?;
    let mut found = found.iter().map(|document| message(document)).collect::<Result<Vec<_>>>()?;
    if matches!(query.which, MessageSelector::Before(_)) {
        found.reverse();
    }
    Ok(found)
}

/// The find for expired conversations of all tenants, after a position.
pub(crate) fn expired_by(now: Timestamp, after: Option<(Timestamp, &Document)>, at_most: u32) -> Find {
    let now = time(now);
    let filter = match after {
        // The first condition is for the index, the second excludes conversations of the same time.
        Some((at, id)) => doc! {
            "expiresAt": { "$gte": time(at), "$lte": now },
            "$or": [{ "expiresAt": { "$gt": time(at) } }, { "_id": { "$gt": id.clone() } }],
        },
        None => doc! { "expiresAt": { "$lte": now } },
    };
    Find {
        filter,
        projection: Some(doc! { "expiresAt": 1 }),
        sort: Some(doc! { "expiresAt": 1, "_id": 1 }),
        limit: at_most,
        hint: Some(index::CONVERSATIONS_BY_EXPIRY),
        ..Find::default()
    }
}

/// As [`conversations::storage::ConversationStore::expired_conversations`]. It skips those of deleted tenants, which
/// are purged separately.
pub(super) async fn expired(
    handle: &Handle,
    now: Timestamp,
    at_most: u32,
) -> Result<Vec<(AgentId, ConversationId)>> {
    let mut expired = Vec::new();
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    let mut living: HashMap<AgentId, bool> = HashMap::new();
    let mut last: Option<(Timestamp, Document)> = None;
    while expired.len() < at_most as usize {
        let find = expired_by(now, last.as_ref().map(|(at, id)| (*at, id)), at_most);
        let found = reads.find(collection::CONVERSATIONS, find).await?;
        let Some(end) = found.last() else { break };
        let mut end = Fields(end);
        last = Some((end.time("expiresAt")?, key(&end.agent()?, &end.id::<12>()?)));
        for document in &found {
            let (agent, id) = (Fields(document).agent()?, ConversationId::from_bytes(Fields(document).id()?));
            let is_living = match living.get(&agent) {
                Some(is_living) => *is_living,
                None => {
                    let is_living = tenant::find(&mut reads, &agent).await?.is_some();
                    living.insert(agent.clone(), is_living);
                    is_living
                }
            };
            if is_living && expired.len() < at_most as usize {
                expired.push((agent, id));
            }
        }
    }
    Ok(expired)
}
