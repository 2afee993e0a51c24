//! Rich Text Format: its text and tables, in the encodings that its fonts name.

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};

use super::error::ReadError;
use super::flow::Flow;
use super::limits::Limits;
use super::model::{Document, Warning};

/// How deep groups may nest.
const DEPTH: usize = 512;

/// Groups whose content is no text of the document.
const LEFT_OUT: [&str; 24] = [
    "colortbl",
    "stylesheet",
    "info",
    "pict",
    "objdata",
    "themedata",
    "colorschememapping",
    "datastore",
    "xmlnstbl",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "generator",
    "filetbl",
    "revtbl",
    "latentstyles",
    "fldinst",
    "bkmkstart",
    "bkmkend",
    "nonshppict",
    "annotation",
    "atnid",
    "atnauthor",
    "xe",
];

/// What a group has changed, and its end restores.
#[derive(Clone, Copy)]
struct Group {
    is_left_out: bool,
    is_hidden: bool,
    is_font_table: bool,
    in_table: bool,
    /// How many characters stand for the one before them, for readers without Unicode.
    fallback: usize,
    encoding: &'static Encoding,
}

struct Reader {
    flow: Flow,
    group: Group,
    outer: Vec<Group>,
    encoding: &'static Encoding,
    fonts: HashMap<i32, &'static Encoding>,
    font: i32,
    /// Bytes of the encoding that are no text yet, and the text of the paragraph or cell.
    bytes: Vec<u8>,
    text: String,
    surrogate: Option<u16>,
    to_skip: usize,
    row: Vec<String>,
    rows: Vec<Vec<String>>,
    hidden: bool,
}

pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Document, ReadError> {
    let group = Group {
        is_left_out: false,
        is_hidden: false,
        is_font_table: false,
        in_table: false,
        fallback: 1,
        encoding: WINDOWS_1252,
    };
    let mut reader = Reader {
        flow: Flow::new(limits),
        group,
        outer: Vec::new(),
        encoding: WINDOWS_1252,
        fonts: HashMap::new(),
        font: 0,
        bytes: Vec::new(),
        text: String::new(),
        surrogate: None,
        to_skip: 0,
        row: Vec::new(),
        rows: Vec::new(),
        hidden: false,
    };
    reader.run(bytes)?;
    reader.end_paragraph()?;
    reader.end_table()?;
    let hidden = reader.hidden;
    let mut document = reader.flow.document()?;
    document.warnings.extend(hidden.then_some(Warning::HiddenText { page: 1 }));
    Ok(document)
}

/// The encoding of a set of characters, by the number that fonts have for it.
fn of_charset(charset: i32) -> Option<&'static Encoding> {
    let label = match charset {
        0 => "windows-1252",
        77 => "macintosh",
        128 => "shift_jis",
        129 => "euc-kr",
        134 => "gbk",
        136 => "big5",
        161 => "windows-1253",
        162 => "windows-1254",
        163 => "windows-1258",
        177 => "windows-1255",
        178 => "windows-1256",
        186 => "windows-1257",
        204 => "windows-1251",
        222 => "windows-874",
        238 => "windows-1250",
        _ => return None,
    };
    Encoding::for_label(label.as_bytes())
}

/// The encoding of a code page.
fn of_page(page: i32) -> Option<&'static Encoding> {
    let label = match page {
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        65001 => "utf-8".to_owned(),
        866 => "ibm866".to_owned(),
        page => format!("windows-{page}"),
    };
    Encoding::for_label(label.as_bytes())
}

impl Reader {
    fn run(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'{' => {
                    self.flush();
                    if self.outer.len() >= DEPTH {
                        return Err(ReadError::STRUCTURE);
                    }
                    self.outer.push(self.group);
                    self.to_skip = 0;
                }
                b'}' => {
                    self.flush();
                    self.to_skip = 0;
                    match self.outer.pop() {
                        Some(outer) => self.group = outer,
                        // What follows the document is none of it.
                        None => return Ok(()),
                    }
                    if self.outer.is_empty() {
                        return Ok(());
                    }
                }
                b'\\' => at = self.control(bytes, at)?,
                b'\r' | b'\n' | 0 => {}
                other => self.byte(other),
            }
        }
        // A document that stops before its end was cut.
        Err(ReadError::DAMAGED)
    }

    /// A character of the encoding.
    fn byte(&mut self, byte: u8) {
        if self.to_skip > 0 {
            self.to_skip -= 1;
        } else if self.shows() {
            self.bytes.push(byte);
        }
    }

    fn shows(&mut self) -> bool {
        let is_text = !self.group.is_left_out && !self.group.is_font_table;
        self.hidden |= is_text && self.group.is_hidden;
        is_text && !self.group.is_hidden
    }

    /// Turns the bytes into text.
    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            let text = self.group.encoding.decode_without_bom_handling(&self.bytes).0;
            self.text.push_str(&text);
            self.bytes.clear();
        }
    }

    /// Reads what follows a backslash, and returns where it ends.
    fn control(&mut self, bytes: &[u8], at: usize) -> Result<usize, ReadError> {
        let Some(&first) = bytes.get(at) else { return Ok(at) };
        if !first.is_ascii_alphabetic() {
            return Ok(self.symbol(bytes, at));
        }
        let word_end = (at..bytes.len()).find(|&at| !bytes[at].is_ascii_alphabetic()).unwrap_or(bytes.len());
        let word = std::str::from_utf8(&bytes[at..word_end.min(at + 32)]).unwrap_or_default();
        let mut end = word_end;
        end += usize::from(bytes.get(end) == Some(&b'-'));
        while bytes.get(end).is_some_and(u8::is_ascii_digit) {
            end += 1;
        }
        let number =
            std::str::from_utf8(&bytes[word_end..end]).ok().and_then(|text| text.parse::<i32>().ok());
        end += usize::from(bytes.get(end) == Some(&b' '));
        if word == "bin" {
            let length = usize::try_from(number.unwrap_or(0)).unwrap_or(0);
            return Ok(end.saturating_add(length).min(bytes.len()));
        }
        self.word(word, number)?;
        Ok(end)
    }

    fn symbol(&mut self, bytes: &[u8], at: usize) -> usize {
        match bytes[at] {
            b'\'' => {
                let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
                if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                    self.byte(byte);
                }
                return (at + 3).min(bytes.len());
            }
            // A destination that a reader may not know.
            b'*' => self.group.is_left_out = true,
            b'~' => self.push(" "),
            b'_' => self.push("-"),
            other @ (b'\\' | b'{' | b'}') => self.byte(other),
            _ => {}
        }
        at + 1
    }

    fn push(&mut self, text: &str) {
        self.flush();
        if self.shows() {
            self.text.push_str(text);
        }
    }

    fn word(&mut self, word: &str, number: Option<i32>) -> Result<(), ReadError> {
        let is_on = number != Some(0);
        match word {
            "u" => self.unicode(number.unwrap_or(0)),
            "uc" => self.group.fallback = usize::try_from(number.unwrap_or(1)).unwrap_or(1).min(16),
            "ansicpg" => {
                if let Some(encoding) = number.and_then(of_page) {
                    (self.encoding, self.group.encoding) = (encoding, encoding);
                    self.outer.iter_mut().for_each(|outer| outer.encoding = encoding);
                }
            }
            "fonttbl" => self.group.is_font_table = true,
            "f" if self.group.is_font_table => self.font = number.unwrap_or(0),
            "fcharset" => {
                if let Some(encoding) = number.and_then(of_charset) {
                    self.fonts.insert(self.font, encoding);
                }
            }
            "f" => {
                self.flush();
                // A font of the usual letters has those of the document.
                let of_font = number.and_then(|font| self.fonts.get(&font)).copied();
                self.group.encoding = of_font.filter(|of| *of != WINDOWS_1252).unwrap_or(self.encoding);
            }
            "v" => {
                self.flush();
                self.group.is_hidden = is_on;
            }
            "intbl" => self.group.in_table = true,
            "pard" => self.group.in_table = false,
            "par" | "sect" | "page" => self.end_paragraph()?,
            "line" => self.push("\n"),
            "tab" => self.push("\t"),
            "cell" | "nestcell" => {
                self.flush();
                self.row.push(std::mem::take(&mut self.text));
            }
            "row" | "nestrow" => {
                self.flush();
                self.rows.push(std::mem::take(&mut self.row));
            }
            "emdash" => self.push("—"),
            "endash" => self.push("–"),
            "lquote" => self.push("‘"),
            "rquote" => self.push("’"),
            "ldblquote" => self.push("“"),
            "rdblquote" => self.push("”"),
            "bullet" => self.push("•"),
            _ if LEFT_OUT.contains(&word) => self.group.is_left_out = true,
            _ => {}
        }
        Ok(())
    }

    /// A unit of UTF-16, and the characters for other readers after it.
    fn unicode(&mut self, number: i32) {
        self.flush();
        self.to_skip = self.group.fallback;
        let unit = (number & 0xffff) as u16;
        let before = self.surrogate.take();
        let units = [before.unwrap_or(0), unit];
        let pair = if before.is_some() { &units[..] } else { &units[1..] };
        match char::decode_utf16(pair.iter().copied()).next() {
            Some(Ok(letter)) if self.shows() => self.text.push(letter),
            _ if (0xd800..0xdc00).contains(&unit) => self.surrogate = Some(unit),
            _ => {}
        }
    }

    fn end_paragraph(&mut self) -> Result<(), ReadError> {
        self.flush();
        if self.group.in_table {
            self.text.push('\n');
            return Ok(());
        }
        self.end_table()?;
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return self.flow.end_block();
        }
        for line in text.lines() {
            for (nth, piece) in line.split('\t').enumerate() {
                if nth > 0 {
                    self.flow.gap();
                }
                self.flow.text(piece);
            }
            self.flow.end_line()?;
        }
        Ok(())
    }

    /// Writes the rows that have ended.
    fn end_table(&mut self) -> Result<(), ReadError> {
        if !self.row.is_empty() {
            self.rows.push(std::mem::take(&mut self.row));
        }
        if self.rows.is_empty() { Ok(()) } else { self.flow.table(std::mem::take(&mut self.rows)) }
    }
}
