//! Messages that are nothing but a greeting or thanks.

use crate::words::fold;

/// What a message without a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SmallTalk {
    Greeting,
    Thanks,
}

/// Characters of a greeting; what is longer says more than that.
const LONGEST: usize = 80;

/// Phrases that greet.
const GREETINGS: &[&str] = &[
    // English, German, French, Spanish, Italian.
    "hello",
    "hi",
    "hey",
    "hiya",
    "good morning",
    "good afternoon",
    "good evening",
    "good day",
    "greetings",
    "hallo",
    "guten morgen",
    "guten tag",
    "guten abend",
    "grüß gott",
    "grüezi",
    "moin",
    "servus",
    "tach",
    "bonjour",
    "bonsoir",
    "salut",
    "coucou",
    "hola",
    "buenos días",
    "buenas tardes",
    "buenas noches",
    "buenas",
    "ciao",
    "salve",
    "buongiorno",
    "buonasera",
    "buon giorno",
    "buona sera",
    // Portuguese, Dutch, Polish, Turkish.
    "olá",
    "oi",
    "bom dia",
    "boa tarde",
    "boa noite",
    "hoi",
    "dag",
    "goedemorgen",
    "goedemiddag",
    "goedenavond",
    "goedendag",
    "dzień dobry",
    "cześć",
    "witam",
    "hej",
    "dobry wieczór",
    "merhaba",
    "selam",
    "günaydın",
    "iyi günler",
    "iyi akşamlar",
    // Arabic, Hebrew, Japanese, Chinese.
    "مرحبا",
    "أهلا",
    "السلام عليكم",
    "صباح الخير",
    "مساء الخير",
    "שלום",
    "היי",
    "הי",
    "בוקר טוב",
    "ערב טוב",
    "こんにちは",
    "こんばんは",
    "おはよう",
    "おはようございます",
    "你好",
    "您好",
    "早上好",
    "下午好",
    "晚上好",
    "嗨",
];

/// Phrases that thank, or that end a talk.
const THANKS: &[&str] = &[
    "thank you",
    "thanks",
    "thx",
    "ty",
    "cheers",
    "great",
    "perfect",
    "ok",
    "okay",
    "cool",
    "awesome",
    "bye",
    "goodbye",
    "danke",
    "danke schön",
    "dankeschön",
    "vielen dank",
    "besten dank",
    "herzlichen dank",
    "super",
    "prima",
    "tschüss",
    "auf wiedersehen",
    "merci",
    "merci beaucoup",
    "au revoir",
    "parfait",
    "gracias",
    "muchas gracias",
    "adiós",
    "perfecto",
    "vale",
    "grazie",
    "grazie mille",
    "arrivederci",
    "perfetto",
    "obrigado",
    "obrigada",
    "muito obrigado",
    "muito obrigada",
    "tchau",
    "valeu",
    "dank",
    "dank u",
    "dank je",
    "dank je wel",
    "dank u wel",
    "bedankt",
    "hartelijk dank",
    "tot ziens",
    "dziękuję",
    "dzięki",
    "dziękuję bardzo",
    "do widzenia",
    "teşekkürler",
    "teşekkür ederim",
    "çok teşekkürler",
    "sağ olun",
    "tamam",
    "شكرا",
    "شكرا جزيلا",
    "مع السلامة",
    "תודה",
    "תודה רבה",
    "להתראות",
    "ありがとう",
    "ありがとうございます",
    "ありがとうございました",
    "どうもありがとうございます",
    "谢谢",
    "谢谢您",
    "谢谢你",
    "多谢",
    "再见",
    "好的",
];

/// What may stand beside either.
const FILLERS: &[&str] = &[
    "there",
    "all",
    "everyone",
    "team",
    "you",
    "again",
    "very much",
    "so much",
    "a lot",
    "for your help",
    "for the help",
    "zusammen",
    "sehr",
    "für die hilfe",
    "für ihre hilfe",
    "tous",
    "à tous",
    "todos",
    "a tutti",
    "a todos",
];

/// What a message is, when it is nothing else.
pub(super) fn small_talk(message: &str) -> Option<SmallTalk> {
    if message.chars().count() > LONGEST {
        return None;
    }
    let message = joined(message);
    let mut rest = message.as_str();
    let mut found = None;
    while !rest.is_empty() {
        // The longest phrase that the rest begins with.
        let of = |phrases: &[&str]| {
            phrases
                .iter()
                .map(|phrase| joined(phrase))
                .filter(|phrase| rest.starts_with(phrase.as_str()))
                .map(|phrase| phrase.len())
                .max()
        };
        let (greeting, thanks, filler) = (of(GREETINGS), of(THANKS), of(FILLERS));
        let length = greeting.max(thanks).max(filler)?;
        if thanks == Some(length) {
            found = Some(SmallTalk::Thanks);
        } else if greeting == Some(length) {
            found = found.or(Some(SmallTalk::Greeting));
        }
        rest = &rest[length..];
    }
    found
}

/// The letters of a text, folded.
fn joined(text: &str) -> String {
    fold(text).chars().filter(|letter| letter.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
