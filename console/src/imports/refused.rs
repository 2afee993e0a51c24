//! The lines that an import refuses: why, and as CSV to be corrected and imported again.

use std::collections::HashMap;

use openapi_core::admin::AdminError;
use openapi_core::json::{Json, Object};
use openapi_core::reply::ApiError;

use super::columns::Target;
use super::escape::{escaped, unescaped};
use super::line::message_of;
use super::source::Lines;
use crate::errors::failed;

/// The column that says why.
const REASON: &str = "reason";
/// The most bytes of CSV.
const MAX_CSV: usize = 12 << 20;
/// The most reasons that are counted one by one.
const MOST_REASONS: usize = 100;

/// What stands in a line, for the file of refused lines.
#[derive(Clone, Debug)]
pub(crate) struct Original(Vec<String>);

impl Original {
    /// The line that was read last. A contact of JSON stands in one cell.
    pub(crate) fn of(lines: &Lines<'_>, contact: Option<&Object>) -> Self {
        match lines {
            Lines::Table(table) => {
                let cells = table.cells();
                let end = cells.iter().rposition(|cell| !cell.trim().is_empty()).map_or(0, |last| last + 1);
                Original(cells[..end].to_vec())
            }
            Lines::Json(_) => {
                Original(vec![contact.map_or_else(String::new, |it| Json::Object(it.clone()).to_text())])
            }
        }
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|cell| cell.len() + size_of::<String>()).sum()
    }
}

/// The refused lines of an import.
pub(crate) struct Refusals {
    names: Vec<String>,
    targets: Vec<Target>,
    csv: String,
    is_whole: bool,
    reasons: HashMap<String, u64>,
}

impl Refusals {
    pub(crate) fn of(lines: &Lines<'_>) -> Self {
        let (names, targets) = match lines {
            Lines::Table(table) => (table.names().to_vec(), table.targets().to_vec()),
            Lines::Json(_) => (vec!["contact".to_owned()], Vec::new()),
        };
        Refusals { names, targets, csv: String::new(), is_whole: true, reasons: HashMap::new() }
    }

    /// Why a contact was refused, with the names of the columns where they differ from those of the fields.
    ///
    /// # Errors
    /// What is no fault of the line, such as a store that fails.
    pub(crate) fn reason(&self, error: AdminError) -> Result<String, ApiError> {
        let violations = match &error {
            AdminError::Invalid(violations) => violations,
            AdminError::Conflict(_) | AdminError::Refused(_) => return Ok(message_of(&error)),
            _ => return Err(failed(error)),
        };
        let mut messages: Vec<String> = Vec::new();
        for violation in violations.listed() {
            let is_of = |target: &Target| matches!(target, Target::Field(field) if *field == violation.field);
            let column = self.targets.iter().position(is_of).and_then(|at| self.names.get(at));
            let message = match column {
                Some(column) if *column != violation.field => {
                    format!("{} (column '{}')", violation.message, column.trim())
                }
                _ => violation.message.to_string(),
            };
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
        Ok(messages.join("; "))
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, original: &Original, reason: &str) {
        let known = self.reasons.len();
        match self.reasons.get_mut(reason) {
            Some(count) => *count += 1,
            None if known < MOST_REASONS => {
                self.reasons.insert(reason.to_owned(), 1);
            }
            None => *self.reasons.entry("other reasons".to_owned()).or_default() += 1,
        }
        if self.csv.len() >= MAX_CSV {
            self.is_whole = false;
            return;
        }
        // A row that is too short gets empty cells, so that the reason stands in its column.
        let width = self.names.len().max(original.0.len());
        let cells = (0..width).map(|at| original.0.get(at).map_or("", String::as_str));
        row(&mut self.csv, cells.chain([reason]));
    }

    /// The first row of the CSV, with the byte order mark by which spreadsheets know UTF-8.
    pub(crate) fn header(&self) -> String {
        let mut text = "\u{feff}".to_owned();
        row(&mut text, self.names.iter().map(String::as_str).chain([REASON]));
        text
    }

    /// The reasons with the numbers of their lines, the most frequent first.
    pub(crate) fn reasons(&self) -> Vec<(String, u64)> {
        let mut reasons: Vec<(String, u64)> =
            self.reasons.iter().map(|(reason, count)| (reason.clone(), *count)).collect();
        reasons.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        reasons
    }

    /// The rows of the CSV.
    pub(crate) fn rows(&self) -> &str {
        &self.csv
    }

    /// Whether the rows are all refused lines.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// Adds a row. Cells that a spreadsheet would run as formulas get an apostrophe, which an import removes.
fn row<'a>(csv: &mut String, cells: impl Iterator<Item = &'a str>) {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            csv.push(',');
        }
        let safe = escaped(unescaped(cell));
        if safe.contains([',', '"', '\r', '\n']) {
            csv.push('"');
            csv.push_str(&safe.replace('"', "\"\""));
            csv.push('"');
        } else {
            csv.push_str(&safe);
        }
    }
    csv.push_str("\r\n");
}
