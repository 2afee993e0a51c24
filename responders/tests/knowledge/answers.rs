//! The replies of the responder `knowledge`.

use std::sync::Arc;

use conversations::{ChatEvent, ChatLine, ChatTurn, Outcome, Question, Retriever as _, Source, Speaker};
use openapi_core::ports::FixedClock;
use responders::{IndexSettings, KnowledgeIndex, KnowledgeResponder};

use crate::store::Store;
use crate::{NOW, agent, events, turn};

const SERVICES: &str = "\
# Services

## Home visits

Home visits are available in Leeds on weekdays from 8:00 to 18:00. They cost 40 pounds.

## Repairs

We repair washing machines. A repair takes two days.

## Areas

Home visits outside Leeds are possible on request.

## Payment of visits

Visits can be paid by card.
";

/// A turn with what is found for its question.
fn asked(question: &str, locale: &str) -> ChatTurn {
    let store = Arc::new(Store::default());
    store.add("services.md", None, SERVICES);
    let index = KnowledgeIndex::new(store, Arc::new(FixedClock::at(NOW)), IndexSettings::default());
    let wanted = Question { text: question.to_owned(), before: None, locale: locale.to_owned() };
    let found = pollster::block_on(index.retrieve(&agent(), &wanted, 6)).expect("it is read");
    turn(question, locale, found)
}

fn text(events: &[ChatEvent]) -> String {
    events
        .iter()
        .filter_map(|event| if let ChatEvent::Delta(text) = event { Some(text.as_str()) } else { None })
        .collect()
}

fn outcome(events: &[ChatEvent]) -> (Outcome, Vec<Source>) {
    match events.last() {
        Some(ChatEvent::Done { outcome, sources, .. }) => (*outcome, sources.clone()),
        other => panic!("not done: {other:?}"),
    }
}

#[test]
fn it_quotes_with_sources_and_suggests_what_else_there_is() {
    let events = events(&KnowledgeResponder, asked("When are home visits available in Leeds?", "en"));
    assert_eq!(
        text(&events),
        "This is what I found:\n\n> Home visits are available in Leeds on weekdays from 8:00 to 18:00. They cost 40 pounds. [1]"
    );
    let source = Source {
        n: 1,
        title: "Services".to_owned(),
        url: Some("https://docs.example.com/services.md".to_owned()),
        page: None,
    };
    assert_eq!(outcome(&events), (Outcome::Answered, vec![source]));
    let suggestions = ChatEvent::Suggestions(vec!["Areas".to_owned(), "Payment of visits".to_owned()]);
    assert!(events.contains(&suggestions), "{events:?}");
}

#[test]
fn it_says_when_it_does_not_know() {
    let turn = asked("Do you sell bicycles?", "de");
    let without_form = ChatTurn { can_offer_form: false, ..turn.clone() };
    let unknown = events(&KnowledgeResponder, turn);
    assert_eq!(outcome(&unknown), (Outcome::Unknown, Vec::new()));
    assert!(text(&unknown).starts_with("Dazu habe ich keine Antwort gefunden. "));
    assert!(unknown.contains(&ChatEvent::Form));
    let unknown = events(&KnowledgeResponder, without_form);
    assert_eq!(text(&unknown), "Dazu habe ich keine Antwort gefunden.");
    assert!(!unknown.contains(&ChatEvent::Form));
    // What is found but covers too little is not quoted.
    let mut strict = asked("Do you offer home visits for bicycles?", "en");
    assert!(!strict.found.passages.is_empty());
    strict.agent.settings.min_coverage = 0.95;
    assert_eq!(outcome(&events(&KnowledgeResponder, strict)).0, Outcome::Unknown);
}

#[test]
fn it_greets_back() {
    for (said, locale, reply) in [
        ("Hi!", "en-GB", "Hello! How can I help you?"),
        ("hello", "fr", "Bonjour ! Comment puis-je vous aider ?"),
        ("Danke!", "de", "Gern geschehen!"),
    ] {
        let events = events(&KnowledgeResponder, asked(said, locale));
        assert_eq!((text(&events).as_str(), outcome(&events)), (reply, (Outcome::Answered, Vec::new())));
    }
}

#[test]
fn a_short_message_is_answered_with_what_the_one_before_names() {
    let mut turn = asked("How much are home visits?", "en");
    turn.history.push(ChatLine { speaker: Speaker::Agent, text: "…".to_owned() });
    turn.history.push(ChatLine { speaker: Speaker::Visitor, text: "And when?".to_owned() });
    let events = events(&KnowledgeResponder, turn);
    assert!(text(&events).contains("> Home visits are available"), "{events:?}");
}
