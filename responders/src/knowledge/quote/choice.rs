//! Which sentences, items and rows of a passage a quotation has.

use std::collections::HashSet;
use std::ops::Range;

use super::{MAX_LENGTH, Wanted};
use crate::answer_type::AnswerType;
use crate::passages::{End, Kind, Piece, is_item, is_numbered};
use crate::words::fold;

/// Items up to which a list is quoted whole.
const WHOLE_LIST: usize = 8;
/// How much it counts that a sentence is in the part of the passage that is most like the question, in words of the question.
const MEANING_WEIGHT: f32 = 0.6;
/// How much a price, a time or a number counts in what answers a question for one, in words of the question, and how much any
/// number where another kind is asked for.
const ANSWER_WEIGHT: f32 = 0.7;
const NUMBER_WEIGHT: f32 = 0.35;
/// With fewer characters, a passage that was found by its meaning is quoted on after the end of a paragraph.
const ENOUGH: usize = 280;

/// How a sentence says that what it is about stands below it, folded.
const ANNOUNCING: [&str; 14] = [
    "below",
    "following",
    "as follows",
    "folgende",
    "unten",
    "ci-dessous",
    "suivant",
    "siguiente",
    "a continuacion",
    "seguente",
    "seguinte",
    "hieronder",
    "以下",
    "次の",
];

/// Whether a row of a table is the rule below its head.
pub(super) fn is_rule(row: &str) -> bool {
    row.chars().all(|letter| matches!(letter, '|' | '-' | ':' | ' ' | '\t'))
}

/// Whether a piece tells that what follows it belongs to it.
fn announces(text: &str) -> bool {
    let text = text.trim_end_matches(['*', '_', ' ']);
    if text.ends_with([':', '：']) {
        return true;
    }
    let folded = fold(text);
    // The last sentence of a long paragraph that says "below" somewhere is about something else.
    folded.chars().count() <= MAX_LENGTH / 3 && ANNOUNCING.iter().any(|mark| folded.contains(mark))
}

/// How much it counts that a piece has an answer of the kind that is asked for.
fn answering(text: &str, wanted: &Wanted) -> f32 {
    match wanted.answer_type {
        Some(kind) if kind.is_in(text, &wanted.languages) => ANSWER_WEIGHT,
        Some(_) if AnswerType::Number.is_in(text, &wanted.languages) => NUMBER_WEIGHT,
        _ => 0.0,
    }
}

/// The pieces of a passage, and what each of them has.
struct Pieces<'a> {
    passage: &'a str,
    pieces: &'a [Piece],
    /// Whether each can be quoted without others: a heading and the rule of a table say nothing.
    says_something: Vec<bool>,
}

impl Pieces<'_> {
    fn text(&self, nth: usize) -> &str {
        &self.passage[self.pieces[nth].range.clone()]
    }

    fn characters(&self, range: &Range<usize>) -> usize {
        let pieces = &self.pieces[range.clone()];
        let gaps = pieces.iter().rev().skip(1).map(|piece| piece.gap).sum::<usize>();
        pieces.iter().map(|piece| piece.characters).sum::<usize>() + gaps
    }

    fn fits(&self, range: &Range<usize>) -> bool {
        self.characters(range) <= MAX_LENGTH
    }

    /// The end of the paragraph, list or table that a piece is in.
    fn end_of_block(&self, nth: usize) -> usize {
        let rest = self.pieces[nth..].iter().position(|piece| piece.end == End::Paragraph);
        rest.map_or(self.pieces.len(), |rest| nth + rest + 1)
    }

    /// The list that a piece is in, with the sentence before it that announces it.
    fn list_around(&self, nth: usize) -> Option<Range<usize>> {
        let is_prose = |nth: &usize| self.pieces[*nth].kind == Kind::Prose;
        let ends_block = |nth: usize| matches!(self.pieces[nth].end, End::Paragraph);
        let mut first = nth;
        while !is_item(self.text(first)) {
            first = first.checked_sub(1).filter(|before| is_prose(before) && !ends_block(*before))?;
        }
        while let Some(before) = first.checked_sub(1).filter(is_prose) {
            // An item of several sentences begins before its last one.
            let begins =
                (0..=before).rev().take_while(|nth| is_prose(nth)).find(|nth| is_item(self.text(*nth)));
            match begins {
                Some(begins) if (begins..first).all(|nth| nth == begins || !ends_block(nth - 1)) => {
                    first = begins;
                }
                _ => break,
            }
        }
        let mut end = first;
        while end < self.pieces.len() && is_prose(&end) && (is_item(self.text(end)) || !ends_block(end - 1)) {
            end += 1;
        }
        let items = (first..end).filter(|nth| is_item(self.text(*nth))).count();
        let lead = first.checked_sub(1).filter(|lead| is_prose(lead) && announces(self.text(*lead)));
        let is_whole = lead.is_some() || is_numbered(self.text(first));
        let range = lead.unwrap_or(first)..end;
        (is_whole && (2..=WHOLE_LIST).contains(&items) && self.fits(&range)).then_some(range)
    }

    /// A range with what belongs to it.
    fn completed(&self, mut range: Range<usize>, is_by_meaning: bool) -> Range<usize> {
        if let Some(list) = self.list_around(range.start).filter(|list| list.end >= range.end) {
            return list;
        }
        while range.end < self.pieces.len() {
            let last = &self.pieces[range.end - 1];
            let is_head = last.kind == Kind::Row && last.end != End::Paragraph && self.is_head(range.start);
            if is_head || announces(self.text(range.end - 1)) {
                // What is announced comes whole, or as much of it as fits.
                let block = range.end + 1..=self.end_of_block(range.end);
                let Some(end) = block.rev().find(|end| self.fits(&(range.start..*end))) else { break };
                range.end = end;
                continue;
            }
            let next = range.start..range.end + 1;
            let is_rest = last.end == End::Sentence
                || (is_by_meaning && self.characters(&range) < ENOUGH && self.says_something[range.end]);
            if !is_rest || !self.fits(&next) {
                break;
            }
            range = next;
        }
        range
    }

    /// Whether a piece is the head of a table.
    fn is_head(&self, nth: usize) -> bool {
        let is_row = |nth: usize| self.pieces.get(nth).is_some_and(|piece| piece.kind == Kind::Row);
        is_row(nth) && is_row(nth + 1) && is_rule(self.text(nth + 1))
    }
}

/// The sentences next to each other that tell most about the question, of equals the shortest, then the first, with what belongs
/// to them. Where none has a word of the question, the passage was found by its meaning, and is quoted from its beginning.
pub(super) fn chosen(
    passage: &str,
    headings: &[String],
    pieces: &[Piece],
    nearest: Option<&Range<usize>>,
    wanted: &Wanted,
    has_long_code: bool,
) -> Option<Range<usize>> {
    let text = |piece: &Piece| &passage[piece.range.clone()];
    let says_something = pieces.iter().map(|piece| {
        let text = text(piece);
        let plain =
            text.trim_matches(|letter: char| matches!(letter, '#' | '*' | '_') || letter.is_whitespace());
        let is_heading = text.starts_with('#') || headings.iter().any(|heading| heading == plain);
        let is_empty = !text.chars().any(char::is_alphanumeric);
        piece.kind == Kind::Code || !(is_heading || is_empty)
    });
    let all = Pieces { passage, pieces, says_something: says_something.collect() };
    let held: Vec<HashSet<usize>> = pieces.iter().map(|piece| wanted.words_in(text(piece))).collect();
    // What a heading says, each sentence below it is about.
    let above: HashSet<usize> = headings.iter().flat_map(|heading| wanted.words_in(heading)).collect();
    let is_all_above = held.iter().flatten().all(|word| above.contains(word));
    let tells = |word: &usize| is_all_above || !above.contains(word);
    let answers: Vec<f32> = pieces.iter().map(|piece| answering(text(piece), wanted)).collect();
    let is_near = |piece: &Piece| nearest.is_some_and(|nearest| nearest.contains(&piece.range.start));
    let is_alike: Vec<bool> = pieces.iter().map(is_near).collect();
    // No word of the question stands there: its meaning alone tells where to begin.
    if held.iter().all(HashSet::is_empty)
        && let Some(first) = (0..pieces.len()).find(|nth| is_alike[*nth] && all.says_something[*nth])
        && (pieces[first].characters <= MAX_LENGTH || pieces[first].kind != Kind::Code)
    {
        return Some(all.completed(first..first + 1, true));
    }
    let mut best: Option<(f32, usize, Range<usize>)> = None;
    for start in (0..pieces.len()).filter(|start| all.says_something[*start]) {
        let mut words: HashSet<usize> = HashSet::new();
        let mut characters = 0;
        for end in start..pieces.len() {
            characters += pieces[end].characters + if end > start { pieces[end - 1].gap } else { 0 };
            if characters > MAX_LENGTH && (end > start || (!has_long_code && pieces[end].kind == Kind::Code))
            {
                break;
            }
            words.extend(&held[end]);
            let of_words: f32 =
                words.iter().filter(|word| tells(word)).map(|word| wanted.weights[*word]).sum();
            let answering = answers[start..=end].iter().copied().fold(0.0, f32::max);
            let meant =
                if is_alike[start..=end].contains(&true) && of_words > 0.0 { MEANING_WEIGHT } else { 0.0 };
            let reported = of_words + meant + answering;
            let is_better = best.as_ref().is_none_or(|(most, least, _)| {
                reported > most + 1e-4 || (reported > most - 1e-4 && characters < *least && reported > 0.0)
            });
            if is_better {
                best = Some((reported, characters, start..end + 1));
            }
        }
    }
    let (reported, _, range) = best?;
    Some(all.completed(range, reported <= ANSWER_WEIGHT))
}
