//! What words and meaning say together: the order of passages.
//!
//! Scores are added, not ranks: a rank tells nothing of how far the first passage is ahead. The words count as much as they
//! cover of the question, so that they decide where they say something and meaning decides elsewhere.

use super::vectors::Similarity;
use super::{LOOKED_AT, best};

/// How much words count that cover the whole question, in deviations of similarity.
const WORDS_WEIGHT: f32 = 4.0;
/// The distance of a passage from the first, in deviations, for its score to be the e-th part of the first's.
const SCORE_SCALE: f32 = 2.0;

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
}
