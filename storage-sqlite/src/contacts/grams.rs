//! Grams: the pieces of text by which the search index finds a contact.
//!
//! A search term contains no white space, so it lies within one word of the searched text. A word is indexed by the
//! piece that begins at each of its characters and is at most [`LENGTH`] characters long, so a term of up to [`LENGTH`]
//! characters is the beginning of a gram of each contact that it occurs in, and a longer term consists of whole grams
//! of it. Pieces of fewer than [`SHORTEST`] characters are left out, but for pieces of two with one that is not ASCII:
//! two characters are a name in Chinese. What the index finds is always compared with the searched text itself.

use std::borrow::Cow;
use std::cmp::Reverse;

use openapi_core::contacts::SearchTerm;

/// The most characters of a gram.
const LENGTH: usize = 5;

/// The fewest characters of a gram of ASCII.
const SHORTEST: usize = 3;

/// The most grams that a long term is looked up by; a few far apart are as telling as all.
const LOOKED_UP: usize = 4;

/// The place of a gram in the index: the agent's number and the kind of text, so that nothing is ever found across
/// agents.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Digits,
}

impl Kind {
    fn prefix(self, agent: i64) -> String {
        match self {
            Kind::Text => format!("{agent:x}:"),
            Kind::Digits => format!("{agent:x}#"),
        }
    }
}

/// The text as the tokenizer of the index takes it: what it would split at is another character, in the index as in the
/// query.
fn spelled(text: &str) -> Cow<'_, str> {
    let unwanted = |c: char| matches!(c, '"' | '\'') || c.is_ascii_control() && !c.is_ascii_whitespace();
    if text.contains(unwanted) { Cow::Owned(text.replace(unwanted, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Whether a piece of text is a gram although the word may be short.
fn is_gram(piece: &str) -> bool {
    match piece.char_indices().nth(1) {
        None => false,
        Some(_) if piece.is_ascii() => piece.len() >= SHORTEST,
        Some(_) => true,
    }
}

/// The end of the first `count` characters of `text`.
fn end_of(text: &str, count: usize) -> usize {
    text.char_indices().nth(count).map_or(text.len(), |(at, _)| at)
}

/// The different grams of a text, sorted.
fn grams(text: &str) -> Vec<&str> {
    let mut grams = Vec::with_capacity(text.len());
    for word in text.split_whitespace() {
        if word.is_ascii() {
            for at in 0..(word.len() + 1).saturating_sub(SHORTEST) {
                grams.push(&word[at..word.len().min(at + LENGTH)]);
            }
        } else {
            let pieces = word.char_indices().map(|(at, _)| {
                let rest = &word[at..];
                &rest[..end_of(rest, LENGTH)]
            });
            grams.extend(pieces.filter(|piece| is_gram(piece)));
        }
    }
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// What is searched of a contact.
#[derive(Clone, Copy, Default)]
pub(super) struct Searched<'a> {
    pub(super) search: &'a str,
    pub(super) digits: &'a str,
}

/// What has to be taken out of the index and put into it, so that it holds `after` in place of `before`: tokens with
/// blanks between them.
pub(super) fn difference(agent: i64, before: Searched<'_>, after: Searched<'_>) -> (String, String) {
    let (mut removed, mut added) = (String::new(), String::new());
    for (kind, before, after) in
        [(Kind::Text, before.search, after.search), (Kind::Digits, before.digits, after.digits)]
    {
        let (before, after) = (spelled(before), spelled(after));
        let (before, after) = (grams(&before), grams(&after));
        let prefix = kind.prefix(agent);
        let tokens = |out: &mut String, own: &[&str], other: &[&str]| {
            for gram in own.iter().filter(|gram| other.binary_search(gram).is_err()) {
                out.push_str(&prefix);
                out.push_str(gram);
                out.push(' ');
            }
        };
        tokens(&mut removed, &before, &after);
        tokens(&mut added, &after, &before);
    }
    (removed, added)
}

/// The query that finds in the index a superset of the contacts of an agent that match all terms; `None` when no term
/// is long enough for the index.
pub(super) fn query(agent: i64, terms: &[SearchTerm]) -> Option<String> {
    let count = |term: &SearchTerm| term.text.chars().count();
    // A term of a whole gram and more narrows enough; the beginnings of grams would all have to be collected first.
    let telling = terms.iter().any(|term| count(term) >= LENGTH);
    let mut query = String::new();
    for term in terms.iter().filter(|term| is_gram(&term.text) && (!telling || count(term) >= LENGTH)) {
        if !query.is_empty() {
            query.push_str(" AND ");
        }
        let text = all_of(&Kind::Text.prefix(agent), &spelled(&term.text));
        match &term.digits {
            Some(digits) => {
                let digits = all_of(&Kind::Digits.prefix(agent), digits);
                query.push_str(&format!("({text} OR {digits})"));
            }
            None => query.push_str(&text),
        }
    }
    (!query.is_empty()).then_some(query)
}

/// The expression that finds the contacts with all of some grams of a term.
fn all_of(prefix: &str, term: &str) -> String {
    let starts: Vec<usize> = term.char_indices().map(|(at, _)| at).collect();
    if starts.len() < LENGTH {
        return format!("\"{prefix}{term}\" *");
    }
    let last = starts.len() - LENGTH;
    let looked_up = LOOKED_UP.min(last.div_ceil(LENGTH) + 1);
    let mut grams: Vec<&str> = (0..looked_up)
        .map(|number| {
            let at = if looked_up == 1 { 0 } else { last * number / (looked_up - 1) };
            let rest = &term[starts[at]..];
            &rest[..end_of(rest, LENGTH)]
        })
        .collect();
    // The index goes through the contacts of the first and looks for them among those of the others: the first should
    // have few. Digits tell more than letters, and where ids begin alike their ends differ.
    grams.reverse();
    grams.sort_by_key(|gram| Reverse(gram.bytes().filter(u8::is_ascii_digit).count()));
    let grams: Vec<String> = grams.into_iter().map(|gram| format!("\"{prefix}{gram}\"")).collect();
    format!("({})", grams.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_indexed_by_the_piece_at_each_character() {
        assert_eq!(grams("okafor zoe\nab é李"), ["afor", "for", "kafor", "okafo", "zoe", "é李"]);
        assert_eq!(grams(""), Vec::<&str>::new());
    }

    #[test]
    fn a_change_names_only_what_differs() {
        let before = Searched { search: "vip zoe", digits: "4420" };
        let after = Searched { search: "lead zoe", digits: "4420" };
        assert_eq!(difference(26, before, after), ("1a:vip ".to_owned(), "1a:ead 1a:lead ".to_owned()));
        assert_eq!(difference(26, after, after), (String::new(), String::new()));
    }

    #[test]
    fn terms_become_queries() {
        let query = |text: &str| query(1, &SearchTerm::split(text));
        assert_eq!(query("zo x"), None);
        assert_eq!(query("zoe").as_deref(), Some("\"1:zoe\" *"));
        assert_eq!(query("李明").as_deref(), Some("\"1:李明\" *"));
        assert_eq!(query("okafo zoe").as_deref(), Some("(\"1:okafo\")"));
        assert_eq!(query("okafor").as_deref(), Some("(\"1:kafor\" AND \"1:okafo\")"));
        assert_eq!(
            query("7946-0958").as_deref(),
            Some("((\"1:-0958\" AND \"1:7946-\") OR (\"1#60958\" AND \"1#79460\"))")
        );
        assert_eq!(query("o'b\"x").as_deref(), Some("(\"1:o\u{fffd}b\u{fffd}x\")"));
    }

    proptest::proptest! {
        /// Each term that occurs in a text is found by grams of the text.
        #[test]
        fn whatever_occurs_is_found(words in proptest::collection::vec("[ab李é'\"]{1,12}", 1..4), pick in 0usize..40, length in 1usize..12) {
            let text = words.join(" ");
            let all: Vec<char> = text.chars().collect();
            let term: String = all.iter().skip(pick % all.len()).take(length).take_while(|c| **c != ' ').collect();
            let term = SearchTerm { text: term, digits: None };
            if let Some(query) = query(1, std::slice::from_ref(&term)) {
                let (_, added) = difference(1, Searched::default(), Searched { search: &text, digits: "" });
                let tokens: Vec<&str> = added.split(' ').collect();
                for wanted in query.trim_matches(['(', ')']).split(" AND ") {
                    let gram = wanted.trim_end_matches(" *").trim_matches('"');
                    let found = if wanted.ends_with('*') {
                        tokens.iter().any(|token| token.starts_with(gram))
                    } else {
                        tokens.contains(&gram)
                    };
                    proptest::prop_assert!(found, "{gram} of {query} is not in {added}");
                }
            }
        }
    }
}
