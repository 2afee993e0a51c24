//! From the fields of a schema to their findings.

use openapi_core::extraction::{
    BoundingBox, Confidence, Evidence, ExtractionField, ExtractionSchema, ExtractionType, Finding, Leaf,
    Rejection,
};
use openapi_core::json::Json;
use rust_decimal::Decimal;

use super::annotations::Annotations;
use super::candidate::{Candidate, Fit, Provenance};
use super::confidence::{Features, Kind};
use super::dates::Order;
use super::evidence::Said;
use super::field_query::{FieldQuery, Role};
use super::histories::History;
use super::labels::Labels;
use super::scoring::{choice, label as label_weights, object};
use super::source::Source;
use super::text::tidy;
use super::totals::{self, Part};
use super::values::fault;
use super::view::{Span, View};
use super::{address, assign};
use crate::document::Rect;

/// The maximum number of members of an object without declared members.
const MAX_PAIRS: usize = 40;
/// The maximum depth of objects in a schema whose terms are looked for.
const MAX_DEPTH: usize = 6;

/// The source of a field's value.
enum Plan {
    /// From the assignment, by the number of its list of candidates.
    Slot(usize),
    /// It is there already.
    Done(Known),
    Object(Vec<(String, Plan)>),
}

struct Planner<'v, 'd, 's> {
    source: Source<'v, 'd>,
    slots: Vec<(FieldQuery<'s>, Vec<Candidate>)>,
    /// The sum of the last column of the rows that were read.
    lines: Option<Decimal>,
    is_truncated: bool,
}

/// What was found for a schema.
pub(super) struct Found {
    pub(super) findings: Vec<Finding>,
    pub(super) language: Option<&'static str>,
    pub(super) features: Vec<(usize, Features)>,
    /// Whether a table has more rows than were read.
    pub(super) is_truncated: bool,
}

/// A finding with what is known about its leaves.
struct Known {
    finding: Finding,
    features: Vec<Features>,
}

impl Known {
    const ABSENT: Known = Known { finding: Finding::Absent, features: Vec::new() };
}

/// The findings of all fields, and the language of the document.
pub(super) fn find(view: &View<'_>, schema: &ExtractionSchema) -> Found {
    let hint = hint(schema.fields());
    let annotations = Annotations::new(view, hint);
    let helpers = helpers();
    let query: Vec<FieldQuery<'_>> =
        schema.fields().iter().map(|(name, field)| FieldQuery::new(name, field, None)).collect();
    let mut terms: Vec<String> = Vec::new();
    gather(schema.fields(), &mut terms, 0);
    for (name, field) in &helpers {
        terms.extend(FieldQuery::new(name, field, None).all.iter().map(str::to_owned));
    }
    terms.sort_unstable();
    terms.dedup();
    let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    let labels = Labels::new(view, &terms);
    let history = History::of(view);
    let source =
        Source { view, annotations: &annotations, labels: &labels, history: &history, taken: Vec::new() };
    let mut planner = Planner { source, slots: Vec::new(), lines: None, is_truncated: false };
    // Arrays first: single values are not looked for in their rows.
    let mut plans: Vec<Option<Plan>> = query
        .iter()
        .map(|query| (query.kind == ExtractionType::Array).then(|| Plan::Done(planner.array(query))))
        .collect();
    for (at, query) in query.into_iter().enumerate() {
        if plans[at].is_none() {
            plans[at] = Some(planner.plan(query));
        }
    }
    let own = planner.slots.len();
    let known: Vec<Option<Part>> = planner.slots.iter().map(|(query, _)| totals::part(query)).collect();
    if known.contains(&Some(Part::Total)) || known.contains(&Some(Part::Net)) {
        for (name, field) in &helpers {
            let query = FieldQuery::new(name, field, None);
            if !known.contains(&totals::part(&query)) {
                let found = planner.source.of(&query);
                planner.slots.push((query, found));
            }
        }
    }
    let parts: Vec<(Option<Part>, usize)> =
        planner.slots.iter().enumerate().map(|(at, (query, _))| (totals::part(query), at)).collect();
    let mut candidates: Vec<Vec<Candidate>> = planner.slots.iter().map(|(_, found)| found.clone()).collect();
    if let Some(lines) = planner.lines {
        for (query, found) in planner.slots.iter().map(|(query, _)| query).zip(&mut candidates) {
            if totals::part(query) == Some(Part::Total) {
                found.extend(planner.source.sum_of_rows(query, lines));
            }
        }
    }
    totals::confirm(&parts, &mut candidates, planner.lines);
    let mut chosen = assign::assign(&candidates);
    totals::contradict(&parts, &mut candidates, &chosen);
    rank(&mut candidates);
    leftovers(&planner.source, &planner.slots, own, &mut candidates, &mut chosen);
    let fields: Vec<&FieldQuery<'_>> = planner.slots.iter().map(|(query, _)| query).collect();
    let mut features = Vec::new();
    let findings = plans
        .into_iter()
        .enumerate()
        .map(|(field, plan)| {
            let known = plan
                .map_or(Known::ABSENT, |plan| resolve(&planner.source, plan, &candidates, &chosen, &fields));
            features.extend(known.features.into_iter().map(|of| (field, of)));
            known.finding
        })
        .collect();
    Found { findings, language: annotations.language, features, is_truncated: planner.is_truncated }
}

/// Tells each candidate how far it is ahead of those of other values.
fn rank(candidates: &mut [Vec<Candidate>]) {
    for list in candidates {
        let all: Vec<(Json, f64)> =
            list.iter().map(|candidate| (candidate.value.clone(), candidate.score)).collect();
        for candidate in list {
            let others = all.iter().filter(|(value, _)| *value != candidate.value);
            let best = others.clone().map(|(_, score)| *score).fold(0.0, f64::max);
            candidate.margin = candidate.score - best;
            let near = others.filter(|(_, score)| *score > candidate.score - choice::COMPETES).count();
            candidate.competitors = near.min(usize::from(choice::MAX_COMPETITORS)) as u8;
        }
    }
}

/// Gives the only field of a kind that has no value the only value of that kind at a label that no field asks for.
fn leftovers(
    source: &Source<'_, '_>,
    slots: &[(FieldQuery<'_>, Vec<Candidate>)],
    own: usize,
    candidates: &mut [Vec<Candidate>],
    chosen: &mut [Option<usize>],
) {
    // A sum of a bill is none of its other amounts.
    let kind = |query: &FieldQuery<'_>| match (query.kind, query.role) {
        _ if totals::part(query).is_some() => None,
        (ExtractionType::Date | ExtractionType::Datetime, _) => Some(0),
        (ExtractionType::Number | ExtractionType::Integer | ExtractionType::Currency, _) => Some(1),
        (ExtractionType::String, Role::Person) => Some(2),
        (ExtractionType::String, Role::Company) => Some(3),
        _ => None,
    };
    for of in 0..4 {
        let empty: Vec<usize> =
            (0..own).filter(|&slot| kind(&slots[slot].0) == Some(of) && chosen[slot].is_none()).collect();
        let [slot] = empty[..] else { continue };
        let used = candidates.iter().zip(chosen.iter()).filter_map(|(list, chosen)| list.get((*chosen)?));
        let used: Vec<Span> = used.flat_map(|candidate| candidate.pieces.clone()).collect();
        let left = source.left_over(&slots[slot].0, &used, |label| {
            slots.iter().any(|(query, _)| query.fits(label) >= label_weights::MIN_SIMILARITY)
        });
        if let Some(candidate) = left {
            chosen[slot] = Some(candidates[slot].len());
            candidates[slot].push(candidate);
        }
    }
}

/// Numbers that bills have, whether the schema asks for them or not: they take their words, and sums confirm others.
fn helpers() -> Vec<(&'static str, ExtractionField)> {
    ["subtotal", "tax", "service charge", "discount", "rounding", "cash", "change", "total"]
        .into_iter()
        .map(|name| (name, ExtractionField::of(ExtractionType::Number)))
        .collect()
}

/// The order of day and month that formats and descriptions ask for.
pub(crate) fn hint(fields: &[(String, ExtractionField)]) -> Option<Order> {
    fields
        .iter()
        .filter(|(_, field)| matches!(field.kind, ExtractionType::Date | ExtractionType::Datetime))
        .find_map(|(_, field)| {
            let format = field.format.as_deref().unwrap_or("").to_uppercase();
            let offset = |letter: char| format.find(letter);
            if let (Some(day), Some(month)) = (offset('D'), offset('M')) {
                return Some(if day < month { Order::DayFirst } else { Order::MonthFirst })
                    .filter(|_| !format.starts_with('Y'));
            }
            let description = field.description.as_deref().unwrap_or("").to_lowercase();
            if description.contains("us date")
                || description.contains("mm/dd")
                || description.contains("month first")
            {
                Some(Order::MonthFirst)
            } else if description.contains("dd/mm") || description.contains("day first") {
                Some(Order::DayFirst)
            } else {
                None
            }
        })
}

fn gather(fields: &[(String, ExtractionField)], terms: &mut Vec<String>, depth: usize) {
    for (name, field) in fields {
        let query = FieldQuery::new(name, field, None);
        terms.extend(query.all.iter().map(str::to_owned));
        if depth < MAX_DEPTH {
            gather(field.properties.as_deref().unwrap_or_default(), terms, depth + 1);
            if let Some(item) = &field.items {
                gather(item.properties.as_deref().unwrap_or_default(), terms, depth + 1);
            }
        }
    }
}

impl<'s> Planner<'_, '_, 's> {
    fn plan(&mut self, query: FieldQuery<'s>) -> Plan {
        match query.kind {
            ExtractionType::Array => Plan::Done(self.array(&query)),
            ExtractionType::Object => self.object(query),
            _ => {
                let found = self.source.of(&query);
                self.slots.push((query, found));
                Plan::Slot(self.slots.len() - 1)
            }
        }
    }

    fn array(&mut self, query: &FieldQuery<'s>) -> Known {
        let text = ExtractionField::of(ExtractionType::String);
        let item = query.field.items.as_deref().unwrap_or(&text);
        if item.kind == ExtractionType::Object {
            let Some(properties) = &item.properties else { return Known::ABSENT };
            let inner: Vec<FieldQuery<'_>> =
                properties.iter().map(|(name, field)| FieldQuery::new(name, field, None)).collect();
            let rows = self.source.rows(query, &inner);
            if rows.rows.is_empty() {
                return Known::ABSENT;
            }
            self.is_truncated |= rows.is_truncated;
            self.sum(&inner, &rows.rows);
            self.source.taken.extend(&rows.covered);
            self.source.taken.sort_unstable();
            let widest = rows.rows.iter().map(Vec::len).max().unwrap_or(1);
            let full = rows.rows.iter().filter(|row| row.len() == widest).count();
            let kind =
                Kind::Row(full as f64 / rows.rows.len() as f64 * widest as f64 / properties.len() as f64);
            let mut features = Vec::new();
            let elements = rows.rows.into_iter().map(|row| {
                let members = row.into_iter().map(|(index, candidate)| {
                    let (leaf, known) = leaf(&self.source, &candidate, kind, &inner[index]);
                    features.push(known);
                    (properties[index].0.clone(), leaf)
                });
                Finding::Object(members.collect())
            });
            let finding = Finding::Array(elements.collect());
            return Known { finding, features };
        }
        if matches!(item.kind, ExtractionType::Array) {
            return Known::ABSENT;
        }
        let inner = FieldQuery::new("item", item, None);
        let elements: Vec<Candidate> = self.source.list(query, &inner);
        if elements.is_empty() {
            return Known::ABSENT;
        }
        let (leaves, features) =
            elements.iter().map(|candidate| leaf(&self.source, candidate, Kind::Element, &inner)).unzip();
        Known { finding: Finding::Array(leaves), features }
    }

    /// The sum of the lines, for the sums of the document.
    fn sum(&mut self, properties: &[FieldQuery<'_>], rows: &[super::rows::Row]) {
        let total = properties.iter().rposition(|property| {
            property.kind.is_numeric()
                && property.all.has_any(&["total", "amount", "price"])
                && !property.name.has("unit")
        });
        let Some(total) = total else { return };
        let mut sum = Decimal::ZERO;
        for row in rows {
            let Some((_, candidate)) = row.iter().find(|(index, _)| *index == total) else { return };
            let Ok(value) = candidate.value.to_text().parse::<Decimal>() else { return };
            let Some(next) = sum.checked_add(value) else { return };
            sum = next;
        }
        self.lines = Some(sum);
    }

    fn object(&mut self, query: FieldQuery<'s>) -> Plan {
        let Some(properties) = &query.field.properties else { return Plan::Done(self.pairs(&query)) };
        let inner: Vec<FieldQuery<'s>> =
            properties.iter().map(|(name, field)| FieldQuery::new(name, field, Some(&query.name))).collect();
        let plain: Vec<FieldQuery<'s>> =
            properties.iter().map(|(name, field)| FieldQuery::new(name, field, None)).collect();
        let postal = plain
            .iter()
            .filter(|property| {
                matches!(property.role, Role::Street | Role::City | Role::Postal | Role::Country)
            })
            .count();
        if postal >= 2
            && let known = self.address(&query, &plain)
            && known.finding != Finding::Absent
        {
            return Plan::Done(known);
        }
        let members =
            properties.iter().zip(inner).map(|((name, _), property)| (name.clone(), self.plan(property)));
        Plan::Object(members.collect())
    }

    /// An address in parts: the one after its label, or the one of the requested party.
    fn address(&mut self, query: &FieldQuery<'s>, properties: &[FieldQuery<'s>]) -> Known {
        let view = self.source.view;
        let mut best: Option<(f64, Vec<Span>)> = None;
        let mut consider = |score: f64, pieces: Vec<Span>| {
            let parts = address::parts(view, &pieces);
            let count = [parts.street, parts.postal, parts.city, parts.country].iter().flatten().count();
            if count < 2 {
                return;
            }
            let score = score + object::ADDRESS_PART * count as f64;
            if best.as_ref().is_none_or(|(most, _)| score > *most) {
                best = Some((score, pieces));
            }
        };
        let searched = query.searched();
        for index in self.source.labels.with_terms(&searched) {
            let label = &self.source.labels.all[index as usize];
            let similarity = query.fits(label);
            if similarity < object::MIN_ADDRESS_SIMILARITY {
                continue;
            }
            for (pieces, share) in self.source.address_regions(label) {
                consider(similarity * share, pieces);
            }
        }
        let own =
            query.all.has_any(&["seller", "company"]) || query.name.len() == 1 && query.name.has("address");
        if own {
            for (nth, pieces) in self.source.loose_addresses().into_iter().enumerate() {
                consider(object::UNLABELLED_ADDRESS - object::UNLABELLED_ADDRESS_STEP * nth as f64, pieces);
            }
        }
        if let Some(lines) = self.source.address_of_party(query) {
            consider(object::UNLABELLED_ADDRESS + object::UNLABELLED_ADDRESS_STEP, lines);
        }
        let Some((score, pieces)) = best else { return Known::ABSENT };
        let parts = address::parts(view, &pieces);
        let mut members = Vec::new();
        let mut features = Vec::new();
        for (property, (name, _)) in properties.iter().zip(query.field.properties.iter().flatten()) {
            let span = match property.role {
                Role::Street => parts.street,
                Role::Postal => parts.postal,
                Role::City => parts.city,
                Role::Country => parts.country,
                _ if property.all.has("state") => parts.state,
                _ => None,
            };
            let finding = span.map_or(Finding::Absent, |span| {
                let text = address::part_text(view, span);
                let fit = Fit::new(Provenance::Below, score, score.min(1.0));
                let candidate = Candidate::quoting(span, &text, fit);
                let (leaf, known) = leaf(&self.source, &candidate, Kind::Address, property);
                features.push(known);
                leaf
            });
            members.push((name.clone(), finding));
        }
        Known { finding: Finding::Object(members), features }
    }

    /// An object without declared members: the labels and values under its heading.
    fn pairs(&self, query: &FieldQuery<'s>) -> Known {
        let source = &self.source;
        let searched = query.searched();
        let heading = source
            .labels
            .with_terms(&searched)
            .into_iter()
            .map(|index| &source.labels.all[index as usize])
            .filter(|label| label.after >= source.view.lines[label.line].end)
            .map(|label| (query.similarity(&label.terms), label))
            .filter(|(similarity, _)| *similarity >= object::MIN_HEADING_SIMILARITY)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.line.cmp(&a.1.line)));
        let Some((similarity, heading)) = heading else { return Known::ABSENT };
        let any = ExtractionField::of(ExtractionType::String);
        let mut members: Vec<(String, Finding)> = Vec::new();
        let mut features = Vec::new();
        for line in heading.line + 1..source.view.lines.len().min(heading.line + MAX_PAIRS) {
            let Some(label) = source
                .labels
                .of_line(line)
                .find(|label| label.is_marked && label.span.start == source.view.lines[line].start)
            else {
                break;
            };
            let region = Span { start: label.after, end: source.view.lines[line].end };
            if region.start >= region.end {
                break;
            }
            let name = tidy(&source.view.text(label.span));
            let text = tidy(&source.view.text(region));
            if name.is_empty() || text.is_empty() || members.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let fit = Fit::new(Provenance::SameSegment, similarity, similarity);
            let candidate = Candidate::quoting(region, &text, fit);
            let member = FieldQuery::new(&name, &any, None);
            let (leaf, known) = leaf(source, &candidate, Kind::Single, &member);
            features.push(known);
            members.push((name, leaf));
        }
        if members.is_empty() { Known::ABSENT } else { Known { finding: Finding::Object(members), features } }
    }
}

fn resolve(
    source: &Source<'_, '_>,
    plan: Plan,
    candidates: &[Vec<Candidate>],
    chosen: &[Option<usize>],
    fields: &[&FieldQuery<'_>],
) -> Known {
    match plan {
        Plan::Done(known) => known,
        Plan::Slot(slot) => match chosen[slot] {
            Some(index) => {
                let (finding, features) = leaf(source, &candidates[slot][index], Kind::Single, fields[slot]);
                let is_guess = features.confidence().share() < choice::MIN_CONFIDENCE;
                if is_guess { Known::ABSENT } else { Known { finding, features: vec![features] } }
            }
            None => {
                let used = candidates.iter().zip(chosen).filter_map(|(list, chosen)| list.get((*chosen)?));
                let used: Vec<Span> = used.flat_map(|candidate| candidate.pieces.clone()).collect();
                let finding =
                    rejected_value(source, fields[slot], &candidates[slot], &used).unwrap_or_default();
                Known { finding, features: Vec::new() }
            }
        },
        Plan::Object(members) => {
            let mut features = Vec::new();
            let members = members.into_iter().map(|(name, plan)| {
                let known = resolve(source, plan, candidates, chosen, fields);
                features.extend(known.features);
                (name, known.finding)
            });
            let finding = Finding::Object(members.collect());
            Known { finding, features }
        }
    }
}

/// The text at the position of a value that is no valid value, to be reported instead of returned (contract 12.2): a value that
/// the field's options, pattern or bounds exclude, or text that is nothing of its type.
fn rejected_value(
    source: &Source<'_, '_>,
    query: &FieldQuery<'_>,
    candidates: &[Candidate],
    used: &[Span],
) -> Option<Finding> {
    let is_free = |span: Span| used.iter().all(|other| !other.overlaps(span));
    let excluded = candidates.iter().find(|candidate| {
        candidate.excluded
            && matches!(
                candidate.provenance,
                Provenance::SameSegment | Provenance::SameLine | Provenance::Below
            )
            && candidate.similarity >= label_weights::OWN
            && is_free(candidate.key())
    });
    if let Some(candidate) = excluded {
        return Some(leaf(source, candidate, Kind::Single, query).0);
    }
    if query.kind == ExtractionType::String {
        return None;
    }
    let span = source.refused(query).filter(|span| is_free(*span))?;
    let raw = tidy(&source.view.text(span));
    let evidence = Evidence { page: None, source_text: raw.clone(), bounding_box: None };
    Some(Finding::Leaf(Leaf {
        value: Err(Rejection { raw, fault: fault(query.kind) }),
        confidence: Confidence::default(),
        evidence,
        ambiguous: false,
    }))
}

/// The leaf of a candidate, with what is known about it.
fn leaf(
    source: &Source<'_, '_>,
    candidate: &Candidate,
    kind: Kind,
    query: &FieldQuery<'_>,
) -> (Finding, Features) {
    let view = source.view;
    let page = view.page_of(candidate.pieces[0].start);
    let text: Vec<String> = candidate.pieces.iter().map(|piece| view.text(*piece)).collect();
    let features = Features::of(candidate, kind, query.kind, Said::of(source, candidate, query));
    let finding = Finding::Leaf(Leaf {
        value: Ok(candidate.value.clone()),
        confidence: features.confidence(),
        evidence: Evidence {
            page: page.map(|page| page.number).filter(|_| view.placed),
            source_text: candidate.quote.clone().unwrap_or_else(|| text.join("\n")),
            bounding_box: bounding_box(view, &candidate.pieces),
        },
        ambiguous: candidate.ambiguous,
    });
    (finding, features)
}

/// The rectangle around all words of some pieces of one page, on that page as it is shown.
pub(crate) fn bounding_box(view: &View<'_>, pieces: &[Span]) -> Option<BoundingBox> {
    let boxes =
        pieces.iter().flat_map(|piece| &view.words[piece.start..piece.end]).filter_map(|word| word.bbox);
    let mut around: Option<(f32, f32, f32, f32)> = None;
    for part in boxes {
        let (x0, y0, x1, y1) = (part.x, part.y, part.x + part.width, part.y + part.height);
        around =
            Some(around.map_or((x0, y0, x1, y1), |(a0, b0, a1, b1)| {
                (a0.min(x0), b0.min(y0), a1.max(x1), b1.max(y1))
            }));
    }
    let page = view.page_of(pieces.first()?.start)?;
    let rounded = |value: f32| (f64::from(value) * 100.0).round() / 100.0;
    around.map(|(x0, y0, x1, y1)| {
        let shown = page.as_shown(Rect { x: x0, y: y0, width: x1 - x0, height: y1 - y0 });
        BoundingBox {
            x: rounded(shown.x),
            y: rounded(shown.y),
            width: rounded(shown.width),
            height: rounded(shown.height),
        }
    })
}
