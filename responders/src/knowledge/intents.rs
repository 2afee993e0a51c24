//! What a message wants that no document can give: a person, or the visitor's own records.

use std::sync::LazyLock;

use crate::phrases::{Message, Phrases, is_unspaced};

/// The words of a message that may want a person; a longer one asks about something else too.
const MAX_WORDS: usize = 16;
/// The words of a message in which wanting and a person are enough.
const FEW_WORDS: usize = 5;
/// How far whom a visitor wants stands from what to do with them.
const NEAR: usize = 5;
/// The same in bytes of scripts without spaces.
const NEAR_BYTES: usize = 36;
/// The digits of a number of an order or a parcel.
const NUMBER_DIGITS: usize = 4;

const DATA: &str = include_str!("intents.txt");

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(DATA));

/// Whether a visitor wants to be brought to a person.
pub(super) fn wants_person(text: &str, locale: &str) -> bool {
    let message = Message::of(text, locale);
    if message.length() > MAX_WORDS {
        return false;
    }
    message.languages.iter().any(|language| {
        let people = message.positions(&PHRASES, *language, "person");
        let contacts = message.positions(&PHRASES, *language, "contact");
        let near = if is_unspaced(*language) { NEAR_BYTES } else { NEAR };
        let is_near =
            people.iter().any(|person| contacts.iter().any(|contact| contact.abs_diff(*person) <= near));
        let is_short = message.length() <= FEW_WORDS;
        is_near
            || message.has(&PHRASES, *language, "wanted")
            || (is_short && !people.is_empty() && message.has(&PHRASES, *language, "want"))
    })
}

/// Whether a visitor asks for what only records of the visitor tell: where an order is, what a password is.
pub(super) fn asks_for_records(text: &str, locale: &str) -> bool {
    let message = Message::of(text, locale);
    if message.length() > MAX_WORDS {
        return false;
    }
    let has_number =
        message.words.iter().any(|word| word.chars().filter(char::is_ascii_digit).count() >= NUMBER_DIGITS);
    message.languages.iter().any(|language| {
        let has = |kind| message.has(&PHRASES, *language, kind);
        has("held") || (has("record") && has("state") && (has_number || has("own")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    #[test]
    fn every_line_of_data_has_a_language_and_a_kind() {
        for line in DATA.lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.split(' ');
            assert!(parts.next().and_then(Language::of_tag).is_some(), "{line}");
            let kind = parts.next();
            let kinds = ["person", "contact", "want", "wanted", "own", "record", "state", "held"];
            assert!(kind.is_some_and(|kind| kinds.contains(&kind)), "{line}");
        }
        for locale in ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "tr", "ar", "he", "ja", "zh"] {
            let language = Language::of_tag(locale).expect("known");
            for kind in ["wanted", "own", "record", "state", "held"] {
                assert!(!PHRASES.get(language, kind).is_empty(), "{locale} {kind}");
            }
        }
    }

    #[test]
    fn a_person_is_wanted_in_any_words() {
        for (locale, text) in [
            ("en", "Can I talk to a real person?"),
            ("en", "I'd rather speak with one of your staff, please"),
            ("en", "get me a human"),
            ("en", "I need a human"),
            ("en", "Please connect me with customer service"),
            ("de", "Ich möchte bitte mit einem Mitarbeiter sprechen"),
            ("de", "Kann mich jemand zurückrufen?"),
            ("fr", "Je voudrais parler à un conseiller"),
            ("es", "Quiero hablar con una persona"),
            ("it", "Vorrei parlare con un operatore"),
            ("pt-BR", "Quero falar com um atendente"),
            ("nl", "Ik wil graag een medewerker spreken"),
            ("pl", "Chcę porozmawiać z konsultantem"),
            ("tr", "Bir temsilciyle görüşmek istiyorum"),
            ("ar", "أريد التحدث إلى موظف"),
            ("he", "אני רוצה לדבר עם נציג"),
            ("ja", "オペレーターにつないでください"),
            ("zh-Hans", "请帮我转人工"),
        ] {
            assert!(wants_person(text, locale), "{text}");
        }
        for (locale, text) in [
            ("en", "I want to give the card to someone as a present"),
            ("en", "How many people can come on a guided walk?"),
            ("en", "Can an estate agent open an account?"),
            ("en", "When are you open?"),
            ("de", "Wie viele Personen passen in das Zelt?"),
            ("fr", "Quel est le tarif par personne ?"),
            ("ja", "返品はいつまでできますか"),
            ("zh-Hans", "营业时间是什么时候？"),
            ("en", ""),
        ] {
            assert!(!wants_person(text, locale), "{text}");
        }
    }

    #[test]
    fn questions_for_records_are_no_questions_about_rules() {
        for (locale, text) in [
            ("en", "Where is my parcel with order number 48213?"),
            ("en", "When is my refund paid?"),
            ("en", "what's my password"),
            ("en", "How many points do I have?"),
            ("en", "Is my membership still valid?"),
            ("de", "Wie viele Punkte habe ich?"),
            ("es", "¿Cuándo es mi cita?"),
            ("zh-Hans", "我有多少积分？"),
            ("de", "Wo bleibt meine Bestellung?"),
            ("fr", "Où en est ma commande ?"),
            ("es", "¿Cuál es mi contraseña?"),
            ("it", "Dove si trova il mio pacco?"),
            ("pt-BR", "Cadê o meu pedido?"),
            ("nl", "Waar blijft mijn pakket?"),
            ("pl", "Gdzie jest moja paczka?"),
            ("tr", "Siparişim nerede?"),
            ("ar", "أين طلبي؟"),
            ("he", "איפה ההזמנה שלי?"),
            ("ja", "私の注文はいつ届きますか"),
            ("zh-Hans", "我的订单在哪里？"),
        ] {
            assert!(asks_for_records(text, locale), "{text}");
        }
        for (locale, text) in [
            ("en", "How do I change my password?"),
            ("en", "Can I cancel my order?"),
            ("en", "How long does a refund take?"),
            ("en", "How many days do I have to return a coat?"),
            ("en", "How many points do I need for a voucher?"),
            ("es", "¿Cuándo es la primera cita?"),
            ("en", "Where is the shop?"),
            ("de", "Wie ändere ich meine Bestellung?"),
            ("fr", "Comment annuler ma commande ?"),
            ("ja", "パスワードを変更するには"),
            ("en", ""),
        ] {
            assert!(!asks_for_records(text, locale), "{text}");
        }
    }
}
