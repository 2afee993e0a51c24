//! Terms of the index: words, their stems, and which of them carry the meaning of a question.

use crate::language::Language;
use crate::words::{Word, fold};

impl Word<'_> {
    /// The term of a part of a name: distinct from words, so that a search for a word does not only find names.
    pub(crate) fn part_term(folded: &str) -> String {
        format!("\u{2}{folded}")
    }

    /// Writes the term of the word's stem: apart from words and from stems of other languages.
    pub(crate) fn stem_term(&self, language: Language, term: &mut String) -> bool {
        term.clear();
        if self.lower.is_empty() || self.lower.starts_with(|first: char| first.is_ascii_digit()) {
            return false;
        }
        let Some(stem) = language.stem(self.lower) else { return false };
        term.push('\u{1}');
        term.push_str(language.code());
        term.push_str(&fold(&stem));
        true
    }
}

fn is_hiragana(letter: char) -> bool {
    matches!(u32::from(letter), 0x3040..=0x309f)
}

/// Whether a word tells what is asked about: it is no function word of `language`.
pub(crate) fn is_content(word: &Word<'_>, language: Language) -> bool {
    if !word.lower.is_empty() {
        return !language.is_function_word(word.folded);
    }
    // Pairs: endings and particles are hiragana; a pair with a letter that is a function word belongs to it.
    let is_ending = word.folded.chars().all(is_hiragana);
    let mut bytes = [0; 4];
    let has_function_letter =
        word.folded.chars().any(|letter| language.is_function_word(letter.encode_utf8(&mut bytes)));
    !is_ending && !has_function_letter && !language.is_function_word(word.folded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;

    #[test]
    fn stems_are_apart_from_words_and_languages() {
        let mut term = String::new();
        let mut stems = Vec::new();
        words("Connections verbindungen 2026", |word| {
            for code in ["en", "de", "ja"] {
                let language = Language::of_tag(code).expect("known");
                if word.stem_term(language, &mut term) {
                    stems.push(term.clone());
                }
            }
        });
        assert_eq!(stems, ["\u{1}enconnect", "\u{1}deconnection", "\u{1}enverbindungen", "\u{1}deverbind"]);
    }
}
