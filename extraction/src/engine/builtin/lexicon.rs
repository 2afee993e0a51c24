//! What words mean in business documents: words of several languages, each with the terms it stands for.
//!
//! A line is `terms: words`. Terms and words of more than one part are joined by `+` and `_`. Of a word in several lines
//! the first counts.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::letters::fold;

const TABLE: &str = include_str!("lexicon.txt");

/// The longest phrase, in words.
pub(crate) const MAX_PHRASE: usize = 5;
/// The longest piece of a word without blanks, in letters.
const MAX_PIECE: usize = 8;

pub(crate) struct Lexicon {
    /// Phrases, their words joined by one space, and their terms.
    phrases: HashMap<String, Vec<&'static str>>,
    /// The longest phrase that begins with a word.
    longest: HashMap<String, usize>,
}

impl Lexicon {
    pub(crate) fn shared() -> &'static Lexicon {
        static SHARED: OnceLock<Lexicon> = OnceLock::new();
        SHARED.get_or_init(|| {
            let mut phrases = HashMap::new();
            let mut longest = HashMap::new();
            for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
                let Some((terms, words)) = line.split_once(':') else { continue };
                let terms: Vec<&'static str> = terms.split('+').collect();
                for phrase in words.split_whitespace() {
                    let parts: Vec<String> = phrase.split('_').map(fold).collect();
                    let longest: &mut usize = longest.entry(parts[0].clone()).or_insert(0);
                    *longest = parts.len().max(*longest);
                    phrases.entry(parts.join("_")).or_insert_with(|| terms.clone());
                }
            }
            Lexicon { phrases, longest }
        })
    }

    /// The terms of one word.
    pub(crate) fn word(&self, word: &str) -> Option<&[&'static str]> {
        self.phrases.get(word).map(Vec::as_slice)
    }

    /// The terms of the longest phrase at the beginning of words, and how many words it has.
    pub(crate) fn phrase(&self, words: &[&str]) -> Option<(&[&'static str], usize)> {
        let first = words.first()?;
        let most = (*self.longest.get(*first)?).min(words.len()).min(MAX_PHRASE);
        let mut joined = String::new();
        (1..=most).rev().find_map(|length| {
            joined.clear();
            for (index, word) in words[..length].iter().enumerate() {
                if index > 0 {
                    joined.push('_');
                }
                joined.push_str(word);
            }
            self.phrases.get(joined.as_str()).map(|terms| (terms.as_slice(), length))
        })
    }

    /// The terms of the known pieces of a word in a script that has no blanks between words, the longest first.
    pub(crate) fn unspaced(&self, word: &str) -> Vec<&'static str> {
        let mut rest = word;
        let mut found: Vec<&'static str> = Vec::new();
        while let Some(next) = rest.chars().next() {
            let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8()).take(MAX_PIECE);
            let known = ends.collect::<Vec<_>>().into_iter().rev().find_map(|end| {
                let terms = self.phrases.get(&rest[..end])?;
                Some((terms, end))
            });
            match known {
                Some((terms, end)) => {
                    found.extend(terms.iter().filter(|term| **term != "-"));
                    rest = &rest[end..];
                }
                None => rest = &rest[next.len_utf8()..],
            }
        }
        found
    }

    /// The terms of a compound of two known words: `rechnungsdatum`.
    pub(crate) fn compound(&self, word: &str) -> Option<Vec<&'static str>> {
        if word.len() < 7 || word.len() > 40 || !word.is_ascii() {
            return None;
        }
        (3..=word.len() - 3).rev().find_map(|at| {
            let (first, last) = word.split_at(at);
            let last = self.phrases.get(last).filter(|_| last.len() >= 3)?;
            let first = [
                first,
                first.trim_end_matches('s'),
                first.trim_end_matches('n'),
                first.trim_end_matches('-'),
            ]
            .into_iter()
            .find_map(|first| self.phrases.get(first).filter(|_| first.len() >= 3))?;
            let mut terms = first.clone();
            terms.extend(last.iter().filter(|term| !first.contains(term)));
            terms.retain(|term| *term != "-");
            (!terms.is_empty()).then_some(terms)
        })
    }
}
