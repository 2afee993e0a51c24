//! A day without messages closes a conversation, with one event (contract 17).

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use conversations::storage::{ConversationStore as _, ConversationWrite};
use openapi_core::events::{Event, EventActor, EventType};
use openapi_core::storage::{Effects, LogStore as _};
use openapi_core::values::{ConversationId, Timestamp};
use pollster::block_on;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::*;

const DAY_MILLIS: i64 = 86_400_000;
const VISITORS: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Say(usize),
    Reply(usize),
    /// The page of the visitor asks for messages, and learns that no person came.
    Sync(usize),
    CloseByVisitor(usize),
    CloseByOperator(usize),
    Revoke(usize),
    Wait(i64),
    Maintain(Vec<Beat>),
}

/// What happens while two servers maintain the conversations, at the same time.
#[derive(Clone, Debug)]
enum Beat {
    /// A server goes on to its next call of the store.
    Go(usize),
    /// It is killed there.
    Die(usize),
    /// A third server, whose clock is late, stores a message of a visitor.
    SayLate(usize, i64),
}

fn step() -> impl Strategy<Value = Step> {
    let visitor = || 0..VISITORS;
    let beat = prop_oneof![
        12 => (0..2_usize).prop_map(Beat::Go),
        1 => (0..2_usize).prop_map(Beat::Die),
        1 => (visitor(), 0..3_000_i64).prop_map(|(visitor, late)| Beat::SayLate(visitor, late)),
    ];
    // Whole days in all, often enough, so that what is silent has just become so.
    let wait = prop_oneof![
        Just(DAY_MILLIS),
        Just(DAY_MILLIS - 1),
        Just(DAY_MILLIS / 2),
        0..2 * DAY_MILLIS,
        0..5_000_i64,
    ];
    prop_oneof![
        5 => visitor().prop_map(Step::Say),
        2 => visitor().prop_map(Step::Reply),
        2 => visitor().prop_map(Step::Sync),
        1 => visitor().prop_map(Step::CloseByVisitor),
        1 => visitor().prop_map(Step::CloseByOperator),
        1 => visitor().prop_map(Step::Revoke),
        6 => wait.prop_map(Step::Wait),
        4 => prop::collection::vec(beat, 0..60).prop_map(Step::Maintain),
    ]
}

/// What a conversation should have.
struct Expected {
    visitor: usize,
    last_message: Timestamp,
    /// The reasons for which it may have been closed by now; more than one if they came at the same time.
    reasons: Vec<&'static str>,
}

impl Expected {
    /// The time has come to `now`.
    fn note(&mut self, now: Timestamp) {
        if self.reasons.is_empty() && now.millis_since(self.last_message) >= DAY_MILLIS {
            self.reasons.push("silence");
        }
    }
}

struct History {
    world: World,
    number: u32,
    tokens: [Option<String>; VISITORS],
    current: [Option<ConversationId>; VISITORS],
    expected: BTreeMap<ConversationId, Expected>,
    /// The conversations of each visitor, in the order in which they began.
    begun: Vec<ConversationId>,
}

impl History {
    fn new() -> Self {
        History {
            world: boundless(),
            number: 0,
            tokens: Default::default(),
            current: [None; VISITORS],
            expected: BTreeMap::new(),
            begun: Vec::new(),
        }
    }

    fn say(&mut self, visitor: usize) {
        self.number += 1;
        let answered = self.world.turn(self.number, "Hello?", self.tokens[visitor].as_deref());
        if answered.status == 401 {
            // The operator has revoked the token: the visitor begins another conversation.
            self.tokens[visitor] = None;
            return self.say(visitor);
        }
        assert_eq!(answered.status, 200, "{}", answered.text);
        self.tokens[visitor] = Some(answered.token());
        let stored = self.world.conversation(&answered);
        let known = self.expected.entry(stored.id).or_insert_with(|| {
            self.begun.push(stored.id);
            Expected { visitor, last_message: stored.last_message_at, reasons: Vec::new() }
        });
        assert!(
            known.reasons.is_empty() || self.current[visitor] != Some(stored.id),
            "a message in a closed one"
        );
        known.last_message = self.world.now();
        self.current[visitor] = Some(stored.id);
    }

    fn wait(&mut self, millis: i64) {
        self.world.clock.advance_millis(millis);
        let now = self.world.now();
        self.expected.values_mut().for_each(|it| it.note(now));
    }

    /// A change for an operator, who is refused if the conversation is closed.
    fn reply(&mut self, visitor: usize) {
        let Some(id) = self.current[visitor] else { return };
        let known = self.expected.get_mut(&id).expect("known");
        let (by, agent) = (operator(), agent());
        let reply = self.world.chat.reply_to_conversation(&by, &agent, id, "Ada", "Yes?");
        assert_eq!(block_on(reply).is_ok(), known.reasons.is_empty(), "a reply in a closed one");
        if known.reasons.is_empty() {
            known.last_message = self.world.now();
        }
    }

    fn sync(&mut self, visitor: usize) {
        let (Some(id), Some(token)) = (self.current[visitor], &self.tokens[visitor]) else { return };
        let answered = self.world.post("/sync", &json!({ "token": token, "after": 0 }));
        let known = self.expected.get_mut(&id).expect("known");
        let is_open = known.reasons.is_empty();
        assert_eq!(answered.json()["data"]["status"], if is_open { "open" } else { "closed" });
        let stored = block_on(self.world.chat.conversation(&agent(), id)).expect("stored");
        let is_same = stored.last_message_at == known.last_message;
        assert!(
            is_same || is_open && stored.last_message_at == self.world.now(),
            "a message in a closed one"
        );
        known.last_message = stored.last_message_at;
    }

    fn end(&mut self, visitor: usize, reason: &'static str) {
        let Some(id) = self.current[visitor] else { return };
        let (chat, token) = (&self.world.chat, &self.tokens[visitor]);
        let is_stored = block_on(chat.conversation(&agent(), id)).expect("stored").closed_at.is_some();
        match reason {
            "operator" => drop(block_on(chat.close_conversation(&operator(), &agent(), id)).expect("closed")),
            "revoked" => {
                drop(block_on(chat.revoke_conversation(&operator(), &agent(), id)).expect("revoked"));
            }
            _ => drop(self.world.post("/close", &json!({ "token": token }))),
        }
        // Who closes a silent conversation before a server has, closes it.
        let known = self.expected.get_mut(&id).expect("known");
        if !is_stored && known.reasons.iter().all(|it| *it == "silence") {
            known.reasons.push(reason);
        }
        if reason == "revoked" {
            // The operator revokes the tokens of a closed one too, which closes it again.
            (self.tokens[visitor], self.current[visitor]) = (None, None);
            if is_stored {
                self.expected.remove(&id);
            }
        }
    }

    fn maintain(&mut self, beats: &[Beat]) {
        let (first, second) = (self.world.halting(), self.world.halting());
        let mut servers: [Option<Pin<Box<dyn Future<Output = _>>>>; 2] = [
            Some(Box::pin(async { first.maintain().await })),
            Some(Box::pin(async { second.maintain().await })),
        ];
        let mut cx = Context::from_waker(Waker::noop());
        for beat in beats {
            match beat {
                Beat::Go(server) => {
                    let polled = servers[*server].as_mut().map(|it| it.as_mut().poll(&mut cx));
                    if let Some(Poll::Ready(outcome)) = polled {
                        outcome.expect("maintained");
                        servers[*server] = None;
                    }
                }
                Beat::Die(server) => servers[*server] = None,
                Beat::SayLate(visitor, millis) => {
                    self.world.clock.advance_millis(-millis);
                    let late = self.world.now();
                    // What is silent by this clock, or stored as closed, stays closed.
                    self.unnote(late);
                    self.say(*visitor);
                    self.wait(*millis);
                }
            }
        }
    }

    /// To a server whose clock is late, a conversation is not silent yet unless another one has closed it.
    fn unnote(&mut self, now: Timestamp) {
        for (id, known) in &mut self.expected {
            let is_silent = now.millis_since(known.last_message) >= DAY_MILLIS;
            let stored = block_on(self.world.chat.conversation(&agent(), *id)).expect("stored");
            if !is_silent && stored.closed_at.is_none() {
                known.reasons.retain(|it| *it != "silence");
            }
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Say(visitor) => self.say(*visitor),
            Step::Reply(visitor) => self.reply(*visitor),
            Step::Sync(visitor) => self.sync(*visitor),
            Step::CloseByVisitor(visitor) => self.end(*visitor, "visitor"),
            Step::CloseByOperator(visitor) => self.end(*visitor, "operator"),
            Step::Revoke(visitor) => self.end(*visitor, "revoked"),
            Step::Wait(millis) => self.wait(*millis),
            Step::Maintain(beats) => self.maintain(beats),
        }
    }

    /// The events of a conversation, in the order of the log: type, reason, time.
    fn events(&self) -> Vec<(ConversationId, EventType, Value, Timestamp)> {
        let page = block_on(self.world.storage().log(&agent(), 0, 10_000)).expect("a log");
        let events = page.entries.iter().map(|entry| Event::of(&agent(), entry).expect("an event"));
        let events = events.filter_map(|event| {
            let data: Value = serde_json::from_str(event.data.get()).expect("JSON");
            let id = data["conversationId"].as_str()?.parse().ok()?;
            let is_silence = data["reason"] == "silence";
            assert!(!is_silence || event.actor == EventActor::System, "{data}");
            Some((id, event.r#type, data["reason"].clone(), event.timestamp))
        });
        events.collect()
    }

    fn check(&self) {
        let events = self.events();
        let mut open_of = [None; VISITORS];
        for id in self.begun.iter().filter(|id| self.expected.contains_key(id)) {
            let known = &self.expected[id];
            let of_it: Vec<_> = events.iter().enumerate().filter(|(_, it)| it.0 == *id).collect();
            let closed: Vec<_> =
                of_it.iter().filter(|(_, it)| it.1 == EventType::ConversationClosed).collect();
            assert_eq!(
                closed.len(),
                usize::from(!known.reasons.is_empty()),
                "{id}: {:?} {of_it:?}",
                known.reasons
            );
            for (at, (_, _, reason, time)) in closed {
                assert!(known.reasons.iter().any(|it| *reason == **it), "{reason} of {:?}", known.reasons);
                let is_last = of_it.last().is_some_and(|(last, _)| last == at);
                assert!(is_last, "nothing follows the end: {of_it:?}");
                let silent = time.millis_since(known.last_message) >= DAY_MILLIS;
                assert!(*reason != "silence" || silent, "it was silent for a day");
            }
            // The former conversation of a visitor ends before the next one begins.
            let before: Option<usize> = open_of[known.visitor].replace(of_it.last().expect("events").0);
            assert!(before.is_none_or(|before| before < of_it[0].0), "{events:?}");
            let stored = block_on(self.world.chat.conversation(&agent(), *id)).expect("stored");
            assert_eq!(stored.closed_at.is_some(), !known.reasons.is_empty());
            if known.reasons == ["silence"] {
                assert_eq!(stored.closed_at, Some(known.last_message.plus_millis(DAY_MILLIS)));
            }
        }
    }
}

/// Whatever people write, whenever servers die, and whichever server is first: a silence has one event, nothing else has it.
/// `WIDGET_HISTORIES=10000` runs more of them.
#[test]
fn a_silence_has_one_event() {
    let cases = std::env::var("WIDGET_HISTORIES").map_or(100, |text| text.parse().expect("a number"));
    let config = ProptestConfig { cases, max_shrink_iters: 500, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&prop::collection::vec(step(), 1..40), |steps| {
        let mut history = History::new();
        for step in &steps {
            history.run(step);
        }
        // A server that lives finds what the others have left.
        block_on(history.world.chat.maintain()).expect("maintained");
        history.check();
        let count = history.events().len();
        block_on(history.world.chat.maintain()).expect("maintained");
        assert_eq!(history.events().len(), count, "nothing is left");
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_silent_conversation_closes_for_its_visitor_and_is_erased_after_its_retention() {
    let world = boundless();
    world.configure(json!({ "retentionDays": 2, "chat": { "responder": "script" } }));
    let first = world.turn(1, "One", None);
    let id = world.conversation(&first).id;
    block_on(world.chat.take_conversation(&operator(), &agent(), id, Some("Ada"))).expect("taken");
    let begun = world.now();
    let seen = &mut 0;
    world.emitted(seen);
    let maintained = || block_on(world.chat.maintain()).expect("maintained");
    let status = || {
        world.post("/sync", &json!({ "token": first.token(), "after": 0 })).json()["data"]["status"].clone()
    };
    world.clock.advance_millis(DAY_MILLIS - 1);
    maintained();
    assert_eq!(world.emitted(seen), [] as [Value; 0]);
    world.clock.advance_millis(1);
    maintained();
    assert_eq!(world.emitted(seen), [json!(["conversation.closed", "system", { "reason": "silence" }])]);
    let closed = world.conversation(&first);
    assert_eq!((closed.closed_at, closed.waiting_since), (Some(begun.plus_millis(DAY_MILLIS)), None));
    assert_eq!(closed.erased_at(), begun.plus_millis(2 * DAY_MILLIS));
    assert_eq!(status(), "closed");
    world.clock.advance_millis(DAY_MILLIS - 1);
    maintained();
    assert_eq!(world.emitted(seen), [] as [Value; 0]);
    world.clock.advance_millis(1);
    maintained();
    assert_eq!(world.emitted(seen), [json!(["conversation.erased", "system", { "reason": "retention" }])]);
}

#[test]
fn the_next_message_closes_a_silent_conversation_first() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    world.clock.advance_millis(DAY_MILLIS);
    let seen = &mut 0;
    world.emitted(seen);
    world.turn(2, "Two", Some(&first.token()));
    let emitted = world.emitted(seen);
    assert_eq!(emitted[0], json!(["conversation.closed", "system", { "reason": "silence" }]));
    assert_eq!(emitted[1], json!(["conversation.started", "visitor", {}]));
    block_on(world.chat.maintain()).expect("maintained");
    assert_eq!(world.emitted(seen), [] as [Value; 0]);
}

/// A page that comes back after a day learns that the conversation is closed; nothing tells it that no person came.
#[test]
fn a_page_closes_a_silent_conversation() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let id = world.conversation(&first).id;
    block_on(world.chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    world.clock.advance_millis(DAY_MILLIS);
    let seen = &mut 0;
    world.emitted(seen);
    let state = world.post("/sync", &json!({ "token": first.token(), "after": 2 })).json()["data"].clone();
    assert_eq!((&state["status"], &state["messages"]), (&json!("closed"), &json!([])));
    assert_eq!(world.emitted(seen), [json!(["conversation.closed", "system", { "reason": "silence" }])]);
}

#[test]
fn a_retention_of_a_day_closes_and_erases() {
    let world = boundless();
    world.configure(json!({ "retentionDays": 1, "chat": { "responder": "script" } }));
    world.turn(1, "One", None);
    let seen = &mut 0;
    world.emitted(seen);
    world.clock.advance_millis(DAY_MILLIS);
    block_on(world.chat.maintain()).expect("maintained");
    assert_eq!(
        world.emitted(seen),
        [
            json!(["conversation.closed", "system", { "reason": "silence" }]),
            json!(["conversation.erased", "system", { "reason": "retention" }]),
        ]
    );
}

/// A conversation that an earlier version stored names the end of its retention alone.
#[test]
fn a_conversation_of_an_earlier_version_ends_too() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let mut stored = world.conversation(&first);
    stored.version += 1;
    let (last, days) = (stored.last_message_at, stored.retention_days.take().expect("a retention"));
    stored.expires_at = last.plus_millis(i64::from(days) * DAY_MILLIS);
    assert_eq!(stored.erased_at(), stored.expires_at);
    let write = ConversationWrite {
        conversation: stored,
        messages: Vec::new(),
        keep: Vec::new(),
        effects: Effects::default(),
        deferrable: false,
    };
    block_on(world.storage().save_conversation(&agent(), &write)).expect("stored");
    let seen = &mut 0;
    world.emitted(seen);
    world.clock.advance_millis(i64::from(days) * DAY_MILLIS);
    block_on(world.chat.maintain()).expect("maintained");
    let types: Vec<Value> = world.emitted(seen).iter().map(|it| it[0].clone()).collect();
    assert_eq!(types, ["conversation.closed", "conversation.erased"]);
}
