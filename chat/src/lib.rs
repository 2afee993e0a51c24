//! What answers visitors of the widget.

mod index;
mod knowledge;
mod language;
#[cfg(feature = "llm")]
mod llm;
mod passages;
mod terms;
mod texts;

pub use index::{Index, IndexBuilder, IndexSettings, KnowledgeIndex};
pub use knowledge::KnowledgeResponder;
pub use language::Language;
#[cfg(feature = "llm")]
pub use llm::{EndpointError, EndpointKey, LlmEndpoint, LlmResponder, Prices};
pub use passages::{CutDocument, Format, cut, title};
