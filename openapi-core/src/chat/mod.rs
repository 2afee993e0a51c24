//! The chat behind the widget: conversations, the operator's knowledge, and what answers visitors.

mod conversation;
mod knowledge;
mod responder;
mod settings;

pub use conversation::{
    Claims, Consent, Conversation, ConversationMode, ConversationStatus, Counted, FollowUp, InvalidVisitorId,
    Lead, Message, MessageState, RunningTurn, UploadRef, VerifiedUser, VisitorId,
};
pub use knowledge::{KnowledgeDocument, Passage};
pub use responder::{
    ChatAgent, ChatError, ChatEvent, ChatEvents, ChatLine, ChatPage, ChatResponder, ChatTurn, ChatVisitor,
    FoundPassage, Handoff, Outcome, Question, RetrieveError, Retrieved, Retriever, Source, Speaker,
    StatusKind, TokenBudget, Usage,
};
pub use settings::{
    AgentSettings, Appearance, ChatSettings, ConsentSettings, Fallback, Grounding, HandoffSettings,
    LeadSettings, LlmSettings, OriginRule, Teaser, UploadSettings,
};
