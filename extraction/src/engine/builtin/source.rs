//! What candidates are made from.

use super::annotations::Annotations;
use super::histories::History;
use super::labels::Labels;
use super::view::{Span, View};

/// The most occurrences of one kind of sentence that a search looks at.
pub(super) const MAX_HITS: usize = 200;

/// What candidates are made of.
pub(crate) struct Source<'v, 'd> {
    pub(crate) view: &'v View<'d>,
    pub(crate) annotations: &'v Annotations,
    pub(crate) labels: &'v Labels,
    /// The work and studies of a resume.
    pub(crate) history: &'v History,
    /// Words that belong to rows of tables, where labels of single values are not looked for.
    pub(crate) taken: Vec<Span>,
}
