//! The events of conversations: what a step of a conversation emits, from what was stored before it.

use openapi_core::events::{ConversationReason, EventActor, EventData, MessageRole, Rating};
use openapi_core::platform::Platform;
use openapi_core::values::Timestamp;

use crate::storage::ConversationWrite;
use crate::{Conversation, ConversationMode, ConversationStatus, Outcome, Speaker};

/// What a conversation was before a step, as far as its events depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    is_stored: bool,
    status: ConversationStatus,
    mode: ConversationMode,
    epoch: u32,
    messages: u64,
    lead: Option<Timestamp>,
    is_running: bool,
}

impl Seen {
    /// Of a conversation as it was read, or made and not stored yet.
    pub(crate) fn of(conversation: &Conversation) -> Self {
        Seen {
            is_stored: conversation.version > 0,
            status: conversation.status,
            mode: conversation.mode,
            epoch: conversation.epoch,
            messages: conversation.message_count,
            lead: conversation.lead.as_ref().map(|lead| lead.at),
            is_running: conversation.running.is_some(),
        }
    }

    /// Adds the events of a step to its effects.
    pub(crate) fn emit(self, platform: &Platform, actor: &EventActor, write: &mut ConversationWrite) {
        let now = write.conversation.updated_at;
        let contact = write.conversation.contact_id;
        let emitted = self.changes(actor, write);
        let events =
            emitted.into_iter().filter_map(|(actor, data)| platform.event(actor, contact, data, now));
        write.effects.events.extend(events);
    }

    /// What a step emits, in the order of the reference.
    fn changes(self, actor: &EventActor, write: &ConversationWrite) -> Vec<(EventActor, EventData)> {
        let now = &write.conversation;
        let (conversation_id, contact_id) = (now.id, now.contact_id);
        let is_operator = *actor == EventActor::Operator;
        let is_ended = self.status != now.status || self.epoch != now.epoch;
        let is_taken = write.messages.is_empty() && !is_ended;
        let mut emitted = Vec::new();
        let mut emit = |actor: &EventActor, data| emitted.push((actor.clone(), data));
        if !self.is_stored {
            emit(actor, EventData::ConversationStarted { conversation_id, contact_id });
        }
        if now.lead.as_ref().map(|lead| lead.at) != self.lead {
            emit(actor, EventData::LeadCreated { conversation_id, contact_id });
        }
        match (self.mode, now.mode) {
            (ConversationMode::Ai, ConversationMode::Human) if is_operator => {
                emit(actor, EventData::ConversationTaken { conversation_id, contact_id });
            }
            // One that waited for a person.
            (ConversationMode::Human, ConversationMode::Human) if is_operator && is_taken => {
                emit(actor, EventData::ConversationTaken { conversation_id, contact_id });
            }
            (ConversationMode::Ai, ConversationMode::Human) => {
                emit(actor, EventData::ConversationHandoffRequested { conversation_id, contact_id });
            }
            // What is closed goes back to nobody.
            (ConversationMode::Human, ConversationMode::Ai) if !is_ended => {
                let (actor, reason) = if is_operator {
                    (actor, ConversationReason::Operator)
                } else {
                    (&EventActor::System, ConversationReason::Timeout)
                };
                emit(actor, EventData::ConversationReleased { conversation_id, contact_id, reason });
            }
            _ => {}
        }
        for message in &write.messages {
            let (message_id, number) = (message.id, message.seq);
            let role = match message.role {
                Speaker::Visitor => MessageRole::Visitor,
                Speaker::Agent => MessageRole::Agent,
                Speaker::Human => MessageRole::Human,
            };
            let is_new = number > self.messages;
            if is_new {
                emit(
                    actor,
                    EventData::MessageCreated { conversation_id, contact_id, message_id, number, role },
                );
            }
            // A reply may replace one that had failed.
            let is_reply = is_new || self.is_running && now.running.is_none();
            if is_reply && message.outcome == Some(Outcome::Unknown) {
                emit(actor, EventData::ConversationUnanswered { conversation_id, contact_id, message_id });
            }
            // A stored message is written again only by what a visitor thinks of it.
            if !is_reply {
                let value = Rating(message.feedback);
                emit(
                    actor,
                    EventData::ConversationFeedback { conversation_id, contact_id, message_id, value },
                );
            }
        }
        let is_closed = self.status != now.status && now.status == ConversationStatus::Closed;
        let is_revoked = self.epoch != now.epoch;
        if is_closed || is_revoked {
            let reason = match actor {
                _ if is_revoked => ConversationReason::Revoked,
                EventActor::Operator => ConversationReason::Operator,
                EventActor::System => ConversationReason::Silence,
                _ => ConversationReason::Visitor,
            };
            emit(actor, EventData::ConversationClosed { conversation_id, contact_id, reason });
        }
        emitted
    }
}
