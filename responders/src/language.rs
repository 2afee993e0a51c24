//! Languages: their function words, their stemmers, and which one a text is in.

use std::collections::HashMap;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

use crate::words::fold;

/// A language on each line: its code and its function words, which carry no topic.
const FUNCTION_WORDS: &str = include_str!("function_words.txt");

/// The number of words that language detection reads.
const WORDS_TO_GUESS_FROM: usize = 2_000;

/// The codes (ISO 639-1) of the languages that this crate distinguishes, and their stemmers.
const LANGUAGES: [(&str, Option<Algorithm>); 24] = [
    ("en", Some(Algorithm::English)),
    ("de", Some(Algorithm::German)),
    ("fr", Some(Algorithm::French)),
    ("es", Some(Algorithm::Spanish)),
    ("it", Some(Algorithm::Italian)),
    ("pt", Some(Algorithm::Portuguese)),
    ("nl", Some(Algorithm::Dutch)),
    ("pl", Some(Algorithm::Polish)),
    ("tr", Some(Algorithm::Turkish)),
    ("ar", Some(Algorithm::Arabic)),
    ("he", None),
    ("ja", None),
    ("zh", None),
    ("cs", Some(Algorithm::Czech)),
    ("da", Some(Algorithm::Danish)),
    ("el", Some(Algorithm::Greek)),
    ("fi", Some(Algorithm::Finnish)),
    ("hu", Some(Algorithm::Hungarian)),
    ("no", Some(Algorithm::Norwegian)),
    ("ro", Some(Algorithm::Romanian)),
    ("ru", Some(Algorithm::Russian)),
    ("sv", Some(Algorithm::Swedish)),
    ("uk", Some(Algorithm::Ukrainian)),
    ("ca", Some(Algorithm::Catalan)),
];

/// In which languages a folded word is a function word, one bit for each.
static LANGUAGES_OF_WORDS: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let mut languages: HashMap<String, u32> = HashMap::new();
    for (nth, (code, _)) in LANGUAGES.iter().enumerate() {
        let of_language = |line: &&str| line.split_whitespace().next() == Some(code);
        let line = FUNCTION_WORDS.lines().find(of_language).unwrap_or_default();
        for word in line.split_whitespace().skip(1) {
            *languages.entry(fold(word)).or_default() |= 1 << nth;
        }
    }
    languages
});

/// A language that this crate knows something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u8);

impl Language {
    /// English.
    pub const ENGLISH: Language = Language(0);

    /// The language of a BCP 47 tag such as `pt-BR`; none that is not known here.
    #[must_use]
    pub fn of_tag(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        let code = match primary.as_str() {
            "iw" => "he",
            "nb" | "nn" => "no",
            known => known,
        };
        Self::all().find(|language| language.code() == code)
    }

    /// The language with the most function words in a text; none when there are hardly any.
    #[must_use]
    pub fn guess(text: &str) -> Option<Self> {
        let mut hits = [0_u32; LANGUAGES.len()];
        let mut words = 0_u32;
        crate::words::words(text, |word| {
            if words as usize >= WORDS_TO_GUESS_FROM {
                return;
            }
            words += 1;
            let mut languages = LANGUAGES_OF_WORDS.get(word.folded).copied().unwrap_or_default();
            while languages != 0 {
                hits[languages.trailing_zeros() as usize] += 1;
                languages &= languages - 1;
            }
        });
        // The first of equals, by the order of the table.
        let best = (0..LANGUAGES.len()).rev().max_by_key(|&language| hits[language])?;
        let is_clear = hits[best] >= 2 && hits[best] * 10 >= words;
        is_clear.then(|| Language(u8::try_from(best).unwrap_or_default()))
    }

    /// Every language.
    pub fn all() -> impl Iterator<Item = Language> {
        (0..LANGUAGES.len()).filter_map(|index| u8::try_from(index).ok()).map(Language)
    }

    /// The code (ISO 639-1).
    #[must_use]
    pub fn code(self) -> &'static str {
        LANGUAGES[usize::from(self.0)].0
    }

    /// The stem of a word in lower case; none where the language has no stemmer.
    pub(crate) fn stem(self, word: &str) -> Option<String> {
        let algorithm = LANGUAGES[usize::from(self.0)].1?;
        Some(Stemmer::new(algorithm).stem(word).into_owned())
    }

    /// Whether a folded word only says how something is said.
    pub(crate) fn is_function_word(self, folded: &str) -> bool {
        LANGUAGES_OF_WORDS.get(folded).is_some_and(|languages| languages >> self.0 & 1 == 1)
    }
}

/// The language of a message: its own, else that of the widget.
pub(crate) fn language_of(text: &str, locale: &str) -> Language {
    Language::guess(text).or_else(|| Language::of_tag(locale)).unwrap_or(Language::ENGLISH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_distinguished() {
        for (text, code) in [
            ("How do I change the password of my account?", "en"),
            ("Wie kann ich das Passwort von meinem Konto ändern?", "de"),
            ("Comment est-ce que je peux changer le mot de passe de mon compte ?", "fr"),
            ("¿Cómo puedo cambiar la contraseña de mi cuenta?", "es"),
            ("Come posso cambiare la password del mio account?", "it"),
            ("Como eu posso mudar a senha da minha conta?", "pt"),
            ("Hoe kan ik het wachtwoord van mijn account wijzigen?", "nl"),
            ("Jak mogę zmienić hasło do mojego konta i czy to jest bezpieczne?", "pl"),
        ] {
            assert_eq!(Language::guess(text).map(Language::code), Some(code), "{text}");
        }
        assert_eq!(Language::guess(""), None);
        assert_eq!(Language::guess("KX-2000 4711 GmbH"), None);
    }

    #[test]
    fn tags_lead_to_languages() {
        for (tag, code) in [("pt-BR", "pt"), ("zh-Hans", "zh"), ("EN_gb", "en"), ("iw", "he"), ("nb", "no")] {
            assert_eq!(Language::of_tag(tag).map(Language::code), Some(code), "{tag}");
        }
        assert_eq!(Language::of_tag("tlh"), None);
    }

    #[test]
    fn every_line_of_function_words_belongs_to_a_language() {
        for line in FUNCTION_WORDS.lines().filter(|line| !line.is_empty()) {
            let code = line.split_whitespace().next().expect("a code");
            assert!(Language::all().any(|language| language.code() == code), "{code}");
        }
    }
}
