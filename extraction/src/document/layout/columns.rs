//! Columns of prose are read one after the other; what only stands side by side (labels and values, cells) stays.

use super::pieces::Row;
use super::ruled::Grid;

/// How often columns may be found in columns.
const NESTED: u32 = 4;
/// A page of more rows is no page of prose.
const ROWS: usize = 2000;
/// Rows that a column has at least.
const LONG: usize = 4;

/// The open strip between two columns, and the rows that it runs through.
#[derive(Clone, Copy)]
struct Gutter {
    from: usize,
    to: usize,
    left: f64,
    right: f64,
}

/// Puts rows in reading order, each with the number of its column.
pub(super) fn order(
    rows: Vec<Row>,
    grids: &[Grid],
    depth: u32,
    ordered: &mut Vec<(Row, u32)>,
    column: &mut u32,
) {
    let gutter = if depth < NESTED && rows.len() <= ROWS { find(&rows, grids) } else { None };
    let Some(gutter) = gutter else {
        let number = *column;
        ordered.extend(rows.into_iter().map(|row| (row, number)));
        return;
    };
    let mut above = rows;
    let mut adjacent = above.split_off(gutter.from);
    let below = adjacent.split_off(gutter.to - gutter.from);
    let middle = f64::midpoint(gutter.left, gutter.right);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for row in adjacent {
        let (before, after): (Vec<_>, Vec<_>) = row.pieces.into_iter().partition(|piece| piece.x0 < middle);
        left.extend((!before.is_empty()).then(|| Row::of(before)));
        right.extend((!after.is_empty()).then(|| Row::of(after)));
    }
    for part in [above, left, right, below] {
        if !part.is_empty() {
            order(part, grids, depth + 1, ordered, column);
            *column += 1;
        }
    }
}

/// The longest gutter between columns of prose.
fn find(rows: &[Row], grids: &[Grid]) -> Option<Gutter> {
    let mut best: Option<Gutter> = None;
    let mut index = 0;
    while index < rows.len() {
        let mut furthest = index + 1;
        for gap in rows[index].gaps() {
            let gutter = extend(rows, grids, index, gap);
            furthest = furthest.max(gutter.to);
            let longer = best.is_none_or(|best| gutter.to - gutter.from > best.to - best.from);
            if longer && is_between_prose(rows, gutter) {
                best = Some(gutter);
            }
        }
        // Rows within a rejected run may begin a shorter run that is a gutter.
        index = if best.is_some_and(|best| best.to >= furthest) { furthest } else { index + 1 };
    }
    best
}

fn extend(rows: &[Row], grids: &[Grid], index: usize, gap: (f64, f64)) -> Gutter {
    let mut gutter = Gutter { from: index, to: index + 1, left: gap.0, right: gap.1 };
    for row in &rows[index + 1..] {
        let last = &rows[gutter.to - 1];
        if row.top - last.bottom > 6.0 * last.size {
            break;
        }
        match narrow(gutter, row, grids) {
            Some((left, right)) => (gutter.left, gutter.right) = (left, right),
            None => break,
        }
        gutter.to += 1;
    }
    while gutter.from > 0 {
        let row = &rows[gutter.from - 1];
        let next = &rows[gutter.from];
        if next.top - row.bottom > 1.2 * next.size {
            break;
        }
        match narrow(gutter, row, grids) {
            Some((left, right)) => (gutter.left, gutter.right) = (left, right),
            None => break,
        }
        gutter.from -= 1;
    }
    gutter
}

/// The gutter as this row leaves it open; `None` if the row crosses it.
fn narrow(gutter: Gutter, row: &Row, grids: &[Grid]) -> Option<(f64, f64)> {
    let middle = f64::midpoint(gutter.left, gutter.right);
    if grids.iter().any(|grid| grid.contains(row) && grid.left < middle && grid.right > middle) {
        return None;
    }
    let open = |left: f64, right: f64| {
        let (left, right) = (left.max(gutter.left), right.min(gutter.right));
        (right - left > 0.8 * row.size).then_some((left, right))
    };
    if row.right() <= middle {
        return open(row.right(), f64::INFINITY);
    }
    if row.left() >= middle {
        return open(f64::NEG_INFINITY, row.left());
    }
    row.gaps().into_iter().find_map(|(left, right)| open(left, right))
}

/// Whether there is prose on both sides: rows of several words that fill their column.
fn is_between_prose(rows: &[Row], gutter: Gutter) -> bool {
    let middle = f64::midpoint(gutter.left, gutter.right);
    let rows = &rows[gutter.from..gutter.to];
    let is_prose = |after: bool| {
        let mut extents = Vec::new();
        let mut words = 0;
        let mut wide_gaps = 0;
        for row in rows {
            let side: Vec<_> = row.pieces.iter().filter(|piece| (piece.x0 >= middle) == after).collect();
            let (Some(first), Some(last)) = (side.first(), side.last()) else { continue };
            words += side.len();
            wide_gaps += side.windows(2).filter(|pair| pair[1].x0 - pair[0].x1 > 1.2 * row.size).count();
            extents.push((first.x0, last.x1, row.size));
        }
        if extents.len() < LONG {
            return false;
        }
        let count = extents.len() as f64;
        let left = extents.iter().map(|extent| extent.0).fold(f64::INFINITY, f64::min);
        let right = extents.iter().map(|extent| extent.1).fold(f64::NEG_INFINITY, f64::max);
        let width = (right - left).max(1.0);
        let filled = extents.iter().map(|extent| (extent.1 - extent.0) / width).sum::<f64>() / count;
        // Half of the rows reach the right border: the text is wrapped and not a list.
        let full = extents.iter().filter(|extent| right - extent.1 < 0.15 * width).count() as f64 / count;
        let size = extents.iter().map(|extent| extent.2).sum::<f64>() / count;
        words as f64 / count >= 3.5
            && width > 10.0 * size
            && filled >= 0.6
            && full >= 0.4
            && (wide_gaps as f64) < 0.2 * count
    };
    is_prose(false) && is_prose(true)
}
