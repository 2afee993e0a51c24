//! Workbooks of Excel (`.xlsx`): the rows of one sheet, as text.

use std::io::{self, Cursor, Read};

use calamine::{Cell, DataRef, ExcelDateTime, Reader, SheetType, SheetVisible, Xlsx, XlsxCellReader};
use quick_xml::events::Event;
use zip::ZipArchive;

use super::lines::Row;

/// The largest workbook.
const MAX_SIZE: u64 = 64 << 20;

/// The size of a workbook's sheets when they are unpacked, which are read as streams.
const MAX_SHEETS: u64 = 256 << 20;

/// The same for its other parts, such as the texts of cells, which are held in memory.
const MAX_PARTS: u64 = 64 << 20;

/// The most parts.
const MAX_ENTRIES: usize = 4_096;

/// The most columns, as many as a sheet of Excel has.
const MAX_COLUMNS: u32 = 16_384;

/// A workbook, and the sheet that is read.
pub struct Workbook {
    book: Xlsx<Cursor<Vec<u8>>>,
    sheet: String,
    sheets: usize,
}

impl Workbook {
    /// Opens a workbook. Without a name, the first visible sheet is read.
    ///
    /// # Errors
    /// When it is no workbook, too large, or has no such sheet.
    pub fn open(input: impl Read, sheet: Option<&str>) -> Result<Self, String> {
        let mut content = Vec::new();
        input.take(MAX_SIZE + 1).read_to_end(&mut content).map_err(|error| error.to_string())?;
        if content.len() as u64 > MAX_SIZE {
            return Err(format!("is larger than {} MiB; save it as CSV", MAX_SIZE >> 20));
        }
        check(&content)?;
        let mut book = Xlsx::new(Cursor::new(content)).map_err(|error| broken(&error))?;
        let visible = |book: &Xlsx<_>| -> Vec<String> {
            let sheets = book.sheets_metadata().iter();
            let visible =
                sheets.filter(|it| it.typ == SheetType::WorkSheet && it.visible == SheetVisible::Visible);
            visible.map(|it| it.name.clone()).collect()
        };
        let names = visible(&book);
        let sheet = match sheet {
            Some(name) if book.sheet_names().iter().any(|it| it == name) => name.to_owned(),
            Some(name) => {
                return Err(format!("has no sheet '{name}'; its sheets are '{}'", names.join("', '")));
            }
            None => {
                let mut with_cells = None;
                for name in &names {
                    let mut cells = book.worksheet_cells_reader(name).map_err(|error| broken(&error))?;
                    if cells.next_cell().map_err(|error| broken(&error))?.is_some() {
                        with_cells = Some(name.clone());
                        break;
                    }
                }
                with_cells.ok_or("has no sheet with cells")?
            }
        };
        Ok(Workbook { book, sheet, sheets: names.len() })
    }

    /// The sheet that is read.
    pub fn described(&self, prefix: &str) -> String {
        let of = if self.sheets > 1 {
            format!(", one of {}: {prefix}sheet names another", self.sheets)
        } else {
            String::new()
        };
        format!("Excel workbook: sheet '{}'{of}", self.sheet)
    }

    /// The rows of the sheet.
    ///
    /// # Errors
    /// When the sheet cannot be read.
    pub fn rows(&mut self) -> Result<SheetRows<'_>, String> {
        let mut cells = self.book.worksheet_cells_reader(&self.sheet).map_err(|error| broken(&error))?;
        let next = cells.next_cell().map_err(|error| broken(&error))?;
        Ok(SheetRows { cells, next })
    }
}

/// The rows of a sheet that are not blank.
pub struct SheetRows<'a> {
    cells: XlsxCellReader<'a, Cursor<Vec<u8>>>,
    next: Option<Cell<DataRef<'a>>>,
}

impl SheetRows<'_> {
    /// The next row.
    ///
    /// # Errors
    /// When the sheet cannot be read on.
    pub fn next_row(&mut self) -> io::Result<Option<Row>> {
        loop {
            let Some(row) = self.next.as_ref().map(|cell| cell.get_position().0) else { return Ok(None) };
            let mut cells = Ok(Vec::new());
            while let Some(cell) = self.next.take_if(|cell| cell.get_position().0 == row) {
                put(&mut cells, &cell);
                self.next = self.cells.next_cell().map_err(|error| io::Error::other(broken(&error)))?;
            }
            let is_blank = |cells: &Vec<String>| cells.iter().all(|cell| cell.trim().is_empty());
            if !cells.as_ref().is_ok_and(is_blank) {
                return Ok(Some((u64::from(row) + 1, cells)));
            }
        }
    }
}

fn put(cells: &mut Result<Vec<String>, String>, cell: &Cell<DataRef<'_>>) {
    let column = cell.get_position().1;
    let text = match cell.get_value() {
        DataRef::Error(error) => Err(format!("has the error {error} in column {}", column + 1)),
        _ if column >= MAX_COLUMNS => Err(format!("has more than {MAX_COLUMNS} columns")),
        value => Ok(text(value)),
    };
    match (text, &mut *cells) {
        (Ok(text), Ok(cells)) if !text.is_empty() => {
            let at = column as usize;
            cells.resize(cells.len().max(at + 1), String::new());
            cells[at] = text;
        }
        (Err(message), Ok(_)) => *cells = Err(message),
        _ => {}
    }
}

/// The value of a cell as text: numbers as Excel shows them without a format, dates and times as ISO 8601 in UTC.
fn text(value: &DataRef<'_>) -> String {
    match value {
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => float(*number),
        DataRef::Bool(value) => value.to_string(),
        DataRef::DateTime(time) => date_time(time),
        DataRef::Error(_) | DataRef::Empty => String::new(),
    }
}

/// A number with the 15 digits that Excel has.
fn float(number: f64) -> String {
    format!("{number:.14e}").parse::<f64>().unwrap_or(number).to_string()
}

fn date_time(time: &ExcelDateTime) -> String {
    if time.is_duration() {
        return float(time.as_f64());
    }
    let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
    let fraction = if milli == 0 { String::new() } else { format!(".{milli:03}") };
    let clock = format!("{hour:02}:{minute:02}:{second:02}{fraction}");
    match (time.as_f64() < 1.0, (hour, minute, second, milli)) {
        (true, _) => clock,
        (false, (0, 0, 0, 0)) => format!("{year:04}-{month:02}-{day:02}"),
        (false, _) => format!("{year:04}-{month:02}-{day:02}T{clock}Z"),
    }
}

fn broken(error: &calamine::XlsxError) -> String {
    format!("is not a readable Excel workbook ({error}); save it again, or as CSV")
}

/// Refuses a workbook that would take too much memory: the sizes count as unpacked, not as the archive states them.
fn check(content: &[u8]) -> Result<(), String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("is not a readable Excel workbook ({error})");
    let mut archive = ZipArchive::new(Cursor::new(content)).map_err(|error| unreadable(&error))?;
    if archive.len() > MAX_ENTRIES {
        return Err(format!("has more than {MAX_ENTRIES} parts; save it as CSV"));
    }
    let (mut sheets, mut parts) = (0, 0);
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).map_err(|error| unreadable(&error))?;
        let name = entry.name().map_err(|error| unreadable(&error))?.to_lowercase();
        let has_strings = name.ends_with("sharedstrings.xml");
        let is_sheet = name.contains("worksheets/") && !has_strings;
        let (size, most) = if is_sheet { (&mut sheets, MAX_SHEETS) } else { (&mut parts, MAX_PARTS) };
        let mut head = Vec::new();
        (&mut entry).take(64 << 10).read_to_end(&mut head).map_err(|error| unreadable(&error))?;
        let rest = io::copy(&mut entry.take(most - *size + 1), &mut io::sink())
            .map_err(|error| unreadable(&error))?;
        let length = head.len() as u64 + rest;
        *size += length;
        if *size > most {
            return Err(format!("has more than {} MiB when it is unpacked; save it as CSV", most >> 20));
        }
        if has_strings && stated_strings(&head) > length {
            return Err("states more texts than it has".to_owned());
        }
    }
    Ok(())
}

/// How many texts the table of texts states that it has; a reader makes room for them.
fn stated_strings(head: &[u8]) -> u64 {
    let mut xml = quick_xml::Reader::from_reader(head);
    let mut buffer = Vec::new();
    while let Ok(event) = xml.read_event_into(&mut buffer) {
        match event {
            Event::Start(element) | Event::Empty(element) => {
                let stated = element
                    .attributes()
                    .flatten()
                    .filter(|it| it.key.local_name().as_ref() == b"uniqueCount");
                let number = |value: &[u8]| std::str::from_utf8(value).ok()?.trim().parse().ok();
                return stated.map(|it| number(&it.value).unwrap_or(u64::MAX)).max().unwrap_or(0);
            }
            Event::Eof => return 0,
            _ => {}
        }
    }
    u64::MAX
}
