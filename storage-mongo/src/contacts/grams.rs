//! Grams: the pieces of text by which the index finds a contact.
//!
//! A search term contains no white space, so it lies within one word of the searched text. A word is indexed by each
//! three characters of it that follow each other, and by each two of which one is not ASCII: two characters are a name
//! in Chinese. Digits of telephone numbers are a text of their own, marked in front. So a contact in which a term
//! occurs has all grams of the term; what the index finds is always compared with the searched text itself.

use openapi_core::contacts::SearchTerm;

/// What a contact is indexed by in place of its grams when they are too many: it is looked at in every search. No gram
/// is as short.
pub(super) const EVERY: &str = "*";

/// The most grams of a contact. A usual one has some hundred; each is an entry of the index that a write makes.
const MOST: usize = 2_048;

/// The characters of a gram.
const LENGTH: usize = 3;

/// The most grams of a term that are tried as the one to go by.
const TRIED: usize = 4;

/// What is put before grams of digits. A gram of text with it is no longer than [`LENGTH`], one of digits is.
const DIGITS: char = '#';

/// The end of the first `count` characters of `text`, if it has so many.
fn end_of(text: &str, count: usize) -> Option<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(count)
}

/// The grams of one word, those of the same place together.
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
    let digits = of_word(digits).map(|gram| format!("{DIGITS}{gram}"));
    let mut grams: Vec<String> = text.chain(digits).collect();
    grams.sort_unstable();
    grams.dedup();
    if grams.len() > MOST { vec![EVERY.to_owned()] } else { grams }
}

/// The grams of a term, of which each contact has all that the term occurs in.
#[derive(Debug, PartialEq)]
pub(super) struct Grams {
    /// Of the text, the most telling ones first.
    pub(super) text: Vec<String>,
    /// When the term may be a telephone number, those of its digits: a contact may have all of these instead.
    pub(super) digits: Option<Vec<String>>,
}

/// Some grams of a term; `None` when it is shorter than a gram.
pub(super) fn of_term(term: &SearchTerm) -> Option<Grams> {
    let text = telling(&term.text);
    let digits = term
        .digits
        .as_deref()
        .map(|digits| telling(digits).into_iter().map(|gram| format!("{DIGITS}{gram}")).collect::<Vec<_>>());
    let is_told = !text.is_empty() && digits.as_ref().is_none_or(|digits| !digits.is_empty());
    is_told.then(|| Grams { text: text.into_iter().map(str::to_owned).collect(), digits })
}

/// Up to [`TRIED`] grams of a term, those first that few contacts are likely to have.
fn telling(term: &str) -> Vec<&str> {
    let domain = term.find('@').unwrap_or(usize::MAX);
    let place = |gram: &str| gram.as_ptr() as usize - term.as_ptr() as usize;
    let mut left: Vec<&str> = of_word(term).collect();
    let mut picked: Vec<&str> = Vec::new();
    while picked.len() < TRIED {
        let score = |gram: &str| {
            // Many addresses share a domain; what lies close together occurs together.
            let own = if place(gram) >= domain { 0 } else { 1 + rarity(gram) };
            let distance = picked.iter().map(|other| place(other).abs_diff(place(gram))).min();
            (own, distance.unwrap_or(usize::MAX - place(gram)))
        };
        let best = left.iter().enumerate().max_by_key(|(_, gram)| score(gram)).map(|(at, _)| at);
        let Some(best) = best else { break };
        picked.push(left.swap_remove(best));
    }
    picked
}

/// How rare a gram may be by its looks: digits tell more than letters, different ones more than equal ones, three
/// characters more than two.
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
    fn a_contact_of_too_many_is_looked_at_in_every_search() {
        let text: String = ('\u{4e00}'..).take(MOST).collect();
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
        assert_eq!(of("zoe"), Some(Grams { text: vec!["zoe".to_owned()], digits: None }));
        let both = of("20-203").unwrap();
        assert_eq!(both.digits.unwrap(), ["#203", "#202", "#020"].map(str::to_owned));
        let address = of("ann4@example.com").unwrap();
        assert_eq!(address.text[0], "nn4", "a domain tells little");
    }

    proptest::proptest! {
        /// Each term that occurs in a text has grams that the text has.
        #[test]
        fn whatever_occurs_is_found(words in proptest::collection::vec("[ab1李é#]{1,12}", 1..4), pick in 0usize..40, length in 1usize..12) {
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
