//! Grams: the pieces of text that the search index contains.
//!
//! A search term contains no white space, so it occurs within one word of the searched text. A word is indexed by each
//! sequence of three characters, and by each sequence of two that is not ASCII, because two characters are a name in
//! Chinese. The digits of telephone numbers are a separate text whose grams have a prefix. A contact that contains a term
//! therefore has all grams of the term; what the index finds is always compared with the searched text.

use openapi_core::contacts::SearchTerm;

/// The only gram of a contact with too many: every search reads the contact. No other gram is as short.
pub(super) const EVERY: &str = "*";

/// The most grams of a contact. A usual one has about a hundred; each costs a write an index entry.
const MAX_GRAMS: usize = 2_048;

/// The characters of a gram.
const LENGTH: usize = 3;

/// The most grams of a term that are considered.
const MAX_CONSIDERED: usize = 4;

/// The prefix of grams of digits, which makes them longer than [`LENGTH`].
const DIGITS: char = '#';

/// The end of the first `count` characters of `text`, if it has so many.
fn end_of(text: &str, count: usize) -> Option<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(count)
}

/// The grams of one word, by position.
fn of_word(word: &str) -> impl Iterator<Item = &str> {
    word.char_indices().flat_map(move |(at, _)| {
        let rest = &word[at..];
        let long = end_of(rest, LENGTH).map(|end| &rest[..end]);
        let short = end_of(rest, LENGTH - 1).map(|end| &rest[..end]).filter(|gram| !gram.is_ascii());
        long.into_iter().chain(short)
    })
}

/// The different grams of a contact, sorted; [`EVERY`] alone for too many.
pub(super) fn grams(search: &str, digits: &str) -> Vec<String> {
    let text = search.split_whitespace().flat_map(of_word).map(str::to_owned);
    let digits = digits.split_whitespace().flat_map(of_word).map(|gram| format!("{DIGITS}{gram}"));
    let mut grams: Vec<String> = text.chain(digits).collect();
    grams.sort_unstable();
    grams.dedup();
    if grams.len() > MAX_GRAMS { vec![EVERY.to_owned()] } else { grams }
}

/// The grams of a term: every contact that contains the term has all of them.
#[derive(Debug, PartialEq)]
pub(super) struct Grams {
    /// Those of the text, the most selective ones first.
    pub(super) text: Vec<String>,
    /// Those of the digits, for each form of the telephone number that the term may be: a match may have these instead.
    pub(super) digits: Vec<Vec<String>>,
}

/// Some grams of a term; `None` when it is shorter than a gram.
pub(super) fn of_term(term: &SearchTerm) -> Option<Grams> {
    let text = selective(&term.text);
    let of_form =
        |digits: &String| selective(digits).into_iter().map(|gram| format!("{DIGITS}{gram}")).collect();
    let digits: Vec<Vec<String>> = term.digits.iter().map(of_form).collect();
    let is_complete = !text.is_empty() && !digits.iter().any(Vec::is_empty);
    is_complete.then(|| Grams { text: text.into_iter().map(str::to_owned).collect(), digits })
}

/// Up to [`MAX_CONSIDERED`] grams of a term, the ones that are probably rarest first.
fn selective(term: &str) -> Vec<&str> {
    let domain = term.find('@').unwrap_or(usize::MAX);
    let position = |gram: &str| gram.as_ptr() as usize - term.as_ptr() as usize;
    let mut left: Vec<&str> = of_word(term).collect();
    let mut picked: Vec<&str> = Vec::new();
    while picked.len() < MAX_CONSIDERED {
        let score = |gram: &str| {
            // Many addresses share a domain, and adjacent grams occur together.
            let own = if position(gram) >= domain { 0 } else { 1 + rarity(gram) };
            let distance = picked.iter().map(|other| position(other).abs_diff(position(gram))).min();
            (own, distance.unwrap_or(usize::MAX - position(gram)))
        };
        let best = left.iter().enumerate().max_by_key(|(_, gram)| score(gram)).map(|(at, _)| at);
        let Some(best) = best else { break };
        picked.push(left.swap_remove(best));
    }
    picked
}

/// An estimate of how rare a gram is: digits are rarer than letters, different digits rarer than equal ones, three characters
/// rarer than two.
fn rarity(gram: &str) -> u32 {
    let digits =
        gram.bytes().filter(u8::is_ascii_digit).fold(0_u32, |seen, digit| seen | 1 << (digit - b'0'));
    let has_letters = gram.chars().any(char::is_alphabetic);
    let mixed = u32::from(digits.count_ones() > 1 && has_letters);
    4 * (digits.count_ones() + mixed) + gram.chars().count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_indexed_by_the_pieces_at_each_character() {
        assert_eq!(grams("zoes\nab é李", "4420"), ["#420", "#442", "oes", "zoe", "é李"]);
        assert_eq!(grams("", "12"), Vec::<String>::new());
        assert_eq!(grams("aé", ""), ["aé"]);
    }

    #[test]
    fn a_contact_with_too_many_grams_is_read_by_every_search() {
        let text: String = ('\u{4e00}'..).take(MAX_GRAMS).collect();
        assert_eq!(grams(&text, ""), [EVERY]);
        let short: String = text.chars().take(500).collect();
        assert_eq!(grams(&short, "").len(), 498 + 499);
    }

    #[test]
    fn terms_are_looked_up_by_text_and_digits() {
        let of = |text: &str| of_term(&SearchTerm::split(text)[0]);
        assert_eq!(of("zo"), None);
        assert_eq!(of("名"), None);
        assert_eq!(of("名前").unwrap().text, ["名前"]);
        assert_eq!(of("zoe"), Some(Grams { text: vec!["zoe".to_owned()], digits: Vec::new() }));
        let both = of("20-203").unwrap();
        assert_eq!(both.digits, [["#203", "#202", "#020"].map(str::to_owned)]);
        let address = of("ann4@example.com").unwrap();
        assert_eq!(address.text[0], "nn4", "a domain is not selective");
    }

    proptest::proptest! {
        /// Each term that occurs in a text has grams that the text has.
        #[test]
        fn every_contained_term_is_found(words in proptest::collection::vec("[ab1李é#]{1,12}", 1..4), pick in 0usize..40, length in 1usize..12) {
            let text = words.join(" ");
            let all: Vec<char> = text.chars().collect();
            let term: String = all.iter().skip(pick % all.len()).take(length).take_while(|c| **c != ' ').collect();
            let own = grams(&text, "");
            for gram in of_word(&term) {
                proptest::prop_assert!(own.iter().any(|known| known == gram), "{gram} of {term} is not in {own:?}");
            }
        }
    }
}
