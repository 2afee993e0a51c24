//! How sure a value is: the rules of contract 12.2, refined by what was measured on labelled documents.

use openapi_core::extraction::Confidence;

use super::candidates::{Candidate, How};

/// The confidence of a chosen candidate whose words were read with a certainty of `quality`.
pub(crate) fn of(candidate: &Candidate, quality: f64) -> Confidence {
    let fit = candidate.score.clamp(0.0, 1.1);
    let base = if candidate.normalised { Confidence::NORMALISED } else { Confidence::VERBATIM };
    let how = match candidate.how {
        How::Beside | How::Across => 1.0,
        How::Below | How::Table => 0.95,
        How::Prose | How::Free => 0.9,
    };
    Confidence::new(base.share() * how * fit.min(1.0) * quality)
}
