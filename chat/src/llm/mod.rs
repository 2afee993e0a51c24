//! The responder `llm`: any endpoint that speaks the chat-completions protocol, held to the passages.
//!
//! A turn becomes a prompt (`prompt`), the endpoint's answer is read as it comes (`client`, `sse`, `protocol`), and
//! what of it visitors see is decided here (`reply`, `filter`, `links`, `leak`): what passages and visitors say is data,
//! and what a model says is held to be written by whoever wrote them.

mod client;
mod config;
mod events;
mod filter;
#[cfg(test)]
mod filter_tests;
mod leak;
mod links;
mod pause;
mod prompt;
mod protocol;
mod reply;
mod sse;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use conversations::{ChatError, ChatEvent, ChatEvents, ChatResponder, ChatTurn, StatusKind, Usage};
use openapi_core::ports::{Clock, IdGenerator};
use reqwest::header::CONTENT_TYPE;

use self::client::{AnswerBody, Endpoint, Failure};
pub use self::config::{EndpointError, EndpointKey, LlmEndpoint, Prices};
use self::events::Emitter;
use self::prompt::Prompt;
use self::protocol::{Asked, heard};
use self::reply::Reply;
use self::sse::EventReader;

/// The pause before a request is repeated for which the endpoint asks for none.
const PAUSE: Duration = Duration::from_millis(500);
/// What ends a stream.
const END: &str = "[DONE]";

/// Answers by a model, from the passages that were found. It is meant to be shared: it keeps connections, what endpoints
/// were found to take, and how often they failed.
///
/// Needs a tokio runtime where its streams are read. Budgets are whoever calls it to keep: [`ChatResponder::most`] is
/// what to set aside, the usage of [`ChatEvent::Done`] what it was.
#[derive(Clone)]
pub struct LlmResponder {
    endpoints: Arc<BTreeMap<String, Endpoint>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl LlmResponder {
    /// A responder on endpoints by the names under which agents choose them
    /// ([`LlmSettings::endpoint`](conversations::LlmSettings)). Nothing is asked yet.
    ///
    /// # Errors
    /// The name of an endpoint that cannot be used, and why.
    pub fn new(
        endpoints: impl IntoIterator<Item = (String, LlmEndpoint)>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Result<Self, (String, EndpointError)> {
        let mut known = BTreeMap::new();
        for (name, config) in endpoints {
            match Endpoint::new(config) {
                Ok(endpoint) => known.insert(name, endpoint),
                Err(error) => return Err((name, error)),
            };
        }
        Ok(LlmResponder { endpoints: Arc::new(known), clock, ids })
    }

    /// Whether there is an endpoint of this name.
    #[must_use]
    pub fn has_endpoint(&self, name: &str) -> bool {
        self.endpoints.contains_key(name)
    }
}

impl ChatResponder for LlmResponder {
    fn name(&self) -> &str {
        "llm"
    }

    fn most(&self, turn: &ChatTurn) -> Usage {
        let settings = &turn.agent.settings.llm;
        let Some(endpoint) = self.endpoints.get(&settings.endpoint) else { return Usage::default() };
        let prompt = Prompt::of(turn, endpoint.has_tools(), None);
        reply::usage(endpoint.config.prices, prompt.tokens, u64::from(settings.max_output_tokens))
    }

    fn respond(&self, turn: ChatTurn) -> ChatEvents {
        let responder = self.clone();
        events::events(move |emitter| async move { responder.answer(&turn, &emitter).await })
    }
}

impl LlmResponder {
    async fn answer(&self, turn: &ChatTurn, emitter: &Emitter) -> ChatEvent {
        let name = &turn.agent.settings.llm.endpoint;
        let Some(endpoint) = self.endpoints.get(name) else {
            tracing::warn!(agent = %turn.agent.id, endpoint = %name, "the agent's endpoint is not configured");
            return ChatEvent::Error(ChatError::Unavailable);
        };
        let left = turn.deadline.millis().saturating_sub(self.clock.now().millis());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        let answered = tokio::time::timeout(left, self.attempts(endpoint, turn, emitter)).await;
        answered.unwrap_or(ChatEvent::Error(ChatError::Timeout))
    }

    /// Asks, and asks once again where that can help and visitors have seen nothing yet.
    async fn attempts(&self, endpoint: &Endpoint, turn: &ChatTurn, emitter: &Emitter) -> ChatEvent {
        let mut is_repeated = false;
        loop {
            if endpoint.pauses.is_paused(self.clock.now()) {
                return ChatEvent::Error(ChatError::Unavailable);
            }
            let mark = prompt::mark(self.ids.as_ref());
            let prompt = Prompt::of(turn, endpoint.has_tools(), Some(mark));
            let mut reply = Reply::new(turn, &prompt);
            if !is_repeated {
                // A model may think for long before it says anything: whoever waits is to know that it was asked.
                emitter.emit(ChatEvent::Status(StatusKind::Thinking));
            }
            let failure = match attempt(endpoint, turn, prompt, &mut reply, emitter).await {
                Ok(()) => return reply.finish(endpoint.config.prices, emitter),
                Err(failure) => failure,
            };
            if let Failure::Refused = failure {
                return ChatEvent::Error(ChatError::Refused);
            }
            endpoint.pauses.failed(self.clock.now());
            let (reason, error, wait) = match failure {
                Failure::Passing(reason, asked) => {
                    (reason, ChatError::Unavailable, Some(asked.unwrap_or(PAUSE)))
                }
                Failure::Lasting(reason) => (reason, ChatError::Unavailable, None),
                _ => ("the endpoint was silent too long".to_owned(), ChatError::Timeout, None),
            };
            tracing::warn!(agent = %turn.agent.id, endpoint = ?endpoint.config, reason, "a model did not answer");
            let wait = wait.filter(|wait| *wait <= endpoint.config.longest_wait);
            match wait {
                Some(wait) if !is_repeated && !reply.has_begun() => tokio::time::sleep(wait).await,
                _ => return ChatEvent::Error(error),
            }
            is_repeated = true;
        }
    }
}

/// One request and its answer.
async fn attempt(
    endpoint: &Endpoint,
    turn: &ChatTurn,
    prompt: Prompt,
    reply: &mut Reply<'_>,
    emitter: &Emitter,
) -> Result<(), Failure> {
    let settings = &turn.agent.settings.llm;
    let asked = Asked {
        model: settings.model.as_deref().unwrap_or(&endpoint.config.model),
        messages: &prompt.messages,
        tools: &prompt.tools,
        temperature: settings.temperature,
        max_output_tokens: settings.max_output_tokens,
    };
    let response = endpoint.ask(&asked).await?;
    // An answer may take minutes.
    drop(prompt);
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_whole = kind.trim_start().starts_with("application/json");
    let mut body: AnswerBody = Box::pin(response.bytes_stream());
    let broken =
        |reason: &str| Failure::Passing(format!("the endpoint's answer cannot be used: {reason}"), None);
    let config = &endpoint.config;
    let mut reader = EventReader::new(config.line_bytes, config.body_bytes);
    let mut whole = Vec::new();
    let mut events = Vec::new();
    let mut is_done = false;
    while !is_done && !reply.is_enough() {
        let chunk = endpoint.chunk(&mut body).await?;
        let is_end = chunk.is_none();
        let fed = match chunk {
            Some(bytes) if is_whole => {
                whole.extend_from_slice(&bytes);
                if whole.len() > config.body_bytes { Err(sse::StreamFault::Body) } else { Ok(()) }
            }
            Some(bytes) => reader.feed(&bytes, &mut events),
            None if is_whole => {
                events.push(String::from_utf8_lossy(&whole).into_owned());
                Ok(())
            }
            None => reader.finish(&mut events),
        };
        for event in events.drain(..) {
            if event.trim() == END {
                is_done = true;
                break;
            }
            reply.hear(heard(&event).map_err(broken)?, emitter);
        }
        fed.map_err(|fault| match fault {
            sse::StreamFault::Line => broken("a line is too long"),
            sse::StreamFault::Body => broken("it is too long"),
        })?;
        if is_end {
            break;
        }
    }
    if reply.is_refused() {
        return Err(Failure::Refused);
    }
    // Some endpoints leave out the mark of the end, but none why the answer ends.
    if is_done || reply.has_ended || reply.is_enough() { Ok(()) } else { Err(broken("it breaks off")) }
}
