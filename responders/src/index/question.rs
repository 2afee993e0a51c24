//! The query of a question: its words as terms of an index.

use conversations::Question;

use crate::language::Language;
use crate::terms;
use crate::words::{Word, words};

/// The maximum number of query words.
pub(super) const MAX_WORDS: usize = 64;
/// With fewer content words the message before counts too.
const ENOUGH_WORDS: usize = 3;
/// How much the message before counts.
const WEIGHT_BEFORE: f32 = 0.5;

/// A query word.
pub(super) struct AskedWord {
    pub(super) folded: String,
    /// How it may stand in the index: as it is, and as a stem.
    pub(super) terms: Vec<String>,
    pub(super) weight: f32,
}

/// The query words.
pub(super) struct Asked {
    /// Each once, those of the new message first.
    pub(super) words: Vec<AskedWord>,
    /// How many of the first are to be covered.
    pub(super) counted: usize,
}

impl Asked {
    /// The words of a question to an index with stems of some languages.
    pub(super) fn of(question: &Question, stems: &[Language]) -> Self {
        let mut asked = Asked { words: Vec::new(), counted: 0 };
        asked.add(&question.text, &question.locale, 1.0, stems);
        let own = asked.words.len();
        if let Some(before) = question.before.as_deref().filter(|_| own < ENOUGH_WORDS) {
            asked.add(before, &question.locale, WEIGHT_BEFORE, stems);
        }
        asked.counted = if own > 0 { own } else { asked.words.len() };
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
            let mut terms = vec![word.folded.to_owned(), Word::part_term(word.folded)];
            for stem in stems {
                let mut term = String::new();
                if word.stem_term(*stem, &mut term) {
                    terms.push(term);
                }
            }
            self.words.push(AskedWord { folded: word.folded.to_owned(), terms, weight });
        });
    }
}

/// The language of a message: its own, else that of the widget.
pub(crate) fn language_of(text: &str, locale: &str) -> Language {
    Language::guess(text).or_else(|| Language::of_tag(locale)).unwrap_or(Language::ENGLISH)
}
