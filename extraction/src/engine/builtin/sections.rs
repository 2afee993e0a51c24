//! Sections of a document as an index: headings, and the lines up to the next one.

use super::view::View;
use super::vocabulary::{DEGREES, HEADING_FILLERS, HEADINGS, SCHOOLS, Topic, Words};
use super::{entities, periods};

/// The most words of a heading.
const MAX_WORDS: usize = 6;
/// The most lines that are looked through for headings.
const MAX_LINES: usize = 20_000;

/// The lines between a heading and the first period under it, and the fewest letters of a heading in capitals.
const LINES_TO_PERIOD: usize = 3;
const MIN_CAPITALS: usize = 5;

/// The lines under a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) topic: Topic,
    /// The first line after the heading, and the one after the last.
    pub(crate) first: usize,
    pub(crate) end: usize,
}

/// The sections of a document, in its order.
pub(crate) fn sections(view: &View<'_>) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let lines = view.lines.len().min(MAX_LINES);
    for line in 0..lines {
        let Some(topic) = heading(view, line) else { continue };
        if let Some(last) = found.last_mut() {
            last.end = line;
        }
        found.push(Section { topic, first: line + 1, end: lines });
    }
    found
}

/// The sections of a document whose headings say work in no known words: a line of capitals over periods is one.
pub(crate) fn sections_by_contents(view: &View<'_>) -> Vec<Section> {
    let lines = view.lines.len().min(MAX_LINES);
    let is_heading = |line: usize| heading(view, line).is_some() || is_in_capitals(view, line);
    let heads: Vec<usize> = (1..lines).filter(|&line| is_heading(line)).collect();
    let ends = heads.iter().skip(1).copied().chain(std::iter::once(lines));
    let of = |(&head, end): (&usize, usize)| {
        let first = head + 1;
        let begins_with_period = (first..end.min(first + LINES_TO_PERIOD))
            .any(|line| periods::find(view, line).is_some_and(|period| period.is_range));
        let is_of_studies = (first..end).any(|line| {
            view.folded(view.line_span(line))
                .any(|word| SCHOOLS.has(word) || DEGREES.has(&word.replace('.', "")))
        });
        let topic = heading(view, head).unwrap_or(match (begins_with_period, is_of_studies) {
            (true, true) => Topic::Studies,
            (true, false) => Topic::Work,
            (false, _) => Topic::Other,
        });
        Section { topic, first, end }
    };
    heads.iter().zip(ends).map(of).collect()
}

/// Whether a line is words of capitals alone.
fn is_in_capitals(view: &View<'_>, line: usize) -> bool {
    let text = view.text(view.line_span(line));
    view.segments_of(line).len() == 1
        && text.split_whitespace().count() <= MAX_WORDS
        && text.chars().filter(|c| c.is_alphabetic()).count() >= MIN_CAPITALS
        && text.chars().all(|c| c.is_uppercase() || matches!(c, ' ' | '&' | '-' | '/' | '\'' | '’'))
        && !entities::is_company(&text)
}

/// What a line is the heading of: it has only words of headings, one of which names the topic.
pub(crate) fn heading(view: &View<'_>, line: usize) -> Option<Topic> {
    let span = view.line_span(line);
    if view.segments_of(line).len() != 1 || span.end - span.start > MAX_WORDS {
        return None;
    }
    let words = &view.words[span.start..span.end];
    let begins = words.iter().find_map(|word| word.text.chars().find(|c| c.is_alphabetic()))?;
    if !begins.is_uppercase() || words.last().is_some_and(|word| word.text.ends_with(['.', ',', ';'])) {
        return None;
    }
    let folded: Vec<&str> =
        words.iter().map(|word| word.folded.as_str()).filter(|word| !word.is_empty()).collect();
    let is_number = |word: &str| word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    HEADINGS.iter().find_map(|(topic, core)| {
        let fits = |word: &&str| Words(core).has(word) || HEADING_FILLERS.has(word) || is_number(word);
        (Words(core).has_any(folded.iter().copied()) && folded.iter().all(fits)).then_some(*topic)
    })
}
