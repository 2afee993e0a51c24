//! OpenDocument: the text, tables and slides of `content.xml`.

use super::error::ReadError;
use super::flow::Flow;
use super::limits::Limits;
use super::model::Document;
use super::package::Package;
use super::xml::{Element, Visitor, Vocabulary, walk};

/// How often a cell or row that says it is repeated counts; spreadsheets repeat empty ones a million times.
const MAX_REPEATED: usize = 64;
/// How many blanks one element stands for, at most.
const MAX_BLANKS: usize = 64;

pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Document, ReadError> {
    let mut package = Package::open(bytes, limits)?;
    if let Some(manifest) = package.part("META-INF/manifest.xml")?
        && manifest.windows(15).any(|window| window == b"encryption-data")
    {
        return Err(ReadError::Encrypted);
    }
    let content = package.part("content.xml")?.ok_or(ReadError::DAMAGED)?;
    let mut reader = Reader { flow: Flow::new(limits), tables: Vec::new(), in_text: 0, is_content: false };
    walk(&content, &mut reader)?;
    if reader.is_content { reader.flow.document() } else { Err(ReadError::DAMAGED) }
}

#[derive(Default)]
struct OpenTable {
    rows: Vec<Vec<String>>,
    row: Vec<String>,
    row_repeated: usize,
    cell: String,
    cell_repeated: usize,
}

struct Reader {
    flow: Flow,
    tables: Vec<OpenTable>,
    /// Open paragraphs and headings: only their text is shown.
    in_text: usize,
    is_content: bool,
}

impl Reader {
    fn write(&mut self, text: &str) {
        match self.tables.last_mut() {
            Some(table) => table.cell.push_str(text),
            None => self.flow.text(text),
        }
    }

    fn end_line(&mut self) -> Result<(), ReadError> {
        match self.tables.last_mut() {
            Some(table) => {
                if !table.cell.is_empty() {
                    table.cell.push('\n');
                }
                Ok(())
            }
            None => self.flow.end_line(),
        }
    }
}

fn repeated(element: &Element<'_>, name: &[u8]) -> usize {
    let count = element.attribute(name).and_then(|count| count.parse::<usize>().ok());
    count.unwrap_or(1).clamp(1, MAX_REPEATED)
}

impl Visitor for Reader {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        match element.name() {
            b"document-content" => self.is_content = true,
            // Comments, deleted text, and what stands on other parts of a slide.
            b"annotation" | b"tracked-changes" | b"notes" | b"forms" | b"scripts" | b"automatic-styles"
            | b"font-face-decls" | b"settings" => return Ok(false),
            b"table" => self.tables.push(OpenTable::default()),
            b"table-row" => {
                if let Some(table) = self.tables.last_mut() {
                    table.row_repeated = repeated(element, b"number-rows-repeated");
                }
            }
            b"table-cell" | b"covered-table-cell" => {
                if let Some(table) = self.tables.last_mut() {
                    table.cell_repeated = repeated(element, b"number-columns-repeated");
                }
            }
            b"p" | b"h" => self.in_text += 1,
            b"tab" => match self.tables.last_mut() {
                Some(table) => table.cell.push_str("   "),
                None => self.flow.gap(),
            },
            b"s" => {
                let count = element.attribute(b"c").and_then(|count| count.parse::<usize>().ok());
                self.write(&" ".repeat(count.unwrap_or(1).clamp(1, MAX_BLANKS)));
            }
            b"line-break" => self.end_line()?,
            b"list-item" if self.tables.is_empty() => self.flow.text("- "),
            _ => {}
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, name: &[u8]) -> Result<(), ReadError> {
        match name {
            b"p" | b"h" => {
                self.in_text = self.in_text.saturating_sub(1);
                self.end_line()?;
            }
            b"page" => self.flow.end_block()?,
            b"table-cell" | b"covered-table-cell" => {
                if let Some(table) = self.tables.last_mut() {
                    let cell = std::mem::take(&mut table.cell);
                    table.row.extend(std::iter::repeat_n(cell.trim_end().to_owned(), table.cell_repeated));
                }
            }
            b"table-row" => {
                if let Some(table) = self.tables.last_mut() {
                    let row = std::mem::take(&mut table.row);
                    let is_empty = row.iter().all(String::is_empty);
                    let count = if is_empty { 1 } else { table.row_repeated };
                    table.rows.extend(std::iter::repeat_n(row, count));
                }
            }
            b"table" => {
                let rows = self.tables.pop().map(|table| table.rows).unwrap_or_default();
                match self.tables.last_mut() {
                    // A table in a cell: its text.
                    Some(outer) => {
                        let lines = rows.iter().map(|row| row.join("   "));
                        outer.cell.push_str(&lines.collect::<Vec<_>>().join("\n"));
                    }
                    None => super::spreadsheet::blocks(&mut self.flow, rows)?,
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.in_text > 0 {
            let lines = text.split(['\n', '\r']).map(str::trim_start).collect::<Vec<_>>();
            let joined = if lines.len() > 1 { lines.join(" ") } else { text.to_owned() };
            self.write(&joined);
        }
    }
}
