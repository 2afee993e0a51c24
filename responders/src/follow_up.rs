//! Whether a message goes on from the one before it: "and how long does that take?".

use std::sync::LazyLock;

use crate::language::{Language, language_of};
use crate::terms;
use crate::words::{Word, fold, words};

/// With this many words that tell something a message stands for itself, whatever it begins with.
const ENOUGH_WORDS: usize = 3;
/// Pairs of letters that are about as much as a word.
const PAIRS_OF_WORD: usize = 3;

/// The marks as data: a language, a kind and marks on each line.
const DATA: &str = include_str!("follow_up.txt");

/// The marks of a language, folded.
struct Marks {
    language: Language,
    begin: Vec<String>,
    points: Vec<String>,
    ends: Vec<String>,
}

static MARKS: LazyLock<Vec<Marks>> = LazyLock::new(|| {
    let mut all: Vec<Marks> = Vec::new();
    for line in DATA.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.splitn(3, ' ');
        let language = parts.next().and_then(Language::of_tag);
        let (Some(language), Some(kind), Some(marks)) = (language, parts.next(), parts.next()) else {
            continue;
        };
        if all.last().is_none_or(|last| last.language != language) {
            all.push(Marks { language, begin: Vec::new(), points: Vec::new(), ends: Vec::new() });
        }
        let Some(last) = all.last_mut() else { continue };
        let list = match kind {
            "begin" => &mut last.begin,
            "points" => &mut last.points,
            _ => &mut last.ends,
        };
        list.extend(marks.split("; ").map(fold));
    }
    all
});

impl Marks {
    /// Whether a folded text, with its words, has one of them.
    fn are_in(&self, text: &str, words: &[String], own: usize) -> bool {
        let is_short = own < ENOUGH_WORDS;
        let is_unspaced = matches!(self.language.code(), "ja" | "zh");
        if is_unspaced {
            let ends = self.ends.iter().any(|mark| text.ends_with(mark.as_str()));
            let begins = self.begin.iter().any(|mark| text.starts_with(mark.as_str()));
            return ends
                || (is_short && (begins || self.points.iter().any(|mark| text.contains(mark.as_str()))));
        }
        let begins = |mark: &String| {
            let mut parts =
                mark.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
            let mut all = words.iter();
            let count = parts.clone().count();
            // What begins the message is none of its own words.
            own < ENOUGH_WORDS + count && parts.all(|part| all.next().is_some_and(|word| word == part))
        };
        self.begin.iter().any(begins) || (is_short && self.points.iter().any(|mark| words.contains(mark)))
    }
}

/// Whether a message has too few words of its own, and says that it is about what was said before.
pub(crate) fn goes_on(text: &str, locale: &str) -> bool {
    let language = language_of(text, locale);
    let (mut all, mut own, mut pairs) = (Vec::new(), 0, 0);
    words(text, |word: Word<'_>| {
        if word.is_part {
            return;
        }
        all.push(word.folded.to_owned());
        if terms::is_content(&word, language) {
            match word.lower.is_empty() {
                true => pairs += 1,
                false => own += 1,
            }
        }
    });
    let folded = fold(text);
    let plain = folded.trim_matches(|letter: char| !letter.is_alphanumeric());
    let of_locale = Language::of_tag(locale);
    let mut marks =
        MARKS.iter().filter(|marks| marks.language == language || Some(marks.language) == of_locale);
    marks.any(|marks| marks.are_in(plain, &all, own + pairs / PAIRS_OF_WORD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_go_on_are_no_questions_of_their_own() {
        for (locale, text) in [
            ("en", "and how long does it take?"),
            ("en", "What does that cost me?"),
            ("en", "And gift cards?"),
            ("de", "Und nach einer Minute?"),
            ("de", "Was kostet das?"),
            ("fr", "Et le dimanche ?"),
            ("es", "¿Y cuánto cuesta eso?"),
            ("it", "E la domenica?"),
            ("pt-BR", "E quanto custa?"),
            ("nl", "En op zondag?"),
            ("pl", "A w niedzielę?"),
            ("tr", "Peki pazar günü?"),
            ("ar", "وكم يكلف ذلك؟"),
            ("he", "ומה עם יום ראשון?"),
            ("ja", "ビジネススタンダードの場合は？"),
            ("ja", "それはいくらですか"),
            ("zh-Hans", "那周末呢？"),
        ] {
            assert!(goes_on(text, locale), "{text}");
        }
        for (locale, text) in [
            ("en", "How long does delivery to Norway take?"),
            ("en", "And can I also return shoes that I bought in the sale?"),
            ("en", "Gift cards?"),
            ("de", "Wie lange dauert der Versand nach Norwegen?"),
            ("fr", "Quels sont vos horaires d’ouverture ?"),
            ("ja", "返品はいつまでできますか"),
            ("zh-Hans", "营业时间是什么时候？"),
            ("en", ""),
        ] {
            assert!(!goes_on(text, locale), "{text}");
        }
    }

    #[test]
    fn every_language_of_the_widget_has_its_marks() {
        for line in DATA.lines().filter(|line| !line.starts_with('#')) {
            let kind = line.split(' ').nth(1);
            assert!(matches!(kind, Some("begin" | "points" | "ends")), "{line}");
        }
        assert_eq!(MARKS.len(), 13);
    }
}
