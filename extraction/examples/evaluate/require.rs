//! Bounds that the figures have to keep.

use crate::report::Report;

/// A figure and its bound.
#[derive(Clone)]
pub struct Requirement {
    text: String,
    name: String,
    at_least: bool,
    bound: f64,
}

impl Requirement {
    /// Out of `NAME>=BOUND` or `NAME<=BOUND`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (at_least, parts) = match text.split_once(">=") {
            Some(parts) => (true, Some(parts)),
            None => (false, text.split_once("<=")),
        };
        let (name, bound) = parts.ok_or("it needs >= or <=")?;
        let bound = bound.trim().parse().map_err(|error| format!("{bound}: {error}"))?;
        Ok(Requirement { text: text.to_owned(), name: name.trim().to_owned(), at_least, bound })
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
