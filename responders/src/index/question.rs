//! The query of a question: its words as terms of an index.

use conversations::Question;

use crate::follow_up;
use crate::language::{Language, language_of};
use crate::terms;
use crate::words::{Word, words};

/// The maximum number of query words.
pub(super) const MAX_WORDS: usize = 64;
/// With fewer content words the message before counts too.
const ENOUGH_WORDS: usize = 3;
/// How much the message before counts.
const WEIGHT_BEFORE: f32 = 0.5;

/// Words of a question that are taken for misspelt, at most.
const MAX_CORRECTED: usize = 4;

/// A query word.
pub(super) struct AskedWord {
    pub(super) folded: String,
    /// How it may stand in the index: as it is, and as a stem.
    pub(super) terms: Vec<String>,
    pub(super) weight: f32,
    /// Whether it is a pair of letters of a script without spaces.
    pub(super) is_pair: bool,
    /// Whether it is taken for another word, because the index does not know it.
    pub(super) is_corrected: bool,
}

/// The query words.
pub(super) struct Asked {
    /// Each once, those of the new message first.
    pub(super) words: Vec<AskedWord>,
    /// How many of the first are to be covered.
    pub(super) counted: usize,
}

impl Asked {
    /// The words of a question to an index with stems of some languages. `nearest` tells the word that one which the
    /// index does not know is most likely meant to be.
    pub(super) fn of(
        question: &Question,
        stems: &[Language],
        nearest: impl Fn(&AskedWord) -> Option<String>,
    ) -> Self {
        let mut asked = Asked { words: Vec::new(), counted: 0 };
        asked.add(&question.text, &question.locale, 1.0, stems);
        let own = asked.words.len();
        let before = question.before.as_deref().filter(|_| own < ENOUGH_WORDS || goes_on(question));
        if let Some(before) = before {
            asked.add(before, &question.locale, WEIGHT_BEFORE, stems);
        }
        asked.counted = if own > 0 && !goes_on(question) { own } else { asked.words.len() };
        let mut corrected = 0;
        for word in asked.words.iter_mut().filter(|word| !word.is_pair) {
            if corrected < MAX_CORRECTED
                && let Some(meant) = nearest(word)
            {
                word.terms.extend(terms_of(&Word { folded: &meant, lower: &meant, is_part: false }, stems));
                word.is_corrected = true;
                corrected += 1;
            }
        }
        asked
    }

    fn add(&mut self, text: &str, locale: &str, weight: f32, stems: &[Language]) {
        let language = language_of(text, locale);
        words(text, |word: Word<'_>| {
            let is_new = self.words.iter().all(|known| known.folded != word.folded);
            if word.is_part || self.words.len() >= MAX_WORDS || !is_new || !terms::is_content(&word, language)
            {
                return;
            }
            let terms = terms_of(&word, stems);
            let is_pair = word.lower.is_empty();
            self.words.push(AskedWord {
                folded: word.folded.to_owned(),
                terms,
                weight,
                is_pair,
                is_corrected: false,
            });
        });
    }
}

/// How a word may stand in the index: as it is, as a part of a name, and as a stem.
fn terms_of(word: &Word<'_>, stems: &[Language]) -> Vec<String> {
    let mut terms = vec![word.folded.to_owned(), Word::part_term(word.folded)];
    for stem in stems {
        let mut term = String::new();
        if word.stem_term(*stem, &mut term) {
            terms.push(term);
        }
    }
    terms
}

/// Whether a message goes on from the one before it, so that both together are the question.
pub(super) fn goes_on(question: &Question) -> bool {
    question.before.is_some() && follow_up::goes_on(&question.text, &question.locale)
}
