//! Words that stand on one height.

use super::pieces::{Piece, Row, words};
use crate::document::model::{Cell, Word};

/// Puts words that a reader sees on one line together, from top to bottom.
pub(super) fn rows(pieces: Vec<Piece>) -> Vec<Row> {
    let mut rows =
        if pieces.iter().all(|piece| piece.row.is_some()) { recognised_rows(pieces) } else { seen(pieces) };
    for row in &mut rows {
        join_parts(row);
        join_spaced_letters(row);
    }
    rows
}

/// OCR has reported which words are on one line.
fn recognised_rows(mut pieces: Vec<Piece>) -> Vec<Row> {
    pieces.sort_by_key(|piece| piece.row);
    let mut rows: Vec<Row> =
        pieces.chunk_by(|a, b| a.row == b.row).map(|row| Row::of(row.to_vec())).collect();
    rows.sort_by(|a, b| (a.top + a.bottom).total_cmp(&(b.top + b.bottom)));
    rows
}

fn seen(mut pieces: Vec<Piece>) -> Vec<Row> {
    pieces.sort_by(|a, b| a.center().total_cmp(&b.center()).then(a.x0.total_cmp(&b.x0)));
    let mut groups: Vec<Vec<Piece>> = Vec::new();
    let mut center = f64::NEG_INFINITY;
    let mut size = 0.0;
    for piece in pieces {
        match groups.last_mut() {
            Some(group) if (piece.center() - center).abs() < 0.3 * piece.size.min(size) => {
                // The middle of a row is that of its larger words.
                let weight = group.len() as f64;
                center = (center * weight + piece.center()) / (weight + 1.0);
                size = size.max(piece.size);
                group.push(piece);
            }
            _ => {
                (center, size) = (piece.center(), piece.size);
                groups.push(vec![piece]);
            }
        }
    }
    merge_neighbours(groups.into_iter().map(Row::of).collect())
}

/// Raised and lowered parts, and values set a little off their labels, belong to the row that they overlap.
fn merge_neighbours(rows: Vec<Row>) -> Vec<Row> {
    let mut merged: Vec<Row> = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(last) = merged.last_mut() {
            let overlap = last.bottom.min(row.bottom) - last.top.max(row.top);
            let height = (last.bottom - last.top).min(row.bottom - row.top);
            if overlap > 0.5 * height && !collide(last, &row) {
                let mut pieces = std::mem::take(&mut last.pieces);
                pieces.extend(row.pieces);
                *last = Row::of(pieces);
                continue;
            }
        }
        merged.push(row);
    }
    merged
}

fn collide(a: &Row, b: &Row) -> bool {
    let mut others = b.pieces.iter().peekable();
    for piece in &a.pieces {
        while others.next_if(|other| other.x1 <= piece.x0 + 0.5).is_some() {}
        if others.peek().is_some_and(|other| other.x0 < piece.x1 - 0.5) {
            return true;
        }
    }
    false
}

/// A word that was drawn in parts, in whatever order, is one again.
fn join_parts(row: &mut Row) {
    let pieces = std::mem::take(&mut row.pieces);
    for piece in pieces {
        if let Some(last) = row.pieces.last_mut() {
            let gap = piece.x0 - last.x1;
            let same = last.text == piece.text && (last.x0 - piece.x0).abs() < 0.2 * piece.size;
            if same && (last.x1 - piece.x1).abs() < 0.2 * piece.size {
                // Drawn twice to look bold.
                last.bold = true;
                continue;
            }
            let close = gap < 0.1 * piece.size && gap > -0.3 * piece.size;
            if close && !piece.spaced && piece.row.is_none() && is_text(&last.text) && is_text(&piece.text) {
                last.text.push_str(&piece.text);
                last.x1 = last.x1.max(piece.x1);
                last.top = last.top.min(piece.top);
                last.bottom = last.bottom.max(piece.bottom);
                continue;
            }
        }
        row.pieces.push(piece);
    }
}

/// Boxes to tick stand for themselves.
fn is_text(text: &str) -> bool {
    !matches!(text, "☐" | "☒" | "☑")
}

/// `I N V O I C E`, set wide without spaces, is one word.
fn join_spaced_letters(row: &mut Row) {
    let is_letter = |piece: &Piece| {
        let mut characters = piece.text.chars();
        characters.next().is_some_and(char::is_alphabetic)
            && characters.next().is_none()
            && piece.row.is_none()
    };
    let mut index = 0;
    while index + 3 < row.pieces.len() {
        let mut end = index + 1;
        let gap = row.pieces[end].x0 - row.pieces[index].x1;
        while end < row.pieces.len() && is_letter(&row.pieces[end - 1]) && is_letter(&row.pieces[end]) {
            let next = row.pieces[end].x0 - row.pieces[end - 1].x1;
            let size = row.pieces[end].size;
            if row.pieces[end].spaced || (next - gap).abs() > 0.12 * size || next > size {
                break;
            }
            end += 1;
        }
        if end - index >= 4 {
            let parts: Vec<Piece> = row.pieces.drain(index + 1..end).collect();
            let first = &mut row.pieces[index];
            for part in parts {
                first.text.push_str(&part.text);
                first.x1 = part.x1;
            }
        }
        index += 1;
    }
}

/// A cell of words that may stand on several lines.
pub(super) fn cell(pieces: Vec<Piece>, column: usize, span: usize) -> Cell {
    let mut all: Vec<Word> = Vec::new();
    for row in rows(pieces) {
        let mut line = words(&row.pieces);
        if let (false, Some(first)) = (all.is_empty(), line.first_mut()) {
            first.gap = 1;
        }
        all.append(&mut line);
    }
    Cell { words: all, column: column as u32, span: span as u32 }
}
