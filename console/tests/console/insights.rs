//! The questions that an agent could not answer.

use std::collections::{BTreeMap, BTreeSet};

use conversations::{Claims, FollowUp, Message, MessageState, Outcome, Speaker};
use openapi_core::admin::Admin as _;
use openapi_core::values::{MessageId, PlatformId, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Answer, World, by, call_as, empty_conversation, store_conversation};

const DAY_MILLIS: i64 = 24 * 3_600_000;
const PATH: &str = "/agents/acme/insights/questions";

/// A question: its text, how the reply ended, and how many minutes before now it was asked.
type Asked = (&'static str, Option<Outcome>, i64);

fn message(seq: u64, role: Speaker, text: &str, at: Timestamp) -> Message {
    Message {
        id: MessageId::from(PlatformId::new(at, [u8::try_from(seq % 256).unwrap(); 8])),
        seq,
        role,
        text: text.to_owned(),
        state: MessageState::Complete,
        sources: Vec::new(),
        uploads: Vec::new(),
        feedback: 0,
        comment: None,
        at,
        turn: Some((seq.div_ceil(2)).to_string()),
        author: None,
        outcome: None,
        after: FollowUp::default(),
        usage: None,
        credits: 0,
    }
}

/// A conversation with questions, the oldest first, each with its reply.
fn converse(world: &World, number: u8, questions: &[Asked]) {
    let now = world.platform.now();
    let mut conversation = empty_conversation(world, number);
    conversation.claims = Claims { email: Some("ada@example.com".to_owned()), ..Claims::default() };
    let mut messages = Vec::new();
    for (text, outcome, minutes) in questions {
        let at = now.plus_millis(-minutes * 60_000);
        let seq = messages.len() as u64 + 1;
        messages.push(message(seq, Speaker::Visitor, text, at));
        messages.push(Message { outcome: *outcome, ..message(seq + 1, Speaker::Agent, "A reply.", at) });
        conversation.last_message_at = at;
    }
    conversation.message_count = messages.len() as u64;
    store_conversation(world, conversation, messages);
}

fn read(world: &World, query: &str) -> Answer {
    call_as(world, "viewer@acme", "GET", &format!("{PATH}{query}"), &Value::Null)
}

fn texts(answer: &Answer) -> Vec<String> {
    let groups = answer.data()["groups"].as_array().unwrap();
    groups.iter().map(|group| group["question"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_group_has_its_counts_and_nothing_of_its_visitors() {
    let world = World::hosted();
    let (unknown, unsure) = (Some(Outcome::Unknown), Some(Outcome::Unsure));
    converse(&world, 1, &[("Do you ship to Norway?", unknown, 50), ("do you ship to norway", unsure, 40)]);
    converse(
        &world,
        2,
        &[("Thanks!", Some(Outcome::SmallTalk), 30), ("DO YOU SHIP TO NORWAY?!", unknown, 20)],
    );
    converse(&world, 3, &[("Is there parking?", unsure, 10), ("???", unknown, 5)]);
    let answer = read(&world, "");
    let now = world.platform.now();
    let group = &answer.data()["groups"][0];
    let last =
        Timestamp::from_millis(group["lastAskedAt"].as_str().unwrap().parse::<Timestamp>().unwrap().millis());
    assert!((now.millis() - last.millis() - 20 * 60_000).abs() < 1_000, "{}", answer.text);
    for (name, expected) in [
        ("question", json!("DO YOU SHIP TO NORWAY?!")),
        ("others", json!([])),
        ("count", json!(3)),
        ("unanswered", json!(2)),
        ("unsure", json!(1)),
        ("conversations", json!(2)),
        ("visitors", json!(2)),
        ("languages", json!(["en"])),
        ("lastConversationId", json!("02".repeat(12))),
        ("nearest", Value::Null),
    ] {
        assert_eq!(group[name], expected, "{name}: {}", answer.text);
    }
    let whole = answer.data();
    assert_eq!((&whole["totalGroups"], &whole["questions"]), (&json!(2), &json!(4)), "{}", answer.text);
    assert_eq!((&whole["partial"], &whole["groupedBy"]), (&json!(false), &json!("words")));
    for secret in ["ada@example.com", "0101010101010101", "A reply."] {
        let shown = answer.text.replace(&"02".repeat(12), "").replace(&"03".repeat(12), "");
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    assert_eq!(texts(&read(&world, "?outcome=unsure")).len(), 2);
    assert_eq!(texts(&read(&world, "?outcome=unanswered")), ["DO YOU SHIP TO NORWAY?!"]);
    let limited = read(&world, "?limit=1");
    assert_eq!((texts(&limited).len(), &limited.data()["totalGroups"]), (1, &json!(2)));
    for query in ["?outcome=answered", "?days=0", "?days=366", "?limit=101"] {
        assert_eq!(
            (read(&world, query).status, read(&world, query).code()),
            (400, "VALIDATION_ERROR"),
            "{query}"
        );
    }
}

#[test]
fn what_is_erased_or_another_agents_is_left_out() {
    let world = World::hosted();
    converse(&world, 1, &[("Do you ship to Norway?", Some(Outcome::Unknown), 50)]);
    let other = call_as(&world, "viewer@beta", "GET", "/agents/beta/insights/questions", &Value::Null);
    assert_eq!(other.data()["groups"], json!([]), "{}", other.text);
    assert_eq!(call_as(&world, "viewer@beta", "GET", PATH, &Value::Null).status, 404);
    assert_eq!(call_as(&world, "reviewer@acme", "GET", PATH, &Value::Null).status, 403);
    assert_eq!(texts(&read(&world, "")).len(), 1);
    let (platform, storage) = (std::sync::Arc::clone(&world.platform), std::sync::Arc::clone(&world.storage));
    let chat = conversations::Conversations::new(platform, storage as _, conversations::ChatPorts::new());
    let id = "01".repeat(12).parse().unwrap();
    pollster::block_on(chat.erase_conversation(&by(), &world.agent(), id)).unwrap();
    let left = read(&world, "");
    assert_eq!((&left.data()["groups"], &left.data()["questions"]), (&json!([]), &json!(0)), "{}", left.text);
    pollster::block_on(world.platform.delete_agent(&by(), &"beta".parse().unwrap())).unwrap();
    assert_eq!(call_as(&world, "owner", "GET", "/agents/beta/insights/questions", &Value::Null).status, 404);
}

/// The newest 500 are read, whatever the order of their conversations, and the reply says that there are others.
#[test]
fn of_more_questions_than_are_read_the_newest_count() {
    let world = World::hosted();
    let of =
        |text: &'static str, count: usize, minutes: i64| vec![(text, Some(Outcome::Unknown), minutes); count];
    for number in 1..=5 {
        // The first question of each is older than all others, although the conversation is not.
        let questions = [of("old", 1, 9_000), of("new", 99, i64::from(number))].concat();
        converse(&world, number, &questions);
    }
    let exact = read(&world, "");
    assert_eq!((&exact.data()["partial"], &exact.data()["questions"]), (&json!(false), &json!(500)));
    converse(&world, 6, &of("older", 5, 8_000));
    let cut = read(&world, "");
    assert_eq!(
        (&cut.data()["partial"], &cut.data()["questions"]),
        (&json!(true), &json!(500)),
        "{}",
        cut.text
    );
    assert_eq!(texts(&cut), ["new", "older"]);
    // A conversation of more than 200 messages is read from its end.
    let world = World::hosted();
    converse(&world, 1, &[of("first", 1, 9), of("then", 100, 8)].concat());
    let cut = read(&world, "");
    assert_eq!(
        (&cut.data()["partial"], texts(&cut)),
        (&json!(true), vec!["then".to_owned()]),
        "{}",
        cut.text
    );
}

fn asked() -> impl Strategy<Value = Asked> {
    let outcome = prop::sample::select(vec![
        None,
        Some(Outcome::Answered),
        Some(Outcome::Unsure),
        Some(Outcome::Unknown),
        Some(Outcome::Queued),
    ]);
    let text =
        prop::sample::select(vec!["Is there parking?", "is there  parking", "Gift cards?", "", "How?"]);
    (text, outcome, 1_i64..6 * 24 * 60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The counts are those of the questions as they are stored.
    #[test]
    fn counts_are_those_of_the_stored_questions(
        conversations in prop::collection::vec(prop::collection::vec(asked(), 0..6), 0..8),
        days in 1_u32..7,
        wanted in prop::sample::select(vec![None, Some("unanswered"), Some("unsure")]),
    ) {
        let world = World::hosted();
        let since = world.platform.now().plus_millis(-i64::from(days) * DAY_MILLIS);
        let mut expected: BTreeMap<String, (u64, BTreeSet<usize>)> = BTreeMap::new();
        for (number, questions) in conversations.iter().enumerate() {
            let mut questions = questions.clone();
            questions.sort_by_key(|(_, _, minutes)| -minutes);
            converse(&world, u8::try_from(number + 1).unwrap(), &questions);
            for (text, outcome, minutes) in questions {
                let is_open = match outcome {
                    Some(Outcome::Unknown) => wanted != Some("unsure"),
                    Some(Outcome::Unsure) => wanted != Some("unanswered"),
                    _ => false,
                };
                let plain = text.to_lowercase().replace('?', "").replace("  ", " ");
                let at = world.platform.now().plus_millis(-minutes * 60_000);
                // The clock goes on by 60 ms with each call.
                if is_open && !plain.is_empty() && at.millis() >= since.millis() + 1_000 {
                    let counted = expected.entry(plain).or_default();
                    counted.0 += 1;
                    counted.1.insert(number);
                }
            }
        }
        let outcome = wanted.map_or_else(String::new, |wanted| format!("&outcome={wanted}"));
        let answer = read(&world, &format!("?days={days}{outcome}"));
        let mut found = BTreeMap::new();
        for group in answer.data()["groups"].as_array().unwrap() {
            let plain = group["question"].as_str().unwrap().to_lowercase().replace('?', "").replace("  ", " ");
            found.insert(plain, (group["count"].as_u64().unwrap(), group["conversations"].as_u64().unwrap()));
        }
        let expected: BTreeMap<String, (u64, u64)> =
            expected.into_iter().map(|(text, (count, of))| (text, (count, of.len() as u64))).collect();
        prop_assert_eq!(found, expected, "{}", answer.text);
    }
}
