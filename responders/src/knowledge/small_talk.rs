//! Messages that ask nothing of the documents: a greeting, thanks, a question about who answers, an insult, a thumb.

use std::sync::LazyLock;

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

/// The maximum length of a greeting in characters; a longer message says more than that.
const MAX_LENGTH: usize = 80;

/// The phrases as data, a kind and its phrases on each line.
const DATA: &str = include_str!("small_talk.txt");

/// Folded phrases without spaces and their meaning, the longest first; `None` may stand next to either.
static PHRASES: LazyLock<Vec<(String, Option<SmallTalk>)>> = LazyLock::new(|| {
    let mut phrases: Vec<(String, Option<SmallTalk>)> = Vec::new();
    for line in DATA.lines().filter(|line| !line.starts_with('#')) {
        let (kind, list) = line.split_once(": ").unwrap_or_default();
        let meaning = SmallTalk::ALL.iter().find(|(name, _)| *name == kind).map(|(_, meaning)| *meaning);
        phrases.extend(list.split("; ").map(|phrase| (joined(phrase), meaning)));
    }
    let rank = |meaning: Option<SmallTalk>| meaning.map_or(SmallTalk::ALL.len(), SmallTalk::rank);
    phrases.sort_by_key(|(phrase, meaning)| (usize::MAX - phrase.len(), rank(*meaning)));
    phrases
});

/// What a message is, if it is nothing else.
pub(super) fn small_talk(message: &str) -> Option<SmallTalk> {
    if message.chars().count() > MAX_LENGTH {
        return None;
    }
    let message = joined(message);
    let mut rest = message.as_str();
    let mut found = None;
    while !rest.is_empty() {
        let (phrase, meaning) = PHRASES.iter().find(|(phrase, _)| rest.starts_with(phrase.as_str()))?;
        if let Some(meaning) = meaning {
            found = found.filter(|known: &SmallTalk| known.rank() < meaning.rank()).or(Some(*meaning));
        }
        rest = &rest[phrase.len()..];
    }
    found
}

/// The folded letters and digits of a text.
fn joined(text: &str) -> String {
    fold(text).chars().filter(|letter| letter.is_alphanumeric() || is_sign(*letter)).collect()
}

/// Whether a letter is an image that says something.
fn is_sign(letter: char) -> bool {
    matches!(u32::from(letter), 0x2764 | 0x1f300..=0x1f3fa | 0x1f400..=0x1faff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_data_has_a_kind_and_phrases() {
        for line in DATA.lines().filter(|line| !line.starts_with('#')) {
            let (kind, list) = line.split_once(": ").expect("a kind");
            assert!(kind == "filler" || SmallTalk::ALL.iter().any(|(name, _)| *name == kind), "{line}");
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
            assert_eq!(small_talk(text), Some(SmallTalk::Greeting), "{text}");
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
            assert_eq!(small_talk(text), Some(SmallTalk::Thanks), "{text}");
        }
        for (meaning, texts) in [
            (SmallTalk::Wellbeing, ["Hey, how are you?", "Wie geht’s?", "お元気ですか？"]),
            (SmallTalk::Identity, ["Are you a robot?", "Hi! ¿Quién eres?", "你是机器人吗？"]),
            (SmallTalk::Sorry, ["you are useless!!", "👎", "Das hilft mir nicht."]),
        ] {
            for text in texts {
                assert_eq!(small_talk(text), Some(meaning), "{text}");
            }
        }
        for text in
            ["", "?", "there", "Hello, what does it cost?", "Thanks, and on Sundays?", "Hi-fi systems"]
        {
            assert_eq!(small_talk(text), None, "{text}");
        }
    }
}
