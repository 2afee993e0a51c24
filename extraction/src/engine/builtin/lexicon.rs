//! What words mean in business documents: words of several languages, each with the terms it stands for.
//!
//! A line is `terms: words`. Terms and words of more than one part are joined by `+` and `_`. Words are in their folded
//! form: lower case, without accents.

use std::collections::HashMap;
use std::sync::OnceLock;

const TABLE: &str = include_str!("lexicon.txt");

/// The longest phrase, in words.
pub(crate) const MAX_PHRASE: usize = 5;

pub(crate) struct Lexicon {
    /// Phrases, their words joined by one space, and their terms.
    phrases: HashMap<&'static str, Vec<&'static str>>,
    /// The longest phrase that begins with a word.
    longest: HashMap<&'static str, usize>,
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
                    let parts = phrase.split('_').count();
                    let first = phrase.split('_').next().unwrap_or(phrase);
                    let longest: &mut usize = longest.entry(first).or_insert(0);
                    *longest = parts.max(*longest);
                    phrases.entry(phrase).or_insert_with(|| terms.clone());
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
        let most = (*self.longest.get(first)?).min(words.len()).min(MAX_PHRASE);
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
