//! Answers for visitors of the widget: splits documents into passages, indexes the passages of each agent, and provides
//! two responders: `knowledge` quotes passages, `llm` asks a model.
//!
//! The ports are those of `openapi-core` ([`Retriever`], [`ChatResponder`]); the platform there limits,
//! stores and streams. This crate knows no server, database or file.
//!
//! | Part | What it does |
//! |---|---|
//! | [`cut`], [`title`] | a document's text to passages of 200 to 1,200 characters, never across a heading |
//! | [`IndexBuilder`], [`Index`] | BM25 over words and their stems, then a reranker for the best hits |
//! | [`KnowledgeIndex`] | the indexes of agents over a store, built on demand within a memory limit |
//! | [`KnowledgeResponder`] | answers by quotations, without a model, a network or costs |
//! | [`LlmResponder`] (feature `llm`) | answers by any endpoint that speaks the chat-completions protocol, on tokio |
//! | [`Grouper`] | questions in groups by what they ask, whatever their words and languages |
//! | [`suite`] (feature `suite`) | what every responder promises, for hosts with one of their own |
//!
//! [`Retriever`]: conversations::Retriever
//! [`ChatResponder`]: conversations::ChatResponder
//!
//! # From a document to an answer
//!
//! ```
//! use responders::{Format, IndexBuilder, KnowledgeResponder, cut, title};
//! use futures_util::StreamExt as _;
//! use conversations::*;
//! # use openapi_core::values::*;
//! # let now = Timestamp::from_millis(1_780_000_000_000);
//! # let id = PlatformId::new(now, [1; 8]);
//!
//! // An operator adds a document. The platform stores it with its passages.
//! let text = "# Services\n\n## Home visits\n\nHome visits are available in Leeds on weekdays.";
//! let document = cut(&[text], Format::Markdown);
//! let record = KnowledgeDocument {
//!     id: KnowledgeId::from(id),
//!     title: title(&document, "services.md"),
//!     url: Some("https://www.example.com/services".to_owned()),
//!     // …
//! #   file_name: "services.md".to_owned(),
//! #   language: None,
//! #   content_type: "text/markdown".to_owned(),
//! #   sha256: openapi_core::files::Sha256Digest([0; 32]),
//! #   characters: text.len() as u64,
//! #   pages: None,
//! #   passages: 1,
//! #   source: None,
//! #   questions: Vec::new(),
//! #   created_at: now,
//! #   updated_at: now,
//! };
//!
//! // `KnowledgeIndex` does this over a store.
//! let mut builder = IndexBuilder::new(vec![record]);
//! for passage in document.passages {
//!     builder.add(KnowledgeId::from(id), passage);
//! }
//! let asked = "Where do you offer home visits?";
//! let question = Question { text: asked.to_owned(), before: None, locale: "en".to_owned() };
//! let found = builder.finish().search(&question, 6);
//!
//! // A visitor asks.
//! let turn = ChatTurn {
//!     history: vec![ChatLine { speaker: Speaker::Visitor, text: asked.to_owned() }],
//!     found,
//!     // …
//! #   agent: ChatAgent { id: AgentId::from(id), name: "Agent".to_owned(), settings: ChatSettings::default(), link_hosts: Vec::new(), only_link_hosts: false },
//! #   conversation: ConversationId::from(id),
//! #   turn: String::new(),
//! #   visitor: ChatVisitor { locale: "en".to_owned(), ..ChatVisitor::default() },
//! #   can_offer_form: true,
//! #   form_fields: vec!["primaryEmail".to_owned()],
//! #   budget: Default::default(),
//! #   now,
//! #   deadline: Timestamp::from_millis(now.millis() + 90_000),
//! };
//! let events: Vec<ChatEvent> = pollster::block_on(KnowledgeResponder.respond(turn).collect());
//! let answer = "This is what I found:\n\n> Home visits are available in Leeds on weekdays. [1]";
//! assert_eq!(events[0], ChatEvent::Delta(answer.to_owned()));
//! ```

mod answer_type;
mod embedder;
mod follow_up;
mod groups;
mod index;
mod knowledge;
mod language;
#[cfg(feature = "llm")]
mod llm;
mod passages;
mod phrases;
mod spelling;
#[cfg(feature = "suite")]
pub mod suite;
mod terms;
mod texts;
mod words;

#[cfg(feature = "llm")]
pub use self::llm::LlmResponder;
#[cfg(feature = "embedding")]
pub use embedder::BuiltInEmbedder;
pub use embedder::{EmbedError, Embedder, TextRole};
pub use groups::Grouper;
pub use index::{Index, IndexBuilder, IndexSettings, KnowledgeIndex, PairSignals, Signals};
pub use knowledge::KnowledgeResponder;
pub use language::Language;
pub use passages::{CutDocument, Format, cut, title};
