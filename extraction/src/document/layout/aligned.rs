//! Tables whose cells are not drawn but stand under one another.

use super::pieces::{Piece, Row};
use super::rows::cell;
use super::ruled::Grid;
use crate::document::model::Table;

/// Rows and columns that a table without lines has at least.
const ROWS: usize = 3;
const COLUMNS: usize = 3;
/// Rows in a row that only continue a cell of the row above.
const CONTINUED: usize = 2;

/// A table that grows row by row.
struct Growing {
    columns: Vec<(f64, f64)>,
    rows: Vec<Vec<Vec<Piece>>>,
    extents: Vec<Vec<(f64, f64)>>,
    top: f64,
    full_rows: usize,
    cells: usize,
}

impl Growing {
    fn begin(row: &Row) -> Self {
        let mut table = Self {
            columns: Vec::new(),
            rows: Vec::new(),
            extents: Vec::new(),
            top: row.top,
            full_rows: 0,
            cells: 0,
        };
        table.add(row);
        table
    }

    /// Takes a row in; `false` if it does not fit the columns.
    fn add(&mut self, row: &Row) -> bool {
        let segments = row.segments();
        let alone = self.extents.iter().rev().take_while(|extents| extents.len() == 1).count();
        if segments.len() == 1 && alone == CONTINUED {
            return false;
        }
        let mut columns = self.columns.clone();
        let mut extents = Vec::new();
        for segment in &segments {
            let extent = (segment[0].x0, segment.iter().map(|piece| piece.x1).fold(0.0, f64::max));
            let mut over =
                columns.iter().enumerate().filter(|(_, column)| extent.0 < column.1 && extent.1 > column.0);
            match (over.next().map(|(index, _)| index), over.next()) {
                (Some(index), None) => {
                    columns[index] = (columns[index].0.min(extent.0), columns[index].1.max(extent.1));
                }
                (None, _) if segments.len() > 1 || self.rows.is_empty() => columns.push(extent),
                _ => return false,
            }
            extents.push(extent);
        }
        columns.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Two columns that grew into each other were none.
        if columns.windows(2).any(|pair| pair[0].1 > pair[1].0) {
            return false;
        }
        self.columns = columns;
        self.rows.push(segments.into_iter().map(<[Piece]>::to_vec).collect());
        if extents.len() > 1 {
            self.full_rows += 1;
            self.cells += extents.len();
        }
        self.extents.push(extents);
        true
    }

    fn finish(mut self) -> Option<(f64, Table)> {
        // A lone row at the end is text after the table.
        while self.extents.last().is_some_and(|extents| extents.len() < 2) {
            self.extents.pop();
            self.rows.pop();
        }
        let columns = self.columns.len();
        if columns < COLUMNS || self.full_rows < ROWS || self.cells * 100 < self.full_rows * columns * 55 {
            return None;
        }
        let mut table = Table { columns: columns as u32, rows: Vec::new() };
        for (segments, extents) in self.rows.into_iter().zip(self.extents) {
            let mut contents: Vec<Vec<Piece>> = vec![Vec::new(); columns];
            for (segment, extent) in segments.into_iter().zip(extents) {
                let column =
                    self.columns.iter().position(|column| extent.0 < column.1 && extent.1 > column.0);
                contents[column.unwrap_or(0)].extend(segment);
            }
            table.rows.push(
                contents.into_iter().enumerate().map(|(column, pieces)| cell(pieces, column, 1)).collect(),
            );
        }
        Some((self.top, table))
    }
}

/// The tables without lines, with their upper edges.
pub(super) fn tables(ordered: &[(Row, u32)], grids: &[Grid]) -> Vec<(f64, Table)> {
    let mut tables = Vec::new();
    let mut growing: Option<Growing> = None;
    let mut previous: Option<&(Row, u32)> = None;
    for current in ordered {
        let (row, column) = current;
        // Tables next to each other count as well: no word is in two tables.
        let drawn =
            grids.iter().any(|grid| grid.contains(row) || row.pieces.iter().any(|piece| grid.holds(piece)));
        let near = previous.is_some_and(|(last, last_column)| {
            // The continuation of a cell is close below it.
            let reach = if row.segments().len() > 1 { 1.8 } else { 0.6 };
            last_column == column && row.top - last.bottom < reach * last.size && row.top >= last.top
        });
        if let Some(mut table) = growing.take() {
            if !drawn && near && table.add(row) {
                growing = Some(table);
            } else {
                tables.extend(table.finish());
            }
        }
        if growing.is_none() && !drawn && row.segments().len() >= 2 {
            growing = Some(Growing::begin(row));
        }
        previous = Some(current);
    }
    tables.extend(growing.and_then(Growing::finish));
    tables
}
