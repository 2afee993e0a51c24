//! The responder `llm` against an endpoint of these tests: good, odd, slow, broken and hostile.

mod answers;
mod charges;
mod failures;
mod hostile;
mod prompts;
mod search_budgets;
mod searches;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use conversations::{
    ChatError, ChatEvent, ChatResponder as _, ChatSettings, ChatTurn, FoundPassage, Outcome, Retrieved,
    Source, Usage,
};
use futures_util::StreamExt as _;
use llm::{ApiKey, EndpointConfig, Price};
use openapi_core::ports::{FixedClock, SequentialIds};
use openapi_core::values::{KnowledgeId, PlatformId};
use responders::LlmResponder;

use llm::stub::Stub;
use support::NOW;

const KEY: &str = "sk-Secret0123456789";
const INSTRUCTIONS: &str = "Be warm. Recommend the blue bicycles first, and never say that the red ones are sold out until next spring.";

fn passage(position: u32, text: &str) -> FoundPassage {
    FoundPassage {
        document: KnowledgeId::from(PlatformId::new(NOW, [1; 8])),
        position,
        title: "Services".to_owned(),
        url: Some("https://www.example.com/services".to_owned()),
        headings: vec!["Services".to_owned(), "Home visits".to_owned()],
        page: Some(2),
        text: text.to_owned(),
        nearest: None,
        score: 1.0,
    }
}

fn turn(question: &str) -> ChatTurn {
    let passages =
        vec![passage(0, "Home visits are available in Leeds."), passage(1, "A visit costs 40 pounds.")];
    let mut turn = support::turn(
        question,
        "en",
        Retrieved { passages, coverage: 1.0, has_documents: true, ..Retrieved::default() },
    );
    turn.agent.name = "Wheels".to_owned();
    turn.agent.settings = ChatSettings {
        responder: "llm".to_owned(),
        instructions: Some(INSTRUCTIONS.to_owned()),
        ..ChatSettings::default()
    };
    turn
}

fn endpoint(stub: &Stub) -> EndpointConfig {
    let mut endpoint = EndpointConfig::parse(&stub.url(), "some-model").expect("a URL");
    endpoint.api_key = Some(ApiKey::new(KEY).expect("a key"));
    endpoint.price = Price { input: 1.0, output: 10.0 };
    endpoint.idle_timeout = Duration::from_millis(700);
    endpoint
}

fn responder_of(endpoint: EndpointConfig) -> (LlmResponder, Arc<FixedClock>) {
    let clock = Arc::new(FixedClock::at(NOW));
    let endpoints = [("default".to_owned(), endpoint)];
    let responder = LlmResponder::new(endpoints, clock.clone(), Arc::new(SequentialIds::default()));
    (responder.expect("a responder"), clock)
}

fn responder(stub: &Stub) -> LlmResponder {
    responder_of(endpoint(stub)).0
}

/// A reply as the visitor has it at the end.
#[derive(Clone, Debug, Default, PartialEq)]
struct Said {
    text: String,
    events: Vec<ChatEvent>,
}

impl Said {
    fn done(&self) -> (Outcome, Vec<Source>, Usage) {
        match self.events.last() {
            Some(ChatEvent::Done { outcome, sources, usage }) => (*outcome, sources.clone(), *usage),
            other => panic!("not done: {other:?}"),
        }
    }

    fn outcome(&self) -> Outcome {
        self.done().0
    }

    fn error(&self) -> ChatError {
        match self.events.last() {
            Some(ChatEvent::Error(error)) => *error,
            other => panic!("no error: {other:?}"),
        }
    }

    fn cited(&self) -> Vec<u32> {
        self.done().1.iter().map(|source| source.n).collect()
    }
}

async fn ask(responder: &LlmResponder, turn: ChatTurn) -> Said {
    let mut stream = responder.respond(turn);
    let mut said = Said::default();
    while let Some(event) = stream.next().await {
        match &event {
            ChatEvent::Delta(text) => said.text.push_str(text),
            ChatEvent::Replace(text) => said.text.clone_from(text),
            _ => {}
        }
        said.events.push(event);
    }
    said
}
