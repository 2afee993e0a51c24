//! What asks nothing of the documents, or for a person, in sentences that the data files do not have.

use conversations::{ChatEvent, ChatResponder as _, Outcome, Retrieved};
use futures_util::StreamExt as _;
use responders::KnowledgeResponder;

use crate::support;

/// How the reply to a message ends, and what it says.
fn reply(text: &str, locale: &str) -> (Outcome, String) {
    let mut turn = support::turn(text, locale, Retrieved { has_documents: true, ..Retrieved::default() });
    turn.agent.settings.handoff.enabled = true;
    let events: Vec<ChatEvent> = pollster::block_on(KnowledgeResponder.respond(turn).collect());
    let said = events.iter().filter_map(|event| match event {
        ChatEvent::Delta(text) => Some(text.as_str()),
        _ => None,
    });
    let said = said.collect();
    match events.last() {
        Some(ChatEvent::Done { outcome, .. }) => (*outcome, said),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn small_talk_and_wishes_for_a_person_are_recognised_in_new_sentences() {
    let plain = ["hello", "thank you", "how are you", "who are you", "stupid"];
    let kinds = ["greeting", "thanks", "wellbeing", "identity", "sorry"];
    let (mut wrong, mut count, mut locales) = (Vec::new(), 0, std::collections::BTreeSet::new());
    for line in include_str!("talk.txt").lines().filter(|line| !line.starts_with('#')) {
        let (head, list) = line.split_once(": ").expect("a list");
        let (locale, kind) = head.split_once(' ').expect("a kind");
        locales.insert(locale);
        for text in list.split("; ") {
            count += 1;
            let (outcome, said) = reply(text, locale);
            let is_right = match kinds.iter().position(|known| *known == kind) {
                Some(nth) => outcome == Outcome::SmallTalk && said == reply(plain[nth], locale).1,
                None if kind == "person" => outcome == Outcome::Queued,
                None => outcome == Outcome::Unknown,
            };
            if !is_right {
                wrong.push(format!("{head}: {text} → {outcome:?} {said}"));
            }
        }
    }
    assert!(locales.len() == 13 && count > 250);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
