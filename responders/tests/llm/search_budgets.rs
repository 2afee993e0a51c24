//! Random turns in which a model searches, fails, calls what there is not and answers at last: whatever is sent is
//! charged, and no more than was reserved is sent.

use std::sync::Arc;
use std::time::Duration;

use conversations::{ChatEvent, ChatResponder as _, FoundPassage};
use futures_util::future::join_all;
use llm::stub::{Part, Reply, Stub, delta_event};
use openapi_core::values::{KnowledgeId, PlatformId};
use proptest::prelude::*;
use serde_json::json;

use crate::searches::{Documents, search};
use crate::support::NOW;
use crate::{ask, endpoint, passage, responder_of, turn};

/// What the model does with a request.
#[derive(Clone, Debug)]
enum Step {
    Searches(usize),
    Nonsense,
    BreaksOff,
    IsBusy,
    Answers,
}

#[derive(Clone, Debug)]
struct Turn {
    steps: Vec<Step>,
    /// Bytes of the passages that the turn has, that its agent has, and that each search finds.
    given: Vec<usize>,
    whole: Vec<usize>,
    found: Vec<Vec<usize>>,
    context_tokens: u32,
    history: usize,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (1_usize..400).prop_map(Step::Searches),
        1 => Just(Step::Nonsense),
        1 => Just(Step::BreaksOff),
        1 => Just(Step::IsBusy),
        1 => Just(Step::Answers),
    ]
}

fn a_turn() -> impl Strategy<Value = Turn> {
    let passages = || prop::collection::vec(1_usize..2_000, 0..7);
    let found = prop::collection::vec(passages(), 3);
    (prop::collection::vec(step(), 6), passages(), passages(), found, 1_000_u32..9_000, 0_usize..4).prop_map(
        |(steps, given, whole, found, context_tokens, history)| Turn {
            steps,
            given,
            whole,
            found,
            context_tokens,
            history,
        },
    )
}

fn passages(document: u8, bytes: &[usize]) -> Vec<FoundPassage> {
    let document = KnowledgeId::from(PlatformId::new(NOW, [document; 8]));
    (0..)
        .zip(bytes)
        .map(|(nth, bytes)| FoundPassage { document, ..passage(nth, &"x".repeat(*bytes)) })
        .collect()
}

impl Step {
    fn reply(&self, nth: usize) -> Reply {
        match self {
            Step::Searches(length) => {
                search(&json!({ "question": format!("{nth}{}", "q".repeat(*length)) }).to_string())
            }
            Step::Nonsense => search("{\"question\": "),
            Step::BreaksOff => Reply::parts(vec![Part::Bytes(b"data: no json\n\n".to_vec())]),
            Step::IsBusy => Reply::error(429, "busy").with("retry-after", "0.01"),
            Step::Answers => Reply::parts(vec![Part::Bytes(
                format!("{}data: [DONE]\n\n", delta_event("Yes.")).into_bytes(),
            )]),
        }
    }
}

async fn run(case: &Turn) -> Result<(), TestCaseError> {
    let steps = case.steps.clone();
    let stub = Stub::with(move |nth, _| steps.get(nth).unwrap_or(&Step::Answers).reply(nth)).await;
    let mut endpoint = endpoint(&stub);
    endpoint.idle_timeout = Duration::from_secs(60);
    let documents = Documents {
        whole: passages(3, &case.whole),
        found: (4..).zip(&case.found).map(|(document, bytes)| passages(document, bytes)).collect(),
        ..Documents::default()
    };
    let responder = responder_of(endpoint).0.with_retriever(Arc::new(documents));
    let mut turn = turn("What?");
    turn.found.passages = passages(2, &case.given);
    turn.agent.settings.llm.context_tokens = case.context_tokens;
    for _ in 0..case.history {
        let mut line = turn.history[0].clone();
        line.text = "An earlier message. ".repeat(30);
        turn.history.insert(0, line);
    }
    let most = responder.most(&turn).input_tokens;
    let said = ask(&responder, turn).await;
    let used = said.events.iter().rev().find_map(|event| match event {
        ChatEvent::Usage(usage) | ChatEvent::Done { usage, .. } => Some(usage.input_tokens),
        _ => None,
    });
    let mut sent = 0;
    for (nth, seen) in stub.received().iter().enumerate() {
        let messages = seen.body["messages"].as_array().expect("messages");
        let tokens =
            |text: &serde_json::Value| text["content"].as_str().expect("a text").len().div_ceil(3) + 8;
        if !matches!(case.steps.get(nth), Some(Step::IsBusy)) {
            sent += messages.iter().map(tokens).sum::<usize>() as u64;
        }
    }
    prop_assert_eq!(used, Some(sent), "what was sent is charged");
    prop_assert!(sent <= most, "{} tokens were sent, {} reserved", sent, most);
    // Three searches, one repetition, the answer.
    prop_assert!(stub.received().len() <= 5, "{} requests", stub.received().len());
    Ok(())
}

#[test]
fn whatever_a_model_searches_for_is_charged_and_within_the_reservation() {
    let config = ProptestConfig {
        cases: 12,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    proptest!(config, |(turns in prop::collection::vec(a_turn(), 1..=40))| {
        for outcome in runtime.block_on(join_all(turns.iter().map(run))) {
            outcome?;
        }
    });
}
