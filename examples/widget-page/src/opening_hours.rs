//! The application's own responder: it knows only the shop's opening hours.

use std::time::Duration;

use conversations::{ChatEvent, ChatEvents, ChatResponder, ChatTurn, Outcome, StatusKind, Usage};
use futures_util::stream::{self, StreamExt};

/// Answers questions about the opening hours.
pub struct OpeningHours;

const HOURS: &str = "We are open from Monday to Friday, from 9:00 to 17:00.";
const UNKNOWN: &str = "I only know our opening hours.";

impl ChatResponder for OpeningHours {
    fn name(&self) -> &str {
        "opening-hours"
    }

    fn respond(&self, turn: ChatTurn) -> ChatEvents {
        let question = turn.history.last().map(|line| line.text.to_lowercase()).unwrap_or_default();
        let is_known = ["open", "hours", "close"].iter().any(|word| question.contains(word));
        let (text, outcome) = if is_known { (HOURS, Outcome::Answered) } else { (UNKNOWN, Outcome::Unknown) };
        let words = text.split_inclusive(' ').map(|word| ChatEvent::Delta(word.to_owned()));
        let done = ChatEvent::Done { outcome, sources: Vec::new(), usage: Usage::default() };
        let events = [ChatEvent::Status(StatusKind::Writing)].into_iter().chain(words).chain([done]);
        // Simulates typing.
        Box::pin(stream::iter(events.collect::<Vec<_>>()).then(async |event| {
            tokio::time::sleep(Duration::from_millis(20)).await;
            event
        }))
    }
}
