//! The transformer, over the pieces of several texts at a time.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis, Slice};

use super::function::{activate, softmax};
use super::pieces::{BEGIN, END};
use super::weights::{Linear, Norm, Weights};

/// Multiplies by matrices, which are widened one after the other into the same memory.
struct Multiplier<'a> {
    weights: &'a Weights,
    widened: Vec<f32>,
}

impl Multiplier<'_> {
    fn apply(&mut self, linear: &Linear, inputs: &Array2<f32>, out: &mut Array2<f32>) {
        let matrix = &linear.matrix;
        self.weights.widened(matrix, &mut self.widened);
        let view = ArrayView2::from_shape((matrix.rows, matrix.columns), &self.widened);
        let view = view.expect("`widened` has as many numbers as the matrix");
        for mut row in out.rows_mut() {
            row.iter_mut().zip(&linear.bias).for_each(|(out, bias)| *out = *bias);
        }
        general_mat_mul(1.0, inputs, &view.t(), 1.0, out);
    }
}

/// The mean of the last layer over the pieces of each text.
pub(crate) fn means(weights: &Weights, texts: &[&[u32]]) -> Vec<Vec<f32>> {
    let shape = &weights.shape;
    let mut ranges = Vec::with_capacity(texts.len());
    let mut pieces: Vec<(u32, usize)> = Vec::new();
    for text in texts {
        let start = pieces.len();
        let whole = std::iter::once(BEGIN).chain(text.iter().copied()).chain([END]);
        pieces.extend(whole.zip(0..));
        ranges.push(start..pieces.len());
    }
    let count = pieces.len();
    let mut x = Array2::<f32>::zeros((count, shape.hidden));
    for (mut row, (piece, position)) in x.rows_mut().into_iter().zip(&pieces) {
        let row = row.as_slice_mut().expect("rows are contiguous");
        weights.word(*piece, row);
        let by_position = &weights.positions[position * shape.hidden..][..shape.hidden];
        row.iter_mut().zip(by_position).for_each(|(value, position)| *value += position);
    }
    normalise(&mut x, &weights.norm, shape.epsilon);
    let mut multiplier = Multiplier { weights, widened: Vec::new() };
    let new = |columns: usize| Array2::<f32>::zeros((count, columns));
    let (mut query, mut key, mut value) = (new(shape.hidden), new(shape.hidden), new(shape.hidden));
    let (mut attended, mut out, mut inner) = (new(shape.hidden), new(shape.hidden), new(shape.inner));
    for layer in &weights.layers {
        multiplier.apply(&layer.query, &x, &mut query);
        multiplier.apply(&layer.key, &x, &mut key);
        multiplier.apply(&layer.value, &x, &mut value);
        for range in &ranges {
            attend(shape.heads, range, [&query, &key, &value], &mut attended);
        }
        multiplier.apply(&layer.out, &attended, &mut out);
        x += &out;
        normalise(&mut x, &layer.attention_norm, shape.epsilon);
        multiplier.apply(&layer.widen, &x, &mut inner);
        if let Some(inner) = inner.as_slice_mut() {
            activate(inner);
        }
        multiplier.apply(&layer.narrow, &inner, &mut out);
        x += &out;
        normalise(&mut x, &layer.norm, shape.epsilon);
    }
    let mean = |range: &Range<usize>| x.slice_axis(Axis(0), Slice::from(range.clone())).mean_axis(Axis(0));
    ranges.iter().map(|range| mean(range).map_or_else(Vec::new, |mean| mean.to_vec())).collect()
}

/// Attention of the pieces of one text, which are in `range`, to each other.
fn attend(heads: usize, range: &Range<usize>, [query, key, value]: [&Array2<f32>; 3], out: &mut Array2<f32>) {
    let size = query.ncols() / heads;
    let scale = 1.0 / (size as f32).sqrt();
    let mut weights = Array2::<f32>::zeros((range.len(), range.len()));
    let rows = Slice::from(range.clone());
    for head in 0..heads {
        let columns = Slice::from(head * size..(head + 1) * size);
        general_mat_mul(1.0, &part(query, rows, columns), &part(key, rows, columns).t(), 0.0, &mut weights);
        for mut row in weights.rows_mut() {
            softmax(row.as_slice_mut().expect("rows are contiguous"), scale);
        }
        let mut attended = out.slice_axis_mut(Axis(0), rows);
        attended.slice_axis_inplace(Axis(1), columns);
        general_mat_mul(1.0, &weights, &part(value, rows, columns), 0.0, &mut attended);
    }
}

fn part(all: &Array2<f32>, rows: Slice, columns: Slice) -> ArrayView2<'_, f32> {
    let mut part = all.slice_axis(Axis(0), rows);
    part.slice_axis_inplace(Axis(1), columns);
    part
}

/// Each row with mean 0 and variance 1, then weighted.
fn normalise(x: &mut Array2<f32>, norm: &Norm, epsilon: f32) {
    for mut row in x.rows_mut() {
        let row = row.as_slice_mut().expect("rows are contiguous");
        let size = row.len() as f32;
        let mean = row.iter().sum::<f32>() / size;
        let variance = row.iter().map(|value| (value - mean) * (value - mean)).sum::<f32>() / size;
        let factor = 1.0 / (variance + epsilon).sqrt();
        for ((value, weight), bias) in row.iter_mut().zip(&norm.weight).zip(&norm.bias) {
            *value = (*value - mean) * factor * weight + bias;
        }
    }
}
