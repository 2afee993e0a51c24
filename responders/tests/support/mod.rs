//! A turn of a conversation.

use conversations::{ChatAgent, ChatLine, ChatSettings, ChatTurn, ChatVisitor, Retrieved, Speaker};
use openapi_core::values::{AgentId, ConversationId, PlatformId, Timestamp};

pub const NOW: Timestamp = Timestamp::from_millis(1_780_000_000_000);

/// A turn in which a visitor asks something, with what was found for it.
pub fn turn(question: &str, locale: &str, found: Retrieved) -> ChatTurn {
    let id = PlatformId::new(NOW, [7; 8]);
    ChatTurn {
        agent: ChatAgent {
            id: AgentId::from(id),
            name: "Agent".to_owned(),
            settings: ChatSettings::default(),
            link_hosts: Vec::new(),
            only_link_hosts: false,
        },
        conversation: ConversationId::from(id),
        turn: "5f0c2b1e-8a47-4d3b-9c61-2e7d90a4f318".to_owned(),
        history: vec![ChatLine { speaker: Speaker::Visitor, text: question.to_owned() }],
        visitor: ChatVisitor { locale: locale.to_owned(), ..ChatVisitor::default() },
        found,
        can_offer_form: true,
        form_fields: vec!["primaryEmail".to_owned()],
        budget: Default::default(),
        now: NOW,
        deadline: Timestamp::from_millis(NOW.millis() + 90_000),
    }
}
