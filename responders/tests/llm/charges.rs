//! Random failures of an endpoint: it breaks off, is silent, reports errors or nonsense, thinks without answering, and the
//! visitor leaves at any event. Whatever the visitor has seen, and whatever the endpoint may charge for, is in the usage
//! that was reported by then.
//!
//! `CHARGE_HISTORIES=10000 cargo nextest run -p responders --all-features --test llm charges` runs 10,000 of them.

use std::time::Duration;

use conversations::{ChatEvent, ChatResponder as _, Usage};
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use llm::stub::{Part, Reply, Stub, event};
use proptest::prelude::*;
use serde_json::json;

use crate::{endpoint, responder_of, turn};

/// The model's letter, which no text of the responder's own consists of.
const LETTER: &str = "μ";
/// How many histories run at once, because failed requests wait before they are repeated.
const AT_ONCE: usize = 40;

#[derive(Clone, Debug)]
enum Piece {
    Text(usize),
    Thought(usize),
}

#[derive(Clone, Debug)]
enum End {
    Good { has_usage: bool },
    BreaksOff,
    ReportsFailure,
    Nonsense,
    Silent,
}

/// What the endpoint does with a request.
#[derive(Clone, Debug)]
enum Fate {
    Status(u16),
    Closes,
    Streams(Vec<Piece>, End),
}

#[derive(Clone, Debug)]
struct History {
    fates: [Fate; 2],
    /// The visitor leaves after so many events.
    leaves: Option<usize>,
}

fn fate() -> impl Strategy<Value = Fate> {
    let piece = prop_oneof![
        2 => (1_usize..200).prop_map(Piece::Text),
        1 => (1_usize..200).prop_map(Piece::Thought),
    ];
    let end = prop_oneof![
        2 => any::<bool>().prop_map(|has_usage| End::Good { has_usage }),
        1 => Just(End::BreaksOff),
        1 => Just(End::ReportsFailure),
        1 => Just(End::Nonsense),
        1 => Just(End::Silent),
    ];
    prop_oneof![
        1 => prop::sample::select(vec![429_u16, 500, 503]).prop_map(Fate::Status),
        1 => Just(Fate::Closes),
        6 => (prop::collection::vec(piece, 0..6), end).prop_map(|(pieces, end)| Fate::Streams(pieces, end)),
    ]
}

fn history() -> impl Strategy<Value = History> {
    (fate(), fate(), prop::option::of(0_usize..12))
        .prop_map(|(first, second, leaves)| History { fates: [first, second], leaves })
}

impl Piece {
    fn bytes(&self) -> usize {
        match self {
            Piece::Text(length) | Piece::Thought(length) => length * LETTER.len(),
        }
    }

    fn event(&self) -> String {
        let delta = match self {
            Piece::Text(length) => json!({ "content": LETTER.repeat(*length) }),
            Piece::Thought(length) => json!({ "reasoning_content": LETTER.repeat(*length) }),
        };
        event(&json!({ "choices": [{ "delta": delta }] }))
    }
}

impl Fate {
    /// Whether the endpoint may charge for the request.
    fn is_charged(&self) -> bool {
        !matches!(self, Fate::Status(429))
    }

    fn sent(&self) -> usize {
        match self {
            Fate::Streams(pieces, _) => pieces.iter().map(Piece::bytes).sum(),
            _ => 0,
        }
    }

    fn reply(&self) -> Reply {
        let (pieces, end) = match self {
            Fate::Status(status) => return Reply::error(*status, "busy").with("retry-after", "0.01"),
            Fate::Closes => return Reply::Raw(Vec::new()),
            Fate::Streams(pieces, end) => (pieces, end),
        };
        let text: String = pieces.iter().map(Piece::event).collect();
        let rest = match end {
            End::Good { has_usage } => {
                let usage = json!({ "prompt_tokens": 9_000, "completion_tokens": self.sent().div_ceil(3) });
                let usage =
                    if *has_usage { event(&json!({ "choices": [], "usage": usage })) } else { String::new() };
                format!(
                    "{}{usage}data: [DONE]\n\n",
                    event(&json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }))
                )
            }
            End::ReportsFailure => event(&json!({ "error": { "message": "broken" } })),
            End::Nonsense => "data: no json\n\n".to_owned(),
            End::BreaksOff | End::Silent => String::new(),
        };
        let mut parts = vec![Part::Bytes((text + &rest).into_bytes())];
        if let End::Silent = end {
            parts.push(Part::Hang);
        }
        Reply::parts(parts)
    }
}

async fn run(history: &History) -> Result<(), TestCaseError> {
    let stub = Stub::replies(history.fates.iter().map(Fate::reply).collect()).await;
    let mut endpoint = endpoint(&stub);
    // A busy machine takes long for what is no silence.
    let is_silent = history.fates.iter().any(|fate| matches!(fate, Fate::Streams(_, End::Silent)));
    endpoint.idle_timeout = Duration::from_millis(if is_silent { 600 } else { 60_000 });
    let (responder, _) = responder_of(endpoint);
    let turn = turn("?");
    let most = responder.most(&turn);
    let prompt = most.input_tokens / 2;
    let mut events = responder.respond(turn);
    let (mut used, mut seen, mut has_ended) = (Usage::default(), 0, false);
    for _ in 0..history.leaves.unwrap_or(usize::MAX) {
        match events.next().await {
            Some(ChatEvent::Usage(usage)) => used = usage,
            Some(ChatEvent::Done { usage, .. }) => (used, has_ended) = (usage, true),
            Some(ChatEvent::Error(_)) => has_ended = true,
            Some(ChatEvent::Delta(text)) => seen += text.matches(LETTER).count() * LETTER.len(),
            Some(_) => {}
            None => break,
        }
        let requests = stub.received().len().min(2);
        let charged = history.fates[..requests].iter().filter(|fate| fate.is_charged()).count() as u64;
        prop_assert!(used.input_tokens >= charged * prompt, "{charged} requests of {prompt}: {used:?}");
        prop_assert!(used.output_tokens >= seen.div_ceil(3) as u64, "{seen} bytes were seen: {used:?}");
    }
    if has_ended {
        let requests = stub.received().len();
        let sent: usize = history.fates[..requests.min(2)].iter().map(Fate::sent).sum();
        prop_assert!(used.output_tokens >= (sent / 3) as u64, "{sent} bytes, thoughts included: {used:?}");
        prop_assert!(used.input_tokens <= most.input_tokens.max(9_000 + prompt), "{used:?}");
    }
    Ok(())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the environment sets how many histories run")]
fn whatever_was_sent_is_in_the_usage() {
    let histories = std::env::var("CHARGE_HISTORIES").map_or(400, |text| text.parse().expect("a number"));
    let cases = u32::try_from(usize::div_ceil(histories, AT_ONCE)).expect("few");
    let config = ProptestConfig {
        cases,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    proptest!(config, |(histories in prop::collection::vec(history(), 1..=AT_ONCE))| {
        for outcome in runtime.block_on(join_all(histories.iter().map(run))) {
            outcome?;
        }
    });
}
