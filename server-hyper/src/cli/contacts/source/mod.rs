//! The file of an import: its format, and its lines as contacts.

mod delimited;
mod json;
mod lines;
mod sheet;
mod text;

use std::io;
use std::path::Path;

use encoding_rs::Encoding;

use super::csv::{Columns, Target};
use super::format::ImportFormat;
use super::header::{Header, Mapping};
use crate::cli::context::CommandContext;
use crate::cli::input;
use crate::error::CliError;
use delimited::CsvRows;
use json::{ArrayElements, ndjson};
pub use lines::Line;
use lines::Row;
use sheet::{SheetRows, Workbook};
use text::{Assume, TextReader};

/// What the caller says about the file.
#[derive(Debug, Default)]
pub struct Given {
    /// The format.
    pub format: Option<ImportFormat>,
    /// The delimiter of CSV.
    pub delimiter: Option<u8>,
    /// The encoding of text.
    pub encoding: Option<&'static Encoding>,
    /// The sheet of a workbook.
    pub sheet: Option<String>,
    /// Columns that have another name than their field.
    pub mappings: Vec<Mapping>,
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
}

enum Content {
    Ndjson(TextReader),
    Array(TextReader),
    Csv(TextReader, Option<u8>),
    Sheet(Box<Workbook>),
}

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be read, or has another format.
    pub fn open(context: &CommandContext, file: &Path, given: &Given) -> Result<Self, CliError> {
        let format = given.format.map_or_else(|| ImportFormat::of(file), Ok)?;
        let (is_csv, is_sheet) = (format == ImportFormat::Csv, format == ImportFormat::Xlsx);
        for (flag, is_given, applies, to) in [
            ("--delimiter", given.delimiter.is_some(), is_csv, "CSV"),
            ("--encoding", given.encoding.is_some(), !is_sheet, "text"),
            ("--sheet", given.sheet.is_some(), is_sheet, "Excel workbooks"),
            ("--map", !given.mappings.is_empty(), is_csv || is_sheet, "CSV and Excel workbooks"),
        ] {
            if is_given && !applies {
                return Err(CliError::usage(format!("{flag} applies to {to}")));
            }
        }
        let name =
            if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() };
        Source::read(input::open(context, file)?, name, format, given)
    }

    /// Reads a file of a known format.
    pub fn read(
        input: Box<dyn io::BufRead + Send>,
        name: String,
        format: ImportFormat,
        given: &Given,
    ) -> Result<Self, CliError> {
        let (is_csv, is_sheet) = (format == ImportFormat::Csv, format == ImportFormat::Xlsx);
        let of_file = |message: String| CliError::new(format!("{name} {message}"));
        let content = if is_sheet {
            Content::Sheet(Box::new(Workbook::open(input, given.sheet.as_deref()).map_err(of_file)?))
        } else {
            let fallback = if is_csv { Assume::Detected } else { Assume::Utf8 };
            let assume = given.encoding.map_or(fallback, Assume::Given);
            let read = |error: io::Error| of_file(error.to_string());
            let text = TextReader::new(input).map_err(read)?;
            if let Some(message) = ImportFormat::refused(text.head()) {
                return Err(of_file(message));
            }
            let mut text = text.begin(assume).map_err(read)?;
            match format {
                ImportFormat::Csv => Content::Csv(text, given.delimiter),
                ImportFormat::Json if is_array(&mut text)? => Content::Array(text),
                _ => Content::Ndjson(text),
            }
        };
        Ok(Source { content, name })
    }

    /// The contacts of the file.
    ///
    /// # Errors
    /// When its first row has columns without a field, or cannot be read.
    pub fn lines<'a>(
        &'a mut self,
        columns: &'a Columns,
        mappings: &[Mapping],
    ) -> Result<Lines<'a>, CliError> {
        let header = Header::new(columns, mappings).map_err(CliError::usage)?;
        let name = &self.name;
        let rows = match &mut self.content {
            Content::Ndjson(text) => return Ok(Lines::Json(Box::new(ndjson(text)))),
            Content::Array(text) => return Ok(Lines::Json(Box::new(ArrayElements::new(text)))),
            Content::Csv(text, delimiter) => {
                let encoding = text.encoding();
                let rows =
                    CsvRows::new(text, *delimiter, |column| header.is_known(column)).map_err(|error| {
                        CliError::new(format!("{name}: {error} (read as CSV, encoding {encoding})"))
                    })?;
                Rows::Csv(rows)
            }
            Content::Sheet(book) => {
                let described = book.described();
                Rows::Sheet(book.rows().map_err(|error| CliError::new(format!("{name} {error}")))?, described)
            }
        };
        Table::begin(rows, columns, &header).map(|table| Lines::Table(Box::new(table))).map_err(
            |(message, described)| CliError::new(format!("{name}: {message}\n(read as {described})")),
        )
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
    Json(Box<dyn Iterator<Item = io::Result<Line>> + 'a>),
    /// Of a table.
    Table(Box<Table<'a>>),
}

impl Lines<'_> {
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
    targets: Vec<Target>,
}

impl<'a> Table<'a> {
    fn begin(
        mut rows: Rows<'a>,
        columns: &'a Columns,
        header: &Header<'_>,
    ) -> Result<Self, (String, String)> {
        let first = rows.next_row();
        let targets = match first {
            Ok(Some((_, Ok(names)))) => header.targets(&names),
            Ok(Some((_, Err(message)))) => Err(format!("the first row {message}")),
            Ok(None) => Err("the file has no rows".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        match targets {
            Ok(targets) => Ok(Table { rows, columns, targets }),
            Err(message) => Err((message, rows.described())),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<Line>> {
        let Some((number, cells)) = self.rows.next_row()? else { return Ok(None) };
        Ok(Some((number, cells.and_then(|cells| self.columns.contact(&self.targets, &cells)))))
    }
}
