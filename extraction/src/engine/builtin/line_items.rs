//! Rows without a header: lines of things and prices, as on receipts.

use rust_decimal::Decimal;

use super::candidate::{Candidate, Fit, Provenance};
use super::entities;
use super::field_query::FieldQuery;
use super::numbers::Amount;
use super::products::{self, Product};
use super::rows::{MAX_LINES, MAX_ROWS, Roles, Row, Rows};
use super::scoring::table;
use super::source::Source;
use super::terms::Terms;
use super::text::tidy;
use super::view::Span;
use super::vocabulary::BILL_HEAD;

/// From this number on, a whole number is no quantity.
const MANY: i64 = 1_000;

/// Words with the number after them, which belongs to them where the quantity is known: `1 Combo 1 30.000`.
fn with_inner_number(words: Span, line: Span, price: Span, amounts: &[&Amount]) -> Span {
    let first = amounts.first().filter(|first| first.span.start == line.start);
    let is_counted = first.is_some_and(|first| first.value.fract().is_zero());
    let inner = amounts.iter().find(|amount| {
        amount.span.start == words.end && amount.span != price && !amount.has_mark && !amount.is_money
    });
    inner.filter(|_| is_counted).map_or(words, |inner| Span { start: words.start, end: inner.span.end })
}

/// What the prices of the lines add up to.
#[derive(Default)]
struct Sums {
    running: Decimal,
    /// Of each row: the sum before it, if its line has no other number and says that sum, and the words that rows before
    /// it cover.
    rows: Vec<(bool, usize)>,
}

impl Sums {
    fn add(&mut self, price: Decimal, is_alone: bool, covered: usize) {
        let is_sum = is_alone && self.rows.len() >= 2 && price == self.running;
        self.rows.push((is_sum, covered));
        self.running = self.running.checked_add(price).unwrap_or(self.running);
    }

    /// How many rows there are before the last line that says their sum, in whatever words, and the words they cover; none
    /// if the sum after the lines confirms all of them.
    fn end(&self, labelled: &[Amount]) -> Option<(usize, usize)> {
        if labelled.iter().any(|amount| amount.value == self.running) {
            return None;
        }
        let rows = self.rows.iter().rposition(|(is_sum, _)| *is_sum)?;
        Some((rows, self.rows[rows].1))
    }
}

impl Source<'_, '_> {
    fn span_of_line(&self, line: usize) -> Span {
        if line < self.view.lines.len() { self.view.line_span(line) } else { Span { start: 0, end: 0 } }
    }

    /// Lines of things and prices without a header: `2 x Coffee 6.00`, or the thing above its numbers.
    pub(crate) fn line_items(&self, properties: &[FieldQuery<'_>]) -> Rows {
        let roles = Roles::of(properties);
        let mut found = Rows::default();
        let mut name: Option<Span> = None;
        let mut sums = Sums::default();
        let end = (0..self.view.lines.len().min(MAX_LINES))
            .find(|&line| line > 0 && self.ends_table(line) && self.has_money(line))
            .unwrap_or(self.view.lines.len().min(MAX_LINES));
        for line in 0..end {
            if found.rows.len() >= MAX_ROWS {
                found.is_truncated = true;
                break;
            }
            let span = self.view.line_span(line);
            if self.is_no_item(line) {
                name = None;
                continue;
            }
            let amounts = self.numbers_of(span);
            let priced = amounts
                .iter()
                .rev()
                .find(|amount| (amount.has_mark || amount.is_money) && self.is_last(amount.span, span))
                .copied();
            let product = products::product(self.view, &amounts);
            let product =
                product.filter(|product| priced.is_some_and(|price| price.span == product.total.span));
            let words = match &product {
                Some(product) => self.words_of_product(span, product),
                None => self.description(span, &amounts.iter().map(|amount| amount.span).collect::<Vec<_>>()),
            };
            let Some(price) = priced else {
                match (words, found.rows.last_mut()) {
                    (Some(_), _) => name = self.pending_name(line, name),
                    (None, Some(row)) => self.complete_above(row, properties, &roles, &amounts),
                    (None, None) => {}
                }
                continue;
            };
            // What is taken back or off is no thing.
            if price.value.is_sign_negative() {
                sums.running = sums.running.checked_add(price.value).unwrap_or(sums.running);
                name = None;
                continue;
            }
            let is_product = product.is_some();
            let words = words.filter(|words| is_product || !self.only_counts(*words)).map(|words| {
                if is_product { words } else { with_inner_number(words, span, price.span, &amounts) }
            });
            let own = words
                .filter(|words| self.view.text(*words).chars().filter(|c| c.is_alphabetic()).count() >= 2);
            let thing = own.or_else(|| name.take());
            let Some(thing) = thing else {
                if let Some(row) = found.rows.last_mut() {
                    self.complete_above(row, properties, &roles, &amounts);
                }
                continue;
            };
            if own.is_none() {
                found.covered.push(thing);
            }
            name = None;
            let row = self.item_row(properties, &roles, (thing, own), price, &amounts, product.as_ref());
            sums.add(price.value, amounts.len() == 1, found.covered.len());
            found.covered.push(span);
            found.rows.push(row);
        }
        let labelled = self.annotations.amounts_in(self.span_of_line(end));
        if let Some((rows, covered)) = sums.end(labelled) {
            found.rows.truncate(rows);
            found.covered.truncate(covered);
        }
        if found.rows.is_empty() {
            found.covered.clear();
        }
        found.covered.sort_unstable();
        found
    }

    /// The numbers of a line that may count things or be prices.
    fn numbers_of(&self, line: Span) -> Vec<&Amount> {
        let is_sound = |amount: &&Amount| {
            !amount.is_percent
                && (amount.is_clean || amount.is_money || products::multiplies(self.view, amount))
        };
        self.annotations.amounts_in(line).iter().filter(is_sound).collect()
    }

    /// Whether a line is no line of a bill: a count of its lines, or data of its head.
    fn is_no_item(&self, line: usize) -> bool {
        let is_count =
            |terms: &Terms| terms.iter().all(|term| matches!(term, "item" | "total" | "quantity" | "number"));
        self.labels
            .of_line(line)
            .any(|label| label.is_marked && (is_count(&label.terms) || BILL_HEAD.has_any(label.terms.iter())))
            || !self.annotations.dates_in(self.view.line_span(line)).is_empty()
    }

    /// The words of a line without a price as the name of the thing whose numbers follow. `above` are those of the line
    /// before, which may be the first piece of a name that is cut in two.
    fn pending_name(&self, line: usize, above: Option<Span>) -> Option<Span> {
        let span = self.view.line_span(line);
        let text = self.view.text(span);
        if !entities::is_wordy(self.view, span) || address_like(&text) {
            return above;
        }
        let goes_on = |above: &Span| {
            self.view.words[above.start].line + 1 == line
                && text.chars().next().is_some_and(char::is_lowercase)
        };
        Some(above.filter(goes_on).map_or(span, |above| Span { start: above.start, end: span.end }))
    }

    /// The row of a thing with its price. `own` are the words on the line of the price.
    fn item_row(
        &self,
        properties: &[FieldQuery<'_>],
        roles: &Roles,
        (thing, own): (Span, Option<Span>),
        price: &Amount,
        amounts: &[&Amount],
        product: Option<&Product<'_>>,
    ) -> Row {
        let mut row: Row = Vec::new();
        let mut add = |index: Option<usize>, candidate: Option<Candidate>| {
            if let (Some(index), Some(candidate)) = (index, candidate) {
                row.push((index, candidate));
            }
        };
        let (similarity, score) = table::LINE_ITEM;
        let fit = Fit::new(Provenance::Table, similarity, score);
        let mut candidate = Candidate::quoting(thing, &tidy(&self.view.text(thing)), fit);
        if thing.end > thing.start && self.view.words[thing.start].line != self.view.words[thing.end - 1].line
        {
            candidate.pieces = self.by_lines(thing);
        }
        add(roles.name, Some(candidate));
        let others: Vec<_> = amounts.iter().filter(|amount| amount.span != price.span).copied().collect();
        let counts = || {
            others.iter().copied().filter(|amount| {
                amount.value.fract().is_zero()
                    && !amount.is_money
                    && !amount.has_mark
                    && amount.value < Decimal::from(MANY)
                    && !inside(amount.span, own)
            })
        };
        let counted = counts().find(|amount| products::is_counted(self.view, amount));
        let quantity = product.map(|product| product.quantity).or(counted).or_else(|| counts().next());
        let unit = product.map(|product| product.unit).or_else(|| {
            others.iter().copied().rev().find(|amount| {
                Some(amount.span) != quantity.map(|amount| amount.span)
                    && (amount.has_mark || amount.is_money)
                    && !inside(amount.span, own)
            })
        });
        if let (Some(index), Some(quantity)) = (roles.quantity, quantity) {
            add(Some(index), self.amount(&properties[index], quantity, fit));
        }
        if let (Some(index), Some(unit)) = (roles.unit, unit) {
            add(Some(index), self.amount(&properties[index], unit, fit));
        }
        if let Some(index) = roles.total {
            add(Some(index), self.amount(&properties[index], price, fit));
        }
        row
    }

    fn by_lines(&self, span: Span) -> Vec<Span> {
        let mut pieces: Vec<Span> = Vec::new();
        for at in span.start..span.end {
            match pieces.last_mut() {
                Some(piece) if self.view.words[piece.start].line == self.view.words[at].line => {
                    piece.end = at + 1;
                }
                _ => pieces.push(Span { start: at, end: at + 1 }),
            }
        }
        pieces
    }

    pub(crate) fn has_money(&self, line: usize) -> bool {
        self.annotations
            .amounts_in(self.view.line_span(line))
            .iter()
            .any(|amount| amount.is_money || amount.has_mark)
    }

    /// Whether only marks and a short code follow a number on its line.
    fn is_last(&self, amount: Span, line: Span) -> bool {
        self.view.words[amount.end..line.end].iter().all(|word| word.text.chars().count() <= 3)
    }

    /// The words of a line that are neither numbers nor marks between them.
    fn description(&self, line: Span, amounts: &[Span]) -> Option<Span> {
        let is_word = |at: usize| {
            let text = self.view.words[at].text;
            let marks = ["x", "X", "@", "*", "-", "pcs", "PCS", "RM", "Rp", "$", "="];
            !amounts.iter().any(|amount| amount.start <= at && at < amount.end)
                && !marks.contains(&text)
                && text.chars().any(char::is_alphabetic)
        };
        let start = (line.start..line.end).find(|&at| is_word(at))?;
        // To the first number that ends the words: numbers within a name are part of it.
        let last = (start..line.end)
            .rev()
            .find(|&at| is_word(at) && at < amounts.last().map_or(line.end, |amount| amount.start))?;
        (last >= start).then_some(Span { start, end: last + 1 })
    }
}

fn inside(span: Span, words: Option<Span>) -> bool {
    words.is_some_and(|words| span.start >= words.start && span.end <= words.end)
}

fn address_like(text: &str) -> bool {
    super::address::looks(text) || text.contains('@') || text.to_lowercase().contains("www.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_size_are_added() {
        let mut sums = Sums::default();
        for row in 0..3 {
            sums.add(Decimal::MAX, true, row);
        }
        assert_eq!(sums.end(&[]), Some((2, 2)));
    }
}
