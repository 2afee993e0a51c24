//! Splits documents into passages.
//!
//! The text of a document is that of its pages, with an empty line between two of them. Markdown is cut at headings,
//! which each passage under them carries and which are not part of its text; metadata before the text (front matter) is
//! in no passage, and neither is markup that is no text for readers (`clean`). Everything else that is not blank is in exactly one passage, word for word.

mod clean;
mod markdown;
mod pieces;
mod sentences;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use conversations::Passage;

use self::markdown::Section;
pub use self::pieces::Format;
use self::pieces::MAX_LENGTH;
pub(crate) use self::pieces::{End, Kind, Piece, is_item, is_numbered, pieces};

/// The minimum length of a passage in characters, where the text allows it.
const MIN_LENGTH: usize = 200;
/// What passages are best at: long enough to say something whole, short enough to be about one thing.
const WANTED: usize = 800;
/// The maximum length of a title in characters.
const MAX_TITLE: usize = 200;
/// Pieces of a passage: a bound for texts of very short lines.
const MAX_PIECES: usize = 200;
/// The cost of crossing a page boundary: more than that of a short passage.
const CROSSING_COST: u64 = 20_000;
/// A page with fewer characters is taken for the rest of the one before it.
const MIN_PAGE: usize = 100;
/// Between two pages.
const PAGE_BREAK: &str = "\n\n";

/// A document split into passages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutDocument {
    /// Its text, which positions of passages refer to.
    pub text: String,
    /// The title in the metadata of Markdown, else its first heading; none where it has neither.
    pub title: Option<String>,
    /// Its passages, by position. None at all where there is no text.
    pub passages: Vec<Passage>,
}

/// Cuts a document: its text, or the texts of its pages. A document without pages is one text, and its passages have
/// no page.
#[must_use]
pub fn cut(pages: &[&str], format: Format) -> CutDocument {
    let pages: Vec<Cow<'_, str>> = match format {
        Format::Markdown => pages.iter().map(|page| clean::clean(page)).collect(),
        Format::Plain => pages.iter().map(|page| Cow::Borrowed(*page)).collect(),
    };
    let text = pages.join(PAGE_BREAK);
    let mut page_starts = Vec::with_capacity(pages.len());
    let mut start = 0;
    for page in &pages {
        page_starts.push(start);
        start += page.len() + PAGE_BREAK.len();
    }
    let sections = match format {
        Format::Markdown => markdown::sections(&text),
        Format::Plain => vec![Section { headings: Vec::new(), body: 0..text.len() }],
    };
    let stated = match format {
        Format::Markdown => markdown::front_matter(&text).1,
        Format::Plain => None,
    };
    let title = stated.or_else(|| sections.iter().find_map(|section| section.headings.first().cloned()));
    let mut passages = Vec::new();
    let mut counter = Counter { text: &text, byte: 0, character: 0 };
    for section in sections {
        let pieces = pieces(&text, section.body, format);
        let page_of = |piece: &Piece| page_starts.partition_point(|page| *page <= piece.range.start);
        for range in packed(&text, &pieces, page_of) {
            let start = counter.characters_before(range.start);
            let end = counter.characters_before(range.end);
            let page = page_starts.partition_point(|page| *page <= range.start);
            passages.push(Passage {
                position: u32::try_from(passages.len()).unwrap_or(u32::MAX),
                headings: section.headings.clone(),
                page: if pages.len() > 1 { u32::try_from(page).ok() } else { None },
                start,
                end,
                text: text[range].to_owned(),
            });
        }
    }
    CutDocument { text, title, passages }
}

/// The title of a document: its first heading, or the name of its file without the ending. 1 to 200 characters.
#[must_use]
pub fn title(document: &CutDocument, file_name: &str) -> String {
    let stem = file_name.rsplit_once('.').map_or(file_name, |(stem, _)| stem).trim();
    let title = document.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(stem);
    let title: String = title.chars().take(MAX_TITLE).collect();
    if title.is_empty() { file_name.chars().take(MAX_TITLE).collect() } else { title }
}

/// The words of a passage without marks of Markdown and without the addresses of its links.
pub(crate) fn plain_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['|', '*', '#', '`', '>', ']']) {
        plain.push_str(&rest[..at]);
        let address =
            rest[at..].strip_prefix("](").and_then(|address| Some(&address[address.find(')')? + 1..]));
        plain.push(' ');
        rest = address.unwrap_or(&rest[at + 1..]);
    }
    plain.push_str(rest);
    let words = plain.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    words.collect::<Vec<_>>().join(" ")
}

/// The parts of a passage that say something of their own: up to about `most` characters each, cut between its pieces.
pub(crate) fn parts(text: &str, most: usize) -> Vec<Range<usize>> {
    let pieces = pieces(text, 0..text.len(), Format::Markdown);
    let all: usize = pieces.iter().map(|piece| piece.characters + piece.gap).sum();
    // Parts of about the same length, so that none is a rest.
    let wanted = all / all.div_ceil(most).max(1);
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut length = usize::MAX;
    for piece in &pieces {
        match parts.last_mut().filter(|_| length < wanted && length + piece.characters / 2 <= wanted) {
            Some(part) => {
                part.end = piece.range.end;
                length += piece.characters + piece.gap;
            }
            None => {
                parts.push(piece.range.clone());
                length = piece.characters + piece.gap;
            }
        }
    }
    parts
}

/// Counts characters up to bytes that only grow.
struct Counter<'a> {
    text: &'a str,
    byte: usize,
    character: u64,
}

impl Counter<'_> {
    fn characters_before(&mut self, byte: usize) -> u64 {
        self.character += self.text[self.byte..byte].chars().count() as u64;
        self.byte = byte;
        self.character
    }
}

/// The cost of ending a passage after a piece.
fn break_cost(piece: &Piece) -> u64 {
    match piece.end {
        End::Paragraph => 0,
        End::Line => 40,
        End::Sentence => 60,
        End::Word => 400,
    }
}

fn length_cost(characters: usize) -> u64 {
    let distance = characters.abs_diff(WANTED) as u64 / 10;
    let lack = MIN_LENGTH.saturating_sub(characters) as u64;
    distance * distance / 20 + if lack > 0 { 2_000 + lack * 10 } else { 0 }
}

/// Packs pieces into passages at the least cost.
fn packed(text: &str, pieces: &[Piece], page_of: impl Fn(&Piece) -> usize) -> Vec<Range<usize>> {
    let mut pages: Vec<u64> = Vec::with_capacity(pieces.len());
    for page in pieces.chunk_by(|one, other| page_of(one) == page_of(other)) {
        let characters: usize = page.iter().map(|piece| piece.characters).sum();
        let before = pages.last().copied().unwrap_or(0);
        let number = if characters < MIN_PAGE { before } else { before + 1 };
        pages.extend(std::iter::repeat_n(number, page.len()));
    }
    // The least cost of everything before a piece, and where the last passage of that begins.
    let mut best: Vec<(u64, usize)> = vec![(0, 0)];
    for end in 1..=pieces.len() {
        let mut least = (u64::MAX, end - 1);
        let mut characters = 0;
        for start in (0..end).rev() {
            let piece = &pieces[start];
            // What lies between pieces is part of the passage: blanks and marks of paragraphs.
            characters += piece.characters + if start + 1 < end { piece.gap } else { 0 };
            if (characters > MAX_LENGTH || end - start > MAX_PIECES) && start + 1 < end {
                break;
            }
            let crossed = pages[end - 1] - pages[start];
            let shape = length_cost(characters) + break_cost(&pieces[end - 1]) + crossed * CROSSING_COST;
            let cost = best[start].0 + shape;
            if cost < least.0 {
                least = (cost, start);
            }
        }
        best.push(least);
    }
    let mut ranges = Vec::new();
    let mut end = pieces.len();
    while end > 0 {
        let start = best[end].1;
        ranges.push(pieces[start].range.start..pieces[end - 1].range.end);
        end = start;
    }
    ranges.reverse();
    debug_assert!(
        ranges.iter().all(|range| text.is_char_boundary(range.start)),
        "pieces are whole characters"
    );
    ranges
}
