//! Arithmetic as evidence: net and tax make the total, what was handed over less the total is the change.

use rust_decimal::Decimal;

use super::candidate::{Candidate, Provenance};
use super::field_query::FieldQuery;
use super::scoring::total;
use super::vocabulary::Words;

/// The candidates of a field that take part.
const MOST: usize = 6;
/// The difference by which amounts may be rounded, and its share of an amount.
const ROUNDING: Decimal = Decimal::from_parts(2, 0, 0, false, 2);
const ROUNDING_SHARE: Decimal = Decimal::from_parts(2, 0, 0, false, 5);

/// What a number is in the sums of a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Net,
    Tax,
    Service,
    Discount,
    Total,
    Cash,
    Change,
    Rounding,
}

/// The parts by the terms of their names, and the terms that they do not have.
const PARTS: [(&str, &str, Part); 8] = [
    ("rounding", "", Part::Rounding),
    ("change", "", Part::Change),
    ("cash tender", "", Part::Cash),
    ("service", "", Part::Service),
    ("discount", "", Part::Discount),
    ("tax", "rate number office years id", Part::Tax),
    ("subtotal net", "", Part::Net),
    ("total gross", "weight salary quantity number years items pages hours", Part::Total),
];

/// The part of a field, by the terms of its name.
pub(crate) fn part(query: &FieldQuery<'_>) -> Option<Part> {
    if !query.kind.is_numeric() {
        return None;
    }
    let is_named = |(terms, without, _): &&(&'static str, &'static str, Part)| {
        Words(terms).has_any(query.name.iter()) && !Words(without).has_any(query.name.iter())
    };
    PARTS.iter().find(is_named).map(|(_, _, part)| *part)
}

fn value(candidate: &Candidate) -> Option<Decimal> {
    let json = match &candidate.value {
        openapi_core::json::Json::Object(members) => members.get("amount")?.clone(),
        other => other.clone(),
    };
    json.to_text().parse().ok()
}

/// Raises the candidates that make sums; `lines` is the sum of the lines, if they were read.
pub(crate) fn confirm(
    fields: &[(Option<Part>, usize)],
    candidates: &mut [Vec<Candidate>],
    lines: Option<Decimal>,
) {
    let of = |part: Part| entries(part, fields, candidates);
    let (nets, taxes, services, discounts) =
        (of(Part::Net), of(Part::Tax), of(Part::Service), of(Part::Discount));
    let (totals, cash, change) = (of(Part::Total), of(Part::Cash), of(Part::Change));
    let is_positive = |entry: &&Entry| entry.amount > Decimal::ZERO;
    let is_given = |entry: &&Entry| !entry.amount.is_zero();
    let is_sum_of_lines = |entry: &Entry| lines.is_some_and(|lines| near(lines, entry.amount));
    let mut confirmed: Vec<(usize, usize)> = Vec::new();
    let mut confirm = |is_so: bool, parts: &[&Entry]| {
        if is_so {
            confirmed.extend(parts.iter().map(|part| part.at));
        }
    };
    for total in totals.iter().filter(is_positive) {
        for net in nets.iter().filter(is_positive) {
            for tax in taxes.iter().filter(|tax| tax.amount + tax.amount <= net.amount) {
                let sum = net.amount + tax.amount;
                confirm(!tax.amount.is_zero() && near(sum, total.amount), &[total, net, tax]);
                for service in services.iter().filter(is_given) {
                    confirm(near(sum + service.amount, total.amount), &[total, net, tax, service]);
                }
                for discount in discounts.iter().filter(is_given) {
                    let less = sum - discount.amount.abs();
                    confirm(near(less, total.amount), &[total, net, tax, discount]);
                }
            }
        }
        for paid in cash.iter().filter(|paid| paid.amount >= total.amount) {
            for back in &change {
                confirm(near(paid.amount - total.amount, back.amount), &[total, paid, back]);
            }
            confirm(change.is_empty() && paid.amount == total.amount, &[total, paid]);
        }
        confirm(is_sum_of_lines(total), &[total]);
    }
    for net in &nets {
        confirm(is_sum_of_lines(net), &[net]);
    }
    let roundings = of(Part::Rounding);
    let is_sum = |total: &Entry, part: &Entry, sum: &Entry| total.amount + part.amount == sum.amount;
    let mut adjusted: Vec<((usize, usize), f64)> = Vec::new();
    for total in &totals {
        for sum in totals.iter().filter(|sum| sum.at.0 == total.at.0 && sum.amount != total.amount) {
            // What is paid is the total after rounding, and with tax.
            let is_rounded =
                roundings.iter().filter(|part| !part.amount.is_zero()).any(|part| is_sum(total, part, sum));
            let is_taxed =
                taxes.iter().filter(|part| part.amount > Decimal::ZERO).any(|part| is_sum(total, part, sum));
            if is_rounded || is_taxed {
                adjusted.push((sum.at, total::AFTER_PARTS));
                adjusted.push((total.at, total::BEFORE_PARTS));
            }
        }
    }
    adjusted.sort_by_key(|(at, _)| *at);
    adjusted.dedup_by(|a, b| a.0 == b.0);
    for ((field, index), change) in adjusted {
        candidates[field][index].score += change;
    }
    prefer_repeated_totals(fields, candidates);
    confirmed.sort_unstable();
    confirmed.dedup();
    for (field, index) in confirmed {
        let candidate = &mut candidates[field][index];
        candidate.score += total::CONFIRMED;
        candidate.confirmed = true;
    }
}

/// Marks chosen values that cannot be right together: a tax of more than half of its sum, more change than was
/// paid. What sums confirm is right.
pub(crate) fn contradict(
    fields: &[(Option<Part>, usize)],
    candidates: &mut [Vec<Candidate>],
    chosen: &[Option<usize>],
) {
    let given = |part: Part| {
        let of_part = fields.iter().filter(move |(known, _)| *known == Some(part));
        of_part.filter_map(|(_, field)| {
            let at = (*field, chosen[*field]?);
            Some(Entry { at, amount: value(&candidates[at.0][at.1])?.abs() })
        })
    };
    let entry = |part: Part| given(part).next();
    let mut wrong: Vec<(usize, usize)> = Vec::new();
    // A sum that only its form supports contradicts nothing.
    let is_labelled = |sum: &Entry| candidates[sum.at.0][sum.at.1].provenance != Provenance::Unlabelled;
    // The name of a field may hide what it counts, so the largest sum decides.
    let sums = given(Part::Net).chain(given(Part::Total)).filter(is_labelled);
    if let Some(sum) = sums.map(|sum| sum.amount).max() {
        wrong.extend(given(Part::Tax).filter(|tax| tax.amount > sum - tax.amount).map(|tax| tax.at));
    }
    if let (Some(paid), Some(change)) = (entry(Part::Cash), entry(Part::Change))
        && change.amount > paid.amount
    {
        wrong.extend([paid.at, change.at]);
    }
    for (field, index) in wrong {
        let candidate = &mut candidates[field][index];
        candidate.contradicted = !candidate.confirmed;
    }
}

/// Raises the score of a total that occurs more than once, and among equals of the last one, after discounts and
/// rounding.
fn prefer_repeated_totals(fields: &[(Option<Part>, usize)], candidates: &mut [Vec<Candidate>]) {
    for (_, field) in fields.iter().filter(|(part, _)| *part == Some(Part::Total)) {
        let values: Vec<Option<Decimal>> = candidates[*field].iter().map(value).collect();
        for (index, candidate) in candidates[*field].iter_mut().enumerate() {
            let same = values.iter().filter(|other| **other == values[index]).count();
            let start = candidate.key().start.min(total::MAX_POSITION);
            candidate.score += total::REPEATED * (same.min(total::MAX_OCCURRENCES) as f64 - 1.0)
                + total::POSITION * start as f64;
        }
    }
}

/// A candidate, by its field and its number there, with its amount.
struct Entry {
    at: (usize, usize),
    amount: Decimal,
}

fn entries(part: Part, fields: &[(Option<Part>, usize)], candidates: &[Vec<Candidate>]) -> Vec<Entry> {
    let fields = fields.iter().filter(|(known, _)| *known == Some(part)).map(|(_, field)| *field);
    let of_field = |field: usize| {
        let candidates = candidates[field].iter().take(MOST).enumerate();
        candidates.filter_map(move |(index, candidate)| {
            Some(Entry { at: (field, index), amount: value(candidate)? })
        })
    };
    fields.flat_map(of_field).collect()
}

/// Whether two amounts are the same but for rounding.
fn near(a: Decimal, b: Decimal) -> bool {
    (a - b).abs() <= ROUNDING || (a - b).abs() <= a.abs() * ROUNDING_SHARE
}
