//! Running text out of paragraphs and tables, for the formats that have both and no positions.

use super::error::ReadError;
use super::limits::{Characters, Limits};
use super::model::{Cell, Document, Line, Page, Table, Word};
use super::words::WordBuilder;

/// Cells are set in columns of at most so many characters; what is longer moves what follows.
const COLUMN: usize = 48;
/// Characters between two columns.
const GAP: usize = 3;

/// Builds one page of running text.
pub(super) struct Flow {
    lines: Vec<Line>,
    tables: Vec<Table>,
    block: u32,
    /// Whether the block has a line.
    has_lines: bool,
    builder: WordBuilder,
    characters: Characters,
}

impl Flow {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            lines: Vec::new(),
            tables: Vec::new(),
            block: 0,
            has_lines: false,
            builder: WordBuilder::default(),
            characters: Characters::new(limits),
        }
    }

    /// Adds text to the line.
    pub(super) fn text(&mut self, text: &str) {
        self.builder.push(text, 0.0, false);
    }

    /// Moves what follows on the line, as a tab does.
    pub(super) fn gap(&mut self) {
        self.builder.space(GAP as u16);
    }

    pub(super) fn end_line(&mut self) -> Result<(), ReadError> {
        let words = self.builder.finish();
        self.push(words)
    }

    fn push(&mut self, words: Vec<Word>) -> Result<(), ReadError> {
        for word in &words {
            self.characters.word(&word.text)?;
        }
        if !words.is_empty() {
            self.lines.push(Line { words, block: self.block });
            self.has_lines = true;
        }
        Ok(())
    }

    /// Ends the line, and the paragraph that it belongs to.
    pub(super) fn end_block(&mut self) -> Result<(), ReadError> {
        self.end_line()?;
        if self.has_lines {
            self.block += 1;
            self.has_lines = false;
        }
        Ok(())
    }

    /// Adds whole lines, a paragraph of their own.
    pub(super) fn paragraph(&mut self, text: &str) -> Result<(), ReadError> {
        self.end_block()?;
        for line in text.lines() {
            self.text(line);
            self.end_line()?;
        }
        self.end_block()
    }

    /// Adds a table as lines with their cells in columns. A cell of several lines has them under each other.
    pub(super) fn table(&mut self, rows: Vec<Vec<String>>) -> Result<(), ReadError> {
        self.end_block()?;
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let used: Vec<bool> = (0..columns)
            .map(|at| rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.trim().is_empty())))
            .collect();
        let rows: Vec<Vec<String>> = rows
            .into_iter()
            .map(|row| row.into_iter().zip(&used).filter(|(_, used)| **used).map(|(cell, _)| cell).collect())
            .filter(|row: &Vec<String>| row.iter().any(|cell| !cell.trim().is_empty()))
            .collect();
        let mut widths = vec![0_usize; used.iter().filter(|used| **used).count()];
        for (width, cell) in rows.iter().flat_map(|row| widths_of(row)) {
            widths[cell] = widths[cell].max(width).min(COLUMN);
        }
        let mut table = Table { columns: widths.len() as u32, rows: Vec::new() };
        for row in rows {
            let mut cells: Vec<Cell> = Vec::new();
            let height = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(0);
            for nth in 0..height {
                let (mut column_start, mut at) = (0_usize, 0_usize);
                for (cell, width) in row.iter().zip(&widths) {
                    let text = cell.lines().nth(nth).unwrap_or_default().trim();
                    if !text.is_empty() {
                        let gap = column_start.saturating_sub(at).max(if at > 0 { GAP } else { 0 });
                        self.builder.space(gap.min(usize::from(u16::MAX)) as u16);
                        self.text(text);
                        at += gap + text.chars().count();
                    }
                    column_start += width + GAP;
                }
                self.end_line()?;
            }
            for (column, cell) in (0..).zip(&row) {
                let mut words = WordBuilder::default();
                words.push(cell, 0.0, false);
                cells.push(Cell { words: words.finish(), column, span: 1 });
            }
            table.rows.push(cells);
        }
        if table.columns > 1 && !table.rows.is_empty() {
            self.tables.push(table);
        }
        self.end_block()
    }

    /// The page, which is the first of its document.
    pub(super) fn finish(mut self) -> Result<Page, ReadError> {
        self.end_block()?;
        Ok(Page { number: 1, lines: self.lines, tables: self.tables, ..Page::default() })
    }

    /// The page as a document.
    pub(super) fn document(self) -> Result<Document, ReadError> {
        Ok(Document { pages: vec![self.finish()?], ..Document::default() })
    }
}

/// The widths of the cells of a row, with their columns.
fn widths_of(row: &[String]) -> impl Iterator<Item = (usize, usize)> {
    let width = |cell: &str| cell.lines().map(|line| line.trim().chars().count()).max().unwrap_or(0);
    row.iter().enumerate().map(move |(at, cell)| (width(cell), at))
}
