//! Ports: the responder, which answers a visitor, and the retriever, which finds passages.

use std::pin::Pin;

use async_trait::async_trait;
use futures_core::Stream;
use openapi_core::agents::Agent;
use openapi_core::json::RawObject;
use openapi_core::storage::StorageError;
use openapi_core::values::{AgentId, ConversationId, KnowledgeId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{AgentSettings, ChatSettings};

/// The events of one reply.
pub type ChatEvents = Pin<Box<dyn Stream<Item = ChatEvent> + Send>>;

/// Answers visitors. The crate `responders` has `knowledge` and `llm`; a host may bring its own.
///
/// # Contract
/// - A responder returns any number of events, then exactly one terminal event ([`ChatEvent::Error`] or
///   [`ChatEvent::Done`]). The caller drops the events after it. A stream that ends without one, or panics, counts as
///   [`ChatError::Internal`].
/// - Dropping the stream soon stops its work.
/// - The caller stores the reply, enforces the limits and speaks HTTP.
/// - A responder that costs anything reports what it has used, with [`ChatEvent::Usage`], as soon as it has sent a request
///   and before each text that it shows. A reply that ends early, for whatever reason, is charged the latest report.
///   Without one it is charged the input of [`ChatResponder::most`] and an estimate of its text.
/// - The texts of visitors and passages are data. They change no rules, tools or limits.
pub trait ChatResponder: Send + Sync {
    /// Its name. Each reply stores it, and [`ChatSettings::responder`] selects a responder by it.
    fn name(&self) -> &str;

    /// The most that the reply to this turn may use, repeated requests included. The caller reserves it before
    /// [`ChatResponder::respond`]. A responder that costs nothing needs no budget.
    fn most(&self, turn: &ChatTurn) -> Usage {
        let _ = turn;
        Usage::default()
    }

    /// Answers a turn.
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
    /// The messages so far, oldest first, at most 20 and about 4,000 tokens. The last one is the visitor's new message.
    pub history: Vec<ChatLine>,
    /// The visitor.
    pub visitor: ChatVisitor,
    /// The passages about the question.
    pub found: Retrieved,
    /// Whether the agent has a lead form that this visitor has not filled.
    pub can_offer_form: bool,
    /// The names of that form's fields, such as `primaryEmail` or `customFields.order`.
    pub form_fields: Vec<String>,
    /// The rest of the agent's budget for models.
    pub budget: TokenBudget,
    /// The time at which the turn begins.
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
    /// The settings of its replies.
    pub settings: ChatSettings,
    /// The hosts that a reply may link to, besides those of the passages.
    pub link_hosts: Vec<String>,
    /// Whether it may link to no others.
    pub only_link_hosts: bool,
}

impl ChatAgent {
    /// An agent with its settings.
    pub(crate) fn of(agent: &Agent, settings: &AgentSettings) -> Self {
        let title = settings.appearance.title.clone();
        ChatAgent {
            id: agent.id.clone(),
            name: title.unwrap_or_else(|| agent.name.as_str().to_owned()),
            settings: settings.chat.clone(),
            link_hosts: settings.link_hosts.clone(),
            only_link_hosts: settings.only_link_hosts,
        }
    }
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The visitor of the widget.
    Visitor,
    /// The AI chat agent.
    Agent,
    /// A person who replies for the operator.
    Human,
}

/// A message of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatLine {
    /// The author.
    pub speaker: Speaker,
    /// The text.
    pub text: String,
}

/// What a responder may know about a visitor.
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
    /// The page that the visitor is on.
    pub page: Option<ChatPage>,
    /// The metadata that the page passed to the widget: an object of scalars. The responders of this project send it to
    /// no model.
    pub metadata: RawObject,
}

/// The part of an agent's budget for models that is neither used nor reserved when a turn begins, for the rest of the
/// UTC day.
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
    /// The host of the previous page.
    pub referrer: Option<String>,
    /// The `utm_` parameters of its address, without the prefix.
    pub utm: std::collections::BTreeMap<String, String>,
}

/// An event of a reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// The responder has started another step.
    Status(StatusKind),
    /// The next piece of the reply, in Markdown.
    Delta(String),
    /// A text that replaces the whole reply so far.
    Replace(String),
    /// Questions that the visitor may ask next, at most 6.
    Suggestions(Vec<String>),
    /// A value for a field of the lead form, as the visitor said it in the conversation. The form that the reply offers
    /// shows it if the contact schema accepts it; nothing is stored before the visitor sends the form.
    Collected {
        /// The field's name, as in [`LeadSettings::fields`](crate::LeadSettings::fields).
        field: String,
        /// The value.
        value: String,
    },
    /// The widget offers the lead form.
    Form,
    /// A person takes over.
    Handoff(Handoff),
    /// What the reply has used so far, failed attempts included. It replaces earlier reports.
    Usage(Usage),
    /// The reply failed: the last event.
    Error(ChatError),
    /// The reply is complete: the last event.
    Done {
        /// The outcome of the turn.
        outcome: Outcome,
        /// The sources that it cites, by number.
        sources: Vec<Source>,
        /// The usage of the model.
        usage: Usage,
    },
}

/// The step that a responder has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StatusKind {
    /// The search for passages.
    Searching,
    /// A model's reasoning.
    Thinking,
    /// The text of the reply.
    Writing,
}

/// The person who takes over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handoff {
    /// Their name.
    pub name: Option<String>,
    /// Their image.
    pub avatar: Option<String>,
    /// The seconds until they may reply.
    pub eta_seconds: Option<u32>,
}

/// Why a reply failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The responder's service is unreachable or fails.
    #[error("the responder is not available")]
    Unavailable,
    /// The deadline has passed.
    #[error("the responder took too long")]
    Timeout,
    /// The responder's service refuses to answer.
    #[error("the responder refused")]
    Refused,
    /// The budget is used up.
    #[error("the budget is used up")]
    Budget,
    /// The responder has a bug.
    #[error("the responder failed")]
    Internal,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The reply answers the question.
    Answered,
    /// The reply shows what may answer the question, and says that it is not sure.
    Unsure,
    /// The message asked nothing that documents answer: a greeting, thanks, a question about the responder.
    SmallTalk,
    /// The responder found no answer.
    Unknown,
    /// The visitor stopped the reply.
    Stopped,
    /// A person will answer.
    Queued,
    /// A budget is used up.
    Limited,
}

impl Outcome {
    /// The outcome as the widget's protocol has it, which does not distinguish how sure a responder was.
    #[must_use]
    pub const fn on_the_wire(self) -> Self {
        match self {
            Outcome::Unsure | Outcome::SmallTalk => Outcome::Answered,
            other => other,
        }
    }
}

/// A source that a reply cites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Its number in the reply, as in `[1]`.
    pub n: u32,
    /// The title of the document.
    pub title: String,
    /// Its address.
    pub url: Option<String>,
    /// The page, if the document has pages.
    pub page: Option<u32>,
}

/// The usage of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The tokens of the prompt.
    pub input_tokens: u64,
    /// The tokens of the completion.
    pub output_tokens: u64,
    /// The price of both, in the currency of the server's prices.
    pub cost: f64,
}

impl std::ops::Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost: self.cost + other.cost,
        }
    }
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
    /// The visitor's previous message. It counts half if the new one has few words.
    pub before: Option<String>,
    /// The language of the widget.
    pub locale: String,
}

/// The result of a retrieval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retrieved {
    /// The passages, best first.
    pub passages: Vec<FoundPassage>,
    /// How sure it is that the best passages answer the question, 0 to 1. Of a search by words it is the share of the
    /// question's content words that they contain, weighted by rarity, and more if a long question and its passage share
    /// several rare words. Of a search by meaning it is calibrated so that one half means the same.
    pub coverage: f32,
    /// Whether the agent has any documents.
    pub has_documents: bool,
    /// Whether the first passage is the answer of a question-and-answer pair whose question means the same as this one.
    pub is_taught: bool,
    /// The other question-and-answer pairs whose questions are most like this one, best first: their answers, with the
    /// phrasings of the question as headings. Each answers another question, unless a model finds otherwise.
    pub near_pairs: Vec<FoundPassage>,
}

impl Retrieved {
    /// The same with the answers of near pairs among the passages, after that of the pair that means the same: for a
    /// responder that judges itself what answers.
    #[must_use]
    pub fn with_near_pairs(mut self) -> Self {
        let near = std::mem::take(&mut self.near_pairs);
        let first = usize::from(self.is_taught).min(self.passages.len());
        self.passages.splice(first..first, near);
        self
    }
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
    /// The document's address.
    pub url: Option<String>,
    /// The headings above it, the outermost first.
    pub headings: Vec<String>,
    /// The page on which it begins.
    pub page: Option<u32>,
    /// Its text.
    pub text: String,
    /// Where its text is most like the question by meaning, in bytes; [`None`] where only words were compared.
    pub nearest: Option<std::ops::Range<usize>>,
    /// Its relevance, comparable only within one search.
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

/// Finds the passages of an agent's documents that are relevant to a question.
#[async_trait]
pub trait Retriever: Send + Sync {
    /// Up to `at_most` passages, best first. The same question over the same documents finds the same passages.
    ///
    /// # Errors
    /// When the passages cannot be read.
    async fn retrieve(
        &self,
        agent: &AgentId,
        question: &Question,
        at_most: usize,
    ) -> Result<Retrieved, RetrieveError>;

    /// All passages of an agent in the order of its documents, if their texts have at most so many bytes; [`None`] where
    /// they have more, and of a retriever that does not tell.
    ///
    /// # Errors
    /// When the passages cannot be read.
    async fn whole(
        &self,
        agent: &AgentId,
        most_bytes: usize,
    ) -> Result<Option<Vec<FoundPassage>>, RetrieveError> {
        let _ = (agent, most_bytes);
        Ok(None)
    }
}
