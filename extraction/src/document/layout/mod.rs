//! From words with places to lines in reading order, blocks and tables. The same for PDF and recognised pages.

mod aligned;
mod columns;
mod rows;
mod ruled;

use super::{Cell, Line, Rect, Table, Word};

/// A word with its place: points from the top left corner, text running to the right.
#[derive(Clone, Debug, Default)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) x0: f64,
    pub(super) x1: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// Height of its type.
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) confidence: f32,
    /// Whether the page has a space before it, however narrow.
    pub(super) spaced: bool,
    /// The line that recognition has put it in.
    pub(super) row: Option<u32>,
}

impl Piece {
    /// Height of the middle of its letters.
    fn center(&self) -> f64 {
        f64::midpoint(self.top, self.bottom)
    }

    fn word(&self, previous: Option<&Self>) -> Word {
        let gap = previous.map_or(0, |previous| {
            let size = previous.size.max(self.size).max(1.0);
            // A character is about half as wide as its type is high.
            ((self.x0 - previous.x1) / (size * 0.5)).round().clamp(1.0, 400.0) as u16
        });
        Word {
            text: self.text.clone(),
            bbox: Some(Rect {
                x: self.x0 as f32,
                y: self.top as f32,
                width: (self.x1 - self.x0) as f32,
                height: (self.bottom - self.top) as f32,
            }),
            confidence: self.confidence,
            gap,
            size: self.size as f32,
            bold: self.bold,
        }
    }
}

/// A horizontal or vertical line of the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) x0: f64,
    pub(super) y0: f64,
    pub(super) x1: f64,
    pub(super) y1: f64,
}

/// What stands on one height: words from left to right.
#[derive(Clone, Debug, Default)]
struct Row {
    pieces: Vec<Piece>,
    top: f64,
    bottom: f64,
    size: f64,
}

impl Row {
    fn of(mut pieces: Vec<Piece>) -> Self {
        pieces.sort_by(|a, b| a.x0.total_cmp(&b.x0));
        let top = pieces.iter().map(|piece| piece.top).fold(f64::INFINITY, f64::min);
        let bottom = pieces.iter().map(|piece| piece.bottom).fold(f64::NEG_INFINITY, f64::max);
        let mut sizes: Vec<f64> = pieces.iter().map(|piece| piece.size).collect();
        sizes.sort_by(f64::total_cmp);
        let size = sizes.get(sizes.len() / 2).copied().unwrap_or(1.0).max(1.0);
        Self { pieces, top, bottom, size }
    }

    fn left(&self) -> f64 {
        self.pieces.first().map_or(0.0, |piece| piece.x0)
    }

    fn right(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.x1).fold(0.0, f64::max)
    }

    /// Where the row is open wider than between words: from, to.
    fn gaps(&self) -> Vec<(f64, f64)> {
        let mut gaps = Vec::new();
        let mut right = f64::NEG_INFINITY;
        for piece in &self.pieces {
            if right.is_finite() && piece.x0 - right > self.size {
                gaps.push((right, piece.x0));
            }
            right = right.max(piece.x1);
        }
        gaps
    }

    /// The runs of words between the gaps.
    fn segments(&self) -> Vec<&[Piece]> {
        let mut segments = Vec::new();
        let mut begin = 0;
        let mut right = f64::NEG_INFINITY;
        for (index, piece) in self.pieces.iter().enumerate() {
            if right.is_finite() && piece.x0 - right > self.size {
                segments.push(&self.pieces[begin..index]);
                begin = index;
            }
            right = right.max(piece.x1);
        }
        segments.push(&self.pieces[begin..]);
        segments
    }
}

/// A page that has been put in order.
#[derive(Default)]
pub(super) struct Arranged {
    pub(super) lines: Vec<Line>,
    pub(super) tables: Vec<Table>,
}

/// Puts the words of a page in reading order.
pub(super) fn arrange(pieces: Vec<Piece>, rules: &[Rule]) -> Arranged {
    let (grids, mut tables) = ruled::tables(&pieces, rules);
    let rows = rows::rows(pieces);
    let mut ordered = Vec::new();
    columns::order(rows, &grids, 0, &mut ordered, &mut 0);

    let mut placed: Vec<(f64, Table)> = Vec::new();
    for (grid, table) in grids.iter().zip(tables.drain(..)) {
        placed.push((grid.top, table));
    }
    placed.extend(aligned::tables(&ordered, &grids));
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));

    let mut lines: Vec<Line> = Vec::with_capacity(ordered.len());
    let mut block = 0;
    let mut previous: Option<&(Row, u32)> = None;
    for current in &ordered {
        let (row, column) = current;
        if let Some((before, before_column)) = previous {
            let far = row.top - before.bottom > 0.75 * row.size.max(before.size);
            let backwards = row.top < before.top;
            let other_type = row.size / before.size > 1.25 || before.size / row.size > 1.25;
            let grid = |row: &Row| grids.iter().position(|grid| grid.contains(row));
            if column != before_column || far || backwards || other_type || grid(row) != grid(before) {
                block += 1;
            }
        }
        previous = Some(current);
        lines.push(Line { words: words(&row.pieces), block });
    }
    Arranged { lines, tables: placed.into_iter().map(|(_, table)| table).collect() }
}

fn words(pieces: &[Piece]) -> Vec<Word> {
    pieces
        .iter()
        .enumerate()
        .map(|(index, piece)| piece.word(index.checked_sub(1).map(|index| &pieces[index])))
        .collect()
}

/// A cell of words that may stand on several lines.
fn cell(pieces: Vec<Piece>, column: usize, span: usize) -> Cell {
    let mut all: Vec<Word> = Vec::new();
    for row in rows::rows(pieces) {
        let mut line = words(&row.pieces);
        if let (false, Some(first)) = (all.is_empty(), line.first_mut()) {
            first.gap = 1;
        }
        all.append(&mut line);
    }
    Cell { words: all, column: column as u32, span: span as u32 }
}
