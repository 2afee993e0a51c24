//! The texts of the service to visitors, in their language.

/// A sentence by the language of its visitor.
type Texts = [(&'static str, &'static str); 13];

const LIMITED: Texts = [
    ("en", "I cannot answer right now. Leave us your details and we will get back to you."),
    ("de", "Im Moment kann ich nicht antworten. Hinterlassen Sie uns Ihre Kontaktdaten, wir melden uns."),
    ("fr", "Je ne peux pas répondre pour le moment. Laissez-nous vos coordonnées, nous vous recontacterons."),
    ("es", "Ahora mismo no puedo responder. Déjenos sus datos y nos pondremos en contacto con usted."),
    ("it", "Al momento non posso rispondere. Ci lasci i suoi dati e la ricontatteremo."),
    ("pt", "No momento não consigo responder. Deixe seus dados e entraremos em contato."),
    ("nl", "Ik kan nu niet antwoorden. Laat uw gegevens achter, dan nemen we contact met u op."),
    ("pl", "W tej chwili nie mogę odpowiedzieć. Proszę zostawić dane kontaktowe, odezwiemy się."),
    ("tr", "Şu anda yanıt veremiyorum. İletişim bilgilerinizi bırakın, size dönelim."),
    ("ar", "لا يمكنني الرد الآن. اترك بيانات الاتصال وسنعاود التواصل معك."),
    ("he", "אין באפשרותי לענות כעת. אפשר להשאיר פרטים ונחזור אליכם."),
    ("ja", "ただいまお答えできません。ご連絡先をお知らせいただければ、折り返しご連絡いたします。"),
    ("zh", "目前无法回答。请留下您的联系方式，我们会与您联系。"),
];

const NOBODY_CAME: Texts = [
    ("en", "Nobody is free right now. Leave us your details and we will get back to you."),
    ("de", "Gerade ist niemand frei. Hinterlassen Sie uns Ihre Kontaktdaten, wir melden uns."),
    (
        "fr",
        "Personne n’est disponible pour le moment. Laissez-nous vos coordonnées, nous vous recontacterons.",
    ),
    ("es", "Ahora mismo no hay nadie disponible. Déjenos sus datos y nos pondremos en contacto con usted."),
    ("it", "Al momento non è disponibile nessuno. Ci lasci i suoi dati e la ricontatteremo."),
    ("pt", "Ninguém está disponível no momento. Deixe seus dados e entraremos em contato."),
    ("nl", "Er is nu niemand beschikbaar. Laat uw gegevens achter, dan nemen we contact met u op."),
    ("pl", "W tej chwili nikt nie jest dostępny. Proszę zostawić dane kontaktowe, odezwiemy się."),
    ("tr", "Şu anda kimse müsait değil. İletişim bilgilerinizi bırakın, size dönelim."),
    ("ar", "لا يوجد أحد متاح الآن. اترك بيانات الاتصال وسنعاود التواصل معك."),
    ("he", "אין כרגע נציג פנוי. אפשר להשאיר פרטים ונחזור אליכם."),
    ("ja", "ただいま担当者が対応できません。ご連絡先をお知らせいただければ、折り返しご連絡いたします。"),
    ("zh", "目前没有客服人员有空。请留下您的联系方式，我们会与您联系。"),
];

const GREETING: Texts = [
    ("en", "Thank you! How can I help?"),
    ("de", "Vielen Dank! Wie kann ich helfen?"),
    ("fr", "Merci ! Comment puis-je vous aider ?"),
    ("es", "¡Gracias! ¿En qué puedo ayudarle?"),
    ("it", "Grazie! Come posso aiutarla?"),
    ("pt", "Obrigado! Como posso ajudar?"),
    ("nl", "Dank u wel! Waarmee kan ik helpen?"),
    ("pl", "Dziękuję! W czym mogę pomóc?"),
    ("tr", "Teşekkürler! Nasıl yardımcı olabilirim?"),
    ("ar", "شكرًا لك! كيف يمكنني مساعدتك؟"),
    ("he", "תודה! איך אפשר לעזור?"),
    ("ja", "ありがとうございます。どのようなご用件でしょうか。"),
    ("zh", "谢谢！请问有什么可以帮您？"),
];

const FILE_ARRIVED: Texts = [
    ("en", "Thank you, your file has arrived. What would you like to know?"),
    ("de", "Vielen Dank, Ihre Datei ist angekommen. Was möchten Sie wissen?"),
    ("fr", "Merci, votre fichier est bien arrivé. Que souhaitez-vous savoir ?"),
    ("es", "Gracias, su archivo ha llegado. ¿Qué desea saber?"),
    ("it", "Grazie, il suo file è arrivato. Che cosa desidera sapere?"),
    ("pt", "Obrigado, seu arquivo chegou. O que gostaria de saber?"),
    ("nl", "Dank u wel, uw bestand is aangekomen. Wat wilt u weten?"),
    ("pl", "Dziękuję, plik dotarł. Czego chce się Pan/Pani dowiedzieć?"),
    ("tr", "Teşekkürler, dosyanız ulaştı. Ne öğrenmek istersiniz?"),
    ("ar", "شكرًا لك، وصل ملفك. ماذا تودّ أن تعرف؟"),
    ("he", "תודה, הקובץ הגיע. מה ברצונך לדעת?"),
    ("ja", "ありがとうございます。ファイルを受け取りました。どのようなことをお知りになりたいですか。"),
    ("zh", "谢谢，您的文件已收到。您想了解什么？"),
];

/// The reply to a form without a message.
pub(crate) fn greeting(locale: &str) -> &'static str {
    of_locale(&GREETING, locale)
}

/// The reply to a file without a message.
pub(crate) fn file_arrived(locale: &str) -> &'static str {
    of_locale(&FILE_ARRIVED, locale)
}

/// The sentence for a visitor whom the agent cannot answer now: a budget is used up, or nothing answers.
pub(crate) fn limited(locale: &str) -> &'static str {
    of_locale(&LIMITED, locale)
}

/// The sentence for a visitor whom no operator answered in time.
pub(crate) fn nobody_came(locale: &str) -> &'static str {
    of_locale(&NOBODY_CAME, locale)
}

/// The text in a language, English where there is none.
fn of_locale(texts: &Texts, locale: &str) -> &'static str {
    let is = |tag: &str| {
        locale.get(..tag.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(tag))
            && matches!(locale.as_bytes().get(tag.len()), None | Some(b'-'))
    };
    texts.iter().find(|(tag, _)| is(tag)).map_or(texts[0].1, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::limited;

    #[test]
    fn a_language_with_or_without_its_region() {
        assert!(limited("de-AT").starts_with("Im Moment"));
        assert_eq!(limited("DE"), limited("de"));
        assert!(limited("den").starts_with("I cannot"));
        assert!(limited("").starts_with("I cannot"));
    }
}
