//! Search in stored documents, and answers that quote them.

mod answers;
mod indexes;
mod store;

use conversations::{
    ChatAgent, ChatEvent, ChatLine, ChatResponder, ChatSettings, ChatTurn, ChatVisitor, Retrieved, Speaker,
};
use openapi_core::values::{AgentId, ConversationId, PlatformId, Timestamp};

const NOW: Timestamp = Timestamp::from_millis(1_780_000_000_000);

fn agent() -> AgentId {
    AgentId::from(PlatformId::new(NOW, [7; 8]))
}

/// A turn in which a visitor asks something, with what was found for it.
fn turn(question: &str, locale: &str, found: Retrieved) -> ChatTurn {
    ChatTurn {
        agent: ChatAgent {
            id: agent(),
            name: "Agent".to_owned(),
            settings: ChatSettings::default(),
            link_hosts: Vec::new(),
        },
        conversation: ConversationId::from(PlatformId::new(NOW, [8; 8])),
        turn: "5f0c2b1e-8a47-4d3b-9c61-2e7d90a4f318".to_owned(),
        history: vec![ChatLine { speaker: Speaker::Visitor, text: question.to_owned() }],
        visitor: ChatVisitor { locale: locale.to_owned(), ..ChatVisitor::default() },
        found,
        can_offer_form: true,
        budget: Default::default(),
        now: NOW,
        deadline: Timestamp::from_millis(NOW.millis() + 90_000),
    }
}

/// All events of a reply.
fn events(responder: &dyn ChatResponder, turn: ChatTurn) -> Vec<ChatEvent> {
    pollster::block_on(futures_util::StreamExt::collect(responder.respond(turn)))
}
