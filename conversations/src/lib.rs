//! The chat of the widget: conversations, the documents that an agent answers from, the ports of responders,
//! and the protocol of the widget as a `tower` service.
//!
//! [`Conversations`] stands next to an [`openapi_core::platform::Platform`] and over the same store. It is the
//! operator's side of the chat, and makes the widget's side ([`WidgetApi`]).

pub mod admin;
mod agents;
mod conversation;
mod conversations;
mod endings;
mod events;
mod grouper;
mod knowledge;
pub mod links;
pub mod mail;
mod operator;
mod ports;
mod responder;
mod service;
mod settings;
pub mod storage;
pub mod websites;
pub mod widget;

pub use conversation::{
    Claims, Consent, Conversation, ConversationMode, ConversationStatus, Counted, FollowUp, InvalidVisitorId,
    Lead, Message, MessageState, ParticipantChange, Participation, RunningTurn, UploadRef, VerifiedUser,
    VisitorId,
};
pub use conversations::Conversations;
pub use grouper::{AskedText, GroupedQuestions, QuestionGrouper};
pub use knowledge::{KnowledgeDocument, Passage};
pub use ports::ChatPorts;
pub use responder::{
    ChatAgent, ChatError, ChatEvent, ChatEvents, ChatLine, ChatPage, ChatResponder, ChatTurn, ChatVisitor,
    FoundPassage, Handoff, Outcome, Question, RetrieveError, Retrieved, Retriever, Source, Speaker,
    StatusKind, TokenBudget, Usage,
};
pub use service::WidgetApi;
pub use settings::{
    AgentSettings, Appearance, ChatSettings, ConsentSettings, Fallback, Grounding, HandoffSettings,
    LeadSettings, LlmSettings, OriginRule, Teaser, UploadSettings,
};
pub use websites::{Website, WebsitePage, WebsiteState};
