//! The file of an import: its format, and its lines as contacts.

mod delimited;
mod json;
mod lines;
mod sheet;
mod text;

use std::io;

use encoding_rs::Encoding;

use super::columns::{Columns, Target};
use super::format::ImportFormat;
use super::header::Header;
use delimited::CsvRows;
use json::{ArrayElements, ndjson};
pub use lines::Line;
use lines::Row;
use sheet::{SheetRows, Workbook};
use text::{Assume, TextReader};

/// What the caller says about the file.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The delimiter of CSV.
    pub delimiter: Option<u8>,
    /// The encoding of text.
    pub encoding: Option<&'static Encoding>,
    /// The sheet of a workbook.
    pub sheet: Option<String>,
    /// What precedes the names of options in messages, such as `--`.
    pub prefix: &'static str,
}

/// Parses the name of an encoding.
///
/// # Errors
/// When the name is unknown.
pub fn parse_encoding(label: &str) -> Result<&'static Encoding, &'static str> {
    let known =
        Encoding::for_label(label.as_bytes()).filter(|encoding| *encoding != encoding_rs::REPLACEMENT);
    known
        .ok_or("is not a known encoding; examples are utf-8, utf-16le, windows-1252, windows-1250, macintosh")
}

/// An open file.
pub struct Source {
    content: Content,
    name: String,
    prefix: &'static str,
}

enum Content {
    Ndjson(TextReader),
    Array(TextReader),
    Csv(TextReader, Option<u8>),
    Sheet(Box<Workbook>),
}

impl Source {
    /// Opens a file of a known format.
    ///
    /// # Errors
    /// When it cannot be read, or has another format.
    pub fn read(
        input: Box<dyn io::BufRead + Send>,
        name: String,
        format: ImportFormat,
        given: &Given,
    ) -> Result<Self, String> {
        let (is_csv, is_sheet) = (format == ImportFormat::Csv, format == ImportFormat::Xlsx);
        let of_file = |message: String| format!("{name} {message}");
        let content = if is_sheet {
            Content::Sheet(Box::new(Workbook::open(input, given.sheet.as_deref()).map_err(of_file)?))
        } else {
            let fallback = if is_csv { Assume::Detected } else { Assume::Utf8 };
            let assume = given.encoding.map_or(fallback, Assume::Given);
            let read = |error: io::Error| of_file(error.to_string());
            let text = TextReader::new(input, given.prefix).map_err(read)?;
            if let Some(message) = ImportFormat::refused(text.head()) {
                return Err(of_file(message));
            }
            let mut text = text.begin(assume).map_err(read)?;
            match format {
                ImportFormat::Csv => Content::Csv(text, given.delimiter),
                ImportFormat::Json if is_array(&mut text).map_err(read)? => Content::Array(text),
                _ => Content::Ndjson(text),
            }
        };
        Ok(Source { content, name, prefix: given.prefix })
    }

    /// The contacts of the file, whose columns are assigned to fields by `header`.
    ///
    /// # Errors
    /// When its first row has columns without a field, or cannot be read.
    pub fn lines<'a>(&'a mut self, columns: &'a Columns, header: &Header<'_>) -> Result<Lines<'a>, String> {
        self.lines_of(columns, |column| header.is_known(column), |names| header.targets(names))
    }

    /// The contacts of the file. `is_known` says whether a column of this name can be imported, which decides on the
    /// delimiter; `targets` assigns the columns that the first row names.
    ///
    /// # Errors
    /// When its first row cannot be read, or `targets` refuses it.
    pub fn lines_of<'a>(
        &'a mut self,
        columns: &'a Columns,
        is_known: impl Fn(&str) -> bool,
        targets: impl FnOnce(&[String]) -> Result<Vec<Target>, String>,
    ) -> Result<Lines<'a>, String> {
        let name = &self.name;
        let rows = match &mut self.content {
            Content::Ndjson(text) => return Ok(Lines::Json(Box::new(ndjson(text)))),
            Content::Array(text) => return Ok(Lines::Json(Box::new(ArrayElements::new(text)))),
            Content::Csv(text, delimiter) => {
                let encoding = text.encoding();
                let rows = CsvRows::new(text, *delimiter, is_known)
                    .map_err(|error| format!("{name}: {error} (read as CSV, encoding {encoding})"))?;
                Rows::Csv(rows)
            }
            Content::Sheet(book) => {
                let described = book.described(self.prefix);
                Rows::Sheet(book.rows().map_err(|error| format!("{name} {error}"))?, described)
            }
        };
        Table::begin(rows, columns, targets)
            .map(|table| Lines::Table(Box::new(table)))
            .map_err(|(message, described)| format!("{name}: {message}\n(read as {described})"))
    }
}

/// Whether the text begins an array.
fn is_array(text: &mut TextReader) -> io::Result<bool> {
    /// The most blanks before it.
    const MOST: usize = 1 << 20;
    Ok(text.peek_line(MOST)?.trim_ascii_start().first() == Some(&b'['))
}

/// The contacts of a file, one after another.
pub enum Lines<'a> {
    /// Of JSON.
    Json(Box<dyn Iterator<Item = io::Result<Line>> + Send + 'a>),
    /// Of a table.
    Table(Box<Table<'a>>),
}

impl Lines<'_> {
    /// The cells of the first row; none of JSON.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            Lines::Json(_) => &[],
            Lines::Table(table) => table.names(),
        }
    }

    /// The cells of the line that was read last; none of JSON.
    #[must_use]
    pub fn cells(&self) -> &[String] {
        match self {
            Lines::Json(_) => &[],
            Lines::Table(table) => table.cells(),
        }
    }

    /// How the file was read, where that was found out.
    pub fn described(&self) -> Option<String> {
        match self {
            Lines::Json(_) => None,
            Lines::Table(table) => Some(table.rows.described()),
        }
    }
}

impl Iterator for Lines<'_> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Lines::Json(lines) => lines.next(),
            Lines::Table(table) => table.next_line().transpose(),
        }
    }
}

enum Rows<'a> {
    Csv(CsvRows<'a>),
    Sheet(SheetRows<'a>, String),
}

impl Rows<'_> {
    fn next_row(&mut self) -> io::Result<Option<Row>> {
        match self {
            Rows::Csv(rows) => rows.next_row(),
            Rows::Sheet(rows, _) => rows.next_row(),
        }
    }

    fn described(&self) -> String {
        match self {
            Rows::Csv(rows) => rows.described(),
            Rows::Sheet(_, described) => described.clone(),
        }
    }
}

/// A table whose first row names fields.
pub struct Table<'a> {
    rows: Rows<'a>,
    columns: &'a Columns,
    names: Vec<String>,
    targets: Vec<Target>,
    cells: Vec<String>,
}

impl<'a> Table<'a> {
    fn begin(
        mut rows: Rows<'a>,
        columns: &'a Columns,
        targets: impl FnOnce(&[String]) -> Result<Vec<Target>, String>,
    ) -> Result<Self, (String, String)> {
        let first = match rows.next_row() {
            Ok(Some((_, Ok(names)))) => targets(&names).map(|targets| (names, targets)),
            Ok(Some((_, Err(message)))) => Err(format!("the first row {message}")),
            Ok(None) => Err("the file has no rows".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        match first {
            Ok((names, targets)) => Ok(Table { rows, columns, names, targets, cells: Vec::new() }),
            Err(message) => Err((message, rows.described())),
        }
    }

    /// The cells of the first row.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What each column is imported as.
    #[must_use]
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// The cells of the line that was read last; none if it could not be read.
    #[must_use]
    pub fn cells(&self) -> &[String] {
        &self.cells
    }

    fn next_line(&mut self) -> io::Result<Option<Line>> {
        self.cells.clear();
        let Some((number, cells)) = self.rows.next_row()? else { return Ok(None) };
        let contact = cells.and_then(|cells| {
            self.cells = cells;
            self.columns.contact(&self.targets, &self.cells)
        });
        Ok(Some((number, contact)))
    }
}
