//! How sure a value is: the probability that it is right, as a logistic function of what is known about it.
//!
//! The rules of contract 12.2 (verbatim, normalised, close, none, times the text quality) are among the features; the
//! weights were fitted on labelled documents:
//! `cargo run -p extraction --release --example evaluate -- FOLDER --fit`.

use openapi_core::extraction::{Confidence, ExtractionType};

use super::candidate::{Candidate, Provenance};
use super::scoring::choice;
pub use super::weights::COUNT;
use super::weights::WEIGHTS;

/// The ranges of score, similarity and margin.
const SCORES: (f64, f64) = (0.0, 1.3);
const SIMILARITIES: (f64, f64) = (0.0, 1.0);
const MARGINS: (f64, f64) = (-0.5, choice::NO_COMPETITOR);
/// A value of this many words or more counts as one of many.
const MANY_WORDS: f64 = 12.0;

/// What the features are, in the order of the weights.
pub const NAMES: [&str; COUNT] = {
    let mut names = [""; COUNT];
    let mut at = 0;
    while at < COUNT {
        names[at] = WEIGHTS[at].0;
        at += 1;
    }
    names
};

/// What is known about a value, each number about 1 at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features(pub [f64; COUNT]);

/// Where a value was found, beyond what its candidate knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Single,
    /// A row of a table; the share of rows with all columns.
    Row(f64),
    Element,
    Address,
}

impl Features {
    pub(crate) fn of(
        candidate: &Candidate,
        kind: Kind,
        of: ExtractionType,
        quality: f64,
        words: usize,
    ) -> Self {
        let within = |value: f64, (least, most): (f64, f64)| value.clamp(least, most);
        let flag = |set: bool| if set { 1.0 } else { 0.0 };
        let is = |provenance: Provenance| flag(kind == Kind::Single && candidate.provenance == provenance);
        let complete = if let Kind::Row(share) = kind { share } else { 0.0 };
        Features([
            1.0,
            within(candidate.score, SCORES),
            within(candidate.similarity, SIMILARITIES),
            within(candidate.margin, MARGINS),
            flag(candidate.confirmed),
            flag(candidate.normalised),
            (1.0 - quality).clamp(0.0, 1.0),
            is(Provenance::SameSegment) + is(Provenance::SameLine),
            is(Provenance::Below),
            is(Provenance::Sentence),
            is(Provenance::Unlabelled),
            flag(matches!(kind, Kind::Row(_))),
            flag(kind == Kind::Element),
            flag(kind == Kind::Address),
            flag(matches!(of, ExtractionType::Date | ExtractionType::Datetime)),
            flag(of.is_numeric()),
            flag(of == ExtractionType::Email),
            flag(of == ExtractionType::Boolean),
            complete,
            (words as f64 / MANY_WORDS).min(1.0),
            f64::from(candidate.competitors) / f64::from(choice::MAX_COMPETITORS),
            flag(candidate.competitors == 0),
            flag(complete >= 1.0),
        ])
    }

    /// The probability that the value is right.
    pub(crate) fn confidence(&self) -> Confidence {
        let sum: f64 = self.0.iter().zip(WEIGHTS).map(|(feature, (_, weight))| feature * weight).sum();
        let (least, most) = choice::CONFIDENCE;
        Confidence::new((1.0 / (1.0 + (-sum).exp())).clamp(least, most))
    }
}
