//! Finding text in a document, whatever its spaces, accents, case and punctuation.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::engine::builtin::view::{Span, View};

/// From which similarity on text counts as a close match (contract 12.2).
pub(super) const CLOSE: f64 = 0.9;
/// The fewest letters and digits for which similarity is meaningful.
const FEWEST_FOR_SIMILARITY: usize = 5;
/// The maximum number of occurrences of one text that are examined.
const MAX_HITS: usize = 64;
/// The cells of edit-distance tables that one reply may cost, which bounds the work for a fabricated reply. Text that is
/// no longer searched for counts as not found.
const SIMILARITY_WORK: usize = 60_000_000;
/// Bytes that may be searched for one answer, to the same end: a document of 100 kB ten thousand times.
const SEARCH_WORK: usize = 1 << 30;

/// A document in one row of letters and digits.
pub(super) struct Haystack<'v, 'd> {
    view: &'v View<'d>,
    text: String,
    /// The word of each byte.
    word: Vec<u32>,
    /// Whether a run of letters and digits may begin, or end, at a byte.
    edges: Vec<(bool, bool)>,
    /// Where each word begins, and one more.
    starts: Vec<u32>,
    words: RefCell<Option<HashMap<String, Vec<u32>>>>,
    similarity_work: Cell<usize>,
    search_work: Cell<usize>,
}

/// A script without spaces between its words, where any letter may begin one.
fn is_free(c: char) -> bool {
    c >= '\u{0e00}' && c.is_alphabetic()
}

/// The letters and digits of a word in lower case and without accents, each with the offset of its character. The decimal
/// mark becomes a dot: without it 12.50 would equal 1250.
fn squash(word: &str, mut push: impl FnMut(char, usize)) {
    for (at, c) in word.char_indices() {
        if matches!(c, '.' | ',') && is_decimal(word, at) {
            push('.', at);
        }
        for part in std::iter::once(c).nfkd().filter(|part| !is_combining_mark(*part)) {
            if part == 'ß' {
                push('s', at);
                push('s', at);
            } else if part.is_alphanumeric() {
                part.to_lowercase().filter(|lower| lower.is_alphanumeric()).for_each(|lower| push(lower, at));
            }
        }
    }
}

/// Whether the mark at an offset precedes the one or two decimals of a number that has no other such mark.
fn is_decimal(text: &str, at: usize) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',');
    let (before, after) = (&text.as_bytes()[..at], &text.as_bytes()[at + 1..]);
    let whole = before.iter().rev().take_while(|byte| is_part(byte));
    let decimals = after.iter().take_while(|byte| is_part(byte)).count();
    before.last().is_some_and(u8::is_ascii_digit)
        && (1..=2).contains(&decimals)
        && after[..decimals].iter().all(u8::is_ascii_digit)
        && whole.filter(|byte| **byte == text.as_bytes()[at]).count() == 0
}

/// Letters and digits of text in lower case and without accents.
pub(super) fn squashed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    squash(text, |c, _| out.push(c));
    out
}

/// Text with single spaces, lines included.
pub(super) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl<'v, 'd> Haystack<'v, 'd> {
    pub(super) fn new(view: &'v View<'d>) -> Self {
        let mut haystack = Haystack {
            view,
            text: String::new(),
            word: Vec::new(),
            edges: Vec::new(),
            starts: Vec::with_capacity(view.words.len() + 1),
            words: RefCell::new(None),
            similarity_work: Cell::new(SIMILARITY_WORK),
            search_work: Cell::new(SEARCH_WORK),
        };
        for (index, word) in view.words.iter().enumerate() {
            haystack.starts.push(u32::try_from(haystack.text.len()).unwrap_or(u32::MAX));
            haystack.push(u32::try_from(index).unwrap_or(u32::MAX), word.text);
        }
        haystack.starts.push(u32::try_from(haystack.text.len()).unwrap_or(u32::MAX));
        haystack
    }

    fn push(&mut self, index: u32, word: &str) {
        let first = self.text.len();
        let mut last: Option<(char, usize)> = None;
        squash(word, |c, at| {
            // Letters that stand apart in the word are apart here.
            let joined = last.is_some_and(|(before, position)| {
                let between = &word[position..at];
                let is_number = before.is_ascii_digit() && c.is_ascii_digit();
                let is_next = position == at
                    || between.chars().count() == 1
                    || is_number && between.len() == 2 && between.ends_with(['.', ',', '\'']);
                is_next && !is_free(before) && !is_free(c)
            });
            if !joined && let Some(edge) = self.edges[first..].last_mut() {
                edge.1 = true;
            }
            let begun = self.text.len();
            self.text.push(c);
            for byte in begun..self.text.len() {
                self.word.push(index);
                self.edges.push((byte == begun && !joined, false));
            }
            last = Some((c, at));
        });
        if self.text.len() > first
            && let Some(edge) = self.edges.last_mut()
        {
            edge.1 = true;
        }
    }

    fn bytes(&self, span: Span) -> Range<usize> {
        let of = |word: usize| self.starts.get(word).map_or(self.text.len(), |start| *start as usize);
        of(span.start)..of(span.end)
    }

    /// The occurrences of squashed text within a span, whole words only, in the order of the document.
    pub(super) fn find(&self, needle: &str, within: Span) -> Vec<Span> {
        let bytes = self.bytes(within);
        if needle.is_empty() || bytes.len() < needle.len() {
            return Vec::new();
        }
        let Some(left) = self.search_work.get().checked_sub(bytes.len()) else { return Vec::new() };
        self.search_work.set(left);
        let base = bytes.start;
        memmem::find_iter(&self.text.as_bytes()[bytes], needle)
            .map(|at| (base + at, base + at + needle.len() - 1))
            .filter(|&(first, last)| self.edges[first].0 && self.edges[last].1)
            .map(|(first, last)| Span { start: self.word[first] as usize, end: self.word[last] as usize + 1 })
            .take(MAX_HITS)
            .collect()
    }

    /// The words within a span that are most like squashed text, if any are like it.
    pub(super) fn closest(&self, needle: &str, within: Span) -> Option<Span> {
        if needle.len() < FEWEST_FOR_SIMILARITY {
            return None;
        }
        let words = within.end - within.start;
        let mut best: Option<(f64, Span)> = None;
        // Short stretches are looked at word by word, long ones where a word begins as the text does.
        let anchors: Vec<usize> =
            if words <= 60 { (within.start..within.end).collect() } else { self.anchors(needle, within) };
        for start in anchors {
            let mut length = 0;
            for end in start + 1..=within.end {
                length += self.bytes(Span { start: end - 1, end }).len();
                if length * 10 < needle.len() * 9 {
                    continue;
                }
                if length * 9 > needle.len() * 10 {
                    break;
                }
                let span = Span { start, end };
                let Some(similarity) = self.similarity(needle, &self.text[self.bytes(span)]) else {
                    return best.map(|(_, span)| span);
                };
                if similarity >= CLOSE && best.is_none_or(|(most, _)| similarity > most) {
                    best = Some((similarity, span));
                }
            }
        }
        best.map(|(_, span)| span)
    }

    /// How alike two texts are; none when the work that a document may cost is done.
    pub(super) fn similarity(&self, a: &str, b: &str) -> Option<f64> {
        let left = self.similarity_work.get().checked_sub(a.len().saturating_mul(b.len()))?;
        self.similarity_work.set(left);
        Some(strsim::normalized_levenshtein(a, b))
    }

    /// Words that begin as the needle does.
    fn anchors(&self, needle: &str, within: Span) -> Vec<usize> {
        let mut index = self.words.borrow_mut();
        let index = index.get_or_insert_with(|| {
            let mut index: HashMap<String, Vec<u32>> = HashMap::new();
            for at in 0..self.view.words.len() {
                let head: String =
                    self.text[self.bytes(Span { start: at, end: at + 1 })].chars().take(3).collect();
                if !head.is_empty() {
                    index.entry(head).or_default().push(u32::try_from(at).unwrap_or(u32::MAX));
                }
            }
            index
        });
        let head: String = needle.chars().take(3).collect();
        let positions = index.get(&head).map_or(&[][..], Vec::as_slice);
        let from = positions.partition_point(|position| (*position as usize) < within.start);
        positions[from..]
            .iter()
            .map(|position| *position as usize)
            .take_while(|at| *at < within.end)
            .take(500)
            .collect()
    }

    /// The words of a span as they stand in the document, its lines apart.
    pub(super) fn source(&self, span: Span) -> String {
        let mut text = String::new();
        let mut line = None;
        for word in &self.view.words[span.start..span.end] {
            if line.is_some_and(|line| line != word.line) {
                text.push('\n');
            } else if !text.is_empty() && word.gap > 0 {
                text.push(' ');
            }
            line = Some(word.line);
            text.push_str(word.text);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Document, Limits, read};

    fn document(text: &str) -> Document {
        read(text.as_bytes(), &Limits::default()).expect("text is read")
    }

    fn found(text: &str, needle: &str) -> Vec<String> {
        let document = document(text);
        let view = View::new(&document);
        let haystack = Haystack::new(&view);
        let all = Span { start: 0, end: view.words.len() };
        haystack.find(&squashed(needle), all).into_iter().map(|span| haystack.source(span)).collect()
    }

    #[test]
    fn whole_words_are_found_whatever_stands_between_them() {
        let text = "Invoice No: INV-2043, issued by Café Größe\nof the inter-\nnational trade  12.50";
        for (needle, source) in [
            ("INV-2043", "INV-2043,"),
            ("inv 2043", "INV-2043,"),
            ("CAFE GROSSE of", "Café Größe\nof"),
            ("international", "inter-\nnational"),
            ("12.50", "12.50"),
            ("2043", "INV-2043,"),
        ] {
            assert_eq!(found(text, needle), [source], "{needle}");
        }
        for needle in ["204", "nvoice", "tern", "2.5", "", "—", "trade 12", "12", "1250"] {
            assert_eq!(found(text, needle), Vec::<String>::new(), "{needle}");
        }
    }

    #[test]
    fn scripts_without_spaces_have_no_edges() {
        assert_eq!(found("請求書番号：甲12号 合計金額は一万円", "合計金額"), ["合計金額は一万円"]);
        assert_eq!(found("請求書番号：甲12号", "12"), ["甲12号"]);
    }

    #[test]
    fn what_is_alike_is_found_in_short_and_long_stretches() {
        let filler = "other words of no use at all ".repeat(40);
        for text in
            ["Ship to Northwlnd Traders Limited", &format!("{filler} to Northwlnd Traders Limited {filler}")]
        {
            let document = document(text);
            let view = View::new(&document);
            let haystack = Haystack::new(&view);
            let all = Span { start: 0, end: view.words.len() };
            let span = haystack.closest(&squashed("Northwind Traders Limited"), all);
            assert_eq!(span.map(|span| haystack.source(span)).as_deref(), Some("Northwlnd Traders Limited"));
            assert_eq!(haystack.closest(&squashed("Southwind Gliders Limited"), all), None);
            haystack.similarity_work.set(10);
            assert_eq!(haystack.closest(&squashed("Northwind Traders Limited"), all), None);
        }
    }
}
