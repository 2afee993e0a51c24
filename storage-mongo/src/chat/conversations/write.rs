//! Changing conversations. Everything here runs in a transaction.

use ::conversations::storage::ConversationWrite;
use ::conversations::{Conversation, Message};
use mongodb::bson::{Document, doc};
use openapi_core::storage::{Effects, StorageErrorKind, Subject};
use openapi_core::values::{AgentId, ContactId, ConversationId, Timestamp};

use super::read::{message_key, messages_of};
use crate::document::{FieldReader, Fields, binary, code, integer, json, key, keyed, put, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::transaction::{Find, Transaction, Update};
use crate::{documents, effects, shapes, tenant};

/// The document of a conversation.
pub(crate) fn document(agent: &AgentId, conversation: &Conversation) -> Result<Document> {
    let mut document = doc! {
        "_id": key(agent, conversation.id.as_bytes()),
        "version": integer(conversation.version)?,
        "status": code(conversation.status),
        "mode": code(conversation.mode),
        "lastMessageAt": time(conversation.last_message_at),
        "expiresAt": time(conversation.expires_at),
        "body": json(conversation)?,
    };
    put(&mut document, "contact", conversation.contact_id.map(|contact| binary(contact.as_bytes())));
    Ok(document)
}

/// The document of a message.
pub(crate) fn message_document(
    agent: &AgentId,
    conversation: ConversationId,
    message: &Message,
) -> Result<Document> {
    let mut document = doc! {
        "_id": message_key(agent, conversation.as_bytes(), message.seq)?,
        "message": binary(message.id.as_bytes()),
        "body": json(message)?,
    };
    put(&mut document, "turn", message.turn.as_deref());
    Ok(document)
}

/// As [`conversations::storage::ConversationStore::save_conversation`].
pub(super) async fn save(tx: &mut Transaction, agent: &AgentId, write: &ConversationWrite) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let conversation = &write.conversation;
    let id = doc! { "_id": key(agent, conversation.id.as_bytes()) };
    let found = tx.reads().one(collection::CONVERSATIONS, id.clone(), Some(doc! { "version": 1 })).await?;
    let stored = found.map_or(Ok(0), |found| Fields(&found).count("version"))?;
    if stored.checked_add(1) != Some(conversation.version) {
        return Err(StorageErrorKind::Stale.into());
    }
    documents::retain(tx, agent, &write.keep).await?;
    tx.update(collection::CONVERSATIONS, &[Update::upsert(id, document(agent, conversation)?)]).await?;
    let update = |message: &Message| {
        let id = message_key(agent, conversation.id.as_bytes(), message.seq)?;
        Ok(Update::upsert(doc! { "_id": id }, message_document(agent, conversation.id, message)?))
    };
    let updates = write.messages.iter().map(update).collect::<Result<Vec<_>>>()?;
    tx.update(collection::MESSAGES, &updates).await?;
    effects::apply(tx, agent, &write.effects, state.ends).await
}

/// As [`conversations::storage::ConversationStore::erase_conversation`].
pub(super) async fn erase(
    tx: &mut Transaction,
    agent: &AgentId,
    id: ConversationId,
    at: Timestamp,
    effects: &Effects,
) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let find = Find {
        filter: doc! { "_id": key(agent, id.as_bytes()) },
        projection: Some(doc! { "body": 1 }),
        ..Find::default()
    };
    if remove(tx, agent, find, at).await? == 0 {
        return Err(StorageErrorKind::Missing.into());
    }
    effects::apply(tx, agent, effects, state.ends).await
}

/// The find for the conversations of a contact.
pub(crate) fn find_of_contact(agent: &AgentId, contact: ContactId) -> Find {
    Find {
        filter: doc! { "_id.agent": agent.as_str(), "contact": binary(contact.as_bytes()) },
        projection: Some(doc! { "body": 1 }),
        hint: Some(index::CONVERSATIONS_BY_CONTACT),
        ..Find::default()
    }
}

/// Removes the conversations of a contact with their messages and uploads.
pub(crate) async fn erase_of(
    tx: &mut Transaction,
    agent: &AgentId,
    contact: ContactId,
    now: Timestamp,
) -> Result<()> {
    remove(tx, agent, find_of_contact(agent, contact), now).await.map(drop)
}

/// Removes conversations with their messages and uploads, and returns how many.
async fn remove(tx: &mut Transaction, agent: &AgentId, find: Find, now: Timestamp) -> Result<u64> {
    let found = tx.reads().find(collection::CONVERSATIONS, find).await?;
    let (mut ids, mut uploads) = (Vec::with_capacity(found.len()), Vec::new());
    for document in &found {
        let mut fields = Fields(document);
        ids.push(ConversationId::from_bytes(fields.id()?));
        uploads.extend(fields.json::<Conversation>("body")?.uploads);
    }
    let mut removed = 0;
    // In chunks, so that each command is small.
    for some in ids.chunks(100) {
        let keys = some.iter().map(|id| key(agent, id.as_bytes())).collect();
        removed += tx.delete(collection::CONVERSATIONS, keyed(agent, keys)).await?;
        tx.delete(collection::MESSAGES, messages_of(agent, some)).await?;
        let subjects: Vec<Subject> = some.iter().copied().map(Subject::Conversation).collect();
        shapes::erase_of(tx, agent, &subjects, now).await?;
    }
    documents::erase(tx, agent, &uploads, now).await?;
    Ok(removed)
}
