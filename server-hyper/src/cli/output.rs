//! The output of commands: tables for people, JSON for programs.

use openapi_core::access::Actor;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::characters::on_one_line;
use super::context::CommandContext;
use crate::error::CliError;

impl CommandContext {
    /// Prints one JSON document.
    pub fn print_json<T: Serialize + ?Sized>(&self, value: &T) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(value)?;
        self.print(&format!("{text}\n"))
    }

    /// Prints one record: as JSON, or a line for each property that has a value.
    pub fn print_record<T: Serialize>(
        &self,
        json: bool,
        value: &T,
        lines: &[(&str, String)],
    ) -> Result<(), CliError> {
        if json {
            return self.print_json(value);
        }
        // Names may be stored text as well.
        let lines: Vec<(String, &String)> = lines
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (on_one_line(name), value))
            .collect();
        let width = lines.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, value) in &lines {
            let padding = " ".repeat(width - name.width());
            text.push_str(&format!("{name}{padding}  {}\n", on_one_line(value)));
        }
        self.print(&text)
    }

    /// Prints records: as one JSON array, or as a table.
    pub fn print_table<T: Serialize>(
        &self,
        json: bool,
        values: &[T],
        heads: &[&str],
        row: impl Fn(&T) -> Vec<String>,
    ) -> Result<(), CliError> {
        if json {
            return self.print_json(values);
        }
        let mut rows = vec![heads.iter().map(|head| (*head).to_uppercase()).collect::<Vec<_>>()];
        rows.extend(values.iter().map(|value| row(value).iter().map(|cell| on_one_line(cell)).collect()));
        let widths: Vec<usize> = (0..heads.len())
            .map(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.push_str(&" ".repeat(width - cell.width() + 2));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if values.is_empty() {
            self.info("none");
        }
        self.print(&text)
    }
}

/// Text as separate lines, each prefixed with `margin`.
pub fn indented(text: &str, margin: &str) -> String {
    text.lines().map(|line| format!("{margin}{}", on_one_line(line)).trim_end().to_owned() + "\n").collect()
}

/// Text of at most this width: what is cut off is an ellipsis.
pub fn shortened(text: &str, width: usize) -> String {
    let text = on_one_line(text);
    if text.width() <= width {
        return text;
    }
    let mut short = String::new();
    for letter in text.chars() {
        short.push(letter);
        if short.width() >= width {
            short.pop();
            break;
        }
    }
    format!("{}…", short.trim_end())
}

/// The actor of an action, as text.
pub fn who(actor: &Actor) -> String {
    match actor {
        Actor::ApiKey(key) => key.to_string(),
        Actor::Operator(name) => format!("operator {name}"),
        Actor::User(name) => format!("user {name}"),
        Actor::Visitor(id) => format!("visitor {id}"),
        Actor::Anonymous(name) => format!("anonymous {name}"),
    }
}

/// A value that may be absent.
pub fn optional<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(String::new, ToString::to_string)
}
