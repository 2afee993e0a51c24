//! Messages that are nothing but a greeting or thanks.

use std::sync::LazyLock;

use crate::words::fold;

/// What a message without a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SmallTalk {
    Greeting,
    Thanks,
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
        let meaning = match kind {
            "greeting" => Some(SmallTalk::Greeting),
            "thanks" => Some(SmallTalk::Thanks),
            _ => None,
        };
        phrases.extend(list.split("; ").map(|phrase| (joined(phrase), meaning)));
    }
    // Of a phrase with two meanings thanks win, then a greeting.
    let rank = |meaning: Option<SmallTalk>| match meaning {
        Some(SmallTalk::Thanks) => 0,
        Some(SmallTalk::Greeting) => 1,
        None => 2,
    };
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
        match meaning {
            Some(SmallTalk::Thanks) => found = Some(SmallTalk::Thanks),
            Some(SmallTalk::Greeting) => found = found.or(Some(SmallTalk::Greeting)),
            None => {}
        }
        rest = &rest[phrase.len()..];
    }
    found
}

/// The folded letters and digits of a text.
fn joined(text: &str) -> String {
    fold(text).chars().filter(|letter| letter.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_data_has_a_kind_and_phrases() {
        for line in DATA.lines().filter(|line| !line.starts_with('#')) {
            let (kind, list) = line.split_once(": ").expect("a kind");
            assert!(matches!(kind, "greeting" | "thanks" | "filler"), "{line}");
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
        ] {
            assert_eq!(small_talk(text), Some(SmallTalk::Thanks), "{text}");
        }
        for text in
            ["", "?", "👍", "there", "Hello, what does it cost?", "Thanks, and on Sundays?", "Hi-fi systems"]
        {
            assert_eq!(small_talk(text), None, "{text}");
        }
    }
}
