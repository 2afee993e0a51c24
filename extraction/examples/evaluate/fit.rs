//! Fits confidence: logistic regression on what is known about values, with the error of calibration on documents that
//! the fit has not seen.

use extraction::engine::builtin::confidence::{COUNT, Features, NAMES};

use crate::calibration;

/// A field that was found: what is known about its values, whether it is right, and its document.
pub struct Sample {
    pub features: Vec<Features>,
    pub right: bool,
    pub document: usize,
}

/// How strongly weights are pulled to 0.
const PULL: f64 = 0.001;
const STEPS: usize = 3_000;
/// Documents are dealt into so many groups for the check.
const FOLDS: usize = 5;

/// The confidence of a field: the mean over its values.
fn confidence(sample: &Sample, weights: &[f64; COUNT]) -> f64 {
    let each = sample.features.iter().map(|features| {
        let sum: f64 = features.0.iter().zip(weights).map(|(feature, weight)| feature * weight).sum();
        1.0 / (1.0 + (-sum).exp())
    });
    each.sum::<f64>() / sample.features.len().max(1) as f64
}

/// Gradient descent with momentum; each field counts once, however many values it has.
fn fit(samples: &[&Sample]) -> [f64; COUNT] {
    let mut weights = [0.0; COUNT];
    let mut speed = [0.0; COUNT];
    for _ in 0..STEPS {
        let mut gradient = [0.0; COUNT];
        for sample in samples {
            let target = f64::from(u8::from(sample.right));
            let share = 1.0 / (sample.features.len().max(1) * samples.len()) as f64;
            for features in &sample.features {
                let sum: f64 =
                    features.0.iter().zip(&weights).map(|(feature, weight)| feature * weight).sum();
                let error = 1.0 / (1.0 + (-sum).exp()) - target;
                for (slope, feature) in gradient.iter_mut().zip(&features.0) {
                    *slope += error * feature * share;
                }
            }
        }
        for at in 0..COUNT {
            let pull = if at == 0 { 0.0 } else { PULL * weights[at] };
            speed[at] = 0.9 * speed[at] - 0.5 * (gradient[at] + pull);
            weights[at] += speed[at];
        }
    }
    weights
}

/// Prints the weights for `weights.rs` and what they are worth on documents that were left out.
pub fn run(samples: &[Sample]) {
    let mut outcomes = Vec::new();
    for fold in 0..FOLDS {
        let known: Vec<&Sample> = samples.iter().filter(|sample| sample.document % FOLDS != fold).collect();
        let weights = fit(&known);
        for sample in samples.iter().filter(|sample| sample.document % FOLDS == fold) {
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
            "{} fields, cross-validated: right {:.3} mean {:.3} ECE {:.3} AUROC {:.3} at 0.8: precision {:.3} coverage {:.2}",
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
