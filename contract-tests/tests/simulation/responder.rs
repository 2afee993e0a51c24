//! A responder whose replies take their time, cost tokens, and fail at random.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use conversations::{ChatError, ChatEvent, ChatEvents, ChatResponder, ChatTurn, Outcome, Usage};
use futures_core::Stream;
use openapi_core::values::AgentId;
use parking_lot::Mutex;

use crate::executor::{Simulation, Sleep};

/// The credits that the replies for each tenant may cost, whether their turns end or not.
pub type Used = Arc<Mutex<BTreeMap<AgentId, u64>>>;

/// The most credits of a reply.
pub const MOST: u64 = 2;

pub struct Scripted {
    pub name: &'static str,
    pub simulation: Simulation,
    pub used: Used,
}

impl ChatResponder for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn most(&self, turn: &ChatTurn) -> Usage {
        if self.name != "script" {
            return Usage::default();
        }
        // A process that crashes after this is charged for all of it.
        *self.used.lock().entry(turn.agent.id.clone()).or_default() += MOST;
        Usage { input_tokens: 1_000, output_tokens: 1_000, cost: 0.02 }
    }

    fn respond(&self, turn: ChatTurn) -> ChatEvents {
        let question = turn.history.last().map(|line| line.text.clone()).unwrap_or_default();
        let usage = match self.name {
            "script" => {
                let tokens = 100 + self.simulation.below(900);
                Usage { input_tokens: tokens, output_tokens: tokens, cost: tokens as f64 / 50_000.0 }
            }
            _ => Usage::default(),
        };
        let mut events = vec![ChatEvent::Done { outcome: Outcome::Answered, sources: Vec::new(), usage }];
        if self.name == "script" && self.simulation.one_in(10) {
            events = vec![ChatEvent::Error(ChatError::Unavailable)];
        }
        let reply = format!("{}: “{question}” is answered, é\n\nwith *two* paragraphs.", self.name);
        let mut pieces: Vec<ChatEvent> =
            reply.split_inclusive(' ').map(|piece| ChatEvent::Delta(piece.to_owned())).collect();
        pieces.extend(events);
        pieces.reverse();
        Box::pin(Reply { simulation: self.simulation.clone(), events: pieces, pause: None })
    }
}

struct Reply {
    simulation: Simulation,
    /// The last one first.
    events: Vec<ChatEvent>,
    pause: Option<Sleep>,
}

impl Stream for Reply {
    type Item = ChatEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
        let simulation = self.simulation.clone();
        let pause = self.pause.get_or_insert_with(|| simulation.sleep(simulation.below(400)));
        std::task::ready!(Pin::new(pause).poll(cx));
        self.pause = None;
        Poll::Ready(self.events.pop())
    }
}
