//! Workbooks of Office Open XML: the cells of the sheets that are shown, as they are displayed.

use std::collections::HashMap;

use super::error::ReadError;
use super::flow::Flow;
use super::limits::Limits;
use super::model::Document;
use super::package::Package;
use super::xml::{Element, Visitor, Vocabulary, walk};

/// Sheets beyond are not read.
const MAX_SHEETS: usize = 200;
/// The last column of a sheet.
const MAX_COLUMN: usize = 16_384;

pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Document, ReadError> {
    let mut package = Package::open(bytes, limits)?;
    let main = package.main_part()?;
    let relations = package.relations(&main)?;
    let target =
        |kind: &str| relations.iter().find(|relation| relation.kind == kind).map(|it| it.target.clone());
    let mut workbook = Workbook::default();
    walk(&package.part(&main)?.ok_or(ReadError::DAMAGED)?, &mut workbook)?;
    if !workbook.is_workbook {
        return Err(ReadError::DAMAGED);
    }
    let mut shared = Shared::default();
    if let Some(part) = target("sharedStrings").map(|name| package.part(&name)).transpose()?.flatten() {
        walk(&part, &mut shared)?;
    }
    let mut styles = Styles::default();
    if let Some(part) = target("styles").map(|name| package.part(&name)).transpose()?.flatten() {
        walk(&part, &mut styles)?;
    }
    let mut flow = Flow::new(limits);
    for id in workbook.sheets.iter().take(MAX_SHEETS) {
        let Some(relation) = relations.iter().find(|relation| relation.id == *id) else { continue };
        let Some(part) = package.part(&relation.target)? else { continue };
        let mut sheet = Sheet::new(&shared.strings, &styles, workbook.since_1904);
        walk(&part, &mut sheet)?;
        blocks(&mut flow, sheet.rows)?;
    }
    flow.document()
}

/// Writes the rows of a sheet: those between empty rows are a table.
pub(super) fn blocks(flow: &mut Flow, rows: Vec<Vec<String>>) -> Result<(), ReadError> {
    let mut table: Vec<Vec<String>> = Vec::new();
    for row in rows {
        if row.iter().all(|cell| cell.trim().is_empty()) {
            flow.table(std::mem::take(&mut table))?;
        } else {
            table.push(row);
        }
    }
    flow.table(table)
}

#[derive(Default)]
struct Workbook {
    is_workbook: bool,
    since_1904: bool,
    /// The relations of the sheets that are shown.
    sheets: Vec<String>,
}

impl Visitor for Workbook {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        match element.name() {
            b"workbook" => self.is_workbook = true,
            b"workbookPr" => {
                let since = element.attribute(b"date1904");
                self.since_1904 = since.is_some_and(|since| matches!(since.as_str(), "1" | "true"));
            }
            b"sheet" if element.attribute(b"state").is_none_or(|state| state == "visible") => {
                self.sheets.extend(element.relation());
            }
            _ => {}
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, _: &[u8]) -> Result<(), ReadError> {
        Ok(())
    }

    fn text(&mut self, _: &str) {}
}

/// The texts that cells share.
#[derive(Default)]
struct Shared {
    strings: Vec<String>,
    current: String,
    in_text: bool,
}

impl Visitor for Shared {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        match element.name() {
            b"t" => self.in_text = true,
            // How it is read aloud.
            b"rPh" => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, name: &[u8]) -> Result<(), ReadError> {
        match name {
            b"t" => self.in_text = false,
            b"si" => self.strings.push(std::mem::take(&mut self.current)),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.in_text {
            self.current.push_str(text);
        }
    }
}

/// How a format shows a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Plain,
    Date,
    Percent,
}

#[derive(Default)]
struct Styles {
    custom: HashMap<u32, Shown>,
    /// The format of each style of cells.
    cells: Vec<Shown>,
    in_cells: bool,
}

/// How a format of a number shows it.
fn shown(code: &str) -> Shown {
    let mut plain = String::new();
    let mut is_quoted = false;
    let mut depth = 0_usize;
    for letter in code.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '[' if !is_quoted => depth += 1,
            ']' if !is_quoted => depth = depth.saturating_sub(1),
            _ if is_quoted || depth > 0 => {}
            other => plain.push(other.to_ascii_lowercase()),
        }
    }
    match plain.as_str() {
        code if code.contains('%') => Shown::Percent,
        code if code.contains('y') || code.contains('d') && code.contains('m') => Shown::Date,
        _ => Shown::Plain,
    }
}

impl Visitor for Styles {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        let number = |name: &[u8]| element.attribute(name).and_then(|id| id.parse::<u32>().ok());
        match element.name() {
            b"numFmt" => {
                if let (Some(id), Some(code)) = (number(b"numFmtId"), element.attribute(b"formatCode")) {
                    self.custom.insert(id, shown(&code));
                }
            }
            b"cellXfs" => self.in_cells = true,
            b"xf" if self.in_cells => {
                let id = number(b"numFmtId").unwrap_or(0);
                let built_in = match id {
                    9 | 10 => Shown::Percent,
                    14..=17 | 22 | 27..=31 | 36 | 50..=58 => Shown::Date,
                    _ => Shown::Plain,
                };
                self.cells.push(self.custom.get(&id).copied().unwrap_or(built_in));
            }
            _ => {}
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, name: &[u8]) -> Result<(), ReadError> {
        self.in_cells &= name != b"cellXfs";
        Ok(())
    }

    fn text(&mut self, _: &str) {}
}

/// One sheet.
struct Sheet<'a> {
    shared: &'a [String],
    styles: &'a Styles,
    since_1904: bool,
    rows: Vec<Vec<String>>,
    row: Vec<String>,
    /// The number of the last row, from 1.
    number: usize,
    column: usize,
    kind: String,
    style: usize,
    value: String,
    in_value: bool,
}

impl<'a> Sheet<'a> {
    fn new(shared: &'a [String], styles: &'a Styles, since_1904: bool) -> Self {
        Sheet {
            shared,
            styles,
            since_1904,
            rows: Vec::new(),
            row: Vec::new(),
            number: 0,
            column: 0,
            kind: String::new(),
            style: 0,
            value: String::new(),
            in_value: false,
        }
    }

    fn begin_cell(&mut self, element: &Element<'_>) {
        let letters = element.attribute(b"r").map(|at| column_of(&at));
        self.column = letters.flatten().unwrap_or(self.column + 1);
        self.kind = element.attribute(b"t").unwrap_or_default();
        self.style = element.attribute(b"s").and_then(|style| style.parse().ok()).unwrap_or(0);
        self.value.clear();
    }

    fn end_cell(&mut self) {
        let value = std::mem::take(&mut self.value);
        let text = match self.kind.as_str() {
            "s" => value
                .trim()
                .parse()
                .ok()
                .and_then(|at: usize| self.shared.get(at))
                .cloned()
                .unwrap_or_default(),
            "b" => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            "" | "n" => self.number(value.trim()),
            // A formula that failed shows no value.
            "e" => String::new(),
            _ => value,
        };
        if !text.is_empty() && (1..=MAX_COLUMN).contains(&self.column) {
            if self.row.len() < self.column {
                self.row.resize(self.column, String::new());
            }
            self.row[self.column - 1] = text;
        }
    }

    /// A number as its format shows it.
    fn number(&self, written: &str) -> String {
        let value = written.parse::<f64>().ok().filter(|value| value.is_finite());
        let format = self.styles.cells.get(self.style).copied().unwrap_or(Shown::Plain);
        match (value, format) {
            (Some(value), Shown::Date) => date(value, self.since_1904).unwrap_or_else(|| written.to_owned()),
            (Some(value), Shown::Percent) => format!("{}%", plain(value * 100.0)),
            (Some(value), Shown::Plain) => plain(value),
            (None, _) => written.to_owned(),
        }
    }
}

/// A number without what the arithmetic of computers adds to it.
fn plain(value: f64) -> String {
    if value.abs() >= 1e15 {
        return format!("{value}");
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The day, and the time of it, that a number of days stands for.
fn date(days: f64, since_1904: bool) -> Option<String> {
    if !(0.0..3_000_000.0).contains(&days) {
        return None;
    }
    let first = if since_1904 {
        jiff::civil::Date::new(1904, 1, 1)
    } else {
        // The calendar of workbooks has a day too many in February 1900.
        jiff::civil::Date::new(1899, 12, if days < 60.0 { 31 } else { 30 })
    };
    let day = first.ok()?.checked_add(jiff::Span::new().try_days(days.floor() as i64).ok()?).ok()?;
    let minutes = ((days - days.floor()) * 1440.0).round() as i64;
    let time = (minutes > 0 && minutes < 1440).then(|| format!(" {:02}:{:02}", minutes / 60, minutes % 60));
    Some(format!("{day}{}", time.unwrap_or_default()))
}

/// The number of a column, from 1, by its letters: `B7` is in the second one.
fn column_of(at: &str) -> Option<usize> {
    let letters = at.bytes().take_while(u8::is_ascii_alphabetic).take(4);
    let column =
        letters.fold(0, |column, letter| column * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    (1..=MAX_COLUMN).contains(&column).then_some(column)
}

impl Visitor for Sheet<'_> {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        match element.name() {
            b"row" => {
                let number =
                    element.attribute(b"r").and_then(|row| row.parse().ok()).unwrap_or(self.number + 1);
                // Rows that are left out part what is above and below.
                if number > self.number + 1 && !self.rows.is_empty() {
                    self.rows.push(Vec::new());
                }
                self.number = number;
                self.column = 0;
                if element.attribute(b"hidden").is_some_and(|it| matches!(it.as_str(), "1" | "true")) {
                    return Ok(false);
                }
            }
            b"c" => self.begin_cell(element),
            b"v" | b"t" => self.in_value = true,
            b"f" | b"rPh" | b"headerFooter" | b"dataValidations" | b"conditionalFormatting" | b"extLst" => {
                return Ok(false);
            }
            _ => {}
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, name: &[u8]) -> Result<(), ReadError> {
        match name {
            b"v" | b"t" => self.in_value = false,
            b"c" => self.end_cell(),
            b"row" => self.rows.push(std::mem::take(&mut self.row)),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.in_value {
            self.value.push_str(text);
        }
    }
}
