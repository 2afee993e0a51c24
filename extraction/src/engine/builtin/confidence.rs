//! How sure a value is: the probability that it is right, as a logistic function of what is known about it.
//!
//! The rules of contract 12.2 (verbatim, normalised, close, none, times the text quality) are among the features; the
//! weights were fitted on labelled documents:
//! `cargo run -p extraction --release --example evaluate -- FOLDER --fit`.

use openapi_core::extraction::{Confidence, ExtractionType};

use super::candidate::{Candidate, Provenance};
pub use super::weights::COUNT;
use super::weights::WEIGHTS;

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
        let flag = |set: bool| if set { 1.0 } else { 0.0 };
        let is = |provenance: Provenance| flag(kind == Kind::Single && candidate.provenance == provenance);
        let complete = if let Kind::Row(share) = kind { share } else { 0.0 };
        Features([
            1.0,
            candidate.score.clamp(0.0, 1.3),
            candidate.similarity.clamp(0.0, 1.0),
            candidate.margin.clamp(-0.5, 0.6),
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
            (words as f64 / 12.0).min(1.0),
            f64::from(candidate.competitors.min(6)) / 6.0,
            flag(candidate.competitors == 0),
            flag(complete >= 1.0),
        ])
    }

    /// The probability that the value is right.
    pub(crate) fn confidence(&self) -> Confidence {
        let sum: f64 = self.0.iter().zip(WEIGHTS).map(|(feature, (_, weight))| feature * weight).sum();
        // Nothing is certain, and what is returned at all is more than a guess.
        Confidence::new((1.0 / (1.0 + (-sum).exp())).clamp(0.02, 0.99))
    }
}
