//! HTML: the text that a reader sees, with its tables.

use encoding_rs::Encoding;
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use super::error::ReadError;
use super::flow::Flow;
use super::limits::Limits;
use super::model::{Document, Warning};

/// Elements whose content nobody sees.
const LEFT_OUT: [&str; 12] = [
    "script", "style", "template", "noscript", "svg", "math", "iframe", "object", "canvas", "title", "audio",
    "video",
];
/// Elements within a line; all others begin and end one.
const INLINE: [&str; 32] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "em", "font", "i",
    "img", "input", "ins", "kbd", "label", "mark", "nobr", "q", "s", "small", "span", "strong", "sub", "sup",
    "time", "tt", "u", "wbr",
];
/// Elements without an end tag.
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];
/// The bytes in which a page declares its encoding.
const DECLARATION: usize = 1024;
/// Tables within tables, which lay out pages.
const MAX_TABLES: usize = 64;

/// Reads a page in the encoding that it declares.
pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Document, ReadError> {
    read_text(&decoded(bytes), limits)
}

/// Reads the characters of a page.
pub(super) fn read_text(text: &str, limits: &Limits) -> Result<Document, ReadError> {
    let mut emitter = DefaultEmitter::default();
    // The content of scripts and styles is text, not tags.
    emitter.naively_switch_states(true);
    let mut page =
        Reader { flow: Flow::new(limits), skipped: None, tables: Vec::new(), hidden: false, preformatted: 0 };
    for token in Tokenizer::new_with_emitter(text, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => page.start(&String::from_utf8_lossy(&tag.name), &tag)?,
            Token::EndTag(tag) => page.end(&String::from_utf8_lossy(&tag.name))?,
            Token::String(text) => page.text(&String::from_utf8_lossy(&text))?,
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    while !page.tables.is_empty() {
        page.end_table()?;
    }
    let hidden = page.hidden;
    let mut document = page.flow.document()?;
    document.warnings.extend(hidden.then_some(Warning::HiddenText { page: 1 }));
    Ok(document)
}

fn decoded(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    let is_evident = Encoding::for_bom(bytes).is_some() || std::str::from_utf8(bytes).is_ok();
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION)]).to_lowercase();
    let declared = head.split_once("charset=").map(|(_, rest)| rest.trim_start_matches(['"', '\'', ' ']));
    let is_label = |letter: char| letter.is_ascii_alphanumeric() || "-_:".contains(letter);
    let label = declared.map(|rest| rest.split(|letter| !is_label(letter)).next().unwrap_or_default());
    match label.and_then(|label| Encoding::for_label(label.as_bytes())) {
        Some(encoding) if !is_evident => encoding.decode(bytes).0,
        _ => super::text::decode(bytes),
    }
}

/// A table that is open.
#[derive(Default)]
struct OpenTable {
    rows: Vec<Vec<String>>,
    row: Vec<String>,
    cell: Option<String>,
    /// Whether it holds tables: it lays out the page, and its text is that of the page.
    is_layout: bool,
}

struct Reader {
    flow: Flow,
    /// The element that is passed over, and the open ones of its name inside.
    skipped: Option<(String, usize)>,
    tables: Vec<OpenTable>,
    hidden: bool,
    preformatted: usize,
}

impl Reader {
    fn start(&mut self, name: &str, tag: &StartTag<()>) -> Result<(), ReadError> {
        if let Some((skipped, nested)) = &mut self.skipped {
            *nested += usize::from(skipped == name && !tag.self_closing);
            return Ok(());
        }
        let is_hidden = is_hidden(tag);
        if LEFT_OUT.contains(&name) || is_hidden {
            self.hidden |= is_hidden;
            if !tag.self_closing && !VOID.contains(&name) {
                self.skipped = Some((name.to_owned(), 0));
            }
            return Ok(());
        }
        match name {
            "table" if self.tables.len() < MAX_TABLES => {
                self.lay_out()?;
                self.flow.end_block()?;
                self.tables.push(OpenTable::default());
            }
            "tr" => self.end_row()?,
            "td" | "th" => {
                self.end_cell()?;
                if let Some(table) = self.tables.last_mut().filter(|table| !table.is_layout) {
                    table.cell = Some(String::new());
                }
            }
            "br" => self.break_line()?,
            "li" => {
                self.break_line()?;
                self.write("- ");
            }
            "input" => self.form_field(tag),
            _ => {
                self.preformatted += usize::from(name == "pre");
                self.block(name)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), ReadError> {
        if let Some((skipped, nested)) = &mut self.skipped {
            match (skipped == name, *nested) {
                (false, _) => {}
                (true, 0) => self.skipped = None,
                (true, _) => *nested -= 1,
            }
            return Ok(());
        }
        match name {
            "table" => self.end_table(),
            "tr" => self.end_row(),
            "td" | "th" => self.end_cell(),
            "li" => self.break_line(),
            _ => {
                self.preformatted = self.preformatted.saturating_sub(usize::from(name == "pre"));
                self.block(name)
            }
        }
    }

    /// The cell that text belongs to.
    fn cell(&mut self) -> Option<&mut String> {
        self.tables.last_mut().and_then(|table| table.cell.as_mut())
    }

    fn write(&mut self, text: &str) {
        match self.cell() {
            Some(cell) => cell.push_str(text),
            None => self.flow.text(text),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), ReadError> {
        if self.skipped.is_some() {
            return Ok(());
        }
        if self.preformatted > 0 {
            let mut lines = text.split('\n');
            self.write(lines.next().unwrap_or_default());
            for line in lines {
                self.break_line()?;
                self.write(line);
            }
            return Ok(());
        }
        for part in text.split_inclusive(char::is_whitespace) {
            let word = part.trim_end_matches(char::is_whitespace);
            self.write(word);
            if word.len() < part.len() {
                self.space();
            }
        }
        Ok(())
    }

    /// White space, which counts once.
    fn space(&mut self) {
        match self.cell() {
            Some(cell) if cell.ends_with([' ', '\n']) || cell.is_empty() => {}
            Some(cell) => cell.push(' '),
            None => self.flow.text(" "),
        }
    }

    fn break_line(&mut self) -> Result<(), ReadError> {
        match self.cell() {
            Some(cell) => {
                if !cell.is_empty() {
                    cell.push('\n');
                }
                Ok(())
            }
            None => self.flow.end_line(),
        }
    }

    fn block(&mut self, name: &str) -> Result<(), ReadError> {
        if INLINE.contains(&name) {
            return Ok(());
        }
        if self.cell().is_some() { self.break_line() } else { self.flow.end_block() }
    }

    /// What a field of a form shows.
    fn form_field(&mut self, tag: &StartTag<()>) {
        let kind = attribute(tag, b"type").unwrap_or_default().to_lowercase();
        let is_checked = tag.attributes.iter().any(|(key, _)| key.as_slice() == b"checked");
        match kind.as_str() {
            "checkbox" | "radio" => self.write(if is_checked { " ☑ " } else { " ☐ " }),
            "hidden" | "submit" | "button" | "image" | "reset" | "password" => {}
            _ => self.write(&format!(" {} ", attribute(tag, b"value").unwrap_or_default())),
        }
    }

    fn end_cell(&mut self) -> Result<(), ReadError> {
        match self.tables.last_mut() {
            Some(table) if table.is_layout => self.flow.end_block(),
            Some(table) => {
                table.row.extend(table.cell.take());
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn end_row(&mut self) -> Result<(), ReadError> {
        self.end_cell()?;
        if let Some(table) = self.tables.last_mut().filter(|table| !table.row.is_empty()) {
            let row = std::mem::take(&mut table.row);
            table.rows.push(row);
        }
        Ok(())
    }

    fn end_table(&mut self) -> Result<(), ReadError> {
        self.end_row()?;
        match self.tables.pop() {
            Some(table) => self.flow.table(table.rows),
            None => Ok(()),
        }
    }

    /// Turns the open table into layout: what it holds is written before the table inside.
    fn lay_out(&mut self) -> Result<(), ReadError> {
        let Some(table) = self.tables.last_mut().filter(|table| !table.is_layout) else { return Ok(()) };
        table.is_layout = true;
        let (rows, row, cell) =
            (std::mem::take(&mut table.rows), std::mem::take(&mut table.row), table.cell.take());
        self.flow.table(rows)?;
        for text in row.into_iter().chain(cell) {
            self.flow.paragraph(&text)?;
        }
        Ok(())
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let found = tag.attributes.iter().find(|(key, _)| key.as_slice() == name);
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
}

/// Whether a reader does not see the element.
fn is_hidden(tag: &StartTag<()>) -> bool {
    let style = attribute(tag, b"style").unwrap_or_default().to_lowercase();
    let style: String = style.split_whitespace().collect();
    let declared = |one: &str| style.split(';').any(|declaration| declaration == one);
    attribute(tag, b"hidden").is_some()
        || ["display:none", "visibility:hidden", "font-size:0", "font-size:0px", "opacity:0"]
            .into_iter()
            .any(declared)
}
