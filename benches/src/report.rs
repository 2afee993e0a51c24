//! The result of a benchmark: figures with verdicts, further measurements, conditions; as text or JSON.

use std::fmt::Write;

use serde_json::{Value, json};

/// The reason why a figure could not be measured.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The result of a benchmark.
pub(crate) type Measured = Result<Report, Failure>;

/// The target of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reach {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
}

/// A promised figure.
#[derive(Clone, Debug)]
struct Figure {
    what: String,
    measured: f64,
    unit: &'static str,
    reach: Reach,
}

/// A further measurement, without a verdict.
#[derive(Clone, Debug)]
struct Detail {
    what: String,
    value: f64,
    unit: &'static str,
}

/// One benchmark's outcome.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    name: &'static str,
    conditions: Vec<String>,
    details: Vec<Detail>,
    figures: Vec<Figure>,
}

impl Reach {
    fn holds(self, measured: f64) -> bool {
        // NaN reaches no target.
        match self {
            Reach::AtMost(most) => measured <= most,
            Reach::AtLeast(least) => measured >= least,
        }
    }
}

impl Report {
    pub(crate) fn new(name: &'static str) -> Self {
        Report { name, conditions: Vec::new(), details: Vec::new(), figures: Vec::new() }
    }

    /// Adds a promised figure.
    pub(crate) fn figure(
        &mut self,
        what: impl Into<String>,
        measured: f64,
        unit: &'static str,
        reach: Reach,
    ) {
        self.figures.push(Figure { what: what.into(), measured, unit, reach });
    }

    /// Adds a measurement for information.
    pub(crate) fn detail(&mut self, what: impl Into<String>, value: f64, unit: &'static str) {
        self.details.push(Detail { what: what.into(), value, unit });
    }

    /// Adds how it was measured.
    pub(crate) fn condition(&mut self, text: impl Into<String>) {
        self.conditions.push(text.into());
    }

    /// Whether every figure reaches its target.
    pub(crate) fn is_reached(&self) -> bool {
        self.figures.iter().all(|figure| figure.reach.holds(figure.measured))
    }

    /// The report as text, the verdicts last.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n", self.name);
        let widest = self.details.iter().map(|detail| detail.what.chars().count()).max().unwrap_or(0);
        for condition in &self.conditions {
            let _ = writeln!(text, "  {condition}");
        }
        for Detail { what, value, unit } in &self.details {
            let _ = writeln!(text, "  {what:widest$}  {:>12} {unit}", number(*value));
        }
        for Figure { what, measured, unit, reach } in &self.figures {
            let (word, bound) = match reach {
                Reach::AtMost(most) => ("at most", most),
                Reach::AtLeast(least) => ("at least", least),
            };
            let verdict = if reach.holds(*measured) { "reached" } else { "MISSED" };
            let _ = writeln!(
                text,
                "figure {}: {what}: {} {unit}, to be {word} {} {unit}: {verdict}",
                self.name,
                number(*measured),
                number(*bound)
            );
        }
        text
    }

    /// The report as JSON.
    pub(crate) fn json(&self) -> Value {
        let figure = |figure: &Figure| {
            let reach = match figure.reach {
                Reach::AtMost(most) => json!({ "atMost": most }),
                Reach::AtLeast(least) => json!({ "atLeast": least }),
            };
            json!({
                "what": figure.what,
                "measured": figure.measured,
                "unit": figure.unit,
                "reach": reach,
                "reached": figure.reach.holds(figure.measured),
            })
        };
        let detail =
            |detail: &Detail| json!({ "what": detail.what, "value": detail.value, "unit": detail.unit });
        json!({
            "name": self.name,
            "conditions": self.conditions,
            "details": self.details.iter().map(detail).collect::<Vec<_>>(),
            "figures": self.figures.iter().map(figure).collect::<Vec<_>>(),
            "reached": self.is_reached(),
        })
    }
}

/// Formats a number with decimals by its magnitude and thousands separators.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    let decimals = match value.abs() {
        size if size >= 100.0 || size.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 2,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), ""), |(whole, rest)| (whole, rest));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_readably() {
        for (value, text) in [
            (0.0, "0"),
            (1_234_567.8, "1,234,568"),
            (12.34, "12.3"),
            (1.804, "1.80"),
            (0.0431, "0.0431"),
            (-1_000.0, "-1,000"),
            (f64::NAN, "not a number"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn verdicts_follow_the_bounds() {
        let report = |measured, reach| {
            let mut report = Report::new("x");
            report.figure("y", measured, "×", reach);
            report
        };
        assert!(report(1.8, Reach::AtMost(1.8)).is_reached());
        assert!(report(1.8, Reach::AtMost(1.8)).text().contains("reached"));
        assert!(!report(1.81, Reach::AtMost(1.8)).is_reached());
        assert!(report(1.81, Reach::AtMost(1.8)).text().contains("MISSED"));
        assert!(report(8.0, Reach::AtLeast(8.0)).is_reached());
        assert!(!report(7.9, Reach::AtLeast(8.0)).is_reached());
        assert!(!report(f64::NAN, Reach::AtMost(1.0)).is_reached());
        assert_eq!(report(7.9, Reach::AtLeast(8.0)).json()["figures"][0]["reached"], false);
    }
}
