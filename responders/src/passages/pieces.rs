//! The pieces that passages and quotations are made of: sentences, lines of code and tables, items of lists.

use std::ops::Range;

use super::markdown::{Fences, Line, lines};
use super::sentences::{sentences, trimmed};

/// The maximum length of a passage in characters.
pub(super) const MAX_LENGTH: usize = 1_200;

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// With headings, code, lists and tables of Markdown.
    Markdown,
    /// Paragraphs between empty lines.
    Plain,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it is, in bytes, without blanks around it.
    pub(crate) range: Range<usize>,
    /// Its characters.
    pub(crate) characters: usize,
    /// Characters between it and the next piece.
    pub(crate) gap: usize,
    /// What ends with it.
    pub(crate) end: End,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What ends with a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A paragraph, a list, a table, code.
    Paragraph,
    /// An item of a list, a row, a line.
    Line,
    /// A sentence.
    Sentence,
    /// Nothing but a word: the sentence is longer than a passage may be.
    Word,
}

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Words.
    Prose,
    /// A row of a table.
    Row,
    /// A line of code, or the fence around it.
    Code,
}

/// What lines belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Item {
    kind: Kind,
    start: usize,
    end: usize,
}

/// The pieces of a part of a text. All of it that is not blank is in one of them.
pub(crate) fn pieces(text: &str, part: Range<usize>, format: Format) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut fences = Fences::default();
    let mut item: Option<Item> = None;
    let flush = |item: &mut Option<Item>, end: End, pieces: &mut Vec<Piece>| {
        if let Some(item) = item.take() {
            add(text, item, end, pieces);
        } else if let (End::Paragraph, Some(last)) = (end, pieces.last_mut()) {
            last.end = End::Paragraph;
        }
    };
    for line in lines(&text[part.clone()], part.start) {
        let is_code = format == Format::Markdown && fences.hold(line.text);
        if line.is_blank() {
            flush(&mut item, if is_code { End::Line } else { End::Paragraph }, &mut pieces);
            continue;
        }
        let kind = match () {
            () if is_code => Kind::Code,
            () if line.text.trim_start().starts_with('|') => Kind::Row,
            () => Kind::Prose,
        };
        let goes_on = kind == Kind::Prose && !begins_item(line);
        match &mut item {
            Some(open) if goes_on && open.kind == Kind::Prose => open.end = line.end(),
            _ => {
                flush(&mut item, End::Line, &mut pieces);
                item = Some(Item { kind, start: line.start, end: line.end() });
            }
        }
    }
    flush(&mut item, End::Paragraph, &mut pieces);
    for next in 1..pieces.len() {
        let between = pieces[next - 1].range.end..pieces[next].range.start;
        pieces[next - 1].gap = text[between].chars().count();
    }
    pieces
}

/// Whether a line begins an item of a list or a quotation.
fn begins_item(line: Line<'_>) -> bool {
    is_numbered(line.text)
        || ["- ", "* ", "+ ", "• ", "– ", ">"].iter().any(|mark| line.text.trim_start().starts_with(mark))
}

/// Whether a line begins an item of a list of steps.
pub(crate) fn is_numbered(line: &str) -> bool {
    let text = line.trim_start();
    let number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    number.len() < text.len() && (number.starts_with(". ") || number.starts_with(") "))
}

/// Whether a piece begins an item of a list.
pub(crate) fn is_item(piece: &str) -> bool {
    begins_item(Line { start: 0, text: piece })
}

fn add(text: &str, item: Item, end: End, pieces: &mut Vec<Piece>) {
    let inner = &text[item.start..item.end];
    let parts = match item.kind {
        Kind::Prose => sentences(inner),
        Kind::Row | Kind::Code => vec![trimmed(inner, 0..inner.len())],
    };
    for part in parts {
        for (range, is_last) in short(inner, part) {
            pieces.push(Piece {
                characters: inner[range.clone()].chars().count(),
                range: item.start + range.start..item.start + range.end,
                gap: 0,
                end: if is_last { End::Sentence } else { End::Word },
                kind: item.kind,
            });
        }
    }
    if let Some(last) = pieces.last_mut() {
        last.end = end;
    }
}

/// A part in parts of up to [`LONGEST`] characters, cut at blanks where there are some, and whether each is the last.
fn short(text: &str, part: Range<usize>) -> Vec<(Range<usize>, bool)> {
    let mut parts = Vec::new();
    let mut rest = part;
    while let Some((limit, _)) = text[rest.clone()].char_indices().nth(MAX_LENGTH) {
        let window = &text[rest.start..rest.start + limit];
        let cut = window.rfind(char::is_whitespace).filter(|cut| *cut > 0).unwrap_or(limit);
        parts.push((trimmed(text, rest.start..rest.start + cut), false));
        rest = trimmed(text, rest.start + cut..rest.end);
    }
    if !rest.is_empty() {
        parts.push((rest, true));
    }
    parts
}
