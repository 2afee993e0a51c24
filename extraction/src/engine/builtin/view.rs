//! The document as the engine sees it: words in one row, lines of segments, bounded.

pub(crate) use super::letters::fold;
use super::letters::is_unspaced;
use super::lexicon::Lexicon;
use super::vocabulary::CURRENCIES;
use crate::document::{Document, Page, PageSource, Rect};

/// The maximum number of words; a million characters hold fewer.
const MAX_WORDS: usize = 250_000;
/// The lines above and below a gap that show whether a column begins after it.
const NEAR: usize = 3;
/// The lines above and below a segment that show the columns within it, and the segments that make a column.
const COLUMN_LINES: usize = 6;
const COLUMN_SEGMENTS: usize = 3;
/// In running text, a gap wider than this many spaces separates segments.
const SLIP: u16 = 3;
/// The most words of a line: longer lines are cut into several.
const MAX_LINE: usize = 400;

/// One word.
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    /// In lower case, without accents and without punctuation at its ends.
    pub(crate) folded: String,
    pub(crate) gap: u16,
    pub(crate) bbox: Option<Rect>,
    pub(crate) confidence: f32,
    pub(crate) size: f32,
    /// Where it begins on its line: points, or characters in running text.
    pub(crate) x0: f32,
    pub(crate) x1: f32,
    pub(crate) line: usize,
}

/// Words of a line without a wide gap between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A line.
pub(crate) struct Line {
    pub(crate) page: usize,
    pub(crate) block: u32,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Its segments, as indices into [`View::segments`].
    pub(crate) first_segment: usize,
    pub(crate) last_segment: usize,
}

/// Consecutive words of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// The document.
pub(crate) struct View<'a> {
    pub(crate) words: Vec<Word<'a>>,
    pub(crate) lines: Vec<Line>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) pages: Vec<&'a Page>,
    /// Whether the words have positions.
    pub(crate) placed: bool,
}

/// The marks at the end of a label.
pub(crate) const COLONS: [char; 2] = [':', '：'];

/// A label and a value that touch: `Date:18/01/2018`.
fn split(text: &str) -> (&str, &str) {
    // Two dates that touch: `10/14/20-10/20/20`.
    if let Some((first, second)) = text.split_once(['-', '–'])
        && first.matches('/').count() == 2
        && second.matches('/').count() == 2
    {
        return text.split_at(text.len() - second.len());
    }
    let Some((at, mark)) = text.char_indices().find(|(_, c)| matches!(c, ':' | '=' | '：')) else {
        return split_unspaced(text);
    };
    let (label, rest) = text.split_at(at + mark.len_utf8());
    let letters = label.chars().filter(|c| c.is_alphabetic()).count();
    let is_label = letters >= 1 && label.chars().all(|c| !c.is_ascii_digit() && c != '@');
    if is_label && !rest.starts_with("//") && rest.chars().any(char::is_alphanumeric) {
        (label, rest)
    } else {
        (text, "")
    }
}

/// A label and a value that touch because the script has no blanks: `合計金額¥12,000`.
fn split_unspaced(text: &str) -> (&str, &str) {
    if !text.chars().next().is_some_and(is_unspaced) {
        return (text, "");
    }
    let is_sign = |letter: &char| CURRENCIES.iter().any(|(_, signs)| signs.has(&letter.to_string()));
    let is_value = |letter: &char| letter.is_ascii_alphanumeric() || is_sign(letter);
    let at = text.char_indices().find(|(_, letter)| is_value(letter)).map(|(at, _)| at);
    let Some((label, rest)) = at.map(|at| text.split_at(at)) else { return (text, "") };
    let is_label = !Lexicon::shared().unspaced(&fold(label)).is_empty();
    if is_label && rest.chars().any(char::is_numeric) { (label, rest) } else { (text, "") }
}

/// The fewest characters of a line to write on.
const LEADER: usize = 4;

/// Whether a character may be one of a line to write on.
fn is_leader_mark(mark: char) -> bool {
    matches!(mark, '.' | '_' | '…')
}

/// Whether text is a line to write on: dots or low lines, as forms draw them.
pub(crate) fn is_leader(text: &str) -> bool {
    let marks: usize = text.chars().map(|c| if c == '…' { 3 } else { 1 }).sum();
    marks >= LEADER && text.chars().all(is_leader_mark)
}

/// Parts text at the lines to write on that touch it: `....Joiner........`.
fn split_leaders(text: &str) -> Vec<&str> {
    if !["....", "__", "…"].iter().any(|run| text.contains(run)) {
        return vec![text];
    }
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    // Addresses have marks of their own, and so have blanks for a date: `____/____/20__`.
    let has_own = ["@", "://", "_/", "/_", "…/", "/…"].iter().any(|mark| text.contains(mark));
    while at < text.len() && !has_own {
        let rest = &text[at..];
        let run = rest.len() - rest.trim_start_matches(is_leader_mark).len();
        if run > 0 && is_leader(&rest[..run]) {
            pieces.extend((at > start).then(|| &text[start..at]));
            pieces.push(&rest[..run]);
            start = at + run;
        }
        at += run.max(rest.chars().next().map_or(1, char::len_utf8));
    }
    pieces.extend((start < text.len()).then(|| &text[start..]));
    pieces
}

impl<'a> View<'a> {
    pub(crate) fn new(document: &'a Document) -> Self {
        let mut view = View {
            words: Vec::new(),
            lines: Vec::new(),
            segments: Vec::new(),
            pages: document.pages.iter().collect(),
            placed: false,
        };
        for (page, content) in document.pages.iter().enumerate() {
            let wide = if content.source == PageSource::Flow { 2 } else { 3 };
            for line in &content.lines {
                for words in line.words.chunks(MAX_LINE) {
                    if view.words.len() + words.len() > MAX_WORDS {
                        return view;
                    }
                    view.push(page, line.block, words, wide);
                }
            }
        }
        view.join_slips();
        view.split_columns();
        view
    }

    /// Parts segments at the edges of columns: a label that a narrow gap follows to the text before it begins where the
    /// segments of nearby lines do.
    fn split_columns(&mut self) {
        if !self.placed {
            return;
        }
        let mut parted: Vec<Segment> = Vec::with_capacity(self.segments.len());
        let mut ranges = Vec::with_capacity(self.lines.len());
        for line in 0..self.lines.len() {
            let first = parted.len();
            let segments = self.segments_of(line);
            for (nth, segment) in segments.iter().enumerate() {
                let edge = (nth + 1 < segments.len()).then(|| self.edge_within(line, *segment)).flatten();
                if let Some(edge) = edge {
                    parted.push(Segment { start: segment.start, end: edge });
                }
                parted.push(Segment { start: edge.unwrap_or(segment.start), end: segment.end });
            }
            ranges.push((first, parted.len()));
        }
        for (line, range) in self.lines.iter_mut().zip(ranges) {
            (line.first_segment, line.last_segment) = range;
        }
        self.segments = parted;
    }

    /// The word within a segment, the first of a label, at which a column begins: segments of several nearby lines begin
    /// there, and none of them crosses it.
    fn edge_within(&self, line: usize, segment: Segment) -> Option<usize> {
        let page = self.lines[line].page;
        let near = line.saturating_sub(COLUMN_LINES)..(line + COLUMN_LINES + 1).min(self.lines.len());
        let is_label = |at: usize| {
            let mut rest = self.words[at..segment.end].iter();
            self.words[at].text.starts_with(char::is_uppercase)
                && rest.all(|word| !word.text.contains(|letter: char| letter.is_ascii_digit()))
        };
        (segment.start + 1..segment.end).rev().filter(|at| is_label(*at)).find(|&at| {
            let x = self.words[at].x0;
            let others = near.clone().filter(|other| *other != line && self.lines[*other].page == page);
            let mut begins = 0;
            for other in others {
                for column in self.segments_of(other) {
                    let (x0, x1) = self.extent(column.span());
                    if (x0 - x).abs() < 1.0 {
                        begins += 1;
                    } else if x0 < x && x1 > x {
                        return false;
                    }
                }
            }
            begins >= COLUMN_SEGMENTS
        })
    }

    /// Joins segments of running text that a slip has cut: two or three spaces between alphabetic words after a label,
    /// where no nearby line shows a column.
    fn join_slips(&mut self) {
        let mut joined: Vec<Segment> = Vec::with_capacity(self.segments.len());
        let mut ranges = Vec::with_capacity(self.lines.len());
        for line in 0..self.lines.len() {
            let first = joined.len();
            for segment in self.segments_of(line) {
                match joined[first..].last_mut() {
                    Some(before) if self.is_slip(line, *segment) => before.end = segment.end,
                    _ => joined.push(*segment),
                }
            }
            ranges.push((first, joined.len()));
        }
        for (line, range) in self.lines.iter_mut().zip(ranges) {
            (line.first_segment, line.last_segment) = range;
        }
        self.segments = joined;
    }

    /// Whether the gap before a segment, which is not the first of its line, separates nothing.
    fn is_slip(&self, line: usize, segment: Segment) -> bool {
        let is_letters = |text: &str| {
            text.chars().any(char::is_alphabetic)
                && text.chars().all(|c| c.is_alphabetic() || matches!(c, '.' | ',' | '-' | '\'' | '’' | '&'))
        };
        let (before, first) = (&self.words[segment.start - 1], &self.words[segment.start]);
        let page = self.lines[line].page;
        // After a label with its colon and before the next label. Elsewhere it may be a row of headings.
        let is_labelled =
            |from: usize, to: usize| self.words[from..to].iter().any(|word| word.text.ends_with(COLONS));
        if self.pages[page].source != PageSource::Flow
            || first.gap > SLIP
            || !is_labelled(self.lines[line].start, segment.start)
            || is_labelled(segment.start, segment.end)
            || !is_letters(before.text)
            || !is_letters(first.text)
        {
            return false;
        }
        let end = self.words[segment.end - 1].x1;
        let near = line.saturating_sub(NEAR)..(line + NEAR + 1).min(self.lines.len());
        let mut others = near.filter(|other| *other != line && self.lines[*other].page == page);
        others.all(|other| {
            self.segments_of(other).iter().skip(1).all(|column| {
                let (x0, x1) = self.extent(column.span());
                (x0 - first.x0).abs() >= 1.0 && (x1 - end).abs() >= 1.0
            })
        })
    }

    /// The page of a word.
    pub(crate) fn page_of(&self, word: usize) -> Option<&'a Page> {
        self.pages.get(self.lines.get(self.words.get(word)?.line)?.page).copied()
    }

    fn push(&mut self, page: usize, block: u32, words: &'a [crate::document::Word], wide: u16) {
        let start = self.words.len();
        let line = self.lines.len();
        let first_segment = self.segments.len();
        let mut at = 0.0_f32;
        let pieces = words.iter().flat_map(|word| {
            split_leaders(&word.text).into_iter().enumerate().flat_map(move |(nth, piece)| {
                let (first, rest) = split(piece);
                std::iter::once((word, first, nth > 0))
                    .chain((!rest.is_empty()).then_some((word, rest, true)))
            })
        });
        for (index, (word, text, inside)) in pieces.enumerate() {
            let gap = match index {
                _ if inside => 0,
                0 => word.gap,
                _ => word.gap.max(1),
            };
            at += f32::from(gap);
            let length = text.chars().count() as f32;
            let (x0, x1) = match word.bbox {
                Some(location) => (location.x, location.x + location.width),
                None => (at, at + length),
            };
            at += length;
            self.placed |= word.bbox.is_some();
            let position = self.words.len();
            if index == 0 || gap >= wide {
                self.segments.push(Segment { start: position, end: position });
            }
            if let Some(segment) = self.segments.last_mut() {
                segment.end = position + 1;
            }
            self.words.push(Word {
                text,
                folded: fold(text),
                gap,
                bbox: word.bbox,
                confidence: word.confidence,
                size: word.size,
                x0,
                x1,
                line,
            });
        }
        if self.words.len() == start {
            return;
        }
        self.lines.push(Line {
            page,
            block,
            start,
            end: self.words.len(),
            first_segment,
            last_segment: self.segments.len(),
        });
    }

    /// The words of a span, with single spaces.
    pub(crate) fn text(&self, span: Span) -> String {
        let mut text = String::new();
        for word in &self.words[span.start..span.end] {
            if !text.is_empty() && word.gap > 0 {
                text.push(' ');
            }
            text.push_str(word.text);
        }
        text
    }

    /// The folded words of a span.
    pub(crate) fn folded(&self, span: Span) -> impl Iterator<Item = &str> {
        self.words[span.start..span.end].iter().map(|word| word.folded.as_str())
    }

    /// The folded words before a word, at most some.
    pub(crate) fn folded_before(&self, word: usize, most: usize) -> Vec<&str> {
        self.folded(Span { start: word.saturating_sub(most), end: word }).collect()
    }

    /// The folded words from a word on, at most some.
    pub(crate) fn folded_from(&self, word: usize, most: usize) -> Vec<&str> {
        self.folded(Span { start: word, end: (word + most).min(self.words.len()) }).collect()
    }

    pub(crate) fn line_span(&self, line: usize) -> Span {
        Span { start: self.lines[line].start, end: self.lines[line].end }
    }

    pub(crate) fn segments_of(&self, line: usize) -> &[Segment] {
        let line = &self.lines[line];
        &self.segments[line.first_segment..line.last_segment]
    }

    /// The segment that holds a word, and its index among those of its line.
    pub(crate) fn segment_of(&self, word: usize) -> (usize, Segment) {
        let segments = self.segments_of(self.words[word].line);
        let at = segments.iter().position(|segment| word < segment.end).unwrap_or(segments.len() - 1);
        (at, segments[at])
    }

    pub(crate) fn extent(&self, span: Span) -> (f32, f32) {
        (self.words[span.start].x0, self.words[span.end - 1].x1)
    }

    /// Whether two spans of different lines stand in one column.
    pub(crate) fn aligned(&self, a: Span, b: Span) -> bool {
        let ((a0, a1), (b0, b1)) = (self.extent(a), self.extent(b));
        a0 < b1 && b0 < a1
    }

    /// The mean certainty of the words of a span.
    pub(crate) fn quality(&self, span: Span) -> f64 {
        let words = &self.words[span.start..span.end];
        let sum: f64 = words.iter().map(|word| f64::from(word.confidence)).sum();
        if words.is_empty() { 1.0 } else { sum / words.len() as f64 }
    }

    /// Whether nothing of a document is to be read.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

impl Segment {
    pub(crate) fn span(self) -> Span {
        Span { start: self.start, end: self.end }
    }
}
