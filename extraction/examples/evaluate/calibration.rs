//! What confidence is worth: the error of calibration, the order of right before wrong, and what a threshold buys.

/// Figures of confidence.
pub struct Calibration {
    /// Values that were found.
    pub count: usize,
    /// The share of them that is right.
    pub accuracy: f64,
    /// The mean confidence.
    pub mean: f64,
    /// The expected calibration error over ten bins of equal width.
    pub error: f64,
    /// How probable it is that a right value is surer than a wrong one; equals count half.
    pub order: Option<f64>,
    /// The share of values with a confidence of at least 0.8, and how many of those are right.
    pub coverage: f64,
    pub precision: Option<f64>,
}

/// The figures of confidences and whether the values were right.
pub fn of(outcomes: &[(f64, bool)]) -> Option<Calibration> {
    if outcomes.is_empty() {
        return None;
    }
    let total = outcomes.len() as f64;
    let mean =
        |of: &[(f64, bool)]| of.iter().map(|(confidence, _)| confidence).sum::<f64>() / of.len() as f64;
    let accuracy =
        |of: &[(f64, bool)]| of.iter().filter(|(_, right)| *right).count() as f64 / of.len() as f64;
    let mut error = 0.0;
    for bin in 0..10 {
        let within: Vec<(f64, bool)> = outcomes
            .iter()
            .copied()
            .filter(|(confidence, _)| ((confidence.max(0.0) * 10.0) as usize).min(9) == bin)
            .collect();
        if !within.is_empty() {
            error += within.len() as f64 / total * (mean(&within) - accuracy(&within)).abs();
        }
    }
    let sure: Vec<(f64, bool)> =
        outcomes.iter().copied().filter(|(confidence, _)| *confidence >= 0.8).collect();
    Some(Calibration {
        count: outcomes.len(),
        accuracy: accuracy(outcomes),
        mean: mean(outcomes),
        error,
        order: order(outcomes),
        coverage: sure.len() as f64 / total,
        precision: (!sure.is_empty()).then(|| accuracy(&sure)),
    })
}

fn order(outcomes: &[(f64, bool)]) -> Option<f64> {
    let mut ranked = outcomes.to_vec();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let right = ranked.iter().filter(|(_, right)| *right).count() as f64;
    let wrong = ranked.len() as f64 - right;
    if right == 0.0 || wrong == 0.0 {
        return None;
    }
    let (mut total, mut from) = (0.0, 0);
    while from < ranked.len() {
        let mut to = from;
        while to < ranked.len() && ranked[to].0 == ranked[from].0 {
            to += 1;
        }
        let rights = ranked[from..to].iter().filter(|(_, right)| *right).count() as f64;
        total += rights * (from + to + 1) as f64 / 2.0;
        from = to;
    }
    Some((total - right * (right + 1.0) / 2.0) / (right * wrong))
}
