//! Order statistics.

/// Measurements of one quantity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn extend(&mut self, others: &Samples) {
        self.0.extend_from_slice(&others.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The quantile at `part` (0 to 1), with linear interpolation; NaN without samples.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
        let position = part.clamp(0.0, 1.0) * last as f64;
        let below = position.floor() as usize;
        let above = (below + 1).min(last);
        sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Samples(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let samples: Samples = [4.0, 1.0, 3.0, 2.0].into_iter().collect();
        assert_eq!(samples.median(), 2.5);
        assert_eq!(samples.quantile(0.0), 1.0);
        assert_eq!(samples.quantile(1.0), 4.0);
        assert_eq!(samples.mean(), 2.5);
        assert!(Samples::default().median().is_nan());
    }
}
