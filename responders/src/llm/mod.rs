//! The responder `llm`: answers by any chat-completions endpoint, restricted to the passages.
//!
//! A turn becomes a prompt (`prompt`) with passages of the agent's documents (`documents`, `search`), the endpoint's answer
//! is read as it comes (crate `llm`), and what of it visitors see is decided here (`reply`, `filter`, `links`,
//! `prompt_leak`): what passages and visitors say is data, and so is what a model says, because they may have dictated it.

mod code;
mod documents;
mod events;
mod filter;
#[cfg(test)]
mod filter_tests;
mod links;
mod output;
mod prompt;
mod prompt_leak;
mod reply;
mod search;
mod tools;
#[cfg(test)]
mod widget_tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use conversations::{
    ChatError, ChatEvent, ChatEvents, ChatResponder, ChatTurn, Retriever, StatusKind, Usage,
};
use llm::{Client, ConfigError, EndpointConfig, Error, Request, RetryPolicy};
use openapi_core::ports::{Clock, IdGenerator};

use self::events::Emitter;
use self::prompt::Prompt;
use self::reply::Reply;

/// One retry, before the visitor has seen anything, and with a wait of at most 5 s.
const RETRIES: RetryPolicy = RetryPolicy { max_retries: 1, max_wait: Duration::from_secs(5) };

/// Answers by a model, from the retrieved passages. Share it: it pools connections and remembers what endpoints
/// accept and how often they failed.
///
/// Needs a tokio runtime where its streams are read. The caller enforces budgets: [`ChatResponder::most`] is the amount to
/// reserve, the latest [`ChatEvent::Usage`] or that of [`ChatEvent::Done`] the amount to charge.
#[derive(Clone)]
pub struct LlmResponder {
    clients: Arc<BTreeMap<String, Client>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    retriever: Option<Arc<dyn Retriever>>,
}

impl LlmResponder {
    /// A responder on endpoints by the names under which agents choose them
    /// ([`LlmSettings::endpoint`](conversations::LlmSettings)). It connects with the first turn.
    ///
    /// # Errors
    /// The name of an endpoint with an invalid configuration, and the reason.
    pub fn new(
        endpoints: impl IntoIterator<Item = (String, EndpointConfig)>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Result<Self, (String, ConfigError)> {
        let mut clients = BTreeMap::new();
        for (name, config) in endpoints {
            match Client::new(config) {
                Ok(client) => clients.insert(name, client),
                Err(error) => return Err((name, error)),
            };
        }
        Ok(LlmResponder { clients: Arc::new(clients), clock, ids, retriever: None })
    }

    /// The same with something to search in: the model gets all passages of an agent where they fit into its prompt, and
    /// may search for others where they do not.
    #[must_use]
    pub fn with_retriever(mut self, retriever: Arc<dyn Retriever>) -> Self {
        self.retriever = Some(retriever);
        self
    }
}

impl ChatResponder for LlmResponder {
    fn name(&self) -> &str {
        "llm"
    }

    fn most(&self, turn: &ChatTurn) -> Usage {
        let settings = &turn.agent.settings.llm;
        let Some(client) = self.clients.get(&settings.endpoint) else { return Usage::default() };
        let sent = self.most_sent(client, &with_near_pairs(turn));
        reply::usage(client.config().price, sent, u64::from(settings.max_output_tokens))
    }

    fn respond(&self, turn: ChatTurn) -> ChatEvents {
        let responder = self.clone();
        events::events(
            move |emitter| async move { responder.answer(&with_near_pairs(&turn), &emitter).await },
        )
    }
}

impl LlmResponder {
    async fn answer(&self, turn: &ChatTurn, emitter: &Emitter) -> ChatEvent {
        let name = &turn.agent.settings.llm.endpoint;
        let Some(client) = self.clients.get(name) else {
            tracing::warn!(agent = %turn.agent.id, endpoint = %name, "the agent's endpoint is not configured");
            return ChatEvent::Error(ChatError::Unavailable);
        };
        let left = turn.deadline.millis().saturating_sub(self.clock.now().millis());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        let answered = tokio::time::timeout(left, self.attempts(client, turn, emitter)).await;
        answered.unwrap_or(ChatEvent::Error(ChatError::Timeout))
    }

    /// Sends the request, once again where a retry can help and the visitor has seen nothing yet, and again after each search
    /// of the model's.
    async fn attempts(&self, client: &Client, asked: &ChatTurn, emitter: &Emitter) -> ChatEvent {
        let breaker = client.circuit_breaker();
        let price = client.config().price;
        let most = self.most_sent(client, asked);
        let rest = |spent: llm::Usage| most.saturating_sub(spent.input_tokens);
        let max_output = u64::from(asked.agent.settings.llm.max_output_tokens);
        let (mut turn, mut search) = self.begin(client, asked, most).await;
        // The tokens of earlier requests, also of failed ones, which the endpoint may charge as well.
        let mut spent = llm::Usage::default();
        let mut attempt = 0;
        loop {
            if breaker.is_open(self.clock.now().millis()) {
                return ChatEvent::Error(ChatError::Unavailable);
            }
            let prompt = self.next_prompt(client, asked, (&mut turn, &mut search), rest(spent));
            let sent = prompt.tokens;
            let mut reply = Reply::new(&turn, &prompt, price, spent);
            // The first event, and before the request is sent: whatever happens then, the endpoint may charge for it.
            reply.report(emitter);
            if attempt == 0 {
                // A model may think for long before its first token, so show that the request was sent.
                emitter.emit(ChatEvent::Status(StatusKind::Thinking));
            }
            let output_left =
                u32::try_from(max_output.saturating_sub(spent.output_tokens)).unwrap_or(u32::MAX);
            let streamed = stream(client, &turn, prompt, output_left.max(1), &mut reply, emitter).await;
            let is_affordable = |used: llm::Usage| sent <= rest(used) && used.output_tokens < max_output;
            let error = match streamed {
                Ok(()) if reply.is_refused() => return ChatEvent::Error(ChatError::Refused),
                Ok(()) if search.is_possible() && is_affordable(reply.tokens()) => {
                    let Some(searches) = reply.searches() else { return reply.finish(emitter) };
                    spent = reply.tokens();
                    if reply.has_begun() {
                        emitter.emit(ChatEvent::Replace(String::new()));
                    }
                    emitter.emit(ChatEvent::Status(StatusKind::Searching));
                    self.search_again(&mut turn, &mut search, searches).await;
                    continue;
                }
                Ok(()) => return reply.finish(emitter),
                Err(error) => error,
            };
            if error.may_be_charged() {
                spent = reply.tokens();
            } else {
                emitter.emit(ChatEvent::Usage(reply::usage(price, spent.input_tokens, spent.output_tokens)));
            }
            breaker.record_failure(self.clock.now().millis());
            tracing::warn!(agent = %turn.agent.id, endpoint = ?client.config(), reason = %error, "a model did not answer");
            let may_repeat = !reply.has_begun() && (!search.has_gone_on() || is_affordable(spent));
            match RETRIES.wait(attempt, &error) {
                Some(wait) if may_repeat => tokio::time::sleep(wait).await,
                _ if error == Error::Timeout => return ChatEvent::Error(ChatError::Timeout),
                _ => return ChatEvent::Error(ChatError::Unavailable),
            }
            attempt += 1;
        }
    }
}

/// A turn whose passages have the answers of near pairs too: the model decides whether one answers.
fn with_near_pairs(turn: &ChatTurn) -> Cow<'_, ChatTurn> {
    if turn.found.near_pairs.is_empty() {
        return Cow::Borrowed(turn);
    }
    Cow::Owned(ChatTurn { found: turn.found.clone().with_near_pairs(), ..turn.clone() })
}

/// One request and its response.
async fn stream(
    client: &Client,
    turn: &ChatTurn,
    prompt: Prompt,
    max_output_tokens: u32,
    reply: &mut Reply<'_>,
    emitter: &Emitter,
) -> Result<(), Error> {
    let settings = &turn.agent.settings.llm;
    let request = Request {
        model: settings.model.as_deref(),
        messages: prompt.messages,
        tools: &prompt.tools,
        format: None,
        temperature: Some(settings.temperature),
        max_output_tokens,
    };
    let mut chunks = client.stream(&request).await?;
    // A response may take minutes.
    drop(request);
    while !reply.is_enough() {
        match chunks.next().await? {
            Some(chunk) => reply.push(&chunk, emitter),
            None => break,
        }
    }
    // Some endpoints omit the mark of the end, but none the reason why the response ends.
    if reply.is_refused() || chunks.has_end_mark() || reply.has_ended || reply.is_enough() {
        return Ok(());
    }
    let reason = "the endpoint's answer cannot be used: it breaks off".to_owned();
    Err(Error::Transient { reason, retry_after: None, may_be_charged: true })
}
