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
    strict.found.coverage = 0.7;
    strict.agent.settings.min_coverage = 0.9;
    let unsure = events(&KnowledgeResponder, strict.clone());
    assert_eq!(outcome(&unsure).0, Outcome::Unsure);
    assert!(text(&unsure).starts_with("I am not sure, but this may help:\n\n> "), "{unsure:?}");
    assert!(unsure.contains(&ChatEvent::Form));
    // What covers still less is not.
    strict.found.coverage = 0.5;
    assert_eq!(outcome(&events(&KnowledgeResponder, strict.clone())).0, Outcome::Unknown);
    // Where nothing is near, nothing is quoted: the nearest headings show what can be asked.
    strict.found.coverage = 0.1;
    let heading = strict.found.passages[0].headings.last().cloned().expect("a heading");
    let far = events(&KnowledgeResponder, strict.clone());
    assert_eq!(outcome(&far), (Outcome::Unknown, Vec::new()));
    let is_suggested =
        |event: &ChatEvent| matches!(event, ChatEvent::Suggestions(all) if all.contains(&heading));
    assert!(far.iter().any(is_suggested), "{far:?}");
    strict.found.passages.clear();
    let nothing = events(&KnowledgeResponder, strict);
    assert!(!nothing.iter().any(|event| matches!(event, ChatEvent::Suggestions(_))), "{nothing:?}");
}

#[test]
fn it_greets_back() {
    for (said, locale, reply) in [
        ("Hi!", "en-GB", "Hello! How can I help you?"),
        ("hello", "fr", "Bonjour ! Comment puis-je vous aider ?"),
        ("Danke!", "de", "Gern geschehen!"),
    ] {
        let events = events(&KnowledgeResponder, asked(said, locale));
        assert_eq!((text(&events).as_str(), outcome(&events)), (reply, (Outcome::SmallTalk, Vec::new())));
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

#[test]
fn a_visitor_who_wants_a_person_gets_one_or_the_form() {
    let mut turn = asked("Can I talk to a real person?", "en");
    let form = events(&KnowledgeResponder, turn.clone());
    assert_eq!(outcome(&form).0, Outcome::Unknown);
    assert!(text(&form).starts_with("I cannot connect you to a person here. Leave your details"), "{form:?}");
    assert!(form.contains(&ChatEvent::Form));
    // Where documents tell how, they are quoted, and the form is offered all the same.
    let found =
        events(&KnowledgeResponder, ChatTurn { found: asked("Home visits", "en").found, ..turn.clone() });
    assert_eq!(outcome(&found).0, Outcome::Answered);
    assert!(found.contains(&ChatEvent::Form));
    turn.agent.settings.handoff.enabled = true;
    let person = events(&KnowledgeResponder, turn);
    assert_eq!(outcome(&person), (Outcome::Queued, Vec::new()));
    assert!(person.iter().any(|event| matches!(event, ChatEvent::Handoff(_))), "{person:?}");
}

#[test]
fn records_of_the_visitor_are_not_looked_for_in_documents() {
    let mut turn = asked("Where is my parcel with order number 48213?", "en");
    turn.found = asked("When are home visits available?", "en").found;
    let events = events(&KnowledgeResponder, turn);
    assert!(text(&events).starts_with("I cannot see orders, accounts or other personal data."), "{events:?}");
    assert_eq!(outcome(&events), (Outcome::Unknown, Vec::new()));
}

#[test]
fn the_same_words_of_two_documents_are_quoted_once() {
    let store = Arc::new(Store::default());
    store.add("one.md", None, "# Visits\n\nHome visits are available in Leeds.");
    store.add("two.md", None, "# Visits again\n\nHome visits are available in Leeds.");
    let index = KnowledgeIndex::new(store, Arc::new(FixedClock::at(NOW)), IndexSettings::default());
    let question = "Are home visits available in Leeds?";
    let wanted = Question { text: question.to_owned(), before: None, locale: "en".to_owned() };
    let found = pollster::block_on(index.retrieve(&agent(), &wanted, 6)).expect("it is read");
    assert_eq!(found.passages.len(), 2);
    let events = events(&KnowledgeResponder, turn(question, "en", found));
    assert_eq!(text(&events), "This is what I found:\n\n> Home visits are available in Leeds. [1]");
}

#[test]
fn misspelt_questions_are_answered() {
    let events = events(&KnowledgeResponder, asked("When are home vistis avaliable in Leeds?", "en"));
    assert!(text(&events).contains("> Home visits are available in Leeds"), "{events:?}");
}

#[test]
fn a_heading_without_text_is_not_quoted() {
    let store = Arc::new(Store::default());
    store.add("hours.md", None, "# Opening hours");
    let index = KnowledgeIndex::new(store, Arc::new(FixedClock::at(NOW)), IndexSettings::default());
    let wanted = Question { text: "Opening hours?".to_owned(), before: None, locale: "en".to_owned() };
    let found = pollster::block_on(index.retrieve(&agent(), &wanted, 6)).expect("it is read");
    assert_eq!((found.passages.len(), found.coverage), (1, 1.0));
    let events = events(&KnowledgeResponder, turn("Opening hours?", "en", found));
    assert_eq!(outcome(&events), (Outcome::Unknown, Vec::new()));
}

#[test]
fn what_is_nearest_is_shown_as_that_and_not_as_an_answer() {
    let mut turn = asked("When are home visits available in Leeds?", "en");
    let mut seen = Vec::new();
    for (coverage, is_meant) in
        [(0.6, true), (0.4, true), (0.12, true), (0.05, true), (0.12, false), (0.3, false)]
    {
        turn.found.coverage = coverage;
        for passage in &mut turn.found.passages {
            passage.nearest = is_meant.then_some(0..passage.text.len());
        }
        let events = events(&KnowledgeResponder, turn.clone());
        let (outcome, sources) = outcome(&events);
        let first = text(&events).lines().next().unwrap_or_default().to_owned();
        seen.push((outcome, sources.is_empty(), first.ends_with("closest that I have:")));
        assert_eq!(events.contains(&ChatEvent::Form), outcome != Outcome::Answered, "{coverage}");
    }
    let nothing = (Outcome::Unknown, true, false);
    let nearest = (Outcome::Unknown, false, true);
    assert_eq!(
        seen,
        [
            (Outcome::Answered, false, false),
            (Outcome::Unsure, false, false),
            nearest,
            nothing,
            nothing,
            nearest
        ]
    );
}

#[test]
fn a_passage_without_a_word_of_the_question_is_quoted_from_its_nearest_part() {
    let passage =
        "The shop has three floors. Skis are on the first.\n\nPets are welcome. Keep them on a lead.";
    let store = Arc::new(Store::default());
    store.add("shop.md", None, &format!("# Shop\n\n{passage}"));
    let index = KnowledgeIndex::new(store, Arc::new(FixedClock::at(NOW)), IndexSettings::default());
    let wanted = Question { text: "shop".to_owned(), before: None, locale: "en".to_owned() };
    let mut found = pollster::block_on(index.retrieve(&agent(), &wanted, 6)).expect("it is read");
    found.coverage = 0.9;
    let begins = passage.find("Pets").expect("it is there");
    for (nearest, wanted) in
        [(begins..passage.len(), "> Pets are welcome."), (0..begins, "> The shop has three")]
    {
        found.passages[0].nearest = Some(nearest);
        let said = text(&events(&KnowledgeResponder, turn("may my puppy come along", "en", found.clone())));
        assert!(said.contains(wanted), "{said}");
    }
}
