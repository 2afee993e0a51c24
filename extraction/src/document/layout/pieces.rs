//! Words with their positions on a page, and the rows that they form.

use crate::document::model::{Rect, Word};

/// A word with its position, in points from the top left corner, with text that runs to the right.
#[derive(Clone, Debug, Default)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) x0: f64,
    pub(crate) x1: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    /// Height of its type.
    pub(crate) size: f64,
    pub(crate) bold: bool,
    pub(crate) confidence: f32,
    /// Whether the page has a space before it, however narrow.
    pub(crate) spaced: bool,
    /// The line that OCR has put it in.
    pub(crate) row: Option<u32>,
}

impl Piece {
    /// Height of the middle of its letters.
    pub(super) fn center(&self) -> f64 {
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
pub(crate) struct Rule {
    pub(crate) x0: f64,
    pub(crate) y0: f64,
    pub(crate) x1: f64,
    pub(crate) y1: f64,
}

/// The words at one height, from left to right.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) pieces: Vec<Piece>,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) size: f64,
}

impl Row {
    pub(super) fn of(mut pieces: Vec<Piece>) -> Self {
        pieces.sort_by(|a, b| a.x0.total_cmp(&b.x0));
        let top = pieces.iter().map(|piece| piece.top).fold(f64::INFINITY, f64::min);
        let bottom = pieces.iter().map(|piece| piece.bottom).fold(f64::NEG_INFINITY, f64::max);
        let mut sizes: Vec<f64> = pieces.iter().map(|piece| piece.size).collect();
        sizes.sort_by(f64::total_cmp);
        let size = sizes.get(sizes.len() / 2).copied().unwrap_or(1.0).max(1.0);
        Self { pieces, top, bottom, size }
    }

    pub(super) fn left(&self) -> f64 {
        self.pieces.first().map_or(0.0, |piece| piece.x0)
    }

    pub(super) fn right(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.x1).fold(0.0, f64::max)
    }

    /// Where the row is open wider than between words: from, to.
    pub(super) fn gaps(&self) -> Vec<(f64, f64)> {
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
    pub(super) fn segments(&self) -> Vec<&[Piece]> {
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

/// The words of a row, each with its gap to the one before it.
pub(super) fn words(pieces: &[Piece]) -> Vec<Word> {
    pieces
        .iter()
        .enumerate()
        .map(|(index, piece)| piece.word(index.checked_sub(1).map(|index| &pieces[index])))
        .collect()
}
