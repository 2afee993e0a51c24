//! What words and meaning say together: the order of passages, and how sure it is that the first of them answers.
//!
//! Scores are added, not ranks: a rank tells nothing of how far the first passage is ahead. The words count as much as they
//! cover of the question, so that they decide where they say something and meaning decides elsewhere.

use super::vectors::Similarity;
use super::{LOOKED_AT, best};

/// How much words count that cover the whole question, in deviations of similarity.
const WORDS_WEIGHT: f32 = 4.0;
/// The distance of a passage from the first, in deviations, for its score to be the e-th part of the first's.
const SCORE_SCALE: f32 = 2.0;

/// What the confidence is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    /// How much of the question the words of the best passages cover.
    pub coverage: f32,
    /// How much of it the words of the first passage cover.
    pub share: f32,
    /// How alike the first passage is to the question.
    pub cosine: f32,
    /// How far the first passage is ahead of the second, in deviations.
    pub margin: f32,
}

impl Signals {
    /// As numbers, in the order of their declaration.
    #[must_use]
    pub fn numbers(&self) -> [f32; 4] {
        [self.coverage, self.share, self.cosine, self.margin]
    }
}

/// The passages that are best by words or by meaning, by both together.
pub(super) fn fused(
    by_words: &[(f32, u32)],
    coverage: f32,
    similarity: &Similarity,
    mut words_of: impl FnMut(u32) -> f32,
) -> Vec<(f32, u32)> {
    let top = by_words.first().map_or(0.0, |(score, _)| *score);
    // `best` takes scores above 0 only; a passage below the average is not among the best.
    let standings: Vec<f32> =
        (0..similarity.cosines.len()).map(|passage| similarity.standing(passage)).collect();
    let mut scores: Vec<(f32, u32)> = by_words.to_vec();
    for (_, passage) in best(&standings, LOOKED_AT) {
        if !by_words.iter().any(|(_, known)| *known == passage) {
            scores.push((words_of(passage), passage));
        }
    }
    for (score, passage) in &mut scores {
        let words = if top > 0.0 { *score / top } else { 0.0 };
        *score = WORDS_WEIGHT * coverage * words + standings[*passage as usize];
    }
    scores.sort_unstable_by(super::by_rank);
    scores
}

/// A score above 0 of a sum of deviations: 1 for the first passage.
pub(super) fn relative(sum: f32, first: f32) -> f32 {
    ((sum - first) / SCORE_SCALE).exp()
}

/// What `scripts/fit-confidence` found: a constant, and the weights of [`Signals::numbers`]. Each of four corpora counted alike;
/// search.md of this crate has the figures for each corpus by what the others taught. The constant is lower by 0.48 than what was
/// found, so that more than 92 of 100 questions without an answer are refused and more than 95 of 100 answers are right.
const FITTED: (f32, [f32; 4]) = (-3.65, [2.282, 2.583, 2.837, 0.495]);

/// How much words cover, about, where a passage answers. In another language than the question's they cover nothing, and
/// tell nothing by that.
const FOREIGN_COVERAGE: f32 = 0.35;

impl Signals {
    /// The signals of a passage in another language than the question.
    pub(super) fn of_foreign(self) -> Self {
        let Signals { coverage, share, .. } = self;
        Signals { coverage: coverage.max(FOREIGN_COVERAGE), share: share.max(FOREIGN_COVERAGE), ..self }
    }
}

/// How sure it is that the first passage answers: at least one half where it is quoted outright by default.
pub(super) fn confidence(signals: &Signals) -> f32 {
    let (constant, weights) = FITTED;
    let sum: f32 = signals.numbers().iter().zip(weights).map(|(number, weight)| number * weight).sum();
    1.0 / (1.0 + (-(constant + sum)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(cosines: &[f32]) -> Similarity {
        Similarity { cosines: cosines.to_vec(), parts: vec![0; cosines.len()], mean: 0.0, deviation: 0.1 }
    }

    #[test]
    fn words_decide_where_they_cover_the_question_and_meaning_elsewhere() {
        let by_words = [(8.0, 0), (4.0, 1)];
        let alike = similarity(&[0.0, 0.1, 0.35, -0.3]);
        let order = |coverage| {
            let fused = fused(&by_words, coverage, &alike, |_| 0.0);
            fused.into_iter().map(|(_, passage)| passage).collect::<Vec<_>>()
        };
        assert_eq!(order(1.0), [0, 2, 1]);
        assert_eq!(order(0.2), [2, 1, 0]);
        assert_eq!(fused(&[], 0.0, &alike, |_| 0.0).len(), 2);
    }

    #[test]
    fn it_is_sure_by_words_or_by_meaning_and_not_by_neither() {
        let covered = Signals { coverage: 1.0, share: 1.0, cosine: 0.2, margin: 1.0 };
        let meant = Signals { coverage: 0.2, share: 0.1, cosine: 0.6, margin: 2.0 };
        let neither = Signals { coverage: 0.3, share: 0.2, cosine: 0.2, margin: 0.1 };
        assert!(confidence(&covered) > 0.5, "{}", confidence(&covered));
        assert!(confidence(&meant) > 0.375, "{}", confidence(&meant));
        assert!(confidence(&neither) < 0.375, "{}", confidence(&neither));
        assert!(confidence(&Signals { cosine: f32::NAN, ..covered }).is_nan());
    }
}
