//! What the responders say themselves, in the languages of the widget.

/// Sentences in one language.
#[cfg_attr(
    not(feature = "llm"),
    allow(dead_code, reason = "some sentences belong to replies of models only")
)]
pub(crate) struct Texts {
    locale: &'static str,
    /// Before quotations.
    pub(crate) found: &'static str,
    /// Nothing was found.
    pub(crate) unknown: &'static str,
    /// After `unknown`, before the lead form.
    pub(crate) form: &'static str,
    /// The answer to a greeting.
    pub(crate) greeting: &'static str,
    /// The answer to thanks.
    pub(crate) thanks: &'static str,
    /// Instead of a reply that tells what visitors are not to see.
    pub(crate) refused: &'static str,
    /// A person takes over.
    pub(crate) handoff: &'static str,
}

/// The sentences of a locale, English where there are none.
pub(crate) fn texts(locale: &str) -> &'static Texts {
    let primary = |tag: &str| tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    let wanted = match primary(locale).as_str() {
        "iw" => "he".to_owned(),
        known => known.to_owned(),
    };
    TEXTS.iter().find(|texts| primary(texts.locale) == wanted).unwrap_or(&TEXTS[0])
}

static TEXTS: [Texts; 13] = [
    Texts {
        locale: "en",
        found: "This is what I found:",
        unknown: "I could not find an answer to that.",
        form: "Leave your details and we will get back to you.",
        greeting: "Hello! How can I help you?",
        thanks: "You are welcome!",
        refused: "I cannot help with that. Is there anything else that you would like to know?",
        handoff: "I am handing you over to a person.",
    },
    Texts {
        locale: "de",
        found: "Das habe ich gefunden:",
        unknown: "Dazu habe ich keine Antwort gefunden.",
        form: "Hinterlassen Sie Ihre Angaben, dann melden wir uns bei Ihnen.",
        greeting: "Hallo! Wie kann ich Ihnen helfen?",
        thanks: "Gern geschehen!",
        refused: "Dabei kann ich nicht helfen. Möchten Sie etwas anderes wissen?",
        handoff: "Ich übergebe an einen Menschen.",
    },
    Texts {
        locale: "fr",
        found: "Voici ce que j’ai trouvé :",
        unknown: "Je n’ai pas trouvé de réponse à cette question.",
        form: "Laissez-nous vos coordonnées et nous vous répondrons.",
        greeting: "Bonjour ! Comment puis-je vous aider ?",
        thanks: "Je vous en prie !",
        refused: "Je ne peux pas vous aider à ce sujet. Souhaitez-vous savoir autre chose ?",
        handoff: "Je passe le relais à une personne.",
    },
    Texts {
        locale: "es",
        found: "Esto es lo que he encontrado:",
        unknown: "No he encontrado una respuesta a esa pregunta.",
        form: "Déjenos sus datos y nos pondremos en contacto con usted.",
        greeting: "¡Hola! ¿En qué puedo ayudarle?",
        thanks: "¡De nada!",
        refused: "No puedo ayudarle con eso. ¿Desea saber otra cosa?",
        handoff: "Le paso con una persona.",
    },
    Texts {
        locale: "it",
        found: "Ecco che cosa ho trovato:",
        unknown: "Non ho trovato una risposta a questa domanda.",
        form: "Lasci i Suoi dati e La ricontatteremo.",
        greeting: "Salve! Come posso aiutarLa?",
        thanks: "Prego!",
        refused: "Non posso aiutarLa in questo. Desidera sapere altro?",
        handoff: "La metto in contatto con una persona.",
    },
    Texts {
        locale: "pt-BR",
        found: "Isto é o que encontrei:",
        unknown: "Não encontrei uma resposta para isso.",
        form: "Deixe seus dados e entraremos em contato.",
        greeting: "Olá! Como posso ajudar?",
        thanks: "De nada!",
        refused: "Não posso ajudar com isso. Deseja saber mais alguma coisa?",
        handoff: "Vou transferir você para uma pessoa.",
    },
    Texts {
        locale: "nl",
        found: "Dit heb ik gevonden:",
        unknown: "Daar heb ik geen antwoord op gevonden.",
        form: "Laat uw gegevens achter, dan nemen wij contact met u op.",
        greeting: "Hallo! Waarmee kan ik u helpen?",
        thanks: "Graag gedaan!",
        refused: "Daar kan ik niet mee helpen. Wilt u nog iets anders weten?",
        handoff: "Ik draag u over aan een medewerker.",
    },
    Texts {
        locale: "pl",
        found: "Oto, co udało się znaleźć:",
        unknown: "Nie udało się znaleźć odpowiedzi na to pytanie.",
        form: "Proszę zostawić swoje dane, a skontaktujemy się z Państwem.",
        greeting: "Dzień dobry! W czym mogę pomóc?",
        thanks: "Nie ma za co!",
        refused: "W tej sprawie nie mogę pomóc. Czy mogę pomóc w czymś innym?",
        handoff: "Przekazuję rozmowę konsultantowi.",
    },
    Texts {
        locale: "tr",
        found: "Bulduklarım şunlar:",
        unknown: "Buna bir yanıt bulamadım.",
        form: "Bilgilerinizi bırakın, size geri dönelim.",
        greeting: "Merhaba! Size nasıl yardımcı olabilirim?",
        thanks: "Rica ederim!",
        refused: "Bu konuda yardımcı olamıyorum. Başka bir şey öğrenmek ister misiniz?",
        handoff: "Sizi bir yetkiliye aktarıyorum.",
    },
    Texts {
        locale: "ar",
        found: "هذا ما وجدته:",
        unknown: "لم أجد إجابة عن ذلك.",
        form: "اترك بياناتك وسنعاود التواصل معك.",
        greeting: "مرحبًا! كيف يمكنني مساعدتك؟",
        thanks: "على الرحب والسعة!",
        refused: "لا يمكنني المساعدة في ذلك. هل تود معرفة شيء آخر؟",
        handoff: "سأحوّلك إلى أحد أفراد الفريق.",
    },
    Texts {
        locale: "he",
        found: "זה מה שמצאתי:",
        unknown: "לא מצאתי תשובה לכך.",
        form: "אפשר להשאיר פרטים ונחזור אליך.",
        greeting: "שלום! איך אפשר לעזור?",
        thanks: "בשמחה!",
        refused: "אין באפשרותי לעזור בכך. יש עוד משהו שברצונך לדעת?",
        handoff: "השיחה מועברת לנציג אנושי.",
    },
    Texts {
        locale: "ja",
        found: "次の情報が見つかりました。",
        unknown: "それについての回答は見つかりませんでした。",
        form: "ご連絡先をご記入いただければ、こちらからご連絡いたします。",
        greeting: "こんにちは。どのようなご用件でしょうか。",
        thanks: "どういたしまして。",
        refused: "申し訳ありませんが、その件はお手伝いできません。ほかにお知りになりたいことはありますか。",
        handoff: "担当者におつなぎします。",
    },
    Texts {
        locale: "zh-Hans",
        found: "我找到了以下内容：",
        unknown: "我没有找到这个问题的答案。",
        form: "请留下您的联系方式，我们会与您联系。",
        greeting: "您好！有什么可以帮您？",
        thanks: "不客气！",
        refused: "这个我无法帮忙。您还想了解其他内容吗？",
        handoff: "正在为您转接人工服务。",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_locale_of_the_widget_has_its_sentences() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../widget/locales");
        let mut seen = 0;
        for file in std::fs::read_dir(folder).expect("the widget's locales") {
            let name = file.expect("a file").file_name().into_string().expect("a name");
            let locale = name.strip_suffix(".json").expect("JSON");
            assert_eq!(texts(locale).locale, locale);
            seen += 1;
        }
        assert_eq!(seen + 1, TEXTS.len());
    }

    #[test]
    fn no_sentence_is_missing_or_forgotten_in_english() {
        let all = |texts: &Texts| {
            [
                texts.found,
                texts.unknown,
                texts.form,
                texts.greeting,
                texts.thanks,
                texts.refused,
                texts.handoff,
            ]
        };
        for texts in &TEXTS[1..] {
            for (own, english) in all(texts).into_iter().zip(all(&TEXTS[0])) {
                assert!(!own.is_empty() && own != english, "{}: {own}", texts.locale);
            }
        }
        for (locale, wanted) in
            [("", "en"), ("xx", "en"), ("pt", "pt-BR"), ("zh-CN", "zh-Hans"), ("DE_at", "de")]
        {
            assert_eq!(texts(locale).locale, wanted, "{locale}");
        }
    }
}
