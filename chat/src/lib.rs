//! What answers visitors of the widget.

mod index;
mod knowledge;
mod language;
mod passages;
mod terms;
mod texts;

pub use index::{Index, IndexBuilder, IndexSettings, KnowledgeIndex};
pub use knowledge::KnowledgeResponder;
pub use language::Language;
pub use passages::{CutDocument, Format, cut, title};
