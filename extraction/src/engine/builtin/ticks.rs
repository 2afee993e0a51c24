//! Boxes and what they belong to: a box and its words stand next to each other, in the order that the line shows.

use openapi_core::json::Json;

use super::annotations::{boxes, truth};
use super::labels::Label;
use super::source::Source;
use super::text::tidy;
use super::view::{Span, fold};

/// The most lines of a list of boxes.
const MAX_LINES: usize = 40;

/// A box with the words that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticked {
    pub(crate) mark: Span,
    pub(crate) words: Span,
    pub(crate) is_ticked: bool,
}

impl Source<'_, '_> {
    /// The boxes in a part of a line, each with its words. A part that begins with a box has boxes before their words.
    pub(crate) fn ticks(&self, region: Span) -> Vec<Ticked> {
        let marks = boxes(self.view, region);
        let Some(&(first, _, _)) = marks.first() else { return Vec::new() };
        let is_said = |at: usize| self.view.words[at].text.chars().any(char::is_alphanumeric);
        let before = (region.start..first).any(is_said);
        let trimmed = |start: usize, end: usize| {
            let start = (start..end).find(|&at| is_said(at)).unwrap_or(end);
            let end = (start..end).rev().find(|&at| is_said(at)).map_or(start, |at| at + 1);
            Span { start, end }
        };
        let mut found = Vec::new();
        for (nth, &(start, end, is_ticked)) in marks.iter().enumerate() {
            let words = if before {
                let from = nth.checked_sub(1).map_or(region.start, |before| marks[before].1);
                trimmed(from, start)
            } else {
                trimmed(end, marks.get(nth + 1).map_or(region.end, |next| next.0))
            };
            found.push(Ticked { mark: Span { start, end }, words, is_ticked });
        }
        found
    }

    /// Whether the box that belongs to a label is ticked; nothing where the line has no box of it, or boxes for yes and no.
    pub(crate) fn tick_of(&self, label: &Label) -> Option<(bool, Span)> {
        let view = self.view;
        let line = view.line_span(label.line);
        let own = label.span.start;
        let is_answer =
            |ticked: &Ticked| view.folded(ticked.words).next().is_some_and(|word| truth(word).is_some());
        let (_, segment) = view.segment_of(own);
        let mut all = self.ticks(segment.span());
        if all.is_empty() {
            all = self.ticks(line);
        }
        if all.iter().any(is_answer) {
            return None;
        }
        let found = all.iter().find(|ticked| ticked.words.start <= own && own < ticked.words.end)?;
        Some((found.is_ticked, Span { start: found.mark.start.min(own), end: found.mark.end.max(own + 1) }))
    }

    /// The ticked of several items: those after a label on its line, or on lines of their own under it.
    pub(crate) fn ticked_items(&self, label: &Label) -> Option<Vec<Span>> {
        let view = self.view;
        let line = view.line_span(label.line);
        let mut all = Vec::new();
        if label.after < line.end {
            all = self.ticks(Span { start: label.after, end: line.end });
        }
        if all.is_empty() && label.after >= line.end {
            for below in (label.line + 1..view.lines.len()).take(MAX_LINES) {
                let of_line = self.ticks(view.line_span(below));
                if of_line.is_empty() {
                    break;
                }
                all.extend(of_line);
            }
        }
        let is_choice = all.len() >= 2 && all.iter().all(|ticked| ticked.words.start < ticked.words.end);
        is_choice.then(|| all.iter().filter(|ticked| ticked.is_ticked).map(|ticked| ticked.words).collect())
    }

    /// Whether words are one of the options of a field, and which.
    pub(crate) fn option<'o>(&self, options: &'o [Json], words: Span) -> Option<&'o str> {
        option(options, &self.view.text(words))
    }
}

/// The option that text names, whatever its case.
pub(crate) fn option<'o>(options: &'o [Json], text: &str) -> Option<&'o str> {
    let said = fold(&tidy(text));
    options.iter().filter_map(Json::as_str).find(|option| fold(option) == said)
}
