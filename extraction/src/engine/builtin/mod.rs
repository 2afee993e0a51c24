//! The built-in engine: rules, no network, always the same answer for the same document and schema.
//!
//! The document becomes a row of words (`view`); what is there without a question is found once (`annotations`, `labels`);
//! arrays are read from tables and lists; every other field gets candidates (`candidates`), of which one assignment
//! for all is chosen (`assign`). Values are quotations: nothing is returned that the document does not say.
//!
//! The rules read their weights from `scoring`, and their words from `vocabulary` and `lexicon.txt`. `weights` are those of
//! confidence, which are fitted.

mod address;
pub(super) mod annotations;
mod assign;
mod candidate;
mod candidates;
pub mod confidence;
mod correspondence;
pub(super) mod dates;
mod durations;
mod entities;
mod evidence;
mod field_query;
pub(super) mod fields;
mod histories;
mod identifiers;
mod labels;
mod letters;
mod lexicon;
mod line_items;
mod lists;
pub(super) mod numbers;
mod parties;
mod periods;
mod products;
mod prose;
mod resumes;
mod rows;
mod scoring;
mod sections;
mod sentences;
mod signatures;
mod source;
mod tables;
mod terms;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_kinds;
#[cfg(test)]
mod tests_of_layouts;
#[cfg(test)]
mod tests_of_receipts;
pub(super) mod text;
mod ticks;
mod totals;
mod unlabelled;
pub(super) mod values;
pub(super) mod view;
mod vocabulary;
mod weights;

use openapi_core::extraction::{ExtractionSchema, ExtractionWarning, Finding};

use crate::document::{Document, Warning};

/// The name under which the engine answers.
pub const NAME: &str = "builtin";

/// What the engine found.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// One finding for each field of the schema, in its order.
    pub findings: Vec<Finding>,
    /// What concerns the document as a whole.
    pub warnings: Vec<ExtractionWarning>,
    /// The language of the text (ISO 639-1), if detected.
    pub language: Option<&'static str>,
    /// What is known about the values of each field, by its number in the schema: what confidence is fitted on.
    pub features: Vec<(usize, confidence::Features)>,
}

/// Finds the values of a schema's fields. The time grows with the length of the document and the number of fields; very
/// long documents are read to 250,000 words.
#[must_use]
pub fn extract(document: &Document, schema: &ExtractionSchema) -> Answer {
    let view = view::View::new(document);
    let mut warnings = Vec::new();
    if view.is_empty() {
        warnings.push(ExtractionWarning::NoText);
    }
    if document.warnings.iter().any(|warning| matches!(warning, Warning::OcrUnavailable { .. })) {
        warnings.push(ExtractionWarning::OcrUnavailable);
    }
    if view.is_empty() {
        return Answer {
            findings: vec![Finding::Absent; schema.fields().len()],
            warnings,
            language: None,
            features: Vec::new(),
        };
    }
    let found = fields::find(&view, schema);
    if found.is_truncated {
        warnings.push(ExtractionWarning::RowsTruncated);
    }
    Answer { findings: found.findings, warnings, language: found.language, features: found.features }
}
