//! CSV as spreadsheets write it: any delimiter, a `sep=` line, any ends of lines, rows of bounded size with the number of
//! their first line.

use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::lines::{LineCounter, Row};
use super::text::TextReader;

/// The delimiters that are detected.
pub const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The longest row in bytes; longer than any valid contact.
const MAX_ROW: usize = 2 << 20;

/// The most cells of a row: as many columns as a sheet of Excel has.
const MAX_CELLS: usize = 16_384;

/// The most text from which the delimiter is detected: the first row.
const SAMPLE: usize = 64 << 10;

/// The rows of a CSV file.
pub struct CsvRows<'a> {
    text: &'a mut TextReader,
    core: Reader,
    lines: LineCounter,
    /// The cells of a row, one after another, and their ends.
    cells: Vec<u8>,
    ends: Vec<usize>,
    delimiter: u8,
    is_given: bool,
}

impl<'a> CsvRows<'a> {
    /// Begins to read. `is_known` says whether a column of this name can be imported; the delimiter that yields most of
    /// them is the right one.
    ///
    /// # Errors
    /// When the content cannot be read or has no certain delimiter.
    pub fn new(
        text: &'a mut TextReader,
        given: Option<u8>,
        is_known: impl Fn(&str) -> bool,
    ) -> io::Result<Self> {
        let mut lines = LineCounter::new();
        let named = separator_line(text.peek_line(SAMPLE)?);
        if let Some((_, length)) = named {
            lines.pass(&text.fill_buf()?[..length]);
            text.consume(length);
        }
        let is_given = given.is_some() || named.is_some();
        let delimiter = match given.or(named.map(|(delimiter, _)| delimiter)) {
            Some(delimiter) => delimiter,
            None => {
                let prefix = text.prefix();
                detect(text.peek_line(SAMPLE)?, is_known, prefix)?
            }
        };
        let core = reader(delimiter);
        Ok(CsvRows { text, core, lines, cells: vec![0; 4_096], ends: vec![0; 64], delimiter, is_given })
    }

    /// The delimiter and the encoding, as far as known.
    pub fn described(&self) -> String {
        let detected = if self.is_given { "" } else { " (detected)" };
        format!("CSV: delimiter {}{detected}, encoding {}", shown(self.delimiter), self.text.encoding())
    }

    /// The next row that is not blank.
    ///
    /// # Errors
    /// When the content cannot be read on; the text names the line.
    pub fn next_row(&mut self) -> io::Result<Option<Row>> {
        loop {
            let Some(row) = self.read()? else { return Ok(None) };
            let (line, cells) = row;
            if cells.iter().any(|cell| !cell.trim().is_empty()) {
                return Ok(Some((line, Ok(cells))));
            }
        }
    }

    fn read(&mut self) -> io::Result<Option<(u64, Vec<String>)>> {
        if !self.pass_blank_lines()? {
            return Ok(None);
        }
        let first = self.lines.line();
        let (mut written, mut ended) = (0, 0);
        loop {
            let line = self.lines.line();
            let input = self.text.fill_buf().map_err(|error| at_line(line, &error.to_string()))?;
            let is_last = input.is_empty();
            // Ends the last line of a file that does not, unless a quotation mark is open.
            let input = if is_last { b"\n" } else { input };
            let (result, read, wrote, ends) =
                self.core.read_record(input, &mut self.cells[written..], &mut self.ends[ended..]);
            (written, ended) = (written + wrote, ended + ends);
            if !is_last {
                self.lines.pass(&input[..read]);
                self.text.consume(read);
            }
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::OutputFull if written < MAX_ROW => {
                    self.cells.resize(2 * self.cells.len(), 0);
                }
                ReadRecordResult::OutputEndsFull if ended < MAX_CELLS => {
                    self.ends.resize(2 * self.ends.len(), 0);
                }
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    return Err(at_line(
                        first,
                        "a row that is too long begins here; check its quotation marks",
                    ));
                }
                ReadRecordResult::InputEmpty if is_last => {
                    return Err(at_line(first, "a row begins here with a quotation mark that is not closed"));
                }
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
            }
        }
        Ok(Some((first, split(&self.cells, &self.ends[..ended]))))
    }

    /// Passes over the ends of lines before a row; `false` at the end of the file.
    fn pass_blank_lines(&mut self) -> io::Result<bool> {
        loop {
            let line = self.lines.line();
            let input = self.text.fill_buf().map_err(|error| at_line(line, &error.to_string()))?;
            let blank = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let is_over = input.is_empty();
            let is_row = blank < input.len();
            self.lines.pass(&input[..blank]);
            self.text.consume(blank);
            if is_over || is_row {
                return Ok(is_row);
            }
        }
    }
}

fn at_line(line: u64, message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {message}"))
}

fn reader(delimiter: u8) -> Reader {
    ReaderBuilder::new().delimiter(delimiter).build()
}

/// A delimiter as text.
fn shown(delimiter: u8) -> String {
    if delimiter == b'\t' { "TAB".to_owned() } else { format!("'{}'", char::from(delimiter)) }
}

/// The line `sep=;` with which a file names its delimiter to Excel: the delimiter, and the length of the line.
fn separator_line(text: &[u8]) -> Option<(u8, usize)> {
    let line = std::str::from_utf8(text.split(|byte| matches!(byte, b'\r' | b'\n')).next()?).ok()?;
    let inner = line.strip_prefix('"').map_or(line, |rest| rest.trim_end_matches('"'));
    let named = inner.get(..4).filter(|start| start.eq_ignore_ascii_case("sep=")).map(|_| &inner[4..])?;
    let delimiter = named.bytes().next().filter(|byte| named.len() == 1 && byte.is_ascii())?;
    Some((delimiter, line.len()))
}

/// The first row of a text that ends with a line, read with a delimiter.
fn first_row(text: &[u8], delimiter: u8) -> Vec<String> {
    let blank = text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let input = &text[blank..];
    let (mut cells, mut ends) = (vec![0; input.len() + 1], vec![0; MAX_CELLS]);
    let (.., count) = reader(delimiter).read_record(input, &mut cells, &mut ends);
    split(&cells, &ends[..count])
}

/// The cells that end at these positions.
fn split(cells: &[u8], ends: &[usize]) -> Vec<String> {
    let mut start = 0;
    let cell = |end: &usize| {
        let cell = String::from_utf8_lossy(&cells[start..*end]).into_owned();
        start = *end;
        cell
    };
    ends.iter().map(cell).collect()
}

/// The delimiter of a text: the one that yields the most columns that can be imported.
fn detect(sample: &[u8], is_known: impl Fn(&str) -> bool, prefix: &str) -> io::Result<u8> {
    let sample = [sample, b"\n"].concat();
    let found = DELIMITERS.map(|delimiter| {
        let row = first_row(&sample, delimiter);
        let known = row.iter().filter(|name| is_known(name)).count();
        // Only if no column is known does their number matter.
        (delimiter, known, if known == 0 { row.len() } else { 0 })
    });
    let Some(best) = found.iter().map(|(_, known, columns)| (*known, *columns)).max() else {
        return Ok(b',');
    };
    let candidates: Vec<u8> = found
        .iter()
        .filter(|(_, known, columns)| (*known, *columns) == best)
        .map(|(delimiter, ..)| *delimiter)
        .collect();
    match candidates[..] {
        [delimiter] => Ok(delimiter),
        // A single column needs none.
        _ if candidates.len() == DELIMITERS.len() => Ok(b','),
        _ => {
            let candidates: Vec<String> = candidates.into_iter().map(shown).collect();
            Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the delimiter may be {}; name it with {prefix}delimiter", candidates.join(" or ")),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::Assume;
    use super::*;

    fn rows(text: &str, given: Option<u8>) -> io::Result<Vec<(u64, Vec<String>)>> {
        let reader = TextReader::new(Box::new(io::Cursor::new(text.as_bytes().to_vec())), "--")?;
        let mut reader = reader.begin(Assume::Detected)?;
        let mut rows =
            CsvRows::new(&mut reader, given, |name| matches!(name.trim(), "email" | "name" | "tags"))?;
        let mut all = Vec::new();
        while let Some((line, cells)) = rows.next_row()? {
            all.push((line, cells.unwrap()));
        }
        Ok(all)
    }

    fn numbers(text: &str) -> Vec<u64> {
        rows(text, None).unwrap().iter().map(|(line, _)| *line).collect()
    }

    #[test]
    fn lines_are_those_of_the_file() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["", "email,name", "", "a,\"b", "c\"", "d,e", ",", "", "f,g"].join(end);
            assert_eq!(numbers(&text), [2, 4, 6, 9], "{end:?}");
            assert_eq!(numbers(&format!("{text}{end}{end}")), [2, 4, 6, 9], "{end:?}");
            assert_eq!(numbers(&format!("sep=,{end}{text}")), [3, 5, 7, 10], "{end:?}");
        }
        // A row of several chunks, which CRLF crosses at some point.
        let long = format!("email,name\r\n{}x,y\r\n", "a,\"b\r\nc\"\r\n".repeat(50_000));
        let found = numbers(&long);
        assert_eq!((found[1], found[2], found.last().copied()), (2, 4, Some(100_002)));
    }

    #[test]
    fn the_delimiter_is_the_one_that_yields_known_columns() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        for (text, expected) in [
            ("email,name\n", row(&["email", "name"])),
            ("email;name,tags\n", row(&["email", "name,tags"])),
            ("email\tname\n", row(&["email", "name"])),
            ("\"email\"|\"name\"", row(&["email", "name"])),
            ("email\n", row(&["email"])),
            ("sep=|\r\nemail;x|name\r\n", row(&["email;x", "name"])),
            ("\"sep=;\"\nemail;name\n", row(&["email", "name"])),
            ("colour;size", row(&["colour", "size"])),
        ] {
            let read = rows(text, None);
            if text == "email;name,tags\n" {
                // One column is known either way.
                assert!(read.unwrap_err().to_string().contains("',' or ';'"));
                continue;
            }
            assert_eq!(read.unwrap()[0].1, expected, "{text:?}");
        }
        assert_eq!(rows("email;name,tags", Some(b';')).unwrap()[0].1, ["email", "name,tags"]);
    }

    #[test]
    fn an_open_quotation_mark_is_an_error_with_its_line() {
        for (text, line) in [("email,name\na,b\nc,\"d\ne,f\n", "line 3:"), ("email,name\n\"a", "line 2:")] {
            let error = rows(text, None).unwrap_err().to_string();
            assert!(error.contains(line) && error.contains("quotation"), "{error}");
        }
        let long = format!("email,name\na,b\nc,\"{}", "x".repeat(2 * MAX_ROW));
        let error = rows(&long, None).unwrap_err().to_string();
        assert!(error.contains("line 3:") && error.contains("too long"), "{error}");
        let wide = format!("email,name\n{}", ",".repeat(2 * MAX_CELLS));
        assert!(rows(&wide, None).unwrap_err().to_string().contains("line 2:"));
    }
}
