//! Tables whose cells are drawn: a grid of lines.

use super::pieces::{Piece, Row, Rule};
use super::rows::cell;
use crate::document::model::Table;

/// Lines nearer than this are one, in points.
const NEAR: f64 = 3.0;
/// A page of more lines is a drawing.
const RULES: usize = 1500;
/// A grid of more lines across or down is one too.
const LINES: usize = 200;

/// Where a drawn table is.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Grid {
    /// Whether the middle of a row is in it, and at least half of its words.
    pub(super) fn contains(&self, row: &Row) -> bool {
        let middle = f64::midpoint(row.top, row.bottom);
        let inside =
            row.pieces.iter().filter(|piece| piece.x0 >= self.left - NEAR && piece.x1 <= self.right + NEAR);
        middle > self.top && middle < self.bottom && inside.count() * 2 >= row.pieces.len()
    }

    /// Whether the middle of a word is in it.
    pub(super) fn holds(&self, piece: &Piece) -> bool {
        let (x, y) = (f64::midpoint(piece.x0, piece.x1), piece.center());
        (self.left..self.right).contains(&x) && (self.top..self.bottom).contains(&y)
    }
}

/// A line across (`at` is its height) or down.
#[derive(Clone, Copy)]
struct Stroke {
    at: f64,
    from: f64,
    to: f64,
}

/// The drawn tables, and where they are.
pub(super) fn tables(pieces: &[Piece], rules: &[Rule]) -> (Vec<Grid>, Vec<Table>) {
    let mut across = Vec::new();
    let mut down = Vec::new();
    for rule in rules.iter().take(20_000) {
        if (rule.x1 - rule.x0).abs() >= (rule.y1 - rule.y0).abs() {
            across.push(Stroke { at: f64::midpoint(rule.y0, rule.y1), from: rule.x0, to: rule.x1 });
        } else {
            down.push(Stroke { at: f64::midpoint(rule.x0, rule.x1), from: rule.y0, to: rule.y1 });
        }
    }
    let (across, down) = (merge(across), merge(down));
    if across.len() > RULES || down.len() > RULES {
        return (Vec::new(), Vec::new());
    }
    let groups = connected(&across, &down);
    let mut found: Vec<Option<(Grid, Table)>> = vec![None; groups.len()];
    // A table within a cell of another comes first, so that its words are in one table only.
    let mut smallest: Vec<usize> = (0..groups.len()).collect();
    smallest.sort_by(|a, b| area(&groups[*a]).total_cmp(&area(&groups[*b])));
    let mut free: Vec<&Piece> = pieces.iter().collect();
    for index in smallest {
        let (across, down) = &groups[index];
        found[index] = table(across, down, &free);
        if let Some((grid, _)) = &found[index] {
            free.retain(|piece| !grid.holds(piece));
        }
    }
    found.into_iter().flatten().unzip()
}

/// How much room lines take that hang together.
fn area((across, down): &(Vec<Stroke>, Vec<Stroke>)) -> f64 {
    let extent = |strokes: &[Stroke]| {
        let ends = strokes.first().zip(strokes.last());
        ends.map_or(0.0, |(first, last)| last.at - first.at)
    };
    extent(across) * extent(down)
}

/// Lines that continue one another are one.
fn merge(mut strokes: Vec<Stroke>) -> Vec<Stroke> {
    strokes.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut merged: Vec<Stroke> = Vec::new();
    for group in strokes.chunk_by(|a, b| b.at - a.at < 1.5) {
        let mut group = group.to_vec();
        group.sort_by(|a, b| a.from.total_cmp(&b.from));
        let begin = merged.len();
        for stroke in group {
            match merged[begin..].last_mut() {
                Some(last) if stroke.from <= last.to + NEAR => last.to = last.to.max(stroke.to),
                _ => merged.push(stroke),
            }
        }
    }
    merged
}

/// The lines that hang together by crossing or touching.
fn connected(across: &[Stroke], down: &[Stroke]) -> Vec<(Vec<Stroke>, Vec<Stroke>)> {
    let mut group: Vec<usize> = (0..across.len() + down.len()).collect();
    fn root(group: &mut [usize], mut index: usize) -> usize {
        while group[index] != index {
            group[index] = group[group[index]];
            index = group[index];
        }
        index
    }
    for (i, a) in across.iter().enumerate() {
        for (j, d) in down.iter().enumerate() {
            let meet = |at: f64, stroke: &Stroke| at > stroke.from - NEAR && at < stroke.to + NEAR;
            if meet(d.at, a) && meet(a.at, d) {
                let (x, y) = (root(&mut group, i), root(&mut group, across.len() + j));
                group[x] = y;
            }
        }
    }
    let mut parts: std::collections::BTreeMap<usize, (Vec<Stroke>, Vec<Stroke>)> =
        std::collections::BTreeMap::new();
    for (index, stroke) in across.iter().enumerate() {
        parts.entry(root(&mut group, index)).or_default().0.push(*stroke);
    }
    for (index, stroke) in down.iter().enumerate() {
        parts.entry(root(&mut group, across.len() + index)).or_default().1.push(*stroke);
    }
    parts.into_values().filter(|(across, down)| across.len() >= 2 && down.len() >= 2).collect()
}

/// The positions of lines across their direction; lines near each other count once.
fn positions(strokes: &[Stroke]) -> Vec<f64> {
    let mut positions: Vec<f64> = strokes.iter().map(|stroke| stroke.at).collect();
    positions.sort_by(f64::total_cmp);
    positions.dedup_by(|next, retained| *next - *retained < NEAR);
    positions
}

fn table(across: &[Stroke], down: &[Stroke], pieces: &[&Piece]) -> Option<(Grid, Table)> {
    let (xs, ys) = (positions(down), positions(across));
    let (columns, rows) = (xs.len() - 1, ys.len() - 1);
    if columns < 2 || rows < 2 || xs.len() > LINES || ys.len() > LINES {
        return None;
    }
    let grid = Grid { left: xs[0], right: xs[columns], top: ys[0], bottom: ys[rows] };
    let band =
        |positions: &[f64], at: f64| positions.windows(2).position(|pair| at >= pair[0] && at < pair[1]);
    // Whether a line is drawn at this position, across the midpoint between two others.
    let drawn = |strokes: &[Stroke], at: f64, over: f64| {
        strokes.iter().any(|stroke| (stroke.at - at).abs() < NEAR && stroke.from < over && stroke.to > over)
    };
    // The cell that each slot of the grid belongs to, which may be one above or to the left.
    let mut owner: Vec<Vec<(usize, usize)>> = vec![vec![(0, 0); columns]; rows];
    for row in 0..rows {
        for column in 0..columns {
            let (x, y) = (f64::midpoint(xs[column], xs[column + 1]), f64::midpoint(ys[row], ys[row + 1]));
            owner[row][column] = if column > 0 && !drawn(down, xs[column], y) {
                owner[row][column - 1]
            } else if row > 0 && !drawn(across, ys[row], x) {
                owner[row - 1][column]
            } else {
                (row, column)
            };
        }
    }
    let mut contents: std::collections::HashMap<(usize, usize), Vec<Piece>> =
        std::collections::HashMap::new();
    for &piece in pieces {
        let x = f64::midpoint(piece.x0, piece.x1);
        if let (Some(row), Some(column)) = (band(&ys, piece.center()), band(&xs, x)) {
            contents.entry(owner[row][column]).or_default().push(piece.clone());
        }
    }
    let filled = contents.len();
    if filled < 3 {
        return None;
    }
    let mut table = Table { columns: columns as u32, rows: Vec::with_capacity(rows) };
    for row in 0..rows {
        let mut cells = Vec::new();
        let mut column = 0;
        while column < columns {
            let location = owner[row][column];
            let mut span = 1;
            while column + span < columns && owner[row][column + span] == location {
                span += 1;
            }
            let words = if location == (row, column) {
                contents.remove(&location).unwrap_or_default()
            } else {
                Vec::new()
            };
            cells.push(cell(words, column, span));
            column += span;
        }
        // Bands without words are borders drawn as two lines.
        if cells.iter().any(|cell| !cell.words.is_empty()) || ys[row + 1] - ys[row] > 8.0 {
            table.rows.push(cells);
        }
    }
    Some((grid, table))
}
