//! Periods as resumes write them: `May 2016 to Present`, `05/2016 – 08/2018`, `2014-2016`.

use super::dates::month_of;
use super::view::{Span, View};
use super::vocabulary::{NOW, RANGE};

/// A month, or a year alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) span: Span,
    pub(crate) year: i16,
    pub(crate) month: Option<i8>,
}

/// A period with its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) span: Span,
    pub(crate) start: Option<Point>,
    /// `None` where the period has not ended, or the document says one end only.
    pub(crate) end: Option<Point>,
    /// Whether both ends are written.
    pub(crate) is_range: bool,
}

const YEARS: std::ops::RangeInclusive<i16> = 1940..=2060;

fn year(text: &str) -> Option<i16> {
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    let year: i16 = bare.parse().ok().filter(|_| bare.len() == 4)?;
    YEARS.contains(&year).then_some(year)
}

/// `05/2016`, `2016-05`, `May-2016`, `May'16`
fn fused(text: &str) -> Option<(i16, i8)> {
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    let (first, last) = bare.split_once(['/', '.', '-', '\'', '’', ','])?;
    let month = |text: &str| {
        let number: Option<i8> =
            text.parse().ok().filter(|month| (1..=12).contains(month) && text.len() <= 2);
        number.or_else(|| month_of(text))
    };
    if let (Some(month), Some(year)) = (month(first), year(last)) {
        return Some((year, month));
    }
    if let (Some(year), Some(month)) = (year(first), month(last)) {
        return Some((year, month));
    }
    let short: i16 = last.parse().ok().filter(|_| last.len() == 2)?;
    month_of(first).map(|month| (if short < 70 { 2000 + short } else { 1900 + short }, month))
}

/// The point of time that begins at a word.
fn point(view: &View<'_>, at: usize, end: usize) -> Option<Point> {
    let word = view.words.get(at).filter(|_| at < end)?;
    if let Some((year, month)) = fused(word.text) {
        return Some(Point { span: Span { start: at, end: at + 1 }, year, month: Some(month) });
    }
    if let Some(year) = year(word.text) {
        return Some(Point { span: Span { start: at, end: at + 1 }, year, month: None });
    }
    let month = month_of(word.text.trim_matches(|c: char| !c.is_alphanumeric()))?;
    // `May 2016`, `May, 2016`, `May 3, 2016`
    (at + 1..(at + 3).min(end)).find_map(|next| {
        let text = view.words[next].text;
        let is_day = next == at + 1 && text.trim_matches(|c: char| !c.is_ascii_digit()).len() <= 2;
        match year(text) {
            Some(year) => Some(Point { span: Span { start: at, end: next + 1 }, year, month: Some(month) }),
            None if is_day => None,
            None => None,
        }
    })
}

fn is_now(view: &View<'_>, at: usize, end: usize) -> Option<usize> {
    let words = view.folded_from(at, 2.min(end.saturating_sub(at)));
    if matches!(words.as_slice(), ["till" | "to", "date" | "now" | "present"]) {
        return Some(at + 2);
    }
    words.first().is_some_and(|word| NOW.has(word)).then_some(at + 1)
}

/// The first period of a line.
pub(crate) fn find(view: &View<'_>, line: usize) -> Option<Period> {
    let span = view.line_span(line);
    (span.start..span.end).find_map(|at| range(view, at, span.end)).or_else(|| {
        let point = (span.start..span.end).find_map(|at| point(view, at, span.end))?;
        Some(Period { span: point.span, start: None, end: Some(point), is_range: false })
    })
}

fn range(view: &View<'_>, at: usize, end: usize) -> Option<Period> {
    let text = view.words[at].text.trim_matches(|c: char| !c.is_alphanumeric());
    // `2014-2016`, `2014–Present`, `05/2014-06/2016`
    if let Some((first, last)) = text.split_once(['-', '–', '—']) {
        let span = Span { start: at, end: at + 1 };
        let of = |text: &str| {
            let (year, month) = fused(text)
                .map(|(year, month)| (year, Some(month)))
                .or_else(|| year(text).map(|year| (year, None)))?;
            Some(Point { span, year, month })
        };
        if let Some(first) = of(first) {
            if let Some(last) = of(last) {
                return Some(Period { span, start: Some(first), end: Some(last), is_range: true });
            }
            if NOW.has(&super::view::fold(last)) {
                return Some(Period { span, start: Some(first), end: None, is_range: true });
            }
        }
    }
    let first = point(view, at, end)?;
    let mut next = first.span.end;
    let joins = |at: usize| {
        at < end
            && (RANGE.has(&view.words[at].folded)
                || matches!(view.words[at].text, "-" | "–" | "—" | "->" | "→"))
    };
    let touches = view.words[next - 1].text.ends_with(['-', '–', '—']);
    if joins(next) {
        next += 1;
    } else if !touches {
        return None;
    }
    if let Some(last) = point(view, next, end) {
        let span = Span { start: at, end: last.span.end };
        return Some(Period { span, start: Some(first), end: Some(last), is_range: true });
    }
    // `to date` begins with the word that joins.
    let now = is_now(view, next, end).or_else(|| is_now(view, next - 1, end).filter(|_| !touches))?;
    Some(Period { span: Span { start: at, end: now }, start: Some(first), end: None, is_range: true })
}
