//! Sections of a document as an index: headings, and the lines up to the next one.

use super::view::View;
use super::vocabulary::{HEADING_FILLERS, HEADINGS, Topic, Words};

/// The most words of a heading.
const MAX_WORDS: usize = 6;
/// The most lines that are looked through for headings.
const MAX_LINES: usize = 20_000;

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
