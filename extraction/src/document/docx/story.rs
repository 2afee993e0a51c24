//! The flow of paragraphs and tables of a DOCX, as lines, words and cells.

use super::lists::Lists;
use super::styles::{ListLevel, Look, Styles};
use crate::document::error::ReadError;
use crate::document::limits::Characters;
use crate::document::limits::Limits;
use crate::document::model::{Cell, Line, Table, Word};
use crate::document::words::WordBuilder;
use crate::document::xml::{Element, Visitor, Vocabulary};

/// The white space for a tab and between the cells of a row.
const TAB: u16 = 4;
/// A longer paragraph of a cell is prose and does not share a line with that of its neighbour.
const PROSE: usize = 80;

type Words = Vec<Word>;

/// Where paragraphs go while they are read.
enum Container {
    /// The story itself, or a text box: lines.
    Flow(Vec<(Words, u32)>),
    Table {
        rows: Vec<Vec<Cell>>,
        lines: Vec<Words>,
    },
    Row {
        cells: Vec<ReadCell>,
        deleted: bool,
    },
    Cell(ReadCell),
}

#[derive(Default)]
struct ReadCell {
    lines: Vec<Words>,
    span: u32,
    continued: bool,
}

#[derive(Default)]
struct Paragraph {
    lines: Vec<Words>,
    line: WordBuilder,
    style: Option<String>,
    list: ListLevel,
    look: Look,
    /// Text boxes anchored in it, which are read after it.
    boxes: Vec<(Words, u32)>,
}

/// How the text of a run looks.
#[derive(Clone, Copy, Default)]
struct Run {
    size: f32,
    bold: bool,
    hidden: bool,
}

/// A form field of the old kind, between the beginning and the end of its field.
#[derive(Default)]
struct Field {
    checked: Option<bool>,
    entries: Vec<String>,
    chosen: usize,
}

pub(super) struct Story<'a> {
    styles: &'a Styles,
    lists: &'a mut Lists,
    characters: Characters,
    containers: Vec<Container>,
    paragraphs: Vec<Paragraph>,
    runs: Vec<Run>,
    field: Option<Field>,
    in_text: bool,
    in_paragraph_look: bool,
    tables: Vec<Table>,
    hidden: bool,
    block: u32,
    /// Whether a document of this vocabulary was read, and not anything else.
    is_document: bool,
}

impl<'a> Story<'a> {
    pub(super) fn new(styles: &'a Styles, lists: &'a mut Lists, limits: &Limits) -> Self {
        Self {
            styles,
            lists,
            characters: Characters::new(limits),
            containers: vec![Container::Flow(Vec::new())],
            paragraphs: Vec::new(),
            runs: Vec::new(),
            field: None,
            in_text: false,
            in_paragraph_look: false,
            tables: Vec::new(),
            hidden: false,
            block: 0,
            is_document: false,
        }
    }

    /// Whether what was read until now had a document of word processing in it.
    pub(super) fn is_document(&self) -> bool {
        self.is_document
    }

    /// The lines, the tables, and whether hidden text was left out.
    pub(super) fn finish(mut self) -> (Vec<Line>, Vec<Table>, bool) {
        let lines = match self.containers.drain(..).next() {
            Some(Container::Flow(lines)) => lines,
            _ => Vec::new(),
        };
        let lines = lines.into_iter().map(|(words, block)| Line { words, block }).collect();
        (lines, self.tables, self.hidden)
    }

    fn run(&self) -> Run {
        self.runs.last().copied().unwrap_or_default()
    }

    fn write(&mut self, text: &str) {
        let run = self.run();
        if run.hidden {
            self.hidden |= !text.trim().is_empty();
            return;
        }
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.line.push(text, run.size, run.bold);
        }
    }

    fn end_line(&mut self) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            let words = paragraph.line.finish();
            if !words.is_empty() {
                paragraph.lines.push(words);
            }
        }
    }

    /// The paragraph's style is complete: its runs inherit it, and its list label comes first.
    fn begin_text(&mut self) {
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        paragraph.look = self.styles.look(paragraph.style.as_deref());
        let list = ListLevel {
            list: paragraph.list.list.or(paragraph.look.list.list),
            level: paragraph.list.level.or(paragraph.look.list.level),
        };
        if let Some(label) = self.lists.label(list) {
            let (size, bold) = (paragraph.look.size.unwrap_or(0.0), paragraph.look.bold.unwrap_or(false));
            paragraph.line.push(&label, size, bold);
            paragraph.line.space(1);
        }
    }

    fn end_paragraph(&mut self) -> Result<(), ReadError> {
        self.end_line();
        let Some(paragraph) = self.paragraphs.pop() else { return Ok(()) };
        for word in paragraph.lines.iter().flatten() {
            self.characters.word(&word.text)?;
        }
        let block = self.block;
        if !paragraph.lines.is_empty() {
            self.block += 1;
        }
        let boxes = paragraph.boxes.into_iter();
        match self.containers.last_mut() {
            Some(Container::Flow(lines)) => {
                lines.extend(paragraph.lines.into_iter().map(|words| (words, block)));
                lines.extend(boxes);
            }
            Some(Container::Cell(cell)) => {
                cell.lines.extend(paragraph.lines);
                cell.lines.extend(boxes.map(|(words, _)| words));
            }
            // Paragraphs stand in cells only; others are lost in every reader.
            _ => {}
        }
        Ok(())
    }

    fn end_row(&mut self, cells: Vec<ReadCell>) {
        let Some(Container::Table { rows, lines }) = self.containers.last_mut() else { return };
        let mut row = Vec::with_capacity(cells.len());
        let mut column = 0;
        for cell in &cells {
            let words = if cell.continued { Vec::new() } else { join(cell.lines.iter().cloned(), 1) };
            row.push(Cell { words, column, span: cell.span });
            column += cell.span;
        }
        rows.push(row);
        let cells: Vec<Vec<Words>> =
            cells.into_iter().map(|cell| cell.lines).filter(|lines| !lines.is_empty()).collect();
        lines.extend(row_lines(cells));
    }

    fn end_table(&mut self, rows: Vec<Vec<Cell>>, table_lines: Vec<Words>) {
        let columns = rows.iter().flatten().map(|cell| cell.column + cell.span).max().unwrap_or(0);
        let block = self.block;
        match self.containers.last_mut() {
            Some(Container::Flow(lines)) => {
                lines.extend(table_lines.into_iter().map(|words| (words, block)));
                self.block += 1;
            }
            Some(Container::Cell(cell)) => cell.lines.extend(table_lines),
            _ => {}
        }
        if columns > 1 && !rows.is_empty() {
            self.tables.push(Table { columns, rows });
        }
    }

    fn form_field(&mut self, element: &Element<'_>, name: &[u8]) {
        match (name, &mut self.field) {
            (b"ffData", field) => *field = Some(Field::default()),
            (b"checkBox", Some(field)) => field.checked = Some(false),
            (b"default" | b"checked", Some(field)) if field.checked.is_some() => {
                field.checked = Some(element.is_on());
            }
            (b"result" | b"default", Some(field)) => {
                field.chosen = element.attribute(b"val").and_then(|value| value.parse().ok()).unwrap_or(0);
            }
            (b"listEntry", Some(field)) => field.entries.extend(element.attribute(b"val")),
            _ => {}
        }
    }

    fn end_form_field(&mut self) {
        let Some(field) = self.field.take() else { return };
        match field.checked {
            Some(true) => self.write("☒"),
            Some(false) => self.write("☐"),
            None => {
                if let Some(entry) = field.entries.get(field.chosen) {
                    self.write(entry);
                }
            }
        }
    }

    fn symbol(&mut self, element: &Element<'_>) {
        let font = element.attribute(b"font").unwrap_or_default();
        let code =
            element.attribute(b"char").and_then(|code| u32::from_str_radix(&code, 16).ok()).unwrap_or(0);
        // Symbol fonts count from U+F000, in files by either number.
        match (font.as_str(), code & 0xff) {
            ("Wingdings", 0xfd | 0xfe | 0x78) | ("Wingdings 2", 0x51 | 0x53 | 0x54) => self.write("☒"),
            ("Wingdings", 0x6f | 0xa8 | 0x71) | ("Wingdings 2", 0xa3 | 0x2a) => self.write("☐"),
            ("Wingdings", 0xfc) | ("Wingdings 2", 0x50) => self.write("✓"),
            ("Wingdings" | "Wingdings 2" | "Wingdings 3" | "Webdings", _) => self.write("•"),
            _ => {
                if let Some(character) = char::from_u32(code).filter(|_| code < 0xf000) {
                    self.write(character.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }
}

impl Visitor for Story<'_> {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        let name = element.name();
        if element.vocabulary != Vocabulary::Word {
            // The same again, for readers that do not know the first.
            return Ok(name != b"Fallback");
        }
        match name {
            b"document" => self.is_document = true,
            b"moveFrom" => return Ok(false),
            b"del" => {
                // In the look of a row it marks the row; elsewhere it holds what is deleted.
                if let Some(Container::Row { deleted, .. }) = self.containers.last_mut() {
                    *deleted = true;
                }
                return Ok(false);
            }
            // The former style of a part with tracked changes.
            name if name.ends_with(b"Change") => return Ok(false),
            // Notes that only separate.
            b"footnote" | b"endnote" => {
                return Ok(!element
                    .attribute(b"type")
                    .is_some_and(|kind| kind.to_lowercase().contains("separa")));
            }
            b"p" => self.paragraphs.push(Paragraph::default()),
            b"pPr" => self.in_paragraph_look = true,
            b"r" => {
                // The first run of a paragraph without properties.
                let look = self.paragraphs.last().map(|paragraph| paragraph.look).unwrap_or_default();
                let look = if look.size.is_none() { self.styles.look(None) } else { look };
                let (size, bold) = (look.size.unwrap_or(0.0), look.bold.unwrap_or(false));
                self.runs.push(Run { size, bold, hidden: false });
            }
            b"t" => self.in_text = true,
            b"tab" if self.in_paragraph_look => {}
            b"tab" | b"ptab" => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.line.space(TAB);
                }
            }
            b"br" | b"cr" => self.end_line(),
            b"noBreakHyphen" => self.write("-"),
            b"sym" => self.symbol(element),
            b"ffData" | b"checkBox" | b"default" | b"checked" | b"result" | b"listEntry" => {
                self.form_field(element, name);
            }
            b"tbl" => self.containers.push(Container::Table { rows: Vec::new(), lines: Vec::new() }),
            b"tr" => self.containers.push(Container::Row { cells: Vec::new(), deleted: false }),
            b"tc" => self.containers.push(Container::Cell(ReadCell { span: 1, ..ReadCell::default() })),
            b"txbxContent" => self.containers.push(Container::Flow(Vec::new())),
            _ => self.property(element, name),
        }
        Ok(true)
    }

    fn end(&mut self, vocabulary: Vocabulary, name: &[u8]) -> Result<(), ReadError> {
        if vocabulary != Vocabulary::Word {
            return Ok(());
        }
        match name {
            b"pPr" => {
                self.in_paragraph_look = false;
                self.begin_text();
            }
            b"p" => self.end_paragraph()?,
            b"r" => {
                self.runs.pop();
            }
            b"t" => self.in_text = false,
            b"ffData" => self.end_form_field(),
            b"tc" => {
                if let Some(Container::Cell(cell)) =
                    self.containers.pop_if(|last| matches!(last, Container::Cell(_)))
                    && let Some(Container::Row { cells, .. }) = self.containers.last_mut()
                {
                    cells.push(cell);
                }
            }
            b"tr" => {
                if let Some(Container::Row { cells, deleted: false }) =
                    self.containers.pop_if(|last| matches!(last, Container::Row { .. }))
                {
                    self.end_row(cells);
                }
            }
            b"tbl" => {
                if let Some(Container::Table { rows, lines }) =
                    self.containers.pop_if(|last| matches!(last, Container::Table { .. }))
                {
                    self.end_table(rows, lines);
                }
            }
            b"txbxContent" if self.containers.len() > 1 => {
                if let Some(Container::Flow(lines)) =
                    self.containers.pop_if(|last| matches!(last, Container::Flow(_)))
                {
                    match self.paragraphs.last_mut() {
                        Some(paragraph) => paragraph.boxes.extend(lines),
                        None => {
                            if let Some(Container::Flow(outer)) = self.containers.last_mut() {
                                outer.extend(lines);
                            }
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if self.in_text {
            self.write(text);
        }
    }
}

impl Story<'_> {
    fn property(&mut self, element: &Element<'_>, name: &[u8]) {
        let value = || element.attribute(b"val");
        if self.in_paragraph_look {
            if let Some(paragraph) = self.paragraphs.last_mut() {
                match name {
                    b"pStyle" => paragraph.style = value(),
                    b"numId" => paragraph.list.list = value().and_then(|value| value.parse().ok()),
                    b"ilvl" => paragraph.list.level = value().and_then(|value| value.parse().ok()),
                    _ => {}
                }
            }
            return;
        }
        if let Some(run) = self.runs.last_mut() {
            match name {
                b"b" => run.bold = element.is_on(),
                b"sz" => {
                    run.size =
                        value().and_then(|value| value.parse().ok()).map_or(run.size, |size: f32| size / 2.0);
                }
                b"vanish" | b"webHidden" => run.hidden |= name == b"vanish" && element.is_on(),
                _ => {}
            }
            return;
        }
        if let Some(Container::Cell(cell)) = self.containers.last_mut() {
            match name {
                b"gridSpan" => {
                    cell.span = value().and_then(|value| value.parse().ok()).unwrap_or(1).clamp(1, 64);
                }
                b"vMerge" => cell.continued = value().as_deref() != Some("restart"),
                _ => {}
            }
        }
    }
}

/// One line out of several, with a gap between.
fn join(lines: impl IntoIterator<Item = Words>, gap: u16) -> Words {
    let mut joined: Words = Vec::new();
    for mut line in lines {
        if let (false, Some(first)) = (joined.is_empty(), line.first_mut()) {
            first.gap = gap;
        }
        joined.append(&mut line);
    }
    joined
}

/// The lines that a reader sees in a row: what stands side by side is one line, unless it is prose of several
/// paragraphs, which is read cell by cell.
fn row_lines(cells: Vec<Vec<Words>>) -> Vec<Words> {
    let length = |words: &Words| words.iter().map(|word| word.text.len() + 1).sum::<usize>();
    let single = cells.iter().all(|lines| lines.len() == 1);
    let short = cells.iter().flatten().all(|line| length(line) <= PROSE);
    if !single && (!short || cells.len() == 1) {
        return cells.into_iter().flatten().collect();
    }
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    (0..height).map(|index| join(cells.iter().filter_map(|lines| lines.get(index).cloned()), TAB)).collect()
}
