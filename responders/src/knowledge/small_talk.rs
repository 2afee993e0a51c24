//! Messages that ask nothing of the documents: a greeting, thanks, a question about who answers, an insult, a thumb.

use std::sync::LazyLock;

use crate::language::{Language, language_of};
use crate::words::fold;

/// What a message without a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SmallTalk {
    Greeting,
    Thanks,
    /// How the agent is.
    Wellbeing,
    /// Who or what answers.
    Identity,
    /// An insult, a complaint.
    Sorry,
}

impl SmallTalk {
    const ALL: [(&str, SmallTalk); 5] = [
        ("sorry", SmallTalk::Sorry),
        ("identity", SmallTalk::Identity),
        ("wellbeing", SmallTalk::Wellbeing),
        ("thanks", SmallTalk::Thanks),
        ("greeting", SmallTalk::Greeting),
    ];

    /// What is answered to of several: the smallest.
    fn rank(self) -> usize {
        SmallTalk::ALL.iter().position(|(_, kind)| *kind == self).unwrap_or(SmallTalk::ALL.len())
    }
}

/// The maximum length of small talk in characters; a longer message says more than that.
const MAX_LENGTH: usize = 100;

/// The phrases as data, a kind and its phrases on each line.
const DATA: &str = include_str!("small_talk.txt");

/// What a phrase says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Says(SmallTalk),
    /// Asks for what answers.
    You,
    /// Names what may answer.
    Own,
    /// What an insult or praise may be about.
    Thing,
    Insult,
    /// Makes a question of what stands next to it, or the opposite.
    Turn,
    Filler,
}

impl Kind {
    fn of_name(name: &str) -> Option<Self> {
        let says = SmallTalk::ALL.iter().find(|(own, _)| *own == name).map(|(_, says)| Kind::Says(*says));
        says.or(match name {
            "you" => Some(Kind::You),
            "self" => Some(Kind::Own),
            "thing" => Some(Kind::Thing),
            "insult" => Some(Kind::Insult),
            "turn" => Some(Kind::Turn),
            "filler" => Some(Kind::Filler),
            _ => None,
        })
    }
}

struct Phrase {
    kind: Kind,
    /// Of which language it is; of any without one.
    language: Option<Language>,
    /// Its folded letters and digits.
    joined: String,
    words: Vec<String>,
}

/// The longest first, of equals what is answered to rather.
static PHRASES: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    let mut phrases: Vec<Phrase> = Vec::new();
    for line in DATA.lines().filter(|line| !line.starts_with('#')) {
        let (name, list) = line.split_once(": ").unwrap_or_default();
        let (name, language) = name.split_once('.').unwrap_or((name, ""));
        let Some(kind) = Kind::of_name(name) else { continue };
        let language = Language::of_tag(language);
        phrases.extend(list.split("; ").map(|phrase| Phrase {
            kind,
            language,
            joined: joined(phrase),
            words: split(phrase),
        }));
    }
    let rank = |kind: Kind| match kind {
        Kind::Says(says) => says.rank(),
        _ => SmallTalk::ALL.len(),
    };
    phrases.sort_by_key(|phrase| (usize::MAX - phrase.joined.len(), rank(phrase.kind)));
    phrases
});

/// What a message is, if it is nothing else.
pub(super) fn small_talk(message: &str, locale: &str) -> Option<SmallTalk> {
    if message.chars().count() > MAX_LENGTH {
        return None;
    }
    let whole = joined(message);
    if whole.is_empty() {
        return signs(message);
    }
    let languages = [Some(language_of(message, locale)), Language::of_tag(locale)];
    let squeezed = [squeezed(&whole, 1), squeezed(&whole, 2)];
    let mut texts = vec![whole.as_str()];
    texts.extend(squeezed.iter().map(String::as_str).filter(|text| *text != whole));
    texts.into_iter().find_map(|text| of_letters(text, &languages)).or_else(|| of_words(message, &languages))
}

/// What a message without letters and digits is: somebody smiles, or does not understand.
fn signs(message: &str) -> Option<SmallTalk> {
    let message = message.trim();
    let smiles = [")", "D", "]"].iter().any(|mouth| message.ends_with(mouth)) && message.contains([':', ';']);
    (!message.is_empty()).then_some(if smiles { SmallTalk::Thanks } else { SmallTalk::Sorry })
}

/// What a message is whose letters are those of phrases, one after the other.
fn of_letters(message: &str, languages: &[Option<Language>; 2]) -> Option<SmallTalk> {
    let mut rest = message;
    let mut kinds = Vec::new();
    let is_unspaced_text = message.contains(is_unspaced);
    while !rest.is_empty() {
        // Between spaces, only phrases that are written as one word by many may be parts of a word.
        let usable = |phrase: &&Phrase| {
            is_unspaced_text
                || matches!(phrase.kind, Kind::Says(_) | Kind::Filler) && phrase.language.is_none()
        };
        let mut phrases = PHRASES.iter().filter(|phrase| phrase.is_of(languages)).filter(usable);
        let phrase = phrases.find(|phrase| rest.starts_with(phrase.joined.as_str()))?;
        kinds.push(phrase.kind);
        rest = &rest[phrase.joined.len()..];
    }
    verdict(&kinds, false)
}

/// What a message is whose words are phrases and words that tell nothing.
fn of_words(message: &str, languages: &[Option<Language>; 2]) -> Option<SmallTalk> {
    let words = split(message);
    // Of "that's" each part is a word.
    let tells_nothing = |word: &str| {
        let is_known =
            |part: &str| languages.iter().flatten().any(|language| language.is_function_word(part));
        is_known(word) || word.split('\'').all(|part| part.chars().count() <= 1 || is_known(part))
    };
    let mut written = written(message);
    written.reverse();
    let mut rest = words.as_slice();
    let mut kinds = Vec::new();
    let mut has_skipped = false;
    while !rest.is_empty() {
        let mut phrases = PHRASES.iter().filter(|phrase| phrase.is_of(languages) && !phrase.words.is_empty());
        if let Some(phrase) = phrases.find(|phrase| rest.starts_with(&phrase.words)) {
            kinds.push(phrase.kind);
            rest = &rest[phrase.words.len()..];
        } else if tells_nothing(&written[rest.len() - 1]) {
            has_skipped = true;
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    verdict(&kinds, has_skipped && message.contains(['?', '？', '؟']))
}

/// What phrases together say. Words that tell nothing may stand next to them, unless one makes a question of them or the
/// opposite.
fn verdict(kinds: &[Kind], asks: bool) -> Option<SmallTalk> {
    let has = |kind: Kind| kinds.contains(&kind);
    if has(Kind::Insult) || has(Kind::Says(SmallTalk::Sorry)) {
        return Some(SmallTalk::Sorry);
    }
    if has(Kind::You) {
        let asks_who = has(Kind::Own) || has(Kind::Says(SmallTalk::Identity));
        return asks_who.then_some(SmallTalk::Identity);
    }
    let said = kinds.iter().filter_map(|kind| match kind {
        Kind::Says(says) => Some(*says),
        _ => None,
    });
    let is_turned = asks || has(Kind::Turn);
    said.min_by_key(|says| says.rank())
        .filter(|says| !is_turned || !matches!(says, SmallTalk::Thanks | SmallTalk::Greeting))
}

impl Phrase {
    fn is_of(&self, languages: &[Option<Language>; 2]) -> bool {
        self.language.is_none() || languages.contains(&self.language)
    }
}

fn is_unspaced(letter: char) -> bool {
    u32::from(letter) >= 0x3000 && letter.is_alphabetic()
}

/// The folded letters and digits of a text.
fn joined(text: &str) -> String {
    split(text).concat()
}

/// The same by words.
fn split(text: &str) -> Vec<String> {
    written(text).iter().map(|word| word.replace('\'', "")).collect()
}

/// The folded words of a text with their apostrophes.
fn written(text: &str) -> Vec<String> {
    let folded = fold(text).replace('’', "'");
    let words = folded.split(|letter: char| !(letter.is_alphanumeric() || is_sign(letter) || letter == '\''));
    words.map(|word| word.trim_matches('\'').to_owned()).filter(|word| !word.is_empty()).collect()
}

/// A text in which letters that are written three times and more, as in "hellooo", are written `times` times.
fn squeezed(text: &str, times: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    let runs = letters.chunk_by(|one, other| one == other);
    runs.flat_map(|run| run.iter().take(if run.len() >= 3 { times } else { run.len() })).collect()
}

/// Whether a letter is an image that says something.
fn is_sign(letter: char) -> bool {
    matches!(u32::from(letter), 0x2600..=0x27bf | 0x2b50 | 0x1f190..=0x1f1ff | 0x1f300..=0x1f3fa | 0x1f400..=0x1faff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_data_has_a_kind_and_phrases() {
        for line in DATA.lines().filter(|line| !line.starts_with('#')) {
            let (kind, list) = line.split_once(": ").expect("a kind");
            let (kind, language) = kind.split_once('.').unwrap_or((kind, "en"));
            assert!(Kind::of_name(kind).is_some() && Language::of_tag(language).is_some(), "{line}");
            assert!(list.split("; ").all(|phrase| !joined(phrase).is_empty()), "{line}");
        }
    }

    #[test]
    fn greetings_and_thanks_are_recognised_when_they_are_all() {
        for text in [
            "Hi!",
            "Hello there 👋",
            "good morning",
            "Grüß Gott",
            "¡Hola! Buenos días",
            "你好！",
            "Guten Tag zusammen",
        ] {
            assert_eq!(small_talk(text, "en"), Some(SmallTalk::Greeting), "{text}");
        }
        for text in [
            "Thanks a lot!",
            "ok, thank you very much",
            "Vielen Dank für Ihre Hilfe",
            "ありがとうございます。",
            "Merci beaucoup !",
            "OK",
            "👍",
            "Hi, thanks 👍🏽",
        ] {
            assert_eq!(small_talk(text, "en"), Some(SmallTalk::Thanks), "{text}");
        }
        for (meaning, texts) in [
            (SmallTalk::Wellbeing, ["Hey, how are you?", "Wie geht’s?", "お元気ですか？"]),
            (SmallTalk::Identity, ["Are you a robot?", "Hi! ¿Quién eres?", "你是机器人吗？"]),
            (SmallTalk::Sorry, ["you are useless!!", "👎", "Das hilft mir nicht."]),
        ] {
            for text in texts {
                assert_eq!(small_talk(text, "en"), Some(meaning), "{text}");
            }
        }
        for text in ["", "there", "Hello, what does it cost?", "Thanks, and on Sundays?", "Hi-fi systems"] {
            assert_eq!(small_talk(text, "en"), None, "{text}");
        }
    }
}
