//! What a model is given of the documents, what it may search for, and what that may cost.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use conversations::{
    ChatError, ChatEvent, ChatResponder as _, ChatTurn, FoundPassage, Outcome, Question, RetrieveError,
    Retrieved, Retriever, StatusKind, TokenBudget,
};
use llm::stub::{Part, Reply, Stub, delta_event, event};
use openapi_core::values::{AgentId, KnowledgeId, PlatformId, Timestamp};
use parking_lot::Mutex;
use responders::LlmResponder;
use serde_json::{Value, json};

use crate::support::NOW;
use crate::{ask, passage, responder, turn};

/// Finds another passage for each question, and remembers the questions.
#[derive(Default)]
pub struct Documents {
    pub whole: Vec<FoundPassage>,
    pub asked: Mutex<Vec<String>>,
    /// What is found, one search after the other; then new passages.
    pub found: Vec<Vec<FoundPassage>>,
    pub never_answers: bool,
}

#[async_trait]
impl Retriever for Documents {
    async fn retrieve(&self, _: &AgentId, question: &Question, _: usize) -> Result<Retrieved, RetrieveError> {
        if self.never_answers {
            std::future::pending::<()>().await;
        }
        let mut asked = self.asked.lock();
        asked.push(question.text.clone());
        let nth = asked.len() - 1;
        let new = || vec![passage(100 + nth as u32, &format!("Found for {}.", question.text))];
        let passages = self.found.get(nth).cloned().unwrap_or_else(new);
        Ok(Retrieved { passages, coverage: 0.0, has_documents: true, ..Retrieved::default() })
    }

    async fn whole(&self, _: &AgentId, most: usize) -> Result<Option<Vec<FoundPassage>>, RetrieveError> {
        let bytes: usize = self.whole.iter().map(|passage| passage.text.len()).sum();
        Ok((bytes <= most && !self.whole.is_empty()).then(|| self.whole.clone()))
    }
}

pub fn over(stub: &Stub, documents: Documents) -> (LlmResponder, Arc<Documents>) {
    let documents = Arc::new(documents);
    (responder(stub).with_retriever(Arc::clone(&documents) as _), documents)
}

/// A response of these pieces of calls, after a text.
fn calls(text: &str, pieces: &[(Value, Value)]) -> Reply {
    let call = |(index, function): &(Value, Value)| {
        event(
            &json!({ "choices": [{ "delta": { "tool_calls": [{ "index": index, "function": function }] } }] }),
        )
    };
    let stream = format!(
        "{}{}{}data: [DONE]\n\n",
        if text.is_empty() { String::new() } else { delta_event(text) },
        pieces.iter().map(call).collect::<String>(),
        event(&json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] })),
    );
    Reply::parts(vec![Part::Bytes(stream.into_bytes())])
}

/// A call of `search`, whose arguments come in two pieces.
pub fn search(arguments: &str) -> Reply {
    let (first, second) = arguments.split_at(arguments.len() / 2);
    let pieces = [json!({ "name": "search", "arguments": first }), json!({ "arguments": second })];
    calls("", &pieces.map(|piece| (json!(0), piece)))
}

fn question(text: &str) -> String {
    json!({ "question": text }).to_string()
}

fn has_search(body: &Value) -> bool {
    body["tools"].to_string().contains("\"search\"")
}

#[tokio::test]
async fn a_model_searches_again_and_answers_from_what_was_found() {
    let stub = Stub::replies(vec![
        search(&question("opening hours")),
        search(&question("when open")),
        Reply::deltas(&["From nine [1], in Leeds [3]."]),
    ])
    .await;
    let (responder, documents) = over(&stub, Documents::default());
    let said = ask(&responder, turn("And on Sundays?")).await;
    assert_eq!((said.outcome(), said.cited()), (Outcome::Answered, vec![1, 3]));
    assert_eq!(*documents.asked.lock(), ["opening hours", "when open"]);
    let seen = stub.received();
    assert!(
        has_search(&seen[0].body)
            && seen[0].body["tools"].to_string().contains("\"required\":[\"question\"]")
    );
    assert!(seen[1].message(1).contains("[1] ") && seen[1].message(1).contains("Found for opening hours."));
    assert!(
        seen[2].message(1).contains("Found for when open.") && seen[2].message(1).contains("Home visits are")
    );
    assert!(said.events.contains(&ChatEvent::Status(StatusKind::Searching)));
    // All three requests are charged, and no more than was reserved.
    let (used, most) = (said.done().2, responder.most(&turn("And on Sundays?")));
    assert!(used.input_tokens > 200 && used.input_tokens <= most.input_tokens, "{used:?} {most:?}");
}

#[tokio::test]
async fn a_model_that_never_stops_searching_is_stopped() {
    // It calls the tool even when it is no longer offered.
    let stub = Stub::with(|nth, _| search(&question(&format!("try {nth}")))).await;
    let (responder, documents) = over(&stub, Documents::default());
    let said = ask(&responder, turn("Boats?")).await;
    assert_eq!(said.outcome(), Outcome::Unknown, "nothing was answered");
    assert!(said.text.starts_with("I could not find an answer to that."));
    assert_eq!((documents.asked.lock().len(), stub.received().len()), (3, 4));
    let offered: Vec<bool> = stub.received().iter().map(|seen| has_search(&seen.body)).collect();
    assert_eq!(offered, [true, true, true, false]);
    // What nothing new is found for, and what was searched for already, is the last search.
    for found in [vec![Vec::new()], vec![turn("?").found.passages]] {
        let stub = Stub::with(|nth, _| search(&question(&format!("try {nth}")))).await;
        let (responder, documents) = over(&stub, Documents { found, ..Documents::default() });
        assert_eq!(ask(&responder, turn("Boats?")).await.outcome(), Outcome::Unknown);
        assert_eq!((documents.asked.lock().len(), stub.received().len()), (1, 2));
    }
    let stub = Stub::with(|_, _| search(&question("the same"))).await;
    let (responder, documents) = over(&stub, Documents::default());
    ask(&responder, turn("Boats?")).await.done();
    assert_eq!((documents.asked.lock().len(), stub.received().len()), (1, 3));
}

#[tokio::test]
async fn calls_that_cannot_be_used_lead_to_an_answer_without_a_search() {
    let long = question(&"boats ".repeat(100));
    for arguments in ["{", "{}", "[]", "{\"question\": 1}", "{\"question\": \" \\u0000\"}", long.as_str()] {
        let stub = Stub::replies(vec![search(arguments), Reply::deltas(&["In Leeds [1]."])]).await;
        let (responder, documents) = over(&stub, Documents::default());
        let said = ask(&responder, turn("Boats?")).await;
        assert_eq!((said.text.as_str(), said.outcome()), ("In Leeds [1].", Outcome::Answered), "{arguments}");
        assert!(documents.asked.lock().is_empty(), "{arguments}");
        assert!(!has_search(&stub.received()[1].body), "{arguments}");
    }
    // So do tools that do not exist; once.
    let unknown = || calls("", &[(json!(0), json!({ "name": "read_contacts", "arguments": "{}" }))]);
    let stub = Stub::replies(vec![unknown()]).await;
    let (responder, _) = over(&stub, Documents::default());
    assert_eq!(ask(&responder, turn("Boats?")).await.outcome(), Outcome::Unknown);
    assert_eq!(stub.received().len(), 2);
    // Without documents there is nothing to search in.
    let stub = Stub::replies(vec![search(&question("boats"))]).await;
    ask(&crate::responder(&stub), turn("Boats?")).await.done();
    let (responder, documents) = over(&stub, Documents::default());
    let mut empty = turn("Boats?");
    empty.found = Retrieved::default();
    assert_eq!(ask(&responder, empty).await.outcome(), Outcome::Unknown);
    assert!(stub.received().iter().all(|seen| !has_search(&seen.body)) && documents.asked.lock().is_empty());
    assert_eq!(stub.received().len(), 2);
}

#[tokio::test]
async fn calls_are_read_however_an_endpoint_writes_them() {
    let named = |arguments: &str| json!({ "name": "search", "arguments": arguments });
    let of = |pieces: Vec<(Value, Value)>| calls("", &pieces);
    let (a, b) = (question("a"), question("b"));
    let forms = [
        // Two calls at once, numbered, unnumbered, in pieces that alternate, and with names in each piece.
        of(vec![(json!(0), named(&a)), (json!(1), named(&b))]),
        of(vec![(Value::Null, named(&a)), (Value::Null, named(&b))]),
        of(vec![
            (json!(0), named(&a[..5])),
            (json!(1), named(&b[..7])),
            (json!(0), json!({ "arguments": &a[5..] })),
            (json!(1), json!({ "name": "", "arguments": &b[7..] })),
        ]),
        of(vec![(json!(0), named(&a[..5])), (json!(0), named(&a[5..])), (json!(1), named(&b))]),
        // With an object instead of its text, and next to a tool that does not exist.
        of(vec![
            (json!(0), json!({ "name": "search", "arguments": { "question": "a" } })),
            (json!(1), json!({ "name": "read_contacts", "arguments": "{\"all\": true}" })),
            (json!(2), named(&b)),
        ]),
    ];
    for (nth, form) in forms.into_iter().enumerate() {
        let stub = Stub::replies(vec![form, Reply::deltas(&["Yes [1]."])]).await;
        let (responder, documents) = over(&stub, Documents::default());
        assert_eq!(ask(&responder, turn("?")).await.text, "Yes [1].", "{nth}");
        assert_eq!(*documents.asked.lock(), ["a", "b"], "{nth}");
    }
    // Twenty calls are three searches.
    let many = (0..20).map(|nth| (json!(nth), named(&question(&format!("try {nth}"))))).collect();
    let stub = Stub::replies(vec![of(many), Reply::deltas(&["Yes [1]."])]).await;
    let (responder, documents) = over(&stub, Documents::default());
    ask(&responder, turn("?")).await.done();
    assert_eq!(documents.asked.lock().len(), 3);
}

#[tokio::test]
async fn what_a_model_says_before_it_searches_is_withdrawn() {
    let ask_with = async |text: &str| {
        let named = json!({ "name": "search", "arguments": question("hours") });
        let stub =
            Stub::replies(vec![calls(text, &[(json!(0), named)]), Reply::deltas(&["At nine [1]."])]).await;
        let (responder, _) = over(&stub, Documents::default());
        ask(&responder, turn("?")).await
    };
    let said = ask_with("One moment, I will look that up. ").await;
    assert_eq!((said.text.as_str(), said.cited()), ("At nine [1].", vec![1]));
    assert!(said.events.contains(&ChatEvent::Replace(String::new())), "{:?}", said.events);
    // An answer stays one.
    assert_eq!(ask_with("In Leeds [1].").await.text, "In Leeds [1].");
    let long = "A visit takes an hour. ".repeat(20);
    assert_eq!(ask_with(&long).await.text.trim_end(), long.trim_end());
}

#[tokio::test]
async fn a_model_gets_all_passages_where_they_fit() {
    let stub = Stub::with(|_, _| Reply::deltas(&["Yes [7]."])).await;
    let whole = (0..8).map(|nth| passage(nth, &format!("Fact {nth}."))).collect();
    let (responder, _) = over(&stub, Documents { whole, ..Documents::default() });
    let said = ask(&responder, turn("Really?")).await;
    assert_eq!(said.cited(), [7]);
    let seen = stub.received();
    let data = seen[0].message(1);
    let positions: Vec<_> =
        (0..8).map(|nth| data.find(&format!("Fact {nth}.")).expect("it is there")).collect();
    assert!(positions.is_sorted() && data.contains("These are all passages"), "{data}");
    assert!(!has_search(&seen[0].body), "there is nothing else to search for");
    // Where they do not fit, the model gets the best of those that were found; a part of one is not all of it.
    let many: Vec<_> =
        (0..800).map(|nth| passage(nth, &format!("Fact {nth} {}", "word ".repeat(40)))).collect();
    for whole in [many, vec![passage(0, &"Fact 3 ".repeat(3_000))]] {
        let (responder, _) = over(&stub, Documents { whole, ..Documents::default() });
        ask(&responder, turn("Really?")).await;
        let data = stub.received().last().expect("a request").message(1).to_owned();
        assert!(
            !data.contains("Fact 3 ") && !data.contains("These are all") && data.contains("Home visits are")
        );
    }
}

#[tokio::test]
async fn a_failed_request_with_all_passages_is_repeated_with_those_that_were_found() {
    let breaks_off = Reply::parts(vec![Part::Bytes(b"data: no json\n\n".to_vec())]);
    let stub = Stub::replies(vec![breaks_off, Reply::deltas(&["Yes [1]."])]).await;
    let whole: Vec<_> =
        (0..50).map(|nth| passage(nth, &format!("Fact {nth} {}", "word ".repeat(40)))).collect();
    let (responder, _) = over(&stub, Documents { whole, ..Documents::default() });
    let said = ask(&responder, turn("Really?")).await;
    let seen = stub.received();
    assert!(seen[0].message(1).contains("Fact 49 ") && !seen[1].message(1).contains("Fact 49 "));
    assert!(seen[1].message(1).contains("Home visits are") && said.cited() == [1]);
    assert!(said.done().2.input_tokens <= responder.most(&turn("Really?")).input_tokens);
}

#[tokio::test]
async fn no_prompt_says_that_there_are_no_passages_where_there_are_some() {
    let stub = Stub::with(|_, _| Reply::deltas(&["Yes."])).await;
    let responder = responder(&stub);
    let mut long = turn("?");
    long.found.passages = vec![passage(0, &"A long passage about home visits. ".repeat(200))];
    long.agent.settings.llm.context_tokens = 1_200;
    ask(&responder, long.clone()).await;
    long.agent.settings.llm.context_tokens = 10;
    ask(&responder, long).await;
    let mut unfound = turn("?");
    unfound.found.passages.clear();
    ask(&responder, unfound.clone()).await;
    unfound.found.has_documents = false;
    ask(&responder, unfound).await;
    let seen = stub.received();
    assert!(
        seen[0].message(1).contains("[1] ")
            && seen[0].message(1).contains("A long passage about home visits.")
    );
    assert!(seen[1].message(1).contains("no room for those that were found"));
    assert!(
        seen[2].message(1).contains("Nothing was found") && !seen[2].message(1).contains("There are none")
    );
    assert!(seen[3].message(1).contains("There are none."));
}

#[tokio::test]
async fn a_prompt_has_one_version_of_a_document_that_changes_between_two_searches() {
    let stub = Stub::replies(vec![
        search(&question("price")),
        search(&question("price of a visit")),
        Reply::deltas(&["50 pounds [1]."]),
    ])
    .await;
    let other = FoundPassage {
        document: KnowledgeId::from(PlatformId::new(NOW, [2; 8])),
        ..passage(1, "Parcels are sent on Fridays.")
    };
    let found = vec![vec![other], vec![passage(1, "A visit costs 50 pounds.")]];
    let (responder, _) = over(&stub, Documents { found, ..Documents::default() });
    ask(&responder, turn("What does a visit cost?")).await.done();
    let seen = stub.received();
    assert!(seen[1].message(1).contains("40 pounds") && seen[1].message(1).contains("on Fridays"));
    // Neither the passage itself nor others of its earlier version.
    let last = seen[2].message(1);
    assert!(last.contains("50 pounds") && !last.contains("40 pounds") && !last.contains("Home visits are"));
    assert!(last.contains("on Fridays"), "another document has not changed: {last}");
}

/// The documents of several agents.
struct Corpora(HashMap<AgentId, Vec<FoundPassage>>);

#[async_trait]
impl Retriever for Corpora {
    async fn retrieve(&self, agent: &AgentId, _: &Question, _: usize) -> Result<Retrieved, RetrieveError> {
        let passages = self.0.get(agent).cloned().unwrap_or_default();
        Ok(Retrieved { passages, coverage: 1.0, has_documents: true, ..Retrieved::default() })
    }

    async fn whole(&self, agent: &AgentId, most: usize) -> Result<Option<Vec<FoundPassage>>, RetrieveError> {
        let passages = self.0.get(agent).cloned().unwrap_or_default();
        Ok((passages.iter().map(|passage| passage.text.len()).sum::<usize>() <= most).then_some(passages))
    }
}

#[tokio::test]
async fn no_call_reaches_the_documents_of_another_agent() {
    let other = AgentId::from(PlatformId::new(NOW, [9; 8]));
    for words in [1, 2_000] {
        let own = passage(7, &format!("Ours{}", " word".repeat(words)));
        let corpora = HashMap::from([
            (turn("?").agent.id, vec![own.clone(), FoundPassage { position: 8, ..own.clone() }, own]),
            (other.clone(), vec![passage(9, "Theirs: 4711")]),
        ]);
        let asked = json!({ "question": format!("agentId:{other} theirs 4711?"), "agent": other.to_string(),
            "agentId": other.to_string(), "tenant": other.to_string() });
        let stub = Stub::replies(vec![search(&asked.to_string()), Reply::deltas(&["Yes [1]."])]).await;
        let responder = responder(&stub).with_retriever(Arc::new(Corpora(corpora)));
        ask(&responder, turn("What have others?")).await.done();
        let seen = stub.received();
        assert!(seen.iter().any(|seen| seen.text().contains("Ours")));
        assert!(seen.iter().all(|seen| !seen.text().contains("Theirs")));
    }
}

#[tokio::test]
async fn searching_ends_with_what_is_left_of_the_reservation() {
    let with_usage = |input: u64, output: u64| {
        let usage = event(
            &json!({ "choices": [], "usage": { "prompt_tokens": input, "completion_tokens": output } }),
        );
        let Reply::Stream(status, headers, mut parts) = search(&question("hours")) else {
            panic!("a stream")
        };
        parts.insert(0, Part::Bytes(usage.into_bytes()));
        Reply::Stream(status, headers, parts)
    };
    // The endpoint counts more tokens than were reserved, or all that the reply may have.
    for (input, output, requests) in [(90_000, 10, 1), (900, 800, 1), (900, 10, 2)] {
        let stub = Stub::replies(vec![with_usage(input, output), Reply::deltas(&["Yes [1]."])]).await;
        let (responder, _) = over(&stub, Documents::default());
        let said = ask(&responder, turn("?")).await;
        assert_eq!(stub.received().len(), requests, "{input} {output}");
        assert_eq!(said.outcome(), if requests == 1 { Outcome::Unknown } else { Outcome::Answered });
        assert!(said.done().2.input_tokens >= input);
    }
    // A small rest of the day's budget is enough for a turn, as it is without something to search in.
    let stub = Stub::replies(vec![Reply::deltas(&["Yes [1]."])]).await;
    let (responder, _) = over(&stub, Documents::default());
    let least = crate::responder(&stub).most(&turn("?"));
    assert!(responder.most(&turn("?")).tokens() > 2 * least.tokens());
    for budget in [
        TokenBudget { tokens: Some(least.tokens() + 500), cost: None },
        TokenBudget { tokens: None, cost: Some(least.cost * 1.1) },
    ] {
        let small = ChatTurn { budget, ..turn("?") };
        let most = responder.most(&small);
        assert!(budget.tokens.is_none_or(|left| most.tokens() <= left), "{most:?}");
        assert!(budget.cost.is_none_or(|left| most.cost <= left), "{most:?}");
    }
}

#[tokio::test]
async fn a_search_that_never_ends_ends_with_the_turn() {
    let stub = Stub::replies(vec![search(&question("hours"))]).await;
    let (responder, _) = over(&stub, Documents { never_answers: true, ..Documents::default() });
    let mut short = turn("?");
    short.deadline = Timestamp::from_millis(NOW.millis() + 1_500);
    let said = ask(&responder, short).await;
    assert_eq!((said.error(), stub.received().len()), (ChatError::Timeout, 1));
    let used = said.events.iter().rev().find_map(|event| match event {
        ChatEvent::Usage(usage) => Some(usage.input_tokens),
        _ => None,
    });
    assert!(used.is_some_and(|tokens| tokens > 100), "the request that was sent is charged");
}
