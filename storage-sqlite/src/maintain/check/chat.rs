//! Checks of the chat: whether its records can be read and agree with their columns.

use ::conversations::{Conversation, KnowledgeDocument, Message};
use openapi_core::values::{AgentId, KnowledgeId, MessageId};
use rusqlite::Connection;
use storage_common::records;

use super::{FindingKind, Findings, readable};
use crate::chat::conversations::{self, ConversationColumns};
use crate::error::Result;

const MESSAGES: &str = "SELECT seq, id, turn, body FROM message WHERE agent = ?1";

const KNOWLEDGE: &str = "SELECT id, body FROM knowledge WHERE agent = ?1";

const PASSAGES: &str = "SELECT document, body, position FROM passage WHERE agent = ?1";

/// Reads all chat data of an agent.
pub(super) fn of_agent(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    let of = |what: &str| format!("{what} of agent {id}");
    let every = conversations::EVERY_OF_AGENT;
    readable(db, every, number, &of("a conversation"), findings, |r, findings| {
        let (conversation, stored): (Conversation, _) = (r.json()?, ConversationColumns::read(r)?);
        if conversation.id != stored.id() {
            let detail =
                format_args!("conversation {} of agent {id} is found as another one", conversation.id);
            findings.note(FindingKind::Record, detail);
        } else if stored != ConversationColumns::of(id, &conversation) {
            let detail =
                format_args!("conversation {} of agent {id} is listed as it is not", conversation.id);
            findings.note(FindingKind::Keys, detail);
        }
        Ok(())
    })?;
    readable(db, MESSAGES, number, &of("a message"), findings, |r, findings| {
        let stored = (r.count()?, MessageId::from_bytes(r.bytes()?), r.optional_str()?);
        let message: Message = r.json()?;
        if stored != (message.seq, message.id, message.turn.as_deref()) {
            let detail = format_args!("message {} of agent {id} is found as another one", message.id);
            findings.note(FindingKind::Record, detail);
        }
        Ok(())
    })?;
    readable(db, KNOWLEDGE, number, &of("a document"), findings, |r, findings| {
        let (key, document): (_, KnowledgeDocument) = (KnowledgeId::from_bytes(r.bytes()?), r.json()?);
        if document.id != key {
            let detail = format_args!("knowledge {} of agent {id} is found as another one", document.id);
            findings.note(FindingKind::Record, detail);
        }
        Ok(())
    })?;
    readable(db, PASSAGES, number, &of("a passage"), findings, |r, findings| {
        let ((document, passage), position) = (records::passage(r)?, r.count()?);
        if u64::from(passage.position) != position {
            let detail =
                format_args!("a passage of knowledge {document} of agent {id} is at another position");
            findings.note(FindingKind::Record, detail);
        }
        Ok(())
    })?;
    Ok(())
}
