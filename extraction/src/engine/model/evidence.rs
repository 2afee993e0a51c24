//! Whether the document says what a model gives, and where: the only source of confidence (contract 12.2).

use std::collections::{HashMap, HashSet};

use openapi_core::extraction::{
    Confidence, Evidence, ExtractionField, ExtractionSchema, ExtractionType, Leaf, Rejection,
};
use rust_decimal::Decimal;

use super::answer::{Raw, RawLeaf};
use super::convert::{self, Locale, Time, Value, cut};
use super::locate::{CLOSE, Haystack, collapsed, squashed};
use super::merge::Located;
use crate::document::{Document, Warning};
use crate::engine::builtin::annotations::{self, Annotations};
use crate::engine::builtin::dates::{self, Order};
use crate::engine::builtin::fields;
use crate::engine::builtin::numbers::{self, Amount};
use crate::engine::builtin::view::{Span, View};

/// Outside of its quote, a value with fewer letters and digits may occur by chance.
const FEWEST_FOR_CERTAINTY: usize = 4;
/// How far a date and its time of day are apart, in words.
const TO_TIME: usize = 3;

/// What looks into a document.
pub(super) struct Grounding<'v, 'd> {
    view: &'v View<'d>,
    annotations: Annotations,
    locale: Locale,
    haystack: Haystack<'v, 'd>,
    quality: f64,
}

/// A position in the document that states a value.
struct Occurrence {
    span: Span,
    grade: Confidence,
    /// The text that states it, if that is less than whole words.
    exact: Option<String>,
    /// The value as the document states it, if its rules decide between readings.
    value: Option<Value>,
}

/// The model's reply on one part of a document.
pub(super) struct Testimony<'w, 'v, 'd> {
    grounding: &'w Grounding<'v, 'd>,
    /// The part that the prompt was about.
    part: Span,
    /// The spans that elements of arrays have taken, by the path of the field: the next element takes the next span.
    taken: HashMap<String, HashSet<Span>>,
}

impl<'v, 'd> Grounding<'v, 'd> {
    pub(super) fn new(view: &'v View<'d>, schema: &ExtractionSchema) -> Self {
        let annotations = Annotations::new(view, fields::hint(schema.fields()));
        let mark = annotations::mark(view, annotations.language);
        let locale = Locale { mark, order: annotations.order };
        let all = Span { start: 0, end: view.words.len() };
        Grounding { view, annotations, locale, haystack: Haystack::new(view), quality: view.quality(all) }
    }

    pub(super) fn language(&self) -> Option<&'static str> {
        self.annotations.language
    }

    /// Looks for every value of an answer about a part.
    pub(super) fn locate_all(&self, schema: &ExtractionSchema, part: Span, raw: Vec<Raw>) -> Vec<Located> {
        let mut testimony = Testimony { grounding: self, part, taken: HashMap::new() };
        let fields = schema.fields().iter().zip(raw);
        fields.map(|((name, field), raw)| testimony.value(name, field, raw)).collect()
    }

    /// The words of a span that stand on a page of a number.
    fn on_page(&self, page: u32, within: Span) -> Option<Span> {
        let index = self.view.pages.iter().position(|candidate| candidate.number == page)?;
        let first = self.view.lines.partition_point(|line| line.page < index);
        let last = self.view.lines.partition_point(|line| line.page <= index);
        let start = self.view.lines.get(first)?.start.max(within.start);
        let end = self.view.lines.get(last.checked_sub(1)?)?.end.min(within.end);
        (start < end).then_some(Span { start, end })
    }
}

/// The members of a list ordered by span that overlap another one.
fn overlapping<T>(list: &[T], span: Span, of: impl Fn(&T) -> Span) -> impl Iterator<Item = &T> {
    let from = list.partition_point(|item| of(item).end <= span.start);
    let to = from + list[from..].partition_point(|item| of(item).start < span.end);
    list[from..to].iter()
}

impl Testimony<'_, '_, '_> {
    fn value(&mut self, path: &str, field: &ExtractionField, raw: Raw) -> Located {
        match raw {
            Raw::Absent => Located::Absent,
            Raw::Leaf(leaf) => self.leaf(path, field, &leaf),
            Raw::Array(elements) => {
                let text = ExtractionField::of(ExtractionType::String);
                let item = field.items.as_deref().unwrap_or(&text);
                let path = format!("{path}[]");
                let elements = elements.into_iter().map(|element| self.value(&path, item, element));
                let elements: Vec<Located> = elements.filter(|element| !element.is_absent()).collect();
                if elements.is_empty() { Located::Absent } else { Located::Array(elements) }
            }
            Raw::Object(members) => {
                let text = ExtractionField::of(ExtractionType::String);
                let members: Vec<(String, Located)> = members
                    .into_iter()
                    .map(|(name, raw)| {
                        let declared = field.properties.iter().flatten().find(|(known, _)| *known == name);
                        let located = self.value(
                            &format!("{path}.{name}"),
                            declared.map_or(&text, |(_, property)| property),
                            raw,
                        );
                        (name, located)
                    })
                    .collect();
                let is_absent = members.iter().all(|(_, member)| member.is_absent());
                if is_absent { Located::Absent } else { Located::Object(members) }
            }
        }
    }

    fn leaf(&mut self, path: &str, field: &ExtractionField, raw: &RawLeaf) -> Located {
        let regions = self.regions(raw);
        match convert::value(field, raw, self.grounding.locale) {
            None => Located::Absent,
            Some(Err(rejection)) => self.rejected(rejection, regions.first().copied()),
            Some(Ok(value)) => {
                let occurrence = self.occurrence(path, field, &value, raw, &regions);
                self.located(field, value, occurrence, regions.first().copied())
            }
        }
    }

    /// Where the quote may occur, the likeliest region first: its page, then the part, then the rest of the document.
    fn regions(&self, raw: &RawLeaf) -> Vec<Span> {
        let Some(quote) = &raw.quote else { return Vec::new() };
        // What a model leaves out of a quote it marks by an ellipsis.
        let piece = quote.split("...").flat_map(|piece| piece.split('…')).max_by_key(|piece| piece.len());
        let needle = squashed(piece.unwrap_or(quote));
        let stretches = self.stretches(raw.page);
        for stretch in &stretches {
            let found = self.grounding.haystack.find(&needle, *stretch);
            if !found.is_empty() {
                return found;
            }
        }
        stretches
            .iter()
            .find_map(|stretch| self.grounding.haystack.closest(&needle, *stretch))
            .into_iter()
            .collect()
    }

    /// Where to look, the likeliest first.
    fn stretches(&self, page: Option<u32>) -> Vec<Span> {
        let all = Span { start: 0, end: self.grounding.view.words.len() };
        let page = page.and_then(|page| self.grounding.on_page(page, self.part));
        let mut stretches: Vec<Span> = page.into_iter().chain([self.part, all]).collect();
        stretches.dedup();
        stretches
    }

    fn occurrence(
        &mut self,
        path: &str,
        field: &ExtractionField,
        value: &Value,
        raw: &RawLeaf,
        regions: &[Span],
    ) -> Option<Occurrence> {
        if let Value::Truth(truth) = value {
            return self.truth(*truth, *regions.first()?);
        }
        let is_element = path.contains("[]");
        let stretches = self.stretches(raw.page);
        let taken = self.taken.entry(path.to_owned()).or_default();
        let grounding = self.grounding;
        let first_of = |occurrences: Vec<Occurrence>, taken: &HashSet<Span>| {
            let free =
                occurrences.iter().position(|occurrence| !is_element || !taken.contains(&occurrence.span));
            occurrences.into_iter().nth(free.unwrap_or(0))
        };
        let quoted: Vec<Occurrence> =
            regions.iter().flat_map(|region| grounding.occurrences(field, value, *region)).collect();
        let mut found = first_of(quoted, taken);
        if found.is_none() {
            let is_certain = certainty(value) >= FEWEST_FOR_CERTAINTY;
            // A short value that its own quote does not say is not looked for elsewhere.
            if is_certain || raw.quote.is_none() {
                found = stretches
                    .iter()
                    .find_map(|stretch| first_of(grounding.occurrences(field, value, *stretch), taken));
                if let Some(occurrence) = found.as_mut().filter(|_| !is_certain) {
                    occurrence.grade = occurrence.grade.min(Confidence::CLOSE);
                }
            }
        }
        let found = found.or_else(|| {
            let Value::Text(text) = value else { return None };
            grounding.alike(text, regions.iter().chain(&stretches).copied())
        });
        if let (Some(occurrence), true) = (&found, is_element) {
            taken.insert(occurrence.span);
        }
        found
    }

    /// A box, or a word for yes or no, in the quote; otherwise the quote itself, which paraphrases it.
    fn truth(&self, truth: bool, region: Span) -> Option<Occurrence> {
        let starts = region.start..region.end;
        let said = starts
            .filter_map(|start| annotations::answer(self.grounding.view, Span { start, end: region.end }))
            .next();
        match said {
            Some((said, span)) if said == truth => {
                Some(Occurrence { span, grade: Confidence::NORMALISED, exact: None, value: None })
            }
            Some(_) => None,
            None => Some(Occurrence { span: region, grade: Confidence::CLOSE, exact: None, value: None }),
        }
    }

    fn located(
        &self,
        field: &ExtractionField,
        value: Value,
        occurrence: Option<Occurrence>,
        quote: Option<Span>,
    ) -> Located {
        let currency = match &value {
            Value::Number { currency, .. } if field.kind == ExtractionType::Currency => {
                self.currency(currency.as_deref(), occurrence.as_ref().map(|occurrence| occurrence.span))
            }
            _ => None,
        };
        let Some(occurrence) = occurrence else {
            let quality = quote.map_or(self.grounding.quality, |quote| self.grounding.view.quality(quote));
            let ambiguous = matches!(value, Value::Date { ambiguous: true, .. });
            let leaf = Leaf {
                value: Ok(convert::json(field, &value, currency.as_deref())),
                confidence: Confidence::new(Confidence::UNMATCHED.share() * quality),
                evidence: quote.map_or_else(Evidence::default, |quote| self.evidence(quote, None)),
                ambiguous,
            };
            return Located::Leaf(Box::new(leaf), None);
        };
        let value = occurrence.value.unwrap_or(value);
        let quality = self.grounding.view.quality(occurrence.span);
        let leaf = Leaf {
            value: Ok(convert::json(field, &value, currency.as_deref())),
            confidence: Confidence::new(occurrence.grade.share() * quality),
            evidence: self.evidence(occurrence.span, occurrence.exact),
            ambiguous: matches!(value, Value::Date { ambiguous: true, .. }),
        };
        Located::Leaf(Box::new(leaf), Some(occurrence.span))
    }

    fn rejected(&self, rejection: Rejection, quote: Option<Span>) -> Located {
        let raw = quote.map_or(rejection.raw, |quote| cut(&self.grounding.haystack.source(quote)));
        let leaf = Leaf {
            value: Err(Rejection { raw, fault: rejection.fault }),
            confidence: Confidence::NONE,
            evidence: quote.map_or_else(Evidence::default, |quote| self.evidence(quote, None)),
            ambiguous: false,
        };
        Located::Leaf(Box::new(leaf), quote)
    }

    fn evidence(&self, span: Span, exact: Option<String>) -> Evidence {
        let view = self.grounding.view;
        let page = |word: usize| view.page_of(word).map(|page| page.number);
        let number = page(span.start);
        // A box around words of two pages would be none of either.
        let same_page = |word: &usize| page(*word) == number;
        let end = (span.start..span.end).take_while(same_page).last().map_or(span.end, |last| last + 1);
        Evidence {
            page: number.filter(|_| view.placed),
            source_text: exact.unwrap_or_else(|| self.grounding.haystack.source(span)),
            bounding_box: fields::bounding_box(view, &[Span { start: span.start, end }]),
        }
    }

    /// A currency code that the document states: with the amount, as a word that the model names, or anywhere.
    fn currency(&self, named: Option<&str>, occurrence: Option<Span>) -> Option<String> {
        let grounding = self.grounding;
        let amounts = &grounding.annotations.amounts;
        let nearby = occurrence.and_then(|occurrence| {
            overlapping(amounts, occurrence, |amount| amount.span).find_map(|amount| amount.currency)
        });
        let named =
            named.map(|named| numbers::currency(named).map_or_else(|| named.to_uppercase(), str::to_owned));
        let named =
            named.filter(|code| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase()));
        let all = Span { start: 0, end: grounding.view.words.len() };
        let is_written = |code: &String| {
            !grounding.haystack.find(&squashed(code), all).is_empty()
                || amounts.iter().any(|amount| amount.currency == Some(code.as_str()))
        };
        let said = nearby.or(grounding.annotations.currency.map(|(code, _)| code));
        named.filter(is_written).or_else(|| said.map(str::to_owned))
    }
}

/// How many letters and digits a value has.
fn certainty(value: &Value) -> usize {
    match value {
        Value::Text(text) => squashed(text).chars().count(),
        Value::Number { value, .. } => value.normalize().mantissa().unsigned_abs().to_string().len(),
        Value::Date { .. } => FEWEST_FOR_CERTAINTY,
        Value::Truth(_) => 0,
    }
}

impl Grounding<'_, '_> {
    /// The occurrences of a value within a span.
    fn occurrences(&self, field: &ExtractionField, value: &Value, within: Span) -> Vec<Occurrence> {
        match value {
            Value::Text(text) => self.texts(text, within),
            Value::Number { value, .. } => self.numbers(field, *value, within),
            Value::Date { iso, time, .. } => self.dates(iso, time.as_ref(), within),
            Value::Truth(_) => Vec::new(),
        }
    }

    fn texts(&self, text: &str, within: Span) -> Vec<Occurrence> {
        let plain = collapsed(text);
        let needle = squashed(text);
        if needle.is_empty() {
            // Only signs: a word that equals them.
            let words = (within.start..within.end).filter(|at| self.view.words[*at].text == plain).take(1);
            let occurrence = |start| Occurrence {
                span: Span { start, end: start + 1 },
                grade: Confidence::VERBATIM,
                exact: None,
                value: None,
            };
            return words.map(occurrence).collect();
        }
        let occurrence = |span: Span| {
            let is_verbatim = collapsed(&self.haystack.source(span)).contains(&plain);
            Occurrence {
                span,
                grade: if is_verbatim { Confidence::VERBATIM } else { Confidence::NORMALISED },
                exact: is_verbatim.then(|| plain.clone()),
                value: None,
            }
        };
        self.haystack.find(&needle, within).into_iter().map(occurrence).collect()
    }

    fn alike(&self, text: &str, stretches: impl Iterator<Item = Span>) -> Option<Occurrence> {
        let needle = squashed(text);
        let mut stretches = stretches;
        let span = stretches.find_map(|stretch| self.haystack.closest(&needle, stretch))?;
        let similarity = self.haystack.similarity(&needle, &squashed(&self.haystack.source(span)));
        let is_close = similarity.is_some_and(|similarity| similarity >= CLOSE);
        is_close.then_some(Occurrence { span, grade: Confidence::CLOSE, exact: None, value: None })
    }

    fn numbers(&self, field: &ExtractionField, query: Decimal, within: Span) -> Vec<Occurrence> {
        let shown = query.normalize().to_string();
        let occurrence = |span: Span| {
            let is_verbatim = field.kind != ExtractionType::Currency && self.haystack.source(span) == shown;
            let grade = if is_verbatim { Confidence::VERBATIM } else { Confidence::NORMALISED };
            Occurrence { span, grade, exact: None, value: None }
        };
        let fits = |amount: &&Amount| amount.value == query;
        let amounts = overlapping(&self.annotations.amounts, within, |amount| amount.span).filter(fits);
        let found: Vec<Occurrence> = amounts.map(|amount| occurrence(amount.span)).collect();
        if !found.is_empty() || !query.fract().is_zero() || query.is_sign_negative() {
            return found;
        }
        // A whole number in a word other than an amount, such as the year of a date.
        self.haystack.find(&squashed(&shown), within).into_iter().map(occurrence).collect()
    }

    fn dates(&self, query: &str, time: Option<&Time>, within: Span) -> Vec<Occurrence> {
        let order = self.locale.order;
        let other = match order {
            Order::DayFirst => Order::MonthFirst,
            Order::MonthFirst => Order::DayFirst,
        };
        let mut found = Vec::new();
        for date in overlapping(&self.annotations.dates, within, |date| date.span) {
            let Some((iso, ambiguous)) = date.iso(order) else { continue };
            // Where both readings are dates, the document's order decides, whichever the model took.
            let is_other = ambiguous && date.iso(other).is_some_and(|(iso, _)| iso == query);
            if iso != query && !is_other {
                continue;
            }
            let mut span = date.span;
            let mut grade = Confidence::NORMALISED;
            if let Some(time) = time {
                let end = (span.end + TO_TIME).min(self.view.lines[self.view.words[span.start].line].end);
                let said = self.time(span, end);
                let (hour, minute, second) = time.clock;
                let shown = format!("{iso}T{hour:02}:{minute:02}:{second:02}{}", time.offset);
                if self.haystack.source(span) == shown {
                    grade = Confidence::VERBATIM;
                } else if said == Some(time.clock) {
                    span.end = end.max(span.end);
                } else if said.is_some() || time.clock != (0, 0, 0) {
                    grade = Confidence::CLOSE;
                }
            } else if self.haystack.source(span) == iso {
                grade = Confidence::VERBATIM;
            }
            let value = Value::Date { iso, ambiguous, time: time.cloned() };
            found.push(Occurrence { span, grade, exact: None, value: Some(value) });
        }
        if found.is_empty() && within.end - within.start <= 12 {
            // A date that runs over the end of a line.
            let source = collapsed(&self.haystack.source(within));
            if convert::date(&source, order).is_some_and(|(iso, ambiguous)| iso == query && !ambiguous) {
                let grade = if time.is_none() { Confidence::NORMALISED } else { Confidence::CLOSE };
                found.push(Occurrence { span: within, grade, exact: None, value: None });
            }
        }
        found
    }

    /// The time of day in the words after a date, or in the date's own word.
    fn time(&self, date: Span, end: usize) -> Option<(i8, i8, i8)> {
        let own = self.view.words[date.end - 1].text.split_once(['T', 't']).and_then(|(_, time)| {
            let clock = time.get(..8).or_else(|| time.get(..5))?;
            dates::time(&[clock])
        });
        let words: Vec<&str> =
            self.view.words[date.end..end.max(date.end)].iter().map(|word| word.text).collect();
        own.or_else(|| dates::time(&words))
    }
}

/// Whether a document lets an engine say that OCR is missing.
pub(super) fn lacks_ocr(document: &Document) -> bool {
    document.warnings.iter().any(|warning| matches!(warning, Warning::OcrUnavailable { .. }))
}
