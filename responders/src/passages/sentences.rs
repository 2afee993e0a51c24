//! Sentences: UAX #29, but none ends with an abbreviation, at the end of a line, or within a link, a tag or code.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

/// Words before a full stop that does not end a sentence. Words of one or two letters are taken for such anyway.
const ABBREVIATIONS: [&str; 40] = [
    "abs", "art", "bzgl", "bzw", "dipl", "ecc", "evtl", "ext", "fig", "ggf", "inkl", "jr", "max", "min",
    "mio", "mrd", "mrs", "nro", "núm", "par", "pag", "pág", "rel", "resp", "sog", "sra", "srta", "std",
    "str", "tel", "tél", "usw", "vgl", "vol", "vs", "zzgl", "approx", "dept", "ing", "prof",
];

/// The sentences of a paragraph, without the blanks between them.
pub(crate) fn sentences(text: &str) -> Vec<Range<usize>> {
    // The end of a line is the end of a sentence to UAX #29; here it is a blank.
    let flat: String =
        text.chars().map(|letter| if matches!(letter, '\n' | '\r') { ' ' } else { letter }).collect();
    let mut sentences = Vec::new();
    let mut open: Option<usize> = None;
    for (start, sentence) in flat.split_sentence_bound_indices() {
        let begin = open.take().unwrap_or(start);
        let end = start + sentence.len();
        if end < flat.len()
            && (is_mark_of_step(&flat[begin..end])
                || ends_with_abbreviation(sentence)
                || is_open(&flat[begin..end], &flat[end..]))
        {
            open = Some(begin);
            continue;
        }
        let range = trimmed(text, begin..end);
        if !range.is_empty() {
            sentences.push(range);
        }
    }
    sentences
}

/// Whether a text is the number of a step of a list, and nothing else.
fn is_mark_of_step(text: &str) -> bool {
    let number = text.trim().trim_end_matches(['.', ')']);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a link, a tag or code begins in a text and ends in the rest of its paragraph.
fn is_open(text: &str, rest: &str) -> bool {
    let is_within = |open: &str, close: char| {
        let begun = text.rfind(open).filter(|begun| !text[begun + open.len()..].contains(close));
        begun.is_some() && rest.contains(close)
    };
    let is_tag = text.rfind('<').is_some_and(|begun| {
        text[begun + 1..].starts_with(|next: char| next.is_ascii_alphabetic() || next == '/')
            && is_within("<", '>')
    });
    let is_code = text.matches('`').count() % 2 == 1 && rest.contains('`');
    rest.trim_start().starts_with("</") || is_code || is_tag || is_within("](", ')')
}

/// A part of a text without the blanks around it.
pub(super) fn trimmed(text: &str, part: Range<usize>) -> Range<usize> {
    let inner = &text[part.clone()];
    let start = part.start + (inner.len() - inner.trim_start().len());
    start..start + inner.trim().len()
}

/// Whether a sentence ends with a word that is shortened by a full stop.
fn ends_with_abbreviation(sentence: &str) -> bool {
    let Some(rest) = sentence.trim_end().strip_suffix('.') else { return false };
    let word = rest.rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    let letters = word.chars().count();
    let is_short = letters > 0 && letters <= 2 && word.chars().all(char::is_alphabetic);
    is_short || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_outside_of_links_tags_and_code() {
        let text = "See [KB 24](https://desk.example/sp/?id=kb! and more) first. Press <kbd title=\"What? This!\">?</kbd> then. \
                    Run `is it? Yes!` now. 1 < 2. `Open.";
        let parts: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(
            parts,
            [
                "See [KB 24](https://desk.example/sp/?id=kb! and more) first.",
                "Press <kbd title=\"What? This!\">?</kbd> then.",
                "Run `is it? Yes!` now.",
                "1 < 2.",
                "`Open."
            ]
        );
    }
}
