//! Fits confidence: logistic regression on what is known about values, with the error of calibration on kinds of documents
//! that the fit has not seen.

use extraction::engine::builtin::confidence::{COUNT, Features, NAMES};

use crate::calibration;

/// A field that was found: what is known about its values, whether it is right, and the kind of its document.
pub struct Sample {
    pub features: Vec<Features>,
    pub right: bool,
    pub kind: String,
}

/// The kind of the documents of a set: the same documents in several formats are one kind.
pub fn kind_of(set: &str) -> String {
    let mut parts = set
        .split('_')
        .filter(|part| !matches!(*part, "scan" | "txt" | "pdf" | "docx" | "png" | "img" | "scanpdf"));
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    second.map_or_else(|| first.to_owned(), |second| format!("{first}_{second}"))
}

/// Evidence that never speaks against a value.
const FOR: [&str; 3] = ["score", "similarity", "lead over other values"];
/// What rare evidence is assumed to weigh: few documents have it, and often all that do are left out. Weights are pulled to
/// this instead of to 0.
const ASSUMED: [(&str, f64); 3] =
    [("of another type", -3.0), ("a sentence", -3.0), ("contradicted by sums", -3.0)];
/// A value that only its form supports never counts more than one at its label.
const FORM_ALONE: [&str; 4] =
    ["by form alone", "text by form alone", "number by form alone", "date by form alone"];

/// The number of a feature.
fn at(name: &str) -> Option<usize> {
    NAMES.iter().position(|known| *known == name)
}

/// What the weights are before any document.
fn assumed() -> [f64; COUNT] {
    let mut assumed = [0.0; COUNT];
    for (name, weight) in ASSUMED {
        if let Some(at) = at(name) {
            assumed[at] = weight;
        }
    }
    assumed
}

/// What weights may say, each as a sum that is not to be above 0: weights with their signs.
fn bounds() -> Vec<Vec<(usize, f64)>> {
    let mut bounds: Vec<Vec<(usize, f64)>> =
        FOR.iter().filter_map(|name| Some(vec![(at(name)?, -1.0)])).collect();
    for (nth, form) in FORM_ALONE.iter().filter_map(|name| at(name)).enumerate() {
        let labelled = ["next to or across", "below"].iter().filter_map(|name| at(name));
        match nth {
            0 => bounds.extend(labelled.map(|label| vec![(form, 1.0), (label, -1.0)])),
            _ => bounds.push(vec![(form, 1.0)]),
        }
    }
    let text_alone: Vec<(usize, f64)> =
        ["by form alone", "text by form alone"].iter().filter_map(|name| Some((at(name)?, 1.0))).collect();
    for label in
        [&["next to or across"][..], &["below", "text below"], &["in a sentence", "text in a sentence"]]
    {
        let labelled = label.iter().filter_map(|name| Some((at(name)?, -1.0)));
        bounds.push(text_alone.iter().copied().chain(labelled).collect());
    }
    bounds
}

/// Moves weights that are slightly beyond a bound to it.
fn clamp(weights: &mut [f64; COUNT]) {
    for bound in bounds() {
        let beyond: f64 = bound.iter().map(|(at, sign)| weights[*at] * sign).sum();
        let (first, sign) = bound[0];
        weights[first] -= beyond.max(0.0) * sign;
    }
}

/// How strongly weights beyond a bound are pulled back to it. A weight that is only cut off at its bound after each step
/// leaves the others where they fit the one that it had.
const FENCE: f64 = 1.0;
/// How strongly weights are pulled to what is assumed.
const PULL: f64 = 0.000_5;
const STEPS: usize = 40;

/// The confidence of a field: the mean over its values.
fn confidence(sample: &Sample, weights: &[f64; COUNT]) -> f64 {
    let each = sample.features.iter().map(|features| {
        let sum: f64 = features.0.iter().zip(weights).map(|(feature, weight)| feature * weight).sum();
        (1.0 / (1.0 + (-sum).exp())).min(features.most())
    });
    each.sum::<f64>() / sample.features.len().max(1) as f64
}

/// Newton's method; each field counts once, however many values it has, by the mean of what is known about them.
fn fit(samples: &[&Sample]) -> [f64; COUNT] {
    let rows: Vec<([f64; COUNT], f64)> =
        samples.iter().map(|sample| (mean(sample), f64::from(u8::from(sample.right)))).collect();
    let share = 1.0 / rows.len().max(1) as f64;
    let assumed = assumed();
    let mut weights = assumed;
    let bounds = bounds();
    for _ in 0..STEPS {
        let mut gradient = [0.0; COUNT];
        let mut curvature = [[0.0; COUNT]; COUNT];
        for (row, target) in &rows {
            let sum: f64 = row.iter().zip(&weights).map(|(feature, weight)| feature * weight).sum();
            let chance = 1.0 / (1.0 + (-sum).exp());
            for (at, feature) in row.iter().enumerate().filter(|(_, feature)| **feature != 0.0) {
                gradient[at] += (chance - target) * feature * share;
                for (other, second) in row.iter().enumerate() {
                    curvature[at][other] += chance * (1.0 - chance) * feature * second * share;
                }
            }
        }
        for at in 0..COUNT {
            gradient[at] += PULL * (weights[at] - assumed[at]);
            curvature[at][at] += PULL;
        }
        for bound in &bounds {
            let beyond: f64 = bound.iter().map(|(at, sign)| weights[*at] * sign).sum();
            for (at, sign) in bound.iter().filter(|_| beyond > 0.0) {
                gradient[*at] += FENCE * beyond * sign;
                for (other, second) in bound {
                    curvature[*at][*other] += FENCE * sign * second;
                }
            }
        }
        for (weight, step) in weights.iter_mut().zip(solve(curvature, gradient)) {
            *weight -= step;
        }
    }
    clamp(&mut weights);
    weights
}

fn mean(sample: &Sample) -> [f64; COUNT] {
    let mut mean = [0.0; COUNT];
    for features in &sample.features {
        for (slot, feature) in mean.iter_mut().zip(&features.0) {
            *slot += feature / sample.features.len() as f64;
        }
    }
    mean
}

/// The solution of a system of linear equations whose matrix is symmetric and positive.
fn solve(mut matrix: [[f64; COUNT]; COUNT], mut right: [f64; COUNT]) -> [f64; COUNT] {
    for at in 0..COUNT {
        let pivot = matrix[at];
        for row in at + 1..COUNT {
            let factor = matrix[row][at] / pivot[at];
            for (value, above) in matrix[row].iter_mut().zip(pivot) {
                *value -= factor * above;
            }
            right[row] -= factor * right[at];
        }
    }
    for at in (0..COUNT).rev() {
        let known: f64 = (at + 1..COUNT).map(|column| matrix[at][column] * right[column]).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    right
}

/// Prints the weights for `weights.rs` and what they are worth on documents that were left out.
pub fn run(samples: &[Sample]) {
    let mut outcomes = Vec::new();
    let mut kinds: Vec<&str> = samples.iter().map(|sample| sample.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let known: Vec<&Sample> = samples.iter().filter(|sample| sample.kind != kind).collect();
        let weights = fit(&known);
        for sample in samples.iter().filter(|sample| sample.kind == kind) {
            outcomes.push((confidence(sample, &weights), sample.right));
        }
    }
    let weights = fit(&samples.iter().collect::<Vec<_>>());
    println!("pub(super) const WEIGHTS: [(&str, f64); COUNT] = [");
    for (weight, name) in weights.iter().zip(NAMES) {
        println!("    (\"{name}\", {weight:.3}),");
    }
    println!("];");
    if let Some(figures) = calibration::of(&outcomes) {
        println!(
            "{} fields, each kind left out in turn: right {:.3} mean {:.3} ECE {:.3} AUROC {:.3} at 0.8: precision {:.3} coverage {:.2}",
            figures.count,
            figures.accuracy,
            figures.mean,
            figures.error,
            figures.order.unwrap_or(0.0),
            figures.precision.unwrap_or(0.0),
            figures.coverage,
        );
    }
}
