//! A value that could be the one a field asks for, with the words that say it and how well they fit.

use openapi_core::json::Json;

use super::scoring::choice;
use super::view::Span;

/// How a candidate was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Provenance {
    /// After its label in the same segment.
    SameSegment,
    /// In a segment further on the line.
    SameLine,
    /// Under its label.
    Below,
    /// In a sentence that states it.
    Sentence,
    /// By its form and position alone.
    Unlabelled,
    /// At a label that no field asks for: the only value of its type that is left, for the only field of it.
    Leftover,
    /// In a table.
    Table,
}

/// How a candidate was found and how well it fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fit {
    pub(crate) provenance: Provenance,
    /// The similarity of its label.
    pub(crate) similarity: f64,
    pub(crate) score: f64,
}

impl Fit {
    pub(crate) fn new(provenance: Provenance, similarity: f64, score: f64) -> Self {
        Fit { provenance, similarity, score }
    }

    /// The fit of a value that only its form supports.
    pub(crate) fn unlabelled(score: f64) -> Self {
        Fit::new(Provenance::Unlabelled, 0.0, score)
    }

    /// The fit with a share of the score.
    pub(crate) fn times(self, share: f64) -> Self {
        Fit { score: self.score * share, ..self }
    }
}

/// A value that could be the one.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The words that say it; more than one piece for text of several lines.
    pub(crate) pieces: Vec<Span>,
    pub(crate) value: Json,
    /// Part of the words' text, where the value is less than whole words.
    pub(crate) quote: Option<String>,
    pub(crate) provenance: Provenance,
    pub(crate) similarity: f64,
    pub(crate) score: f64,
    pub(crate) ambiguous: bool,
    /// Whether the value is not verbatim what the words say.
    pub(crate) normalised: bool,
    /// How many candidates of other values came close.
    pub(crate) competitors: u8,
    /// How much better it fits than the best candidate of another value.
    pub(crate) margin: f64,
    /// Whether sums confirm it.
    pub(crate) confirmed: bool,
    /// Whether sums contradict it.
    pub(crate) contradicted: bool,
    /// Whether its words may be part of another field's value: the currency next to an amount.
    pub(crate) shares: bool,
    /// Whether options, pattern or bounds of the field exclude it.
    pub(crate) excluded: bool,
}

impl Candidate {
    pub(crate) fn new(span: Span, value: Json, fit: Fit) -> Self {
        Candidate {
            pieces: vec![span],
            value,
            quote: None,
            provenance: fit.provenance,
            similarity: fit.similarity,
            score: fit.score,
            ambiguous: false,
            normalised: false,
            competitors: 0,
            margin: choice::NO_COMPETITOR,
            confirmed: false,
            contradicted: false,
            shares: false,
            excluded: false,
        }
    }

    /// A value that is the text of its quotation.
    pub(crate) fn quoting(span: Span, text: &str, fit: Fit) -> Self {
        Candidate { quote: Some(text.to_owned()), ..Candidate::new(span, text.into(), fit) }
    }

    /// A value that is not verbatim what the words say.
    pub(crate) fn normalised(span: Span, value: Json, fit: Fit) -> Self {
        Candidate { normalised: true, ..Candidate::new(span, value, fit) }
    }

    /// The words at which the value begins.
    pub(crate) fn key(&self) -> Span {
        self.pieces[0]
    }

    /// What two fields cannot both have.
    pub(crate) fn claim(&self) -> (Span, bool) {
        (self.pieces[0], self.shares)
    }
}
