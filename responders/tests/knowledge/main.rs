//! Search in stored documents, and answers that quote them.

mod answers;
mod indexes;
mod pairs;
mod store;
#[path = "../support/mod.rs"]
mod support;
mod talk;

use conversations::{ChatEvent, ChatResponder, ChatTurn};
use openapi_core::values::{AgentId, PlatformId};

use support::{NOW, turn};

/// The tenant of [`turn`].
fn agent() -> AgentId {
    AgentId::from(PlatformId::new(NOW, [7; 8]))
}

/// All events of a reply.
fn events(responder: &dyn ChatResponder, turn: ChatTurn) -> Vec<ChatEvent> {
    pollster::block_on(futures_util::StreamExt::collect(responder.respond(turn)))
}
