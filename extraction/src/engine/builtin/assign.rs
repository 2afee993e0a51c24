//! One assignment for all fields: no words are the value of two, and the sum of how well they fit is the greatest.

use std::collections::HashMap;

use super::candidate::Candidate;
use super::scoring::choice::MIN_SCORE;
use super::view::Span;

/// For each list of candidates the one that is chosen, by the Hungarian method on what each field may choose: one of
/// the spans, or nothing.
pub(crate) fn assign(candidates: &[Vec<Candidate>]) -> Vec<Option<usize>> {
    let mut columns: HashMap<(Span, bool), usize> = HashMap::new();
    for candidate in candidates.iter().flatten().filter(|candidate| candidate.score >= MIN_SCORE) {
        let next = columns.len();
        columns.entry(candidate.claim()).or_insert(next);
    }
    let (rows, spans) = (candidates.len(), columns.len());
    // Column `spans + row` is nothing, for that row.
    let width = spans + rows;
    let gain = |row: usize, column: usize| -> (f64, Option<usize>) {
        if column >= spans {
            return if column == spans + row { (MIN_SCORE, None) } else { (0.0, None) };
        }
        candidates[row]
            .iter()
            .enumerate()
            .filter(|(_, candidate)| candidate.score >= MIN_SCORE && columns[&candidate.claim()] == column)
            .map(|(index, candidate)| (candidate.score, Some(index)))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((0.0, None))
    };
    let table: Vec<Vec<(f64, Option<usize>)>> =
        (0..rows).map(|row| (0..width).map(|column| gain(row, column)).collect()).collect();
    let chosen = hungarian(rows, width, |row, column| -table[row][column].0);
    chosen.into_iter().enumerate().map(|(row, column)| table[row][column].1).collect()
}

/// The columns of the rows for which the sum of costs is the least; there are at least as many columns as rows.
fn hungarian(rows: usize, columns: usize, cost: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let mut row_potential = vec![0.0; rows + 1];
    let mut column_potential = vec![0.0; columns + 1];
    // The row of each column, counted from 1; 0 is none.
    let mut matched = vec![0_usize; columns + 1];
    let mut way = vec![0_usize; columns + 1];
    for row in 1..=rows {
        matched[0] = row;
        let mut current = 0;
        let mut least = vec![f64::INFINITY; columns + 1];
        let mut used = vec![false; columns + 1];
        loop {
            used[current] = true;
            let of = matched[current];
            let (mut delta, mut next) = (f64::INFINITY, 0);
            for column in 1..=columns {
                if used[column] {
                    continue;
                }
                let reduced = cost(of - 1, column - 1) - row_potential[of] - column_potential[column];
                if reduced < least[column] {
                    least[column] = reduced;
                    way[column] = current;
                }
                if least[column] < delta {
                    delta = least[column];
                    next = column;
                }
            }
            for column in 0..=columns {
                if used[column] {
                    row_potential[matched[column]] += delta;
                    column_potential[column] -= delta;
                } else {
                    least[column] -= delta;
                }
            }
            current = next;
            if matched[current] == 0 {
                break;
            }
        }
        while current != 0 {
            let before = way[current];
            matched[current] = matched[before];
            current = before;
        }
    }
    let mut chosen = vec![0; rows];
    for column in 1..=columns {
        if matched[column] > 0 {
            chosen[matched[column] - 1] = column - 1;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use openapi_core::json::Json;

    use super::*;
    use crate::engine::builtin::candidate::{Fit, Provenance};

    fn candidate(at: usize, score: f64) -> Candidate {
        Candidate::new(
            Span { start: at, end: at + 1 },
            Json::Null,
            Fit::new(Provenance::SameSegment, score, score),
        )
    }

    #[test]
    fn the_whole_decides_and_not_the_first() {
        let fields = [
            vec![candidate(1, 0.9), candidate(2, 0.8)],
            vec![candidate(1, 0.85)],
            vec![candidate(3, MIN_SCORE - 0.01)],
            vec![],
        ];
        assert_eq!(assign(&fields), [Some(1), Some(0), None, None]);
    }

    #[test]
    fn the_sum_is_the_greatest_of_all() {
        // Small tables against all permutations.
        let mut state = 7_u64;
        for _ in 0..200 {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as f64 / f64::from(u32::MAX >> 1)
            };
            let table: Vec<Vec<f64>> = (0..3).map(|_| (0..4).map(|_| next()).collect()).collect();
            let chosen = hungarian(3, 4, |row, column| table[row][column]);
            let sum: f64 = chosen.iter().enumerate().map(|(row, column)| table[row][*column]).sum();
            let mut least = f64::INFINITY;
            for a in 0..4 {
                for b in 0..4 {
                    for c in 0..4 {
                        if a != b && b != c && a != c {
                            least = least.min(table[0][a] + table[1][b] + table[2][c]);
                        }
                    }
                }
            }
            assert!((sum - least).abs() < 1e-9);
        }
    }
}
