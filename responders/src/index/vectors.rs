//! The vectors of an index's passages, and how alike a question's is to each.
//!
//! All vectors of a model point about the same way, and those of one agent's passages even more so. What tells is how they
//! differ from their mean, so that is what is compared.

use std::collections::HashMap;
use std::sync::Arc;

/// The number that stands for 1 in a row: vectors of length 1 have a product below the square of it, which four bytes hold.
const ONE: f32 = 8_192.0;
/// Passages that a mean and a deviation are taken to be of at least: of a handful they say little.
const MIN_PASSAGES: f32 = 12.0;
/// The deviation of similarity in the passages that are not there, about that of a large corpus.
const USUAL_DEVIATION: f32 = 0.12;

/// A vector in whole numbers, as it is cached.
pub(crate) type Row = Arc<[i16]>;

/// A vector of length 1 in whole numbers; none of one that has no direction.
pub(crate) fn row(vector: &[f32]) -> Option<Row> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    let is_usable = length.is_finite() && length > 1e-6;
    is_usable.then(|| vector.iter().map(|number| (number / length * ONE).round() as i16).collect())
}

/// The cosine of two vectors; 0 where they cannot be compared.
pub(crate) fn product(one: &Row, other: &Row) -> f32 {
    if one.len() != other.len() {
        return 0.0;
    }
    let product: i32 =
        one.iter().zip(other.iter()).map(|(one, other)| i32::from(*one) * i32::from(*other)).sum();
    product as f32 / (ONE * ONE)
}

/// The vectors of passages, by their numbers: one or more of each, of its parts.
pub(crate) struct Vectors {
    dimension: usize,
    rows: Vec<i16>,
    /// The length of each row without the mean.
    lengths: Vec<f32>,
    /// Where the rows of each passage end.
    ends: Vec<u32>,
    mean: Vec<f32>,
}

/// How alike passages are to a question.
pub(crate) struct Similarity {
    /// The cosines, without the mean.
    pub(crate) cosines: Vec<f32>,
    /// The part of each passage that is most alike.
    pub(crate) parts: Vec<u16>,
    pub(crate) mean: f32,
    pub(crate) deviation: f32,
}

impl Similarity {
    /// By how many deviations a passage is more like the question than the passages are on average.
    pub(crate) fn standing(&self, passage: usize) -> f32 {
        (self.cosines[passage] - self.mean) / self.deviation
    }
}

impl Vectors {
    pub(crate) fn new(dimension: usize, passages: &[Vec<Row>]) -> Self {
        let all: Vec<&Row> = passages.iter().flatten().filter(|row| row.len() == dimension).collect();
        let mut mean = vec![0.0_f32; dimension];
        for row in &all {
            mean.iter_mut().zip(row.iter()).for_each(|(sum, number)| *sum += f32::from(*number));
        }
        mean.iter_mut().for_each(|sum| *sum /= ONE * all.len().max(1) as f32);
        let mut rows = Vec::with_capacity(dimension * all.len());
        let mut lengths = Vec::with_capacity(all.len());
        for row in &all {
            let rests = row.iter().zip(&mean).map(|(number, mean)| f32::from(*number) / ONE - mean);
            lengths.push(rests.map(|rest| rest * rest).sum::<f32>().sqrt());
            rows.extend_from_slice(row);
        }
        let mut end = 0;
        let ends = passages.iter().map(|passage| {
            end += passage.iter().filter(|row| row.len() == dimension).count() as u32;
            end
        });
        Vectors { dimension, rows, lengths, ends: ends.collect(), mean }
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.rows.as_slice())
            + size_of_val(self.lengths.as_slice())
            + size_of_val(self.ends.as_slice())
            + size_of_val(self.mean.as_slice())
    }

    /// How alike the passages are to a question; none where its vector cannot be compared.
    pub(crate) fn similarity(&self, question: &[f32]) -> Option<Similarity> {
        let question = row(question).filter(|question| question.len() == self.dimension)?;
        let rest: Vec<f32> =
            question.iter().zip(&self.mean).map(|(number, mean)| f32::from(*number) / ONE - mean).collect();
        let length = rest.iter().map(|rest| rest * rest).sum::<f32>().sqrt();
        let towards_mean: f32 = rest.iter().zip(&self.mean).map(|(rest, mean)| rest * mean).sum();
        // The difference of two vectors of length 1 is at most 2 long, and so is its product with one of them.
        let rest: Vec<i16> = rest.iter().map(|rest| (rest * ONE).round() as i16).collect();
        let cosine = |(row, own): (&[i16], &f32)| {
            let product: i32 =
                row.iter().zip(&rest).map(|(one, other)| i32::from(*one) * i32::from(*other)).sum();
            let product = product as f32 / (ONE * ONE) - towards_mean;
            if *own > 1e-4 && length > 1e-4 { product / (own * length) } else { 0.0 }
        };
        let mut of_rows = self.rows.chunks_exact(self.dimension).zip(&self.lengths).map(cosine);
        let mut begin = 0;
        let mut cosines = Vec::with_capacity(self.ends.len());
        let mut parts = Vec::with_capacity(self.ends.len());
        for end in &self.ends {
            let own = of_rows.by_ref().take((end - std::mem::replace(&mut begin, *end)) as usize);
            // Of a passage without vectors nothing is known.
            let best = (0_u16..).zip(own).max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 0.0));
            parts.push(best.0);
            cosines.push(best.1);
        }
        let count = cosines.len().max(1) as f32;
        let mean = cosines.iter().sum::<f32>() / count;
        let squares: f32 = cosines.iter().map(|cosine| (cosine - mean) * (cosine - mean)).sum();
        let assumed = (MIN_PASSAGES - count).max(0.0);
        let variance = (squares + assumed * USUAL_DEVIATION * USUAL_DEVIATION) / (count + assumed);
        Some(Similarity { cosines, parts, mean, deviation: variance.sqrt().max(1e-3) })
    }
}

/// Vectors by the texts that they are of, so that a passage that stays is not computed again when its agent's documents change.
pub(crate) type Known = HashMap<u128, Row>;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_all_passages_share_does_not_count() {
        let passages = [[1.0, 0.3, 0.0], [1.0, -0.3, 0.0], [1.0, 0.0, 0.3], [1.0, 0.0, -0.3]];
        let rows: Vec<Vec<Row>> = passages.iter().map(|vector| row(vector).into_iter().collect()).collect();
        let vectors = Vectors::new(3, &rows);
        let similarity = vectors.similarity(&[1.0, 0.2, 0.0]).expect("comparable");
        assert!(similarity.cosines[0] > 0.95 && similarity.cosines[1] < -0.95, "{:?}", similarity.cosines);
        assert!(
            similarity.standing(0) > similarity.standing(2)
                && similarity.standing(2) > similarity.standing(1)
        );
    }

    #[test]
    fn a_passage_is_as_alike_as_the_best_of_its_parts() {
        let parts = |all: &[[f32; 2]]| all.iter().filter_map(|vector| row(vector)).collect::<Vec<Row>>();
        let passages =
            [parts(&[[1.0, 0.1], [0.0, 1.0]]), parts(&[[0.7, 0.7]]), Vec::new(), parts(&[[0.1, -1.0]])];
        let similarity = Vectors::new(2, &passages).similarity(&[0.0, 1.0]).expect("comparable");
        assert_eq!(similarity.parts[..2], [1, 0]);
        assert!(similarity.cosines[0] > similarity.cosines[1] && similarity.cosines[2] == 0.0);
        assert!(similarity.cosines[1] > similarity.cosines[3], "{:?}", similarity.cosines);
    }

    #[test]
    fn vectors_that_are_none_are_like_nothing() {
        let rows = [row(&[1.0, 0.0]), None, row(&[f32::NAN, 1.0]), row(&[1.0, 0.0, 0.0])];
        let vectors = Vectors::new(2, &rows.map(|row| row.into_iter().collect()));
        let similarity = vectors.similarity(&[0.0, 1.0]).expect("comparable");
        assert_eq!(similarity.cosines[1..], [0.0; 3]);
        for question in [&[0.0, 0.0][..], &[1.0], &[f32::INFINITY, 0.0], &[]] {
            assert!(vectors.similarity(question).is_none(), "{question:?}");
        }
    }

    proptest! {
        #[test]
        fn cosines_are_those_of_the_vectors(
            passages in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 8), 3..20),
            question in prop::collection::vec(-1.0_f32..1.0, 8),
        ) {
            let long = |vector: &[f32]| vector.iter().map(|number| number * number).sum::<f32>().sqrt();
            let unit = |vector: &[f32]| -> Vec<f32> { vector.iter().map(|number| number / long(vector)).collect() };
            prop_assume!(long(&question) > 0.1 && passages.iter().all(|vector| long(vector) > 0.1));
            let units: Vec<Vec<f32>> = passages.iter().map(|vector| unit(vector)).collect();
            let mean: Vec<f32> =
                (0..8).map(|at| units.iter().map(|unit| unit[at]).sum::<f32>() / units.len() as f32).collect();
            let rest = |vector: &[f32]| -> Vec<f32> { vector.iter().zip(&mean).map(|(one, mean)| one - mean).collect() };
            let rows: Vec<Vec<Row>> = passages.iter().map(|vector| row(vector).into_iter().collect()).collect();
            let similarity = Vectors::new(8, &rows).similarity(&question).expect("comparable");
            let asked = rest(&unit(&question));
            for (unit, near) in units.iter().zip(similarity.cosines) {
                let own = rest(unit);
                prop_assume!(long(&own) > 0.05 && long(&asked) > 0.05);
                let product: f32 = own.iter().zip(&asked).map(|(one, other)| one * other).sum();
                let exact = product / (long(&own) * long(&asked));
                prop_assert!((near - exact).abs() < 0.02, "{near} {exact}");
            }
        }
    }
}
