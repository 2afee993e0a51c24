//! Bounds that the figures have to keep.

use crate::report::Report;

/// A figure and its bound.
pub struct Requirement {
    text: String,
    name: String,
    at_least: bool,
    bound: f64,
}

impl Requirement {
    /// Out of `NAME>=BOUND` or `NAME<=BOUND`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, at_least, bound) = match text.split_once(">=") {
            Some((name, bound)) => (name, true, bound),
            None => text.split_once("<=").map(|(name, bound)| (name, false, bound))?,
        };
        let bound = bound.trim().parse().ok()?;
        Some(Requirement { text: text.to_owned(), name: name.trim().to_owned(), at_least, bound })
    }
}

/// Prints whether each bound is met; the error counts those that are not. A missing figure meets no bound.
pub fn check(report: &Report, requirements: &[Requirement]) -> Result<(), String> {
    let mut missed = 0;
    for Requirement { text, name, at_least, bound } in requirements {
        let figure = report.figure(name);
        let is_met = figure.is_some_and(|figure| if *at_least { figure >= *bound } else { figure <= *bound });
        let figure = figure.map_or("not measured".to_owned(), |figure| format!("{figure:.3}"));
        println!("require {text}: {figure}, {}", if is_met { "reached" } else { "MISSED" });
        missed += usize::from(!is_met);
    }
    if missed > 0 { Err(format!("{missed} of {} figures missed", requirements.len())) } else { Ok(()) }
}
