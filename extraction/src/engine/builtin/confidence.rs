//! How sure a value is: the probability that it is right, as a logistic function of what is known about it.
//!
//! The rules of contract 12.2 (verbatim, normalised, close, none, times the text quality) are among the features; the
//! weights were fitted on labelled and generated documents, whole kinds of them left out for the check:
//! `cargo run -p extraction --release --example evaluate -- FOLDER --also VARIED --fit`.

use openapi_core::extraction::{Confidence, ExtractionType};

use super::candidate::{Candidate, Provenance};
use super::evidence::Said;
use super::scoring::choice;
pub use super::weights::COUNT;
use super::weights::{UNSEEN, WEIGHTS};

/// The ranges of score, similarity and margin.
const SCORES: (f64, f64) = (0.0, 1.3);
const SIMILARITIES: (f64, f64) = (0.0, 1.0);
const MARGINS: (f64, f64) = (-0.5, choice::NO_COMPETITOR);
/// A value of this many words or more counts as one of many.
const MANY_WORDS: f64 = 12.0;

/// The feature of the only value that is left.
const LEFT_OVER: &str = "left over";

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
    pub(crate) fn of(candidate: &Candidate, kind: Kind, of: ExtractionType, said: Said) -> Self {
        let Said { quality, words, .. } = said;
        let within = |value: f64, (least, most): (f64, f64)| value.clamp(least, most);
        let flag = |set: bool| if set { 1.0 } else { 0.0 };
        let is = |provenance: Provenance| flag(kind == Kind::Single && candidate.provenance == provenance);
        let both = |is_type: bool, provenance: Provenance| if is_type { is(provenance) } else { 0.0 };
        let is_party = kind == Kind::Element && candidate.provenance == Provenance::Sentence;
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
            flag(kind == Kind::Element && !is_party),
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
            flag(of == ExtractionType::String),
            both(of == ExtractionType::String, Provenance::Unlabelled),
            both(of.is_numeric(), Provenance::Unlabelled),
            both(matches!(of, ExtractionType::Date | ExtractionType::Datetime), Provenance::Unlabelled),
            both(of == ExtractionType::String, Provenance::Below),
            both(of == ExtractionType::String, Provenance::Sentence),
            flag(of == ExtractionType::String && matches!(kind, Kind::Row(_))),
            (1.0 - said.worst).clamp(0.0, 1.0),
            flag(said.is_cut),
            is(Provenance::Leftover),
            flag(is_party),
            flag(said.is_other),
            flag(said.is_sentence),
            flag(candidate.contradicted),
        ])
    }

    fn named(&self, name: &str) -> f64 {
        NAMES.iter().position(|known| *known == name).map_or(0.0, |at| self.0[at])
    }

    /// The most confidence: the caller is to look at the only value that is left, however sure the rest is.
    pub fn most(&self) -> f64 {
        if self.named(LEFT_OVER) > 0.0 { choice::LEFTOVER } else { choice::CONFIDENCE.1 }
    }

    /// The probability that the value is right.
    pub(crate) fn confidence(&self) -> Confidence {
        let sum: f64 = self.0.iter().zip(WEIGHTS).map(|(feature, (_, weight))| feature * weight).sum();
        let unseen: f64 = UNSEEN.iter().map(|(name, offset)| offset * self.named(name)).sum();
        let sum = sum + unseen;
        Confidence::new((1.0 / (1.0 + (-sum).exp())).clamp(choice::CONFIDENCE.0, self.most()))
    }
}

#[cfg(test)]
mod tests {
    use openapi_core::json::Json;

    use super::*;
    use crate::engine::builtin::candidate::Fit;
    use crate::engine::builtin::view::Span;

    /// Of two values that are alike in all else, the one at a label is the surer one, whatever its type.
    #[test]
    fn a_value_by_its_form_alone_counts_no_more_than_one_at_its_label() {
        let types = [
            ExtractionType::String,
            ExtractionType::Number,
            ExtractionType::Integer,
            ExtractionType::Currency,
            ExtractionType::Date,
            ExtractionType::Email,
            ExtractionType::Boolean,
        ];
        let sure = |provenance: Provenance, of: ExtractionType, score: f64| {
            let similarity = if provenance == Provenance::Unlabelled { 0.0 } else { 0.4 };
            let span = Span { start: 0, end: 1 };
            let said = Said { quality: 1.0, worst: 1.0, words: 1, ..Said::default() };
            let candidate = Candidate::new(span, Json::Null, Fit::new(provenance, similarity, score));
            Features::of(&candidate, Kind::Single, of, said).confidence().share()
        };
        for of in types {
            for score in [0.4, 0.6, 0.9] {
                for labelled in [Provenance::SameSegment, Provenance::SameLine, Provenance::Below] {
                    assert!(
                        sure(Provenance::Unlabelled, of, score) <= sure(labelled, of, score),
                        "{of:?} {score} {labelled:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn evidence_against_a_value_lowers_its_confidence() {
        let plain = Said { quality: 1.0, worst: 1.0, words: 2, ..Said::default() };
        let against = [
            Said { is_cut: true, ..plain },
            Said { is_other: true, ..plain },
            Said { is_sentence: true, ..plain },
            Said { worst: 0.5, quality: 0.75, ..plain },
        ];
        for provenance in [
            Provenance::SameSegment,
            Provenance::SameLine,
            Provenance::Below,
            Provenance::Sentence,
            Provenance::Unlabelled,
        ] {
            for score in [0.4, 0.6, 0.9] {
                let candidate =
                    Candidate::new(Span { start: 0, end: 2 }, Json::Null, Fit::new(provenance, 0.8, score));
                let sure = |candidate: &Candidate, said: Said| {
                    Features::of(candidate, Kind::Single, ExtractionType::String, said).confidence().share()
                };
                let known = sure(&candidate, plain);
                for said in against {
                    assert!(sure(&candidate, said) < known - 0.01, "{provenance:?} {score} {said:?}");
                }
                let contradicted = Candidate { contradicted: true, ..candidate.clone() };
                assert!(sure(&contradicted, plain) < known - 0.01, "{provenance:?} {score}");
            }
        }
    }
}
