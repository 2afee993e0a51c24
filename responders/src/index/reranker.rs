//! Reranks the best passages by whether the words of the question occur together, in one sentence, item or row,
//! and whether they name one of those.
//!
//! A passage of several rows or items answers by one of them. Its score alone, over all its words, prefers the passage
//! that has the words of the question here and there.

use std::collections::HashMap;

use super::question::Asked;
use crate::language::Language;
use crate::terms;
use crate::words::{Word, words};

/// The number of passages to rerank.
pub(super) const LOOKED_AT: usize = 20;
/// The part of a score that depends on how much of the question stands together.
const TOGETHER_WEIGHT: f32 = 0.4;
/// How much higher a passage is with a row or an item that the question names, and nothing but it.
const NAMED_WEIGHT: f32 = 0.5;

/// The words of a question as bits, and what each of them weighs.
pub(super) struct Reranker<'a> {
    bits: HashMap<&'a str, u64>,
    weights: &'a [f32],
    total: f32,
    language: Language,
    /// By the language of a text, the bits of words that were met already: a word is stemmed once.
    met: HashMap<Option<Language>, HashMap<Box<str>, u64>>,
}

impl<'a> Reranker<'a> {
    /// For a question whose words to be covered weigh so much.
    pub(super) fn new(asked: &'a Asked, weights: &'a [f32], language: Language) -> Self {
        let mut bits: HashMap<&str, u64> = HashMap::new();
        for (nth, word) in asked.words[..asked.counted].iter().enumerate() {
            for term in &word.terms {
                *bits.entry(term).or_default() |= 1 << nth;
            }
        }
        Reranker { bits, weights, total: weights.iter().sum(), language, met: HashMap::new() }
    }

    /// What the score of a passage is multiplied by.
    pub(super) fn factor(&mut self, headings: &[String], text: &str, language: Option<Language>) -> f32 {
        if self.total <= 0.0 {
            return 1.0;
        }
        // What a heading says is said of each sentence below it.
        let above = headings.iter().fold(0, |all, heading| all | self.held(heading, language));
        let (mut together, mut named) = (0.0_f32, 0.0_f32);
        for line in text.lines() {
            for sentence in sentences(line) {
                let held = self.held(sentence, language) | above;
                together = together.max(self.share(held));
            }
            if let Some(name) = name_of(line) {
                let held = self.held(name, language);
                let asked_for = held.count_ones() as f32 / self.content(name).max(1) as f32;
                named = named.max(self.share(held) * asked_for.min(1.0));
            }
        }
        (1.0 - TOGETHER_WEIGHT + TOGETHER_WEIGHT * together) * (1.0 + NAMED_WEIGHT * named)
    }

    /// How much of the question some of its words are.
    fn share(&self, held: u64) -> f32 {
        let weights = self.weights.iter().enumerate().filter(|(nth, _)| held >> nth & 1 == 1);
        weights.map(|(_, weight)| weight).sum::<f32>() / self.total
    }

    /// Which words of the question a text has.
    fn held(&mut self, text: &str, language: Option<Language>) -> u64 {
        let Reranker { bits, met, .. } = self;
        let met = met.entry(language).or_default();
        let of = |term: &str| bits.get(term).copied().unwrap_or_default();
        let mut held = 0;
        words(text, |word: Word<'_>| {
            held |= match met.get(word.lower) {
                _ if word.is_part => 0,
                // Pairs of letters have no form but the folded one.
                _ if word.lower.is_empty() => of(word.folded),
                Some(bits) => *bits,
                None => {
                    let mut stem = String::new();
                    let has_stem = language.is_some_and(|language| word.stem_term(language, &mut stem));
                    let bits = of(word.folded) | if has_stem { of(&stem) } else { 0 };
                    met.insert(Box::from(word.lower), bits);
                    bits
                }
            };
        });
        held
    }

    /// How many words a text has that tell something.
    fn content(&self, text: &str) -> usize {
        let mut content = 0;
        words(text, |word: Word<'_>| {
            content += usize::from(!word.is_part && terms::is_content(&word, self.language));
        });
        content
    }
}

/// The sentences of a line, about: one that is cut too early or too late changes little.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split(['。', '！', '？']).flat_map(|part| part.split(". "));
    parts.flat_map(|part| part.split("? ")).flat_map(|part| part.split("! "))
}

/// What a line is named by: the first cell of a table's row, or the bold words that a paragraph or an item begins with.
fn name_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if let Some(row) = line.strip_prefix('|') {
        return row.split_once('|').map(|(cell, _)| cell);
    }
    let line = line.strip_prefix(['-', '*', '+']).filter(|item| item.starts_with(' ')).unwrap_or(line);
    let bold = line.trim_start().strip_prefix("**")?;
    bold.split_once("**").map(|(words, _)| words)
}

#[cfg(test)]
mod tests {
    use conversations::Question;
    use proptest::prelude::*;

    use super::*;

    fn factor(asked: &str, headings: &[&str], text: &str) -> f32 {
        let question = Question { text: asked.to_owned(), before: None, locale: "en".to_owned() };
        let asked = Asked::of(&question, &[Language::ENGLISH], |_| None);
        let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
        let weights = vec![1.0; asked.counted];
        Reranker::new(&asked, &weights, Language::ENGLISH).factor(&headings, text, Some(Language::ENGLISH))
    }

    #[test]
    fn words_that_stand_together_count_more_than_words_here_and_there() {
        let near = |one: f32, other: f32| (one - other).abs() < 1e-5;
        let asked = "parcels to Norway";
        assert!(near(factor(asked, &[], "A parcel to Norway takes five days. Letters do not."), 1.0));
        assert!(near(factor(asked, &[], "A parcel takes five days. Norway is in Europe."), 0.8));
        assert!(near(factor(asked, &[], "- a parcel\n- to Norway"), 0.8));
        assert!(near(factor(asked, &["Parcels"], "It takes five days. Norway is in Europe."), 1.0));
        assert!(near(factor(asked, &[], "Letters."), 0.6));
        assert!(near(factor("the of and", &[], "Letters."), 1.0));
    }

    #[test]
    fn a_row_or_an_item_that_is_asked_for_by_its_name_counts_more() {
        let asked = "What is the `max_file_size`?";
        let row = factor(asked, &[], "| `max_file_size` | `25MiB` | the largest file |");
        assert!((row - 1.5).abs() < 1e-5, "{row}");
        assert!((factor(asked, &[], "| files | see `max_file_size` |") - 1.0).abs() < 1e-5);
        let asked = "When is a parcel lost?";
        let named = factor(asked, &[], "- **Lost parcels.** Tell us.");
        assert!((named - 1.5).abs() < 1e-5, "{named}");
        let more = factor(asked, &[], "- **Lost parcels and damaged letters.** Tell us.");
        assert!(more > 1.2 && more < 1.3, "{more}");
    }

    #[test]
    fn lines_have_names() {
        for (line, name) in [
            ("| `store` | `sqlite:` | where |", Some(" `store` ")),
            ("  - **Keys.** They", Some("Keys.")),
            ("**Keys** and", Some("Keys")),
            ("* **Keys**", Some("Keys")),
            ("Keys are **bold**", None),
            ("**never closed", None),
            ("|", None),
            ("", None),
        ] {
            assert_eq!(name_of(line), name, "{line}");
        }
    }

    proptest! {
        #[test]
        fn it_is_within_bounds_for_any_text(asked in "\\PC{0,80}", heading in "\\PC{0,20}", text in "(\\PC|[|*\\-\n ]){0,200}") {
            let factor = factor(&asked, &[&heading], &text);
            prop_assert!((0.599..=1.501).contains(&factor), "{factor}");
        }
    }
}
