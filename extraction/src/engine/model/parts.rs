//! A document as text for a model, in parts where it is long.

use std::ops::Range;

use crate::engine::builtin::view::{Span, View};

/// The lines that a part shares with the previous one, so that text across the cut is whole in one of them.
const OVERLAP: usize = 8;
/// The widest gap between two words in the prompt, in spaces.
const WIDEST: u16 = 12;
/// The longest word in the prompt; a longer one is data of another kind.
const LONGEST: usize = 500;
/// A part of fewer lines is not divided any further.
const FEWEST: usize = 4;

/// Consecutive lines of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// As indices into [`View::lines`].
    pub(super) lines: Range<usize>,
}

impl Part {
    /// The parts of a document, each of at most `most` characters but of one line at least.
    pub(super) fn all(view: &View<'_>, most: usize) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut start = 0;
        let mut size = 0;
        for line in 0..view.lines.len() {
            let next = length(view, line);
            if size + next > most && line > start {
                parts.push(Part { lines: start..line });
                start = line - overlap(view, start, line, most / 8);
                size = (start..line).map(|line| length(view, line)).sum();
            }
            size += next;
        }
        if start < view.lines.len() || parts.is_empty() {
            parts.push(Part { lines: start..view.lines.len() });
        }
        parts
    }

    /// The two halves of a part; `None` if it is too small.
    pub(super) fn halves(&self, view: &View<'_>) -> Option<[Part; 2]> {
        if self.lines.len() < FEWEST {
            return None;
        }
        let middle = self.lines.start + self.lines.len() / 2;
        let shared = overlap(view, self.lines.start, middle, usize::MAX).min(self.lines.len() / 4);
        Some([Part { lines: self.lines.start..middle }, Part { lines: middle - shared..self.lines.end }])
    }

    /// Its words.
    pub(super) fn span(&self, view: &View<'_>) -> Span {
        let of = |line: usize| view.lines.get(line);
        let start = of(self.lines.start).map_or(0, |line| line.start);
        let end = self.lines.end.checked_sub(1).and_then(of).map_or(start, |line| line.end);
        Span { start, end: end.max(start) }
    }

    /// The numbers of the pages it begins and ends on.
    pub(super) fn pages(&self, view: &View<'_>) -> Option<(u32, u32)> {
        let page = |line: usize| view.pages.get(view.lines.get(line)?.page).map(|page| page.number);
        Some((page(self.lines.start)?, page(self.lines.end.checked_sub(1)?)?))
    }

    /// Its text with the gaps between words, each page under its number.
    pub(super) fn text(&self, view: &View<'_>, most: usize) -> String {
        let mut text = String::new();
        let mut page = None;
        for line in &view.lines[self.lines.clone()] {
            let number = view.pages.get(line.page).map_or(1, |page| page.number);
            if page != Some(number) {
                page = Some(number);
                text.push_str(&format!("[page {number}]\n"));
            }
            let begun = text.len();
            for word in &view.words[line.start..line.end] {
                text.extend(std::iter::repeat_n(' ', usize::from(word.gap.min(WIDEST))));
                match word.text.char_indices().nth(LONGEST) {
                    Some((end, _)) => {
                        text.push_str(&word.text[..end]);
                        text.push('…');
                    }
                    None => text.push_str(word.text),
                }
                if text.len() - begun > most.saturating_mul(4) {
                    break;
                }
            }
            text.push('\n');
        }
        text
    }
}

fn length(view: &View<'_>, line: usize) -> usize {
    let line = &view.lines[line];
    let words = view.words[line.start..line.end].iter();
    words
        .map(|word| word.text.chars().take(LONGEST).count() + usize::from(word.gap.min(WIDEST)))
        .sum::<usize>()
        + 1
}

/// How many lines before `end` the next part begins with: some, but fewer than half of what is there.
fn overlap(view: &View<'_>, start: usize, end: usize, most: usize) -> usize {
    let mut size = 0;
    let lines = (start..end).rev().take(OVERLAP.min((end - start) / 2));
    lines
        .take_while(|line| {
            size += length(view, *line);
            size <= most
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Limits, read};

    #[test]
    fn parts_cover_every_line_and_share_some() {
        let lines: Vec<String> = (0..300).map(|n| format!("line {n} of the document")).collect();
        let document = read(lines.join("\n").as_bytes(), &Limits::default()).expect("text is read");
        let view = View::new(&document);
        assert_eq!(Part::all(&view, 1_000_000), [Part { lines: 0..300 }]);
        let parts = Part::all(&view, 1_000);
        assert!(parts.len() > 5, "{parts:?}");
        let mut covered = 0;
        for (nth, part) in parts.iter().enumerate() {
            let text = part.text(&view, 1_000);
            assert!(text.chars().count() <= 1_000 + "[page 1]\n".len(), "{}", text.len());
            assert!(part.lines.start <= covered && part.lines.end > covered, "{part:?}");
            assert!(nth == 0 || part.lines.start < covered, "{part:?} shares nothing");
            covered = part.lines.end;
        }
        assert_eq!(covered, 300);
        let [first, second] = parts[0].halves(&view).expect("it is large enough");
        assert_eq!((first.lines.start, second.lines.end), (parts[0].lines.start, parts[0].lines.end));
        assert!(second.lines.start < first.lines.end && second.lines.len() < parts[0].lines.len());
        assert_eq!(Part { lines: 0..3 }.halves(&view), None);
    }

    #[test]
    fn a_line_longer_than_a_part_is_a_part() {
        let text = format!("{}\nshort\n{}", "word ".repeat(900), "x".repeat(5_000));
        let document = read(text.as_bytes(), &Limits::default()).expect("text is read");
        let view = View::new(&document);
        let parts = Part::all(&view, 1_000);
        assert_eq!(parts.last().map(|part| part.lines.end), Some(view.lines.len()));
        assert!(parts.iter().all(|part| part.text(&view, 1_000).len() < 6_000));
    }
}
