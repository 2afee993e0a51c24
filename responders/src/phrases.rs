//! Phrases that show what a message is about, as data: a language, a kind and phrases on each line, between `; `. The last
//! word of a phrase may end with `*`, which stands for any ending.

use std::collections::HashMap;

use crate::language::{Language, language_of};
use crate::words::{Word, fold, words};

/// Pairs of letters that are about as much as a word.
const PAIRS_OF_WORD: usize = 3;

/// The phrases of a kind, folded, by their words.
type Folded = Vec<Vec<String>>;

/// The phrases of a file.
pub(crate) struct Phrases(HashMap<(Language, &'static str), Folded>);

impl Phrases {
    pub(crate) fn of(data: &'static str) -> Self {
        let mut phrases: HashMap<(Language, &'static str), Folded> = HashMap::new();
        for (language, kind, list) in lines(data) {
            let of = |phrase: &str| {
                if is_unspaced(language) {
                    return vec![fold(phrase)];
                }
                let is_open = phrase.ends_with('*');
                let mut words = folded(phrase);
                if let Some(last) = words.last_mut().filter(|_| is_open) {
                    last.push('*');
                }
                words
            };
            phrases.entry((language, kind)).or_default().extend(list.split("; ").map(of));
        }
        Phrases(phrases)
    }

    /// The phrases of a kind in a language.
    pub(crate) fn get(&self, language: Language, kind: &'static str) -> &[Vec<String>] {
        self.0.get(&(language, kind)).map_or(&[], Vec::as_slice)
    }
}

/// The lines of a file of phrases that have a known language, a kind and phrases.
fn lines(data: &'static str) -> impl Iterator<Item = (Language, &'static str, &'static str)> {
    data.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut parts = line.splitn(3, ' ');
        Some((Language::of_tag(parts.next()?)?, parts.next()?, parts.next()?))
    })
}

/// Whether a language is written without spaces between words.
pub(crate) fn is_unspaced(language: Language) -> bool {
    matches!(language.code(), "ja" | "zh")
}

/// The words of a text, folded.
pub(crate) fn folded(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    words(text, |word: Word<'_>| {
        if !word.is_part {
            all.push(word.folded.to_owned());
        }
    });
    all
}

/// Whether a word is that of a phrase.
pub(crate) fn is_word(word: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => word == wanted,
    }
}

/// A message, prepared.
pub(crate) struct Message {
    text: String,
    pub(crate) words: Vec<String>,
    /// Its own language, and that of the visitor.
    pub(crate) languages: Vec<Language>,
}

impl Message {
    pub(crate) fn of(text: &str, locale: &str) -> Self {
        let mut languages = vec![language_of(text, locale)];
        // The language of a few words is easily taken for another.
        languages.extend(Language::of_tag(locale).filter(|own| *own != languages[0]));
        Message { text: fold(text), words: folded(text), languages }
    }

    /// Where phrases of a kind stand.
    pub(crate) fn positions(&self, phrases: &Phrases, language: Language, kind: &'static str) -> Vec<usize> {
        let phrases = phrases.get(language, kind);
        if is_unspaced(language) {
            return phrases.iter().flatten().filter_map(|phrase| self.text.find(phrase.as_str())).collect();
        }
        let stands = |at: usize| {
            phrases.iter().any(|phrase| {
                let own = self.words[at..].iter();
                own.len() >= phrase.len() && own.zip(phrase).all(|(word, wanted)| is_word(word, wanted))
            })
        };
        (0..self.words.len()).filter(|at| stands(*at)).collect()
    }

    /// About how many words it has.
    pub(crate) fn length(&self) -> usize {
        let is_pairs = self.languages.iter().any(|language| is_unspaced(*language));
        self.words.len() / if is_pairs { PAIRS_OF_WORD } else { 1 }
    }

    pub(crate) fn has(&self, phrases: &Phrases, language: Language, kind: &'static str) -> bool {
        !self.positions(phrases, language, kind).is_empty()
    }
}
