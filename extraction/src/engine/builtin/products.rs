//! The arithmetic of a line of a bill: quantity times price makes its amount, whatever order, words or units they have.

use rust_decimal::Decimal;

use super::candidate::{Fit, Provenance};
use super::field_query::FieldQuery;
use super::numbers::{Amount, currency};
use super::rows::{Roles, Row, number};
use super::scoring::table;
use super::source::Source;
use super::view::{Span, View};
use super::vocabulary::{COUNTED, MEASURED, MULTIPLIES, TIMES};

/// The most numbers of a line that are multiplied with each other.
const MOST: usize = 8;
/// The difference of a product from its rounded amount.
const CENT: Decimal = Decimal::from_parts(1, 0, 0, false, 2);
/// A longer number is that of an article.
const DIGITS_OF_CODE: usize = 5;

/// Three numbers of a line, of which two make the third.
pub(super) struct Product<'a> {
    pub(super) quantity: &'a Amount,
    pub(super) unit: &'a Amount,
    pub(super) total: &'a Amount,
}

/// Whether two numbers make a third, as bills round it.
pub(super) fn makes(first: Decimal, second: Decimal, total: Decimal) -> bool {
    let rounding = CENT.max(Decimal::new(5, (total.scale() + 1).min(Decimal::MAX_SCALE)));
    let difference = first.checked_mul(second).and_then(|product| product.checked_sub(total));
    difference.is_some_and(|difference| difference.abs() <= rounding)
}

/// The product that the last number of a line is, and its factors.
pub(super) fn product<'a>(view: &View<'_>, amounts: &[&'a Amount]) -> Option<Product<'a>> {
    let (total, others) = amounts.split_last()?;
    if total.value <= Decimal::ZERO {
        return None;
    }
    let others = &others[others.len().saturating_sub(MOST)..];
    for second in (0..others.len()).rev() {
        for first in (0..second).rev() {
            let (a, b) = (others[first], others[second]);
            if makes(a.value, b.value, total.value) {
                let is_swapped = is_price(view, a) && !is_price(view, b);
                let (quantity, unit) = if is_swapped { (b, a) } else { (a, b) };
                return Some(Product { quantity, unit, total });
            }
        }
    }
    None
}

/// Whether a factor looks like a price: money that no unit counts, or a number after `@`.
fn is_price(view: &View<'_>, amount: &Amount) -> bool {
    let is_at = amount.span.start > 0 && view.words[amount.span.start - 1].text == "@"
        || view.words[amount.span.start].text.starts_with('@');
    is_at || (amount.is_money || amount.has_mark) && !is_measured(view, amount)
}

/// Whether a unit of things or of weight follows a number: `2 Stk`, `0.842 kg`.
fn is_measured(view: &View<'_>, amount: &Amount) -> bool {
    let next = view.words.get(amount.span.end).filter(|next| next.line == view.words[amount.span.start].line);
    amount.value.scale() > 2 || next.is_some_and(|next| is_unit(&next.folded))
}

fn is_unit(word: &str) -> bool {
    COUNTED.has(word) || MEASURED.has(word)
}

/// Whether a number counts things by the word next to it: `2 Stk`, `x 3`, `3x`.
pub(super) fn is_counted(view: &View<'_>, amount: &Amount) -> bool {
    let line = view.words[amount.span.start].line;
    let near = |at: usize| view.words.get(at).filter(|word| word.line == line).map(|word| word.text);
    let before = amount.span.start.checked_sub(1).and_then(near);
    let after = near(amount.span.end);
    multiplies(view, amount)
        || before.is_some_and(|word| MULTIPLIES.has(word))
        || after.is_some_and(|word| MULTIPLIES.has(word) || COUNTED.has(&super::view::fold(word)))
}

/// Whether a number is one that multiplies: `2x`.
pub(super) fn multiplies(view: &View<'_>, amount: &Amount) -> bool {
    let word = view.words[amount.span.start].text;
    amount.span.end == amount.span.start + 1 && word.ends_with(['x', 'X', '×']) && !amount.has_mark
}

/// Whether a word between numbers is no word of a name: a sign, a currency, a unit, `EUR/kg`.
fn is_filler(view: &View<'_>, at: usize) -> bool {
    let word = &view.words[at];
    let is_part = |part: &str| is_unit(&super::view::fold(part)) || currency(part).is_some();
    TIMES.has(word.text)
        || !word.text.chars().any(char::is_alphabetic)
        || word.text.split('/').all(|part| part.is_empty() || is_part(part))
}

impl Source<'_, '_> {
    /// The words of a line that name what a product is about: before its factors, else between or after them.
    pub(super) fn words_of_product(&self, line: Span, product: &Product<'_>) -> Option<Span> {
        let (quantity, unit, total) = (product.quantity.span, product.unit.span, product.total.span);
        let (first, last) = if quantity.start < unit.start { (quantity, unit) } else { (unit, quantity) };
        let regions = [(line.start, first.start), (first.end, last.start), (last.end, total.start)];
        regions.into_iter().find_map(|(start, end)| self.name_in(Span { start, end: end.max(start) }))
    }

    fn name_in(&self, region: Span) -> Option<Span> {
        let view = self.view;
        let is_word = |at: &usize| !is_filler(view, *at);
        let start = (region.start..region.end).find(is_word)?;
        let last = (start..region.end).rev().find(|at| {
            let text = view.words[*at].text;
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            is_word(at) || (1..DIGITS_OF_CODE).contains(&digits) && text.bytes().all(|b| b.is_ascii_digit())
        })?;
        let name = Span { start, end: last + 1 };
        let letters = view.text(name).chars().filter(|c| c.is_alphabetic()).count();
        (letters >= 2).then_some(name)
    }

    /// Whether the words of a line without a product only count: `4006381 333   2 Stk   7,98`.
    pub(super) fn only_counts(&self, words: Span) -> bool {
        (words.start..words.end).all(|at| is_filler(self.view, at))
    }

    /// Gives the numbers of a row the members that their product says, where those it has make no product.
    pub(super) fn reconcile(&self, row: &mut Row, properties: &[FieldQuery<'_>], line: Span) {
        let roles = Roles::of(properties);
        let (Some(quantity), Some(total)) = (roles.quantity, roles.total) else { return };
        let value = |index: usize| number(row, index);
        let is_sound = match (value(quantity), roles.unit.map(value), value(total)) {
            (Some(quantity), Some(Some(unit)), Some(total)) => makes(quantity, unit, total),
            (Some(_), None, Some(_)) => true,
            _ => false,
        };
        let numbers = self.annotations.amounts_in(line).iter();
        let numbers: Vec<&Amount> = numbers.filter(|amount| !amount.is_percent && amount.is_clean).collect();
        let Some(mut product) = product(self.view, &numbers).filter(|_| !is_sound) else { return };
        // The header knows which factor is which.
        let is_swapped = value(quantity) == Some(product.unit.value)
            || roles.unit.and_then(value) == Some(product.quantity.value);
        if is_swapped {
            std::mem::swap(&mut product.quantity, &mut product.unit);
        }
        let members =
            [(Some(quantity), product.quantity), (roles.unit, product.unit), (Some(total), product.total)];
        for (index, amount) in members {
            self.give(row, properties, index, amount);
        }
    }

    /// Gives a row the number that its product says.
    fn give(&self, row: &mut Row, properties: &[FieldQuery<'_>], index: Option<usize>, amount: &Amount) {
        let Some(index) = index else { return };
        let (similarity, score) = table::PRODUCT;
        let fit = Fit::new(Provenance::Table, similarity, score);
        row.retain(|(known, _)| *known != index);
        row.extend(self.amount(&properties[index], amount, fit).map(|found| (index, found)));
    }

    /// Gives the row above a line of only numbers what they say of it: quantity and price, which make its amount, as in
    /// `(3 x 1.80)`, or the quantity that makes its price its amount.
    pub(super) fn complete_above(
        &self,
        row: &mut Row,
        properties: &[FieldQuery<'_>],
        roles: &Roles,
        amounts: &[&Amount],
    ) {
        let (Some(unit), Some(total)) = (roles.unit, roles.total) else { return };
        let Some(sum) = number(row, total) else { return };
        match (amounts, number(row, unit)) {
            ([first, second], None) if makes(first.value, second.value, sum) => {
                self.give(row, properties, roles.quantity, first);
                self.give(row, properties, Some(unit), second);
            }
            ([count], Some(price))
                if makes(price, count.value, sum)
                    && roles.quantity.is_some_and(|index| number(row, index).is_none()) =>
            {
                self.give(row, properties, roles.quantity, count);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_any_size_are_judged() {
        let (large, small) = (Decimal::MAX, Decimal::from_parts(1, 0, 0, false, Decimal::MAX_SCALE));
        assert!(makes(small, Decimal::ONE, small));
        assert!(makes(large, Decimal::ONE, large));
        assert!(!makes(large, Decimal::NEGATIVE_ONE, large));
        assert!(!makes(large, large, large));
    }
}
