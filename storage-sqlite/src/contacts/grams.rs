//! Grams: the pieces of text by which the search index finds a contact.
//!
//! A search term contains no white space, so it occurs within one word of the searched text. A word is indexed by the
//! piece that begins at each of its characters and has at most [`LENGTH`] characters. A term of up to [`LENGTH`]
//! characters is therefore the beginning of a gram of each contact that contains it, and a longer term consists of
//! whole grams. Pieces of fewer than [`SHORTEST`] characters are left out, except pieces of two of which one is not
//! ASCII: two characters are a name in Chinese. What the index finds is always compared with the searched text.

use std::borrow::Cow;

use openapi_core::contacts::SearchTerm;

/// The most characters of a gram.
const LENGTH: usize = 5;

/// The fewest characters of a gram of ASCII.
const SHORTEST: usize = 3;

/// The most grams that are sampled one by one for a term ([`super::candidates`]).
const LOOKS: usize = 6;

/// The most grams with which a long term is looked up at once; a few are nearly as selective as all.
const LOOKED_UP: usize = 4;

/// The prefix of a gram in the index: the agent's number and the kind of text, so a search never finds other agents'
/// contacts.
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

/// The text for the index's tokenizer: its separators are replaced by another character, in the index as in the query.
fn spelled(text: &str) -> Cow<'_, str> {
    let unwanted = |c: char| matches!(c, '"' | '\'') || c.is_ascii_control() && !c.is_ascii_whitespace();
    if text.contains(unwanted) { Cow::Owned(text.replace(unwanted, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Whether a piece of text is a gram although it is short.
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

/// The searched texts of a contact.
#[derive(Clone, Copy, Default)]
pub(super) struct Searched<'a> {
    pub(super) search: &'a str,
    pub(super) digits: &'a str,
}

/// The tokens to remove from the index and to add to it, so that it contains `after` instead of `before`; separated by
/// blanks.
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
    // A whole gram is selective enough; the index would have to collect all grams that begin with a shorter term first.
    let telling = terms.iter().any(|term| count(term) >= LENGTH);
    let mut query = String::new();
    for term in terms.iter().filter(|term| is_gram(&term.text) && (!telling || count(term) >= LENGTH)) {
        if !query.is_empty() {
            query.push_str(" AND ");
        }
        let text = all_of(&Kind::Text.prefix(agent), &spelled(&term.text));
        let digits = term.digits.iter().map(|digits| all_of(&Kind::Digits.prefix(agent), digits));
        let forms: Vec<String> = [text].into_iter().chain(digits).collect();
        match &forms[..] {
            [text] => query.push_str(text),
            forms => query.push_str(&format!("({})", forms.join(" OR "))),
        }
    }
    (!query.is_empty()).then_some(query)
}

/// The expression that finds the contacts with all of some grams of a term.
fn all_of(prefix: &str, term: &str) -> String {
    if end_of(term, LENGTH - 1) == term.len() {
        return format!("\"{prefix}{term}\" *");
    }
    // The index reads the contacts of the first gram and looks them up among those of the others, so the first should
    // have few.
    format!("({})", phrases(prefix, telling(term, LOOKED_UP)).join(" AND "))
}

/// The grams to sample one by one for a term: expressions that each find the contacts with one gram.
#[derive(Debug, PartialEq)]
pub(super) struct Looks {
    /// Grams of every contact whose text contains the term.
    pub(super) text: Vec<String>,
    /// For each form of the telephone number that the term may be, grams of every contact whose digits contain it.
    pub(super) digits: Vec<Vec<String>>,
}

/// The samples for a term, the most selective first; `None` when it is shorter than a gram.
pub(super) fn looks(agent: i64, term: &SearchTerm) -> Option<Looks> {
    let phrases = |kind: Kind, text: &str| {
        let grams = telling(text, LOOKS);
        (!grams.is_empty()).then(|| phrases(&kind.prefix(agent), grams))
    };
    let text = phrases(Kind::Text, &spelled(&term.text))?;
    let digits = term.digits.iter().map(|digits| phrases(Kind::Digits, digits));
    Some(Looks { text, digits: digits.collect::<Option<_>>()? })
}

fn phrases(prefix: &str, grams: Vec<&str>) -> Vec<String> {
    grams.into_iter().map(|gram| format!("\"{prefix}{gram}\"")).collect()
}

/// Up to `at_most` whole grams of a term, the probably rarest first; none of a shorter term.
fn telling(term: &str, at_most: usize) -> Vec<&str> {
    let domain = term.find('@');
    let mut left: Vec<(usize, u32)> = term
        .char_indices()
        .enumerate()
        .take_while(|(_, (at, _))| end_of(&term[*at..], LENGTH - 1) < term.len() - at)
        .map(|(position, (at, _))| {
            let gram = &term[at..at + end_of(&term[at..], LENGTH)];
            // Many addresses share a domain.
            (position, if domain.is_some_and(|domain| at >= domain) { 0 } else { 1 + rarity(gram) })
        })
        .collect();
    let starts: Vec<usize> = term.char_indices().map(|(at, _)| at).collect();
    let mut picked: Vec<usize> = Vec::new();
    while picked.len() < at_most {
        // Of equals, the one farthest from those already chosen, because neighbours occur together. The very first is
        // the one at the beginning, farthest from a domain.
        let distance = |position: usize| {
            picked.iter().map(|other| position.abs_diff(*other)).min().unwrap_or(usize::MAX - position)
        };
        let best = left.iter().enumerate().max_by_key(|(_, (position, score))| (*score, distance(*position)));
        let Some((index, _)) = best else { break };
        picked.push(left.swap_remove(index).0);
    }
    picked
        .into_iter()
        .map(|position| {
            let rest = &term[starts[position]..];
            &rest[..end_of(rest, LENGTH)]
        })
        .collect()
}

/// Estimates how rare a gram is. Digits are rarer than letters, different digits rarer than repeated zeros, and a
/// letter among digits rarer than a further digit: sequences of digits occur in ids, telephone numbers and addresses
/// alike.
fn rarity(gram: &str) -> u32 {
    let digits =
        gram.bytes().filter(u8::is_ascii_digit).fold(0_u32, |seen, digit| seen | 1 << (digit - b'0'));
    let has_letters = gram.chars().any(char::is_alphabetic);
    let different = digits.count_ones();
    let mixed = if different > 1 && has_letters { 3 } else { 0 };
    8 * (2 * different + mixed) + gram.bytes().filter(u8::is_ascii_digit).count() as u32
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
        assert_eq!(query("okafor").as_deref(), Some("(\"1:okafo\" AND \"1:kafor\")"));
        assert_eq!(
            query("7946-0958").as_deref(),
            Some(
                "((\"1:7946-\" AND \"1:-0958\" AND \"1:46-09\" AND \"1:946-0\") OR \
                 (\"1#79460\" AND \"1#60958\" AND \"1#46095\" AND \"1#94609\"))"
            )
        );
        assert_eq!(query("o'b\"x").as_deref(), Some("(\"1:o\u{fffd}b\u{fffd}x\")"));
    }

    #[test]
    fn the_most_telling_grams_come_first() {
        assert_eq!(telling("ann.hill40891@example.com", 3), ["l4089", "40891", "891@e"]);
        assert_eq!(telling("crm-000140891", 2), ["14089", "40891"]);
        assert_eq!(telling("crm-000000000", 1), ["00000"]);
        assert_eq!(telling("okafor", 6), ["okafo", "kafor"]);
        assert_eq!(telling("zoe@example.com", 1), ["zoe@e"]);
        assert_eq!(telling("李明李明李", 6), ["李明李明李"]);
        assert_eq!(telling("okaf", 6), Vec::<&str>::new());
    }

    #[test]
    fn a_term_is_looked_up_by_text_and_digits() {
        let looks = |text: &str| looks(1, &SearchTerm::split(text)[0]);
        assert_eq!(looks("zoe"), None);
        assert_eq!(looks("20-20"), None, "its digits are fewer than a gram");
        let both = looks("20-20-2").unwrap();
        assert_eq!(both.digits, [["\"1#20202\""]]);
        assert_eq!(looks("okafo").unwrap(), Looks { text: vec!["\"1:okafo\"".into()], digits: Vec::new() });
    }

    proptest::proptest! {
        /// Each term that occurs in a text is found by grams of the text.
        #[test]
        fn whatever_occurs_is_found(words in proptest::collection::vec("[ab李é'\"]{1,12}", 1..4), pick in 0usize..40, length in 1usize..12) {
            let text = words.join(" ");
            let all: Vec<char> = text.chars().collect();
            let term: String = all.iter().skip(pick % all.len()).take(length).take_while(|c| **c != ' ').collect();
            let term = SearchTerm { text: term, digits: Vec::new() };
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
