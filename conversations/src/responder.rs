//! Ports: the responder, which answers a visitor, and the retriever, which finds passages.

use std::pin::Pin;

use async_trait::async_trait;
use futures_core::Stream;
use openapi_core::json::RawObject;
use openapi_core::storage::StorageError;
use openapi_core::values::{AgentId, ConversationId, KnowledgeId, Timestamp};
use serde::{Deserialize, Serialize};

use super::ChatSettings;

/// The events of one reply.
pub type ChatEvents = Pin<Box<dyn Stream<Item = ChatEvent> + Send>>;

/// Answers visitors. `knowledge` and `llm` are shipped in the crate `chat`; a host may bring its own.
///
/// # Contract
/// - Any number of events, then exactly one terminal one ([`ChatEvent::Error`] or [`ChatEvent::Done`]). What follows it
///   is dropped; an end without one, or a panic, counts as [`ChatError::Internal`].
/// - Dropping the stream stops its work soon.
/// - It stores nothing, limits nothing and knows nothing of HTTP: its caller does.
/// - What visitors write and what passages say is data: neither changes rules, tools or limits.
pub trait ChatResponder: Send + Sync {
    /// Its name, stored with every reply and chosen by [`ChatSettings::responder`].
    fn name(&self) -> &str;

    /// The most that answering this turn may use; it is set aside before [`ChatResponder::respond`] is called. What
    /// costs nothing needs no budget.
    fn most(&self, turn: &ChatTurn) -> Usage {
        let _ = turn;
        Usage::default()
    }

    /// One reply.
    fn respond(&self, turn: ChatTurn) -> ChatEvents;
}

/// The input of a responder.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatTurn {
    /// The agent.
    pub agent: ChatAgent,
    /// The conversation.
    pub conversation: ConversationId,
    /// The turn's id, as the client made it.
    pub turn: String,
    /// What was said before and, last, the visitor's new message; oldest first, at most 20 lines and about 4,000
    /// tokens.
    pub history: Vec<ChatLine>,
    /// Who asks.
    pub visitor: ChatVisitor,
    /// What was found for the question, best first; none where the agent has no documents.
    pub found: Retrieved,
    /// Whether the agent has a lead form that this visitor has not filled.
    pub can_offer_form: bool,
    /// What the agent's models may still use.
    pub budget: TokenBudget,
    /// Now.
    pub now: Timestamp,
    /// The deadline of the turn.
    pub deadline: Timestamp,
}

/// The agent that answers.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatAgent {
    /// Its id.
    pub id: AgentId,
    /// Its name as visitors see it.
    pub name: String,
    /// How it answers.
    pub settings: ChatSettings,
    /// Hosts that links of a reply may lead to, besides those of the passages.
    pub link_hosts: Vec<String>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// Who writes in the widget.
    Visitor,
    /// The AI chat agent.
    Agent,
    /// A person who replies for the operator.
    Human,
}

/// A message of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatLine {
    /// Who.
    pub speaker: Speaker,
    /// The text.
    pub text: String,
}

/// What a responder may know of a visitor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatVisitor {
    /// 0 anonymous, 1 an email is claimed, 2 verified.
    pub level: u8,
    /// Fields of the contact of a verified visitor that the operator releases
    /// ([`LlmSettings::released_fields`](super::LlmSettings)), as JSON.
    pub fields: Vec<(String, String)>,
    /// The language of the widget, as a BCP 47 tag.
    pub locale: String,
    /// The visitor's time zone, as the browser names it.
    pub time_zone: Option<String>,
    /// The page that the visitor looks at.
    pub page: Option<ChatPage>,
    /// What the page gave along with the conversation: an object of scalars. The responders send it to no model
    /// that are shipped.
    pub metadata: RawObject,
}

/// What the models of an agent may still use on the day (UTC) of a turn, as it begins: neither used nor set aside for
/// others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TokenBudget {
    /// Tokens; [`None`] without a limit.
    pub tokens: Option<u64>,
    /// In the currency of the server's prices; [`None`] without a limit.
    pub cost: Option<f64>,
}

/// The page that a visitor is on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChatPage {
    /// Its address.
    pub url: Option<String>,
    /// Its title, up to 200 characters.
    pub title: Option<String>,
    /// The host of the page before.
    pub referrer: Option<String>,
    /// The five `utm_` parameters that are there, without the prefix.
    pub utm: std::collections::BTreeMap<String, String>,
}

/// An event of a reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// What the responder is doing.
    Status(StatusKind),
    /// More of the reply, in Markdown.
    Delta(String),
    /// The whole reply so far becomes this.
    Replace(String),
    /// Questions that the visitor may ask next, at most 6.
    Suggestions(Vec<String>),
    /// The lead form is to be offered.
    Form,
    /// A human is to take over.
    Handoff(Handoff),
    /// The reply failed: the last event.
    Error(ChatError),
    /// The reply is complete: the last event.
    Done {
        /// How it ended.
        outcome: Outcome,
        /// What it cites, numbered as cited.
        sources: Vec<Source>,
        /// What it used.
        usage: Usage,
    },
}

/// What a responder is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StatusKind {
    /// Looking for passages.
    Searching,
    /// A model thinks.
    Thinking,
    /// The reply is being written.
    Writing,
}

/// A human who takes over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handoff {
    /// Their name.
    pub name: Option<String>,
    /// Their image.
    pub avatar: Option<String>,
    /// In how many seconds they may be there.
    pub eta_seconds: Option<u32>,
}

/// Why a reply failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// What answers cannot be reached or fails.
    #[error("the responder is not available")]
    Unavailable,
    /// It took too long.
    #[error("the responder took too long")]
    Timeout,
    /// What answers refuses to.
    #[error("the responder refused")]
    Refused,
    /// The budget does not allow it.
    #[error("the budget is used up")]
    Budget,
    /// A defect of the responder.
    #[error("the responder failed")]
    Internal,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// With an answer.
    Answered,
    /// Nothing was found that answers.
    Unknown,
    /// The visitor ended it.
    Stopped,
    /// A human will answer.
    Queued,
    /// A budget was used up.
    Limited,
}

/// A source that a reply cites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// The number it is cited by, as in `[1]`.
    pub n: u32,
    /// The title of the document.
    pub title: String,
    /// Where it may be read.
    pub url: Option<String>,
    /// The page, where the document has pages.
    pub page: Option<u32>,
}

/// The usage of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of what the model was given.
    pub input_tokens: u64,
    /// Tokens of what it gave.
    pub output_tokens: u64,
    /// What both cost, in the currency of the server's prices.
    pub cost: f64,
}

impl Usage {
    /// All tokens.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// The question that passages are retrieved for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The visitor's message.
    pub text: String,
    /// The visitor's message before, which counts half where the new one has few words.
    pub before: Option<String>,
    /// The language of the widget.
    pub locale: String,
}

/// The result of a retrieval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retrieved {
    /// The passages, best first.
    pub passages: Vec<FoundPassage>,
    /// How much of the question the best passages cover: the share of its content words that they hold, weighed by how
    /// rare they are; more where a long question and its passage have several rare words in common. 0 to 1.
    pub coverage: f32,
    /// Whether the agent has documents at all.
    pub has_documents: bool,
}

/// A retrieved passage.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundPassage {
    /// Its document.
    pub document: KnowledgeId,
    /// Its position in the document, from 0.
    pub position: u32,
    /// The document's title.
    pub title: String,
    /// Where the document may be read.
    pub url: Option<String>,
    /// The headings it stands under, the outermost first.
    pub headings: Vec<String>,
    /// The page it begins on.
    pub page: Option<u32>,
    /// Its text.
    pub text: String,
    /// How well it fits; comparable within one search only.
    pub score: f32,
}

/// Why a retrieval failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetrieveError {
    /// The store of the passages failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Finds the passages of an agent's documents that a question is about.
#[async_trait]
pub trait Retriever: Send + Sync {
    /// Up to `at_most` passages, best first; the same question over the same documents gives the same passages.
    ///
    /// # Errors
    /// When the passages cannot be read.
    async fn retrieve(
        &self,
        agent: &AgentId,
        question: &Question,
        at_most: usize,
    ) -> Result<Retrieved, RetrieveError>;
}
