//! Turns positioned words into lines in reading order, blocks and tables, both for PDF pages and for pages read by OCR.

mod aligned;
mod columns;
mod pieces;
mod rows;
mod ruled;

pub(super) use self::pieces::{Piece, Rule};
use self::pieces::{Row, words};
use super::model::{Line, Table};

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
