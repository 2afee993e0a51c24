//! Random histories of billed turns: replies, errors, panics, timeouts, visitors who stop a reply or leave, and
//! process crashes. Every credit granted is available, reserved or charged, neither the credits nor the daily token and
//! cost budgets are overdrawn, and whatever a model has been sent or has written is charged in the end.
//!
//! `WIDGET_HISTORIES=10000 cargo test -p contract-tests --all-features --test conversations credits` runs 10,000 of them.

use conversations::storage::{ConversationFilter, ConversationQuery};
use conversations::{ChatError, ChatEvent, Outcome, Usage};
use http_body_util::BodyExt;
use openapi_core::admin::{Admin, CreditChange};
use openapi_core::credits::{CreditEntryKind, CreditPool};
use openapi_core::storage::LedgerQuery;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

use crate::support::*;

const TOKENS_PER_DAY: u64 = 6_000;
/// Roughly equal to the daily budget, so that either may run out first.
const COST_PER_DAY: f64 = 0.45;
const COST_OF_TOKEN: f64 = 0.000_08;

/// The course of a turn.
#[derive(Clone, Debug)]
enum Fate {
    /// The responder uses this many tokens.
    Answered(u64),
    Failed,
    Panics,
    /// The responder hangs, and its process crashes or its visitor leaves.
    Left,
    /// The responder hangs, and the service shutdown ends it with the text so far.
    Ended(usize),
    /// The responder hangs, and its visitor stops it with the text so far, possibly through another process.
    Cancelled(usize, bool),
    /// The responder hangs until its deadline, before or after its first delta.
    Late(usize),
}

#[derive(Clone, Debug)]
struct Step {
    fate: Fate,
    /// The maximum usage, in tokens of each kind.
    most: u64,
    /// The output that the responder reports before it writes, with half of the maximum input.
    reports: Option<u64>,
    /// Whether another process receives the call.
    elsewhere: bool,
    /// The pause after the turn, in seconds.
    pause: i64,
}

fn step() -> impl Strategy<Value = Step> {
    let fate = prop_oneof![
        4 => (0_u64..=1_000).prop_map(Fate::Answered),
        1 => Just(Fate::Failed),
        1 => Just(Fate::Panics),
        2 => Just(Fate::Left),
        1 => (0_usize..3_000).prop_map(Fate::Ended),
        2 => (0_usize..3_000, any::<bool>()).prop_map(|(text, elsewhere)| Fate::Cancelled(text, elsewhere)),
        2 => prop_oneof![Just(0), Just(50)].prop_map(Fate::Late),
    ];
    let pause = prop_oneof![3 => Just(1), 1 => Just(30), 1 => Just(600), 1 => Just(86_400)];
    (fate, 500_u64..3_000, prop::option::of(0_u64..250), any::<bool>(), pause)
        .prop_map(|(fate, most, reports, elsewhere, pause)| Step { fate, most, reports, elsewhere, pause })
}

fn used(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, cost: (input_tokens + output_tokens) as f64 * COST_OF_TOKEN }
}

impl Step {
    /// The least tokens that are charged for the turn once its responder has run.
    fn due(&self) -> u64 {
        let written = |text: usize| self.most + (text as u64).div_ceil(3).min(self.most / 2);
        let reported = self.reports.map(|output| self.most / 2 + output);
        match self.fate {
            Fate::Answered(share) => self.most * share / 1_000 + self.most / 2 * share / 1_000,
            Fate::Failed | Fate::Ended(0) => reported.unwrap_or(0),
            Fate::Panics => reported.unwrap_or_else(|| written(1)),
            // Nobody knows what the model has sent, so all that was reserved is charged.
            Fate::Left => self.most + self.most / 2,
            Fate::Ended(text) | Fate::Cancelled(text, _) | Fate::Late(text) => {
                reported.unwrap_or_else(|| written(text))
            }
        }
    }
}

/// The tokens that the ledger has for each turn.
fn charged_tokens(world: &World) -> Vec<(String, u64)> {
    let query = LedgerQuery { agent: agent(), before: None, limit: 10_000 };
    let ledger = block_on(world.platform.credit_entries(&query)).expect("entries");
    let notes = ledger
        .iter()
        .filter(|entry| entry.kind == CreditEntryKind::Chat)
        .filter_map(|entry| entry.note.as_ref());
    notes
        .map(|note| {
            let mut parts = note.split(", ").skip(1);
            let mut part = || parts.next().expect("a part");
            let turn = part().strip_prefix("turn ").expect("a turn").to_owned();
            (turn, part().split(' ').next().expect("a number").parse().expect("tokens"))
        })
        .collect()
}

/// Checks the invariants; `given` is the number of credits granted.
fn check(world: &World, given: u64, step: &Step) {
    let account = block_on(world.platform.credits(&agent())).expect("an account");
    let query = LedgerQuery { agent: agent(), before: None, limit: 10_000 };
    let ledger = block_on(world.platform.credit_entries(&query)).expect("entries");
    let sum: i64 = ledger.iter().map(|entry| entry.plan + entry.top_up).sum();
    let there = i64::try_from(account.available() + account.reserved()).expect("few");
    assert_eq!(sum, there, "the ledger adds up after {step:?}");
    let query = ConversationQuery { filter: ConversationFilter::default(), offset: 0, limit: 1_000 };
    let page = block_on(world.chat.conversations(&agent(), &query)).expect("a page");
    let (mut charged, mut of_day, mut cost) = (0, 0, 0.0);
    let day = world.now().millis().div_euclid(86_400_000);
    for conversation in page.conversations {
        for message in block_on(world.chat.messages(&agent(), conversation.id, 0, 1_000)).expect("messages") {
            charged += message.credits;
            if message.at.millis().div_euclid(86_400_000) == day {
                of_day += message.usage.map_or(0, |usage| usage.tokens());
                cost += message.usage.map_or(0.0, |usage| usage.cost);
            }
        }
    }
    // What a process that has died is charged for has no message.
    assert!(
        0 <= there && there <= i64::try_from(given - charged).expect("never overdrawn"),
        "after {step:?}"
    );
    assert!(of_day <= TOKENS_PER_DAY, "{of_day} tokens of a day after {step:?}");
    assert!(cost <= COST_PER_DAY + 1e-9, "a day has cost {cost} after {step:?}");
}

/// The session token at the start of a stream.
fn token_in(first: &[u8]) -> String {
    let text = std::str::from_utf8(first).expect("UTF-8");
    let data = text.lines().find_map(|line| line.strip_prefix("data: ")).expect("an event");
    let session: serde_json::Value = serde_json::from_str(data).expect("JSON");
    session["token"].as_str().expect("a token").to_owned()
}

fn history(given: u64, steps: &[Step]) {
    let world = clocked();
    let llm = json!({ "tokensPerDay": TOKENS_PER_DAY, "costPerDay": COST_PER_DAY });
    world.configure(json!({ "chat": { "responder": "script", "llm": llm } }));
    let change = CreditChange::Set { pool: CreditPool::Plan, credits: given, note: None };
    block_on(world.platform.change_credits(&operator(), &agent(), &change)).expect("credits");
    world.knowledge.says("From the documents.");
    let mut due = Vec::new();
    for (number, step) in (1..).zip(steps) {
        *world.script.most.lock().expect("the usage") = used(step.most, step.most / 2);
        let hanging = |text: usize| vec![delta(&"x".repeat(text)), Act::Hang];
        let report = step.reports.map(|output| Act::Say(ChatEvent::Usage(used(step.most / 2, output))));
        let acts = match step.fate {
            Fate::Answered(share) => vec![
                delta("A"),
                Act::Say(ChatEvent::Done {
                    outcome: Outcome::Answered,
                    sources: Vec::new(),
                    usage: used(step.most * share / 1_000, step.most / 2 * share / 1_000),
                }),
            ],
            Fate::Failed => vec![Act::Say(ChatEvent::Error(ChatError::Unavailable))],
            Fate::Panics => vec![delta("A"), Act::Panic],
            Fate::Left => hanging(20),
            Fate::Ended(text) | Fate::Cancelled(text, _) => hanging(text),
            Fate::Late(0) => vec![Act::Hang],
            Fate::Late(text) => hanging(text),
        };
        world.script.will(report.into_iter().chain(acts));
        let asked = world.script.asked.lock().expect("the turns").len();
        let another;
        let api = if step.elsewhere {
            another = world.another();
            &another
        } else {
            &world.api
        };
        let response = block_on(api.handle(request("/turns", &turn(number, "A question", None), |_| ())));
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        // The first delta comes after all synchronous work.
        let first = block_on(body.frame()).expect("a frame").expect("a frame").into_data().expect("data");
        match step.fate {
            Fate::Left => drop(body),
            Fate::Cancelled(_, elsewhere) => {
                let token = token_in(&first);
                let cancel = json!({ "token": token, "turn": turn_id(number) });
                let by = if elsewhere { world.another() } else { api.clone() };
                assert_eq!(world.send(&by, "/turns/cancel", &cancel, |_| ()).status, 204);
                // Another process takes effect when the text so far is stored.
                world.clock.advance_millis(1_001);
                block_on(body.collect()).expect("an end");
            }
            Fate::Late(_) => {
                // Longer than both deadlines, of the first piece and between two.
                world.clock.advance_millis(30_001);
                block_on(body.collect()).expect("an end");
            }
            Fate::Ended(_) => {
                api.cancel_all();
                block_on(body.collect()).expect("an end");
            }
            _ => drop(block_on(body.collect()).expect("an end")),
        }
        if world.script.asked.lock().expect("the turns").len() > asked && step.due() > 0 {
            due.push((turn_id(number), step.due()));
        }
        check(&world, given, step);
        world.clock.advance_millis(step.pause * 1_000);
        check(&world, given, step);
    }
    // The reservations of crashed processes are charged with the next turn after they have expired.
    world.clock.advance_millis(600_000);
    *world.script.most.lock().expect("the usage") = Usage::default();
    world.script.says("Hello.");
    world.turn(1_000, "A question", None);
    let charged = charged_tokens(&world);
    for (turn, tokens) in due {
        let found = charged.iter().find(|(of, _)| *of == turn);
        assert!(found.is_some_and(|(_, charged)| *charged >= tokens), "{turn}: {tokens} of {found:?}");
    }
    let account = block_on(world.platform.credits(&agent())).expect("an account");
    assert_eq!(account.reserved(), 0);
}

#[test]
fn credits_are_neither_lost_nor_overdrawn() {
    let histories = std::env::var("WIDGET_HISTORIES").map_or(600, |text| text.parse().expect("a number"));
    let config = ProptestConfig { cases: histories, max_shrink_iters: 500, ..ProptestConfig::default() };
    proptest!(config, |(given in 0_u64..40, steps in prop::collection::vec(step(), 1..8))| {
        history(given, &steps);
    });
}
