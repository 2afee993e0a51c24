//! Arithmetic as evidence: net and tax make the total, what was handed over less the total is the change.

use rust_decimal::Decimal;

use super::candidate::Candidate;
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
}

/// The parts by the terms of their names, and the terms that they do not have.
const PARTS: [(&str, &str, Part); 7] = [
    ("change", "", Part::Change),
    ("cash tender", "", Part::Cash),
    ("service", "", Part::Service),
    ("discount", "", Part::Discount),
    ("tax", "rate", Part::Tax),
    ("subtotal net", "", Part::Net),
    ("total", "", Part::Total),
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
    let of = |part: Part, candidates: &[Vec<Candidate>]| values_of(part, fields, candidates);
    let (nets, taxes, services, discounts, totals) = (
        of(Part::Net, candidates),
        of(Part::Tax, candidates),
        of(Part::Service, candidates),
        of(Part::Discount, candidates),
        of(Part::Total, candidates),
    );
    let (cash, change) = (of(Part::Cash, candidates), of(Part::Change, candidates));
    let mut confirmed: Vec<(usize, usize)> = Vec::new();
    let zero = Decimal::ZERO;
    for &(total_field, total_index, total) in totals.iter().filter(|(_, _, total)| *total > zero) {
        for &(net_field, net_index, net) in nets.iter().filter(|(_, _, net)| *net > zero) {
            for &(tax_field, tax_index, tax) in taxes.iter().filter(|(_, _, tax)| *tax + *tax <= net) {
                if tax != zero && near(net + tax, total) {
                    confirmed.extend([
                        (total_field, total_index),
                        (net_field, net_index),
                        (tax_field, tax_index),
                    ]);
                }
                for &(service_field, service_index, service) in &services {
                    if service != zero && near(net + tax + service, total) {
                        confirmed.extend([
                            (total_field, total_index),
                            (net_field, net_index),
                            (tax_field, tax_index),
                            (service_field, service_index),
                        ]);
                    }
                }
                for &(discount_field, discount_index, discount) in &discounts {
                    if discount != zero && near(net + tax - discount.abs(), total) {
                        confirmed.extend([
                            (total_field, total_index),
                            (net_field, net_index),
                            (tax_field, tax_index),
                            (discount_field, discount_index),
                        ]);
                    }
                }
            }
        }
        for &(cash_field, cash_index, paid) in &cash {
            for &(change_field, change_index, back) in &change {
                if paid >= total && near(paid - total, back) {
                    confirmed.extend([
                        (total_field, total_index),
                        (cash_field, cash_index),
                        (change_field, change_index),
                    ]);
                }
            }
        }
        if change.is_empty() {
            for &(cash_field, cash_index, _) in cash.iter().filter(|(_, _, paid)| *paid == total) {
                confirmed.extend([(total_field, total_index), (cash_field, cash_index)]);
            }
        }
        if lines.is_some_and(|lines| near(lines, total)) {
            confirmed.push((total_field, total_index));
        }
    }
    let is_sum_of_lines = |value: Decimal| lines.is_some_and(|lines| near(lines, value));
    confirmed.extend(nets.iter().filter(|net| is_sum_of_lines(net.2)).map(|net| (net.0, net.1)));
    prefer_repeated_totals(fields, candidates);
    confirmed.sort_unstable();
    confirmed.dedup();
    for (field, index) in confirmed {
        let candidate = &mut candidates[field][index];
        candidate.score += total::CONFIRMED;
        candidate.confirmed = true;
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

/// The values of a part: field, candidate and amount.
fn values_of(
    part: Part,
    fields: &[(Option<Part>, usize)],
    candidates: &[Vec<Candidate>],
) -> Vec<(usize, usize, Decimal)> {
    fields
        .iter()
        .filter(|(known, _)| *known == Some(part))
        .flat_map(|(_, field)| {
            candidates[*field]
                .iter()
                .take(MOST)
                .enumerate()
                .filter_map(|(index, candidate)| value(candidate).map(|value| (*field, index, value)))
        })
        .collect()
}

/// Whether two amounts are the same but for rounding.
fn near(a: Decimal, b: Decimal) -> bool {
    (a - b).abs() <= ROUNDING || (a - b).abs() <= a.abs() * ROUNDING_SHARE
}
