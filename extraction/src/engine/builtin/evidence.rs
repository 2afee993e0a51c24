//! What the words of a value show about it, however well its label fits.

use openapi_core::extraction::ExtractionType;

use super::candidate::Candidate;
use super::field_query::{FieldQuery, Role};
use super::source::Source;
use super::view::{Span, View};
use super::vocabulary::{LEGAL_FORMS, LOOSE_ENDS, Words};

/// What the words of a value show, whatever field it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Said {
    /// How sure the recogniser is of the words together, and of the worst of them.
    pub(crate) quality: f64,
    pub(crate) worst: f64,
    pub(crate) words: usize,
    /// Whether it begins or ends as if a part were missing.
    pub(crate) is_cut: bool,
    /// Whether it is a date or an amount, where the field asks for words.
    pub(crate) is_other: bool,
    /// Whether it is a whole sentence that no colon announces.
    pub(crate) is_sentence: bool,
}

/// Terms of fields whose text may be a date or an amount.
const MEASURED: Words = Words(
    "date period start end birth term time due price quantity weight rate amount number unit size value id code",
);
/// Text with as many words may be a sentence.
const SENTENCE_WORDS: usize = 5;
/// An identifier with fewer characters is rather the number of a line or page.
const MIN_IDENTIFIER: usize = 3;

impl Said {
    pub(crate) fn of(source: &Source<'_, '_>, candidate: &Candidate, query: &FieldQuery<'_>) -> Self {
        let view = source.view;
        let words = || candidate.pieces.iter().flat_map(|piece| &view.words[piece.start..piece.end]);
        let text = candidate.quote.clone().unwrap_or_else(|| view.text(candidate.pieces[0]));
        let quality = candidate.pieces.iter().map(|piece| view.quality(*piece)).sum::<f64>()
            / candidate.pieces.len() as f64;
        let is_text = query.kind == ExtractionType::String;
        Said {
            quality,
            worst: words().map(|word| f64::from(word.confidence)).fold(1.0, f64::min),
            words: words().count(),
            is_cut: is_text
                && (has_loose_end(&text, words().last().map_or("", |word| &word.folded))
                    || lacks_form(view, candidate)),
            is_other: is_text && is_other(source, candidate.key(), &text, query),
            is_sentence: is_text
                && query.role != Role::Address
                && is_sentence(&text)
                && !source.follows_mark(candidate.key()),
        }
    }
}

/// Whether text begins or ends as if a part were missing.
fn has_loose_end(text: &str, last: &str) -> bool {
    let is_open = text.matches('(').count() != text.matches(')').count();
    let begins = text
        .chars()
        .next()
        .is_some_and(|c| c.is_lowercase() || matches!(c, '-' | '–' | '/' | '&' | ')' | '.'));
    let ends = text.chars().next_back().is_some_and(|c| matches!(c, '-' | '–' | '/' | '&' | '(' | ','));
    is_open || begins || ends || LOOSE_ENDS.has(last)
}

/// Whether the legal form of a name is the next word of its line.
fn lacks_form(view: &View<'_>, candidate: &Candidate) -> bool {
    let [span] = candidate.pieces[..] else { return false };
    let Some(last) = view.words[span.start..span.end].last().filter(|last| !last.text.ends_with(',')) else {
        return false;
    };
    let next = view.words.get(span.end).filter(|word| word.line == last.line && word.gap <= 1);
    next.is_some_and(|word| LEGAL_FORMS.has(&word.folded))
}

/// Whether text is something else than the words that a field asks for.
fn is_other(source: &Source<'_, '_>, span: Span, text: &str, query: &FieldQuery<'_>) -> bool {
    match query.role {
        Role::Identifier => text.chars().filter(|c| c.is_alphanumeric()).count() < MIN_IDENTIFIER,
        Role::Text | Role::Company | Role::Person | Role::City | Role::Country | Role::JobTitle => {
            if query.wants_money() || MEASURED.has_any(query.all.iter()) {
                return false;
            }
            let is_date = source.annotations.dates_in(span).iter().any(|date| date.span == span);
            let amounts = source.annotations.amounts_in(span);
            is_date
                || amounts.iter().any(|amount| {
                    // A plate `TL 4489248` is no lira.
                    amount.is_money && amount.has_mark && amount.span.start == span.start
                })
        }
        _ => false,
    }
}

fn is_sentence(text: &str) -> bool {
    let words = text.split_whitespace();
    let lower = words.clone().filter(|word| word.starts_with(char::is_lowercase)).count();
    let count = words.count();
    count >= SENTENCE_WORDS && lower * 2 >= count && text.ends_with(['.', '!', '?', ':'])
}
