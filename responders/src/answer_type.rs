//! What kind of answer a question asks for, and whether a text has one: a price, a time or a number.

use std::sync::LazyLock;

use crate::language::Language;
use crate::passages::is_numbered;
use crate::phrases::{Message, Phrases, folded, is_unspaced, is_word};
use crate::words::fold;

/// Words between a number and what it counts, as in "60 calendar days".
const BETWEEN: usize = 1;
/// Letters that stand for money.
const CURRENCIES: [char; 12] = ['€', '$', '£', '¥', '￥', '₺', '₪', '₽', '₹', '円', '元', '₩'];
/// Words that stand for money, folded: those that follow or precede a number.
const CURRENCY_WORDS: [&str; 24] = [
    "eur", "euro", "euros", "usd", "gbp", "chf", "jpy", "pln", "zł", "tl", "lira", "cent", "cents", "pence",
    "dollar", "dollars", "franken", "francs", "yen", "sek", "nok", "dkk", "czk", "brl",
];
/// What a time is written with directly after its number.
const TIME_SUFFIXES: [&str; 8] = ["am", "pm", "h", "hrs", "min", "mins", "s", "d"];

const DATA: &str = include_str!("answer_type.txt");

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(DATA));

/// A kind of answer that can be recognised in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerType {
    Money,
    /// A time or a duration.
    Time,
    Number,
}

impl AnswerType {
    /// What a question asks for; none where that is none of these.
    pub(crate) fn of(question: &str, locale: &str) -> Option<Self> {
        let message = Message::of(question, locale);
        let asks = |kind| message.languages.iter().any(|language| message.has(&PHRASES, *language, kind));
        let ends = |language: &Language| {
            let ends = PHRASES.get(*language, "ends").iter().flatten();
            message.words.last().is_some_and(|last| ends.into_iter().any(|end| end == last))
        };
        if asks("money") || message.languages.iter().any(ends) {
            return Some(AnswerType::Money);
        }
        if asks("time") {
            return Some(AnswerType::Time);
        }
        asks("number").then_some(AnswerType::Number)
    }

    /// Whether a text in one of some languages has an answer of the kind. Texts of several sentences have more of them.
    pub(crate) fn is_in(self, text: &str, languages: &[Language]) -> bool {
        let text = without_mark(text);
        languages.iter().any(|language| {
            let says = Says { text, folded: fold(text), words: folded(text), language: *language };
            match self {
                AnswerType::Money => says.money(),
                AnswerType::Time => says.time(),
                AnswerType::Number => says.number(),
            }
        })
    }
}

/// A text without the mark of an item: the number of a step is no answer.
fn without_mark(text: &str) -> &str {
    if !is_numbered(text) {
        return text;
    }
    text.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit())
}

/// A text that perhaps says what is asked for.
struct Says<'a> {
    text: &'a str,
    folded: String,
    words: Vec<String>,
    language: Language,
}

impl Says<'_> {
    fn is(&self, word: &str, kind: &'static str) -> bool {
        PHRASES.get(self.language, kind).iter().any(|phrase| phrase.len() == 1 && is_word(word, &phrase[0]))
    }

    /// Whether the text has words of a kind, in a script without spaces or else.
    fn has(&self, kind: &'static str) -> bool {
        let phrases = PHRASES.get(self.language, kind);
        if is_unspaced(self.language) {
            return phrases.iter().flatten().any(|phrase| self.folded.contains(phrase.as_str()));
        }
        self.words.iter().any(|word| self.is(word, kind))
    }

    fn has_digit(&self) -> bool {
        self.text.chars().any(char::is_numeric)
    }

    fn number(&self) -> bool {
        // A numeral of Chinese or Japanese is in many other words.
        self.has_digit() || (!is_unspaced(self.language) && self.has("numerals"))
    }

    fn money(&self) -> bool {
        let is_currency = |word: &String| CURRENCY_WORDS.contains(&word.as_str());
        let has_currency = self.text.contains(CURRENCIES) || self.words.iter().any(is_currency);
        (has_currency && self.has_digit()) || self.has("free")
    }

    fn time(&self) -> bool {
        if has_clock(self.text) || self.has("days") {
            return true;
        }
        if is_unspaced(self.language) {
            return self.counts_unspaced();
        }
        let is_number =
            |word: &str, kind| word.starts_with(|first: char| first.is_numeric()) || self.is(word, kind);
        let has_suffix = |word: &String| {
            let rest = word.trim_start_matches(|letter: char| letter.is_numeric());
            rest.len() < word.len() && TIME_SUFFIXES.contains(&rest)
        };
        let counts = |nth: usize| {
            let end = (nth + 2 + BETWEEN).min(self.words.len());
            let begin = nth.saturating_sub(1);
            let word = self.words[nth].as_str();
            let next = self.words.get(nth + 1).is_some_and(|next| self.is(next, "units"));
            (is_number(word, "numerals")
                && self.words[nth + 1..end].iter().any(|next| self.is(next, "units")))
                || (self.is(word, "ones") && next)
                || (is_number(word, "numerals")
                    && self.words[begin..end].iter().any(|near| self.is(near, "months")))
        };
        self.words.iter().any(has_suffix) || (0..self.words.len()).any(counts)
    }

    /// Whether a unit of time stands directly after a number, in a script without spaces.
    fn counts_unspaced(&self) -> bool {
        let units = PHRASES.get(self.language, "units");
        let numerals = PHRASES.get(self.language, "numerals");
        units.iter().flatten().any(|unit| {
            self.folded.match_indices(unit.as_str()).any(|(at, _)| {
                let before = self.folded[..at].trim_end();
                before.ends_with(char::is_numeric)
                    || numerals.iter().flatten().any(|numeral| before.ends_with(numeral.as_str()))
            })
        })
    }
}

/// Whether a text has a time of day such as 9:30.
fn has_clock(text: &str) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    (1..bytes.len()).any(|at| {
        bytes[at] == b':'
            && is_digit(bytes.get(at - 1))
            && is_digit(bytes.get(at + 1))
            && is_digit(bytes.get(at + 2))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn language(code: &str) -> Language {
        Language::of_tag(code).expect("known")
    }

    #[test]
    fn every_language_of_the_widget_has_its_phrases() {
        for code in ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "tr", "ar", "he", "ja", "zh"] {
            for kind in ["money", "time", "number", "numerals", "units", "days", "free"] {
                assert!(!PHRASES.get(language(code), kind).is_empty(), "{code} {kind}");
            }
        }
        for line in DATA.lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.split(' ');
            assert!(parts.next().and_then(Language::of_tag).is_some(), "{line}");
            let kinds =
                ["money", "ends", "time", "number", "numerals", "ones", "units", "days", "months", "free"];
            assert!(parts.next().is_some_and(|kind| kinds.contains(&kind)), "{line}");
        }
    }

    #[test]
    fn questions_ask_for_prices_times_and_numbers() {
        for (locale, question, wanted) in [
            ("en", "What does a haircut for children cost?", Some(AnswerType::Money)),
            ("en", "how much is it", Some(AnswerType::Money)),
            ("en", "When is the office open?", Some(AnswerType::Time)),
            ("en", "How many days do I have?", Some(AnswerType::Time)),
            ("en", "How many people fit in?", Some(AnswerType::Number)),
            ("en", "What can I do when it leaks?", None),
            ("en", "Can I split the cost of a bed?", None),
            ("de", "Was kostet der Eintritt?", Some(AnswerType::Money)),
            ("de", "Bis wann muss ich absagen?", Some(AnswerType::Time)),
            ("de", "Wie viele Gäste passen hinein?", Some(AnswerType::Number)),
            ("fr", "Combien coûte un abonnement ?", Some(AnswerType::Money)),
            ("fr", "À quelle heure fermez-vous ?", Some(AnswerType::Time)),
            ("es", "¿Cuánto cuesta una entrada?", Some(AnswerType::Money)),
            ("it", "Quanto tempo ci vuole?", Some(AnswerType::Time)),
            ("pt-BR", "Quanto custa o ingresso?", Some(AnswerType::Money)),
            ("nl", "Hoe lang duurt het?", Some(AnswerType::Time)),
            ("pl", "Ile kosztuje bilet?", Some(AnswerType::Money)),
            ("tr", "Ne zaman açılıyor?", Some(AnswerType::Time)),
            ("ar", "متى تفتحون؟", Some(AnswerType::Time)),
            ("he", "כמה עולה כרטיס?", Some(AnswerType::Money)),
            ("ja", "入場料はいくらですか", Some(AnswerType::Money)),
            ("ja", "何時に閉まりますか", Some(AnswerType::Time)),
            ("zh-Hans", "门票多少钱？", Some(AnswerType::Money)),
            ("zh-Hans", "几点关门？", Some(AnswerType::Time)),
            ("en", "", None),
        ] {
            assert_eq!(AnswerType::of(question, locale), wanted, "{question}");
        }
    }

    #[test]
    fn texts_say_prices_times_and_numbers() {
        use AnswerType::{Money, Number, Time};
        for (code, text, kind, has) in [
            ("en", "| Adults | £9 |", Money, true),
            ("en", "Children are free.", Money, true),
            ("en", "A card costs a bit more.", Money, false),
            ("en", "There are 3 cards.", Money, false),
            ("en", "It takes ten working days.", Time, true),
            ("en", "From 9:30 on.", Time, true),
            ("en", "Closed on Mondays.", Time, true),
            ("en", "Send it within a week.", Time, true),
            ("en", "The week was long.", Time, false),
            ("en", "We have 30 shops.", Time, false),
            ("en", "It starts on 3 May.", Time, true),
            ("en", "You may ask.", Time, false),
            ("en", "Open until 6pm", Time, true),
            ("en", "1. Open the lid.", Number, false),
            ("en", "Groups of eight.", Number, true),
            ("de", "In der Regel vier bis sechs Tage.", Time, true),
            ("de", "Der Eintritt ist kostenlos.", Money, true),
            ("fr", "Il faut deux semaines.", Time, true),
            ("es", "Cuesta 55 €.", Money, true),
            ("ja", "10～20 分程度かかる", Time, true),
            ("ja", "時間がかかります", Time, false),
            ("ja", "月額10,000円です", Money, true),
            ("zh", "三天内送达", Time, true),
        ] {
            assert_eq!(kind.is_in(text, &[language(code)]), has, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,120}", digits in "[0-9:. |~～]{0,20}", code in "(en|de|tr|ar|ja|zh|el)") {
            let text = format!("{text}{digits}");
            AnswerType::of(&text, &code);
            let has = |kind: AnswerType| kind.is_in(&text, &[language(&code)]);
            prop_assert!(!has(AnswerType::Time) || text.chars().any(char::is_alphanumeric));
            prop_assert!(has(AnswerType::Number) || !text.chars().any(char::is_numeric) || is_numbered(&text));
            has(AnswerType::Money);
        }
    }
}
