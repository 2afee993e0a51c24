//! Arrays of objects: the rows of a table under its header, or lines of things and prices without one.

use std::collections::HashSet;

use openapi_core::extraction::ExtractionType;
use openapi_core::json::Json;
use rust_decimal::Decimal;

use super::candidate::{Candidate, Fit, Provenance};
use super::entities;
use super::field_query::{FieldQuery, Role};
use super::rows::{MAX_LINES, MAX_ROWS, Roles, Row, Rows, are_line_items, number};
use super::scoring::table;
use super::source::Source;
use super::terms::{Terms, terms_of};
use super::text::tidy;
use super::view::{Segment, Span};
use super::vocabulary::{SUMS, TABLE_ENDS, THINGS};

/// The most lines that the text of a cell is read from.
const MAX_PIECES: usize = 6;
/// The most words of a header.
const HEADER_WORDS: usize = 24;
/// A table ends after so many lines that are no rows.
const MAX_IDLE: usize = 12;
/// From so many rows on, they show which columns are usually filled.
const MIN_ROWS: usize = 3;
/// The difference by which amounts may be rounded.
const ROUNDING: Decimal = Decimal::from_parts(2, 0, 0, false, 2);

/// A column of a table.
struct Column {
    property: Option<usize>,
    span: Span,
    similarity: f64,
}

/// A piece of a line with one value: a number or text.
#[derive(Clone, Copy, Debug)]
struct Atom {
    span: Span,
    is_number: bool,
    is_date: bool,
}

/// Keeps one column for a property: the most similar one, and the last of equals for sums.
fn keep_best_columns(columns: &mut [Column], properties: usize) {
    for index in 0..properties {
        let best = columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.property == Some(index))
            .max_by(|a, b| a.1.similarity.total_cmp(&b.1.similarity))
            .map(|(at, _)| at);
        for (at, column) in columns.iter_mut().enumerate() {
            if column.property == Some(index) && Some(at) != best {
                column.property = None;
            }
        }
    }
}

/// Drops rows that leave empty most of the columns of numbers that nearly all rows fill: lines between the rows, and what
/// follows a table.
fn keep_full_rows(rows: &mut Vec<Row>, properties: &[FieldQuery<'_>]) {
    let fills = |row: &Row, index: usize| row.iter().any(|(known, _)| *known == index);
    let usual: Vec<usize> = (0..properties.len())
        .filter(|&index| !properties[index].is_text())
        .filter(|&index| rows.iter().filter(|row| fills(row, index)).count() * 4 >= rows.len() * 3)
        .collect();
    if rows.len() >= MIN_ROWS && usual.len() >= 2 {
        rows.retain(|row| usual.iter().filter(|index| fills(row, **index)).count() * 2 > usual.len());
    }
}

impl Source<'_, '_> {
    pub(crate) fn rows(&self, array: &FieldQuery<'_>, properties: &[FieldQuery<'_>]) -> Rows {
        if let Some(rows) = self.history_rows(array, properties) {
            return rows;
        }
        let under = self
            .header(properties)
            .map(|header| self.rows_under_header(properties, &header))
            .unwrap_or_default();
        if !under.rows.is_empty() {
            return under;
        }
        if are_line_items(properties) && !array.all.has_any(&["result", "test"]) {
            self.line_items(properties)
        } else {
            under
        }
    }

    /// The line that names the most properties.
    fn header(&self, properties: &[FieldQuery<'_>]) -> Option<Vec<Column>> {
        let terms: HashSet<&str> = properties
            .iter()
            .flat_map(|property| property.readings.iter())
            .flat_map(|(terms, _)| terms.iter())
            .collect();
        let least = properties.len().min(2);
        let mut best: Option<(f64, Vec<Column>)> = None;
        for line in 0..self.view.lines.len().min(MAX_LINES) {
            let span = self.view.line_span(line);
            if span.end - span.start > HEADER_WORDS {
                continue;
            }
            let mut columns = self.columns(line, properties, &terms);
            // A header of two lines: the second one completes names.
            let known = columns.iter().filter(|column| column.property.is_some()).count();
            if known < least {
                continue;
            }
            let numbers = self.annotations.amounts_in(span).iter().filter(|amount| amount.is_money).count();
            if numbers > 0 {
                continue;
            }
            let score: f64 = columns
                .iter()
                .filter(|column| column.property.is_some())
                .map(|column| column.similarity)
                .sum();
            if best.as_ref().is_none_or(|(most, _)| score > *most + table::BETTER_HEADER) {
                columns.sort_by(|a, b| self.view.extent(a.span).0.total_cmp(&self.view.extent(b.span).0));
                best = Some((score, columns));
            }
        }
        best.map(|(_, columns)| columns)
    }

    fn columns(&self, line: usize, properties: &[FieldQuery<'_>], terms: &HashSet<&str>) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        for segment in self.view.segments_of(line) {
            let found = terms_of(&self.view.folded(segment.span()).collect::<Vec<_>>());
            if !found.iter().any(|(term, _, _)| terms.contains(term.as_str())) {
                columns.push(Column { property: None, span: segment.span(), similarity: 0.0 });
                continue;
            }
            let whole: Terms = found.iter().map(|(term, _, _)| term.clone()).collect();
            let similarity = |label: &Terms| {
                properties
                    .iter()
                    .enumerate()
                    .map(|(index, property)| (index, property.similarity(label)))
                    .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
            };
            let of_whole = similarity(&whole);
            // Words of several columns with one space between them.
            let mut parts: Vec<(Span, Terms)> = Vec::new();
            for (term, from, to) in found {
                let span = Span { start: segment.start + from, end: segment.start + to };
                match parts.last_mut() {
                    Some((last, terms)) if last.start == span.start => terms.add(term),
                    _ => parts.push((span, Terms::from_iter([term]))),
                }
            }
            let split: Vec<(Span, usize, f64)> = parts
                .iter()
                .filter_map(|(span, terms)| {
                    similarity(terms)
                        .filter(|(_, similarity)| *similarity >= table::MIN_PIECE)
                        .map(|(index, similarity)| (*span, index, similarity))
                })
                .collect();
            let distinct: HashSet<usize> = split.iter().map(|(_, index, _)| *index).collect();
            let total: f64 = split.iter().map(|(_, _, similarity)| similarity).sum();
            match of_whole {
                Some((index, similarity))
                    if similarity >= table::MIN_SEGMENT
                        && (distinct.len() < 2 || similarity > table::WHOLE_SEGMENT * total) =>
                {
                    columns.push(Column { property: Some(index), span: segment.span(), similarity });
                }
                _ if distinct.len() >= 2 => {
                    for (span, index, similarity) in split {
                        columns.push(Column { property: Some(index), span, similarity });
                    }
                }
                _ => columns.push(Column { property: None, span: segment.span(), similarity: 0.0 }),
            }
        }
        keep_best_columns(&mut columns, properties.len());
        // Things go by several names: `Item` heads descriptions where nothing else does.
        let text =
            properties.iter().position(|property| property.is_text() && THINGS.has_any(property.all.iter()));
        if let Some(text) = text.filter(|text| !columns.iter().any(|column| column.property == Some(*text))) {
            let free = columns.iter_mut().find(|column| {
                let words: Vec<&str> = self.view.folded(column.span).collect();
                column.property.is_none() && THINGS.has_any(Terms::of(&words).iter())
            });
            if let Some(column) = free {
                column.property = Some(text);
                column.similarity = table::THING;
            } else if columns.iter().filter(|column| column.property.is_some()).count() >= 2
                && let Some(first) = columns.first_mut().filter(|column| column.property.is_none())
            {
                // The first column says what a row is about.
                first.property = Some(text);
                first.similarity = table::THING;
            }
        }
        columns
    }

    /// Whether a line is the first below a table.
    pub(crate) fn ends_table(&self, line: usize) -> bool {
        let span = self.view.line_span(line);
        self.labels.of_line(line).any(|label| {
            let leads = label.span.start <= span.start + 1;
            // A unit price refers to the row above, as in `Gross price: 1.50`.
            let is_price = label.terms.has("price") && !label.terms.has_any(&["total", "subtotal", "grand"]);
            leads
                && !is_price
                && TABLE_ENDS.has_any(label.terms.iter())
                && (label.after >= label.span.end)
                && label.terms.iter().all(|term| TABLE_ENDS.has(term) || self.is_known_term(term))
        }) && (!self.annotations.amounts_in(span).is_empty() || span.end - span.start <= 3)
    }

    /// Whether a line after rows begins with the word of a sum and has fewer numbers than the rows.
    fn begins_sums(&self, line: usize, row: &Row, properties: &[FieldQuery<'_>]) -> bool {
        let span = self.view.line_span(line);
        let numbers = self.annotations.amounts_in(span).iter().filter(|amount| !amount.is_percent).count();
        let of_row = row.iter().filter(|(index, _)| !properties[*index].is_text()).count();
        let is_sum = self.labels.of_line(line).any(|label| {
            label.span.start == span.start
                && !label.terms.has("price")
                && SUMS.has_any(label.terms.iter())
                && label.terms.iter().all(|term| SUMS.has(term) || self.is_known_term(term) || term == "%")
        });
        is_sum && (1..of_row.max(2)).contains(&numbers)
    }

    fn is_known_term(&self, term: &str) -> bool {
        super::lexicon::Lexicon::shared().word(term).is_some()
    }

    /// A cell of one piece.
    fn cell_atom(&self, span: Span) -> Atom {
        let is_number = self.annotations.amounts_in(span).iter().any(|amount| amount.span == span);
        Atom { span, is_number, is_date: !self.annotations.dates_in(span).is_empty() }
    }

    /// The pieces of a line: numbers and dates apart from the words around them. A number among words is a piece of its own
    /// only under a column of numbers: `Room 101` is a name.
    fn atoms(&self, line: usize, columns: &[Column], properties: &[FieldQuery<'_>]) -> Vec<Atom> {
        let mut atoms = Vec::new();
        let is_under = |span: Span, numeric: bool| {
            let (x0, x1) = self.view.extent(span);
            columns.iter().any(|column| {
                let (c0, c1) = self.view.extent(column.span);
                let of_numbers = column.property.is_none_or(|index| !properties[index].is_text());
                (!numeric || of_numbers) && x0 < c1 && c0 < x1
            })
        };
        let is_text_of = |span: Span| {
            let (x0, x1) = self.view.extent(span);
            columns.iter().any(|column| {
                let (c0, c1) = self.view.extent(column.span);
                column.property.is_some_and(|index| properties[index].is_text()) && x0 < c1 && c0 < x1
            })
        };
        for segment in self.view.segments_of(line) {
            let span = segment.span();
            let mut start = span.start;
            let in_text = is_text_of(span);
            let mut close = |start: &mut usize, piece: Span, is_date: bool| {
                if piece.start > *start {
                    let words = Span { start: *start, end: piece.start };
                    atoms.push(Atom { span: words, is_number: false, is_date: false });
                }
                atoms.push(Atom { span: piece, is_number: !is_date, is_date });
                *start = piece.end;
            };
            let dates = self.annotations.dates_in(span);
            for date in dates.iter().filter(|date| date.span.start == span.start || is_under(date.span, true))
            {
                if date.span.start >= start {
                    close(&mut start, date.span, true);
                }
            }
            for amount in self.annotations.amounts_in(span) {
                let (is_first, is_last) = (amount.span.start == span.start, amount.span.end == span.end);
                let is_priced = amount.is_money || amount.has_mark;
                let apart = is_first && is_last
                    || (is_first || is_last)
                        && (is_priced || !self.view.placed || !in_text || is_under(amount.span, true))
                    || amount.has_mark && amount.is_clean
                    || self.view.placed && is_under(amount.span, true);
                if (amount.is_clean || amount.is_money)
                    && !amount.is_percent
                    && apart
                    && amount.span.start >= start
                {
                    close(&mut start, amount.span, false);
                }
            }
            if start < span.end {
                let words = Span { start, end: span.end };
                atoms.push(Atom { span: words, is_number: false, is_date: false });
            }
        }
        atoms
    }

    fn rows_under_header(&self, properties: &[FieldQuery<'_>], columns: &[Column]) -> Rows {
        let Some(first) = columns.first() else { return Rows::default() };
        let header = self.view.words[first.span.start].line;
        let mut found = Rows { covered: vec![self.view.line_span(header)], ..Rows::default() };
        let numeric = |index: usize| properties[index].kind != ExtractionType::String;
        let has_numbers = columns.iter().filter_map(|column| column.property).any(numeric);
        let mut pending: Option<Span> = None;
        let mut idle = 0;
        for line in header + 1..self.view.lines.len() {
            // Before the first row a line of such words is more of the header.
            let ends = self.ends_table(line) && (!found.rows.is_empty() || self.has_money(line))
                || found.rows.last().is_some_and(|row| self.begins_sums(line, row, properties));
            if found.rows.len() >= MAX_ROWS && !ends {
                found.is_truncated = self.has_money(line);
            }
            if found.rows.len() >= MAX_ROWS || idle > MAX_IDLE || ends {
                break;
            }
            let span = self.view.line_span(line);
            // A label with its value adds to the row above.
            if !found.rows.is_empty() && self.view.placed && self.begins_marked(span.start) {
                idle += 1;
                continue;
            }
            let by_index = self.cells_by_index(header, line, columns);
            let atoms = match by_index {
                Some(segments) => segments.iter().map(|segment| self.cell_atom(segment.span())).collect(),
                None => self.atoms(line, columns, properties),
            };
            let mut row = self.row_of(properties, columns, &atoms, by_index);
            if let Some(last) = found.rows.last_mut()
                && atoms.len() <= 2
                && atoms.iter().all(|atom| atom.is_number)
                && self.complete(last, properties, &atoms)
            {
                found.covered.push(span);
                idle = 0;
                continue;
            }
            self.complete(&mut row, properties, &atoms);
            self.reconcile(&mut row, properties, span);
            let numbers = row.iter().filter(|(index, _)| numeric(*index)).count();
            let texts = row.len() - numbers;
            let begins = if has_numbers { numbers >= 1 } else { texts >= properties.len().min(2) };
            if !begins
                && idle == 0
                && let Some(last) = found.rows.last_mut()
                && self.goes_on(last, properties, &atoms)
            {
                found.covered.push(span);
                continue;
            }
            if !begins {
                idle += 1;
                if texts > 0
                    && row.iter().any(|(_, candidate)| entities::is_wordy(self.view, candidate.pieces[0]))
                {
                    let mut texts = row.iter().map(|(_, candidate)| candidate.pieces[0]);
                    pending = texts.find(|span| entities::is_wordy(self.view, *span));
                } else if atoms.len() == 1 && !atoms[0].is_number {
                    pending = Some(atoms[0].span);
                }
                continue;
            }
            found.covered.extend(self.name_above(properties, &mut row, &mut pending));
            if has_numbers && row.len() == 1 && properties.len() > 2 {
                idle += 1;
                continue;
            }
            idle = 0;
            found.covered.push(span);
            row.sort_by_key(|(index, _)| *index);
            found.rows.push(row);
        }
        keep_full_rows(&mut found.rows, properties);
        if found.rows.is_empty() {
            found.covered.clear();
        }
        found
    }

    /// The cells of a line of running text, where their number reveals that each column of the header is one.
    fn cells_by_index(&self, header: usize, line: usize, columns: &[Column]) -> Option<&[Segment]> {
        let segments = self.view.segments_of(line);
        let is_one_each =
            segments.len() == columns.len() && self.view.segments_of(header).len() == columns.len();
        (!self.view.placed && is_one_each).then_some(segments)
    }

    /// The values of a line, each in its column. `by_index` are the cells where each is a column.
    fn row_of(
        &self,
        properties: &[FieldQuery<'_>],
        columns: &[Column],
        atoms: &[Atom],
        by_index: Option<&[Segment]>,
    ) -> Row {
        let mut row: Row = Vec::new();
        for atom in atoms {
            let Some(column) = by_index
                .and_then(|segments| {
                    segments
                        .iter()
                        .position(|segment| atom.span.start >= segment.start && atom.span.end <= segment.end)
                })
                .or_else(|| self.column_of(columns, *atom, properties))
            else {
                continue;
            };
            let Some(index) = columns[column].property else { continue };
            if let Some((_, known)) = row.iter_mut().find(|(known, _)| *known == index) {
                // The text of a cell goes up to the next column.
                let last = known.pieces[0];
                if properties[index].is_text() && last.end == atom.span.start {
                    let whole = Span { start: last.start, end: atom.span.end };
                    let fit = Fit::new(known.provenance, known.similarity, known.score);
                    *known = Candidate::quoting(whole, &tidy(&self.view.text(whole)), fit);
                }
                continue;
            }
            if let Some(candidate) = self.cell(&properties[index], atom.span, columns[column].similarity) {
                row.push((index, candidate));
            }
        }
        row
    }

    /// Names a row by the line above it, if the name of an item is above its numbers. Returns that line.
    fn name_above(
        &self,
        properties: &[FieldQuery<'_>],
        row: &mut Row,
        pending: &mut Option<Span>,
    ) -> Option<Span> {
        let name =
            properties.iter().position(|property| property.is_text() && THINGS.has_any(property.all.iter()));
        if let (Some(name), Some(above)) = (name, pending.take())
            && !row.iter().any(|(index, candidate)| {
                *index == name && entities::is_wordy(self.view, candidate.pieces[0])
            })
        {
            row.retain(|(index, _)| *index != name);
            row.extend(
                self.cell(&properties[name], above, table::NAME_ABOVE).map(|candidate| (name, candidate)),
            );
            return Some(above);
        }
        None
    }

    /// Adds a line to the text that is cut in two above it: the first text of a row, in whose column it stands alone. A
    /// line of a label and its value is something else.
    fn goes_on(&self, row: &mut Row, properties: &[FieldQuery<'_>], atoms: &[Atom]) -> bool {
        let [Atom { span, is_number: false, .. }] = *atoms else { return false };
        let view = self.view;
        let text = tidy(&view.text(span));
        let Some((_, above)) = row.iter_mut().find(|(index, _)| properties[*index].is_text()) else {
            return false;
        };
        let Some(piece) = above.pieces.last().copied() else { return false };
        let (line, before) =
            (&view.lines[view.words[span.start].line], &view.lines[view.words[piece.start].line]);
        let ((x0, x1), (a0, a1)) = (view.extent(span), view.extent(piece));
        let is_below = view.placed
            && line.page == before.page
            && line.block == before.block
            && x0 < a1
            && a0 < x1
            && (x0 - a0).abs() <= table::INDENT * (a1 - a0);
        if !is_below || text.is_empty() || text.contains(':') || above.pieces.len() >= MAX_PIECES {
            return false;
        }
        let said = above.value.as_str().unwrap_or_default().to_owned();
        // A word is cut at its hyphen.
        let space =
            if said.ends_with('-') || text.starts_with('-') && !text.starts_with("- ") { "" } else { " " };
        let quote = above.quote.take().unwrap_or_else(|| said.clone());
        above.value = format!("{said}{space}{text}").as_str().into();
        above.quote = Some(format!("{quote}\n{text}"));
        above.pieces.push(span);
        true
    }

    /// Gives a row its total where the header did not say which number is: quantity times price tells.
    fn complete(&self, row: &mut Row, properties: &[FieldQuery<'_>], atoms: &[Atom]) -> bool {
        let roles = Roles::of(properties);
        let (Some(quantity), Some(unit), Some(total)) = (roles.quantity, roles.unit, roles.total) else {
            return false;
        };
        if row.iter().any(|(known, _)| *known == total) {
            return false;
        }
        let Some(product) = number(row, quantity)
            .zip(number(row, unit))
            .and_then(|(quantity, unit)| quantity.checked_mul(unit))
        else {
            return false;
        };
        let taken: Vec<Span> = row.iter().map(|(_, candidate)| candidate.pieces[0]).collect();
        for atom in atoms
            .iter()
            .rev()
            .filter(|atom| atom.is_number && !taken.iter().any(|taken| taken.overlaps(atom.span)))
        {
            for amount in self.annotations.amounts_in(atom.span) {
                if (amount.value - product).abs() <= ROUNDING {
                    let (similarity, score) = table::PRODUCT;
                    let fit = Fit::new(Provenance::Table, similarity, score);
                    row.extend(self.amount(&properties[total], amount, fit).map(|found| (total, found)));
                    return true;
                }
            }
        }
        false
    }

    /// The column of a piece: the one it is under, otherwise the nearest.
    fn column_of(&self, columns: &[Column], atom: Atom, properties: &[FieldQuery<'_>]) -> Option<usize> {
        let (x0, x1) = self.view.extent(atom.span);
        let allowed = |column: &Column| match column.property {
            Some(index) => match properties[index].kind {
                ExtractionType::String => true,
                ExtractionType::Date | ExtractionType::Datetime => atom.is_date,
                _ => atom.is_number,
            },
            None => true,
        };
        let mut best: Option<(f32, usize)> = None;
        for (index, column) in columns.iter().enumerate() {
            if !allowed(column) {
                continue;
            }
            let (c0, c1) = self.view.extent(column.span);
            let overlap = x1.min(c1) - x0.max(c0);
            let distance = if overlap > 0.0 {
                -overlap / (x1 - x0).min(c1 - c0).max(1.0)
            } else {
                (x0 - c0).abs().min((x1 - c1).abs())
            };
            if best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, index));
            }
        }
        best.map(|(_, index)| index)
    }

    fn cell(&self, property: &FieldQuery<'_>, span: Span, similarity: f64) -> Option<Candidate> {
        let fit = Fit::new(Provenance::Table, similarity, table::CELL);
        match property.kind {
            ExtractionType::String
                if !matches!(property.role, Role::Address | Role::Phone | Role::Email | Role::Iban) =>
            {
                let text = tidy(&self.view.text(span));
                (!text.is_empty()).then(|| Candidate::quoting(span, &text, fit))
            }
            ExtractionType::Boolean => {
                let (yes, span) = super::annotations::answer(self.view, span)?;
                Some(Candidate::new(span, Json::Bool(yes), fit))
            }
            _ => self.values(property, span, fit).into_iter().next(),
        }
    }
}
