//! The texts of e-mail and its pages, in the languages of the widget. `{title}` is the title of the agent, `{name}` the
//! name of a person.

/// The texts in a language.
#[derive(Debug)]
pub(super) struct MailTexts {
    /// The BCP 47 tag.
    pub(super) tag: &'static str,
    pub(super) subject: &'static str,
    /// Before what a person wrote whose name is known.
    pub(super) wrote: &'static str,
    /// The same without a name.
    pub(super) team_wrote: &'static str,
    /// The button that leads back to the conversation.
    pub(super) resume: &'static str,
    pub(super) once: &'static str,
    pub(super) why: &'static str,
    pub(super) stop: &'static str,
    /// Shown instead of the conversation after a link was used.
    pub(super) ended: &'static str,
    pub(super) failed: &'static str,
    /// Before the button that stops e-mail.
    pub(super) ask_stop: &'static str,
    pub(super) stopped: &'static str,
    /// Shown for an altered link.
    pub(super) invalid: &'static str,
}

impl MailTexts {
    /// The direction of the script.
    pub(super) fn direction(&self) -> &'static str {
        if matches!(self.tag, "ar" | "he") { "rtl" } else { "ltr" }
    }

    /// The texts in a language, with or without its region; English where there are none.
    pub(super) fn of_locale(locale: &str) -> &'static MailTexts {
        let language = locale.split(['-', '_']).next().unwrap_or_default();
        let is = |texts: &&MailTexts| texts.tag.eq_ignore_ascii_case(language);
        TEXTS.iter().find(is).unwrap_or(&TEXTS[0])
    }
}

pub(super) static TEXTS: [MailTexts; 13] = [
    MailTexts {
        tag: "en",
        subject: "New reply from {title}",
        wrote: "{name} replied to you:",
        team_wrote: "A person replied to you:",
        resume: "Continue the conversation",
        once: "The link works once, for 7 days. Do not forward it: it opens your conversation.",
        why: "You receive this e-mail because this address was given in the chat of {title}.",
        stop: "Unsubscribe",
        ended: "This link was used or has expired.",
        failed: "That did not work. Please try again.",
        ask_stop: "Do you want to receive no more e-mails about your conversations?",
        stopped: "You will receive no more e-mails about your conversations.",
        invalid: "This link is not valid.",
    },
    MailTexts {
        tag: "de",
        subject: "Neue Antwort von {title}",
        wrote: "{name} hat Ihnen geantwortet:",
        team_wrote: "Ein Mensch hat Ihnen geantwortet:",
        resume: "Unterhaltung fortsetzen",
        once: "Der Link gilt einmal, 7 Tage lang. Leiten Sie ihn nicht weiter: Er öffnet Ihre Unterhaltung.",
        why: "Sie erhalten diese E-Mail, weil diese Adresse im Chat von {title} angegeben wurde.",
        stop: "Abbestellen",
        ended: "Dieser Link wurde bereits verwendet oder ist abgelaufen.",
        failed: "Das hat nicht geklappt. Bitte versuchen Sie es noch einmal.",
        ask_stop: "Möchten Sie keine E-Mails mehr zu Ihren Unterhaltungen erhalten?",
        stopped: "Sie erhalten keine E-Mails mehr zu Ihren Unterhaltungen.",
        invalid: "Dieser Link ist ungültig.",
    },
    MailTexts {
        tag: "fr",
        subject: "Nouvelle réponse de {title}",
        wrote: "{name} vous a répondu :",
        team_wrote: "Une personne vous a répondu :",
        resume: "Poursuivre la conversation",
        once: "Le lien fonctionne une seule fois, pendant 7 jours. Ne le transférez pas : il ouvre votre conversation.",
        why: "Vous recevez cet e-mail parce que cette adresse a été indiquée dans le chat de {title}.",
        stop: "Se désabonner",
        ended: "Ce lien a déjà été utilisé ou a expiré.",
        failed: "Cela n’a pas fonctionné. Veuillez réessayer.",
        ask_stop: "Voulez-vous ne plus recevoir d’e-mails au sujet de vos conversations ?",
        stopped: "Vous ne recevrez plus d’e-mails au sujet de vos conversations.",
        invalid: "Ce lien n’est pas valide.",
    },
    MailTexts {
        tag: "es",
        subject: "Nueva respuesta de {title}",
        wrote: "{name} le ha respondido:",
        team_wrote: "Una persona le ha respondido:",
        resume: "Continuar la conversación",
        once: "El enlace funciona una sola vez, durante 7 días. No lo reenvíe: abre su conversación.",
        why: "Recibe este correo porque esta dirección se indicó en el chat de {title}.",
        stop: "Cancelar la suscripción",
        ended: "Este enlace ya se ha utilizado o ha caducado.",
        failed: "No ha funcionado. Inténtelo de nuevo.",
        ask_stop: "¿Desea no recibir más correos sobre sus conversaciones?",
        stopped: "No recibirá más correos sobre sus conversaciones.",
        invalid: "Este enlace no es válido.",
    },
    MailTexts {
        tag: "it",
        subject: "Nuova risposta da {title}",
        wrote: "{name} le ha risposto:",
        team_wrote: "Una persona le ha risposto:",
        resume: "Continua la conversazione",
        once: "Il link funziona una sola volta, per 7 giorni. Non lo inoltri: apre la sua conversazione.",
        why: "Riceve questa e-mail perché questo indirizzo è stato indicato nella chat di {title}.",
        stop: "Annulla l’iscrizione",
        ended: "Questo link è già stato usato o è scaduto.",
        failed: "Non ha funzionato. Riprovi.",
        ask_stop: "Non desidera più ricevere e-mail sulle sue conversazioni?",
        stopped: "Non riceverà più e-mail sulle sue conversazioni.",
        invalid: "Questo link non è valido.",
    },
    MailTexts {
        tag: "pt",
        subject: "Nova resposta de {title}",
        wrote: "{name} respondeu a você:",
        team_wrote: "Uma pessoa respondeu a você:",
        resume: "Continuar a conversa",
        once: "O link funciona uma única vez, por 7 dias. Não o encaminhe: ele abre a sua conversa.",
        why: "Você recebe este e-mail porque este endereço foi informado no chat de {title}.",
        stop: "Cancelar inscrição",
        ended: "Este link já foi usado ou expirou.",
        failed: "Não funcionou. Tente novamente.",
        ask_stop: "Deseja não receber mais e-mails sobre as suas conversas?",
        stopped: "Você não receberá mais e-mails sobre as suas conversas.",
        invalid: "Este link não é válido.",
    },
    MailTexts {
        tag: "nl",
        subject: "Nieuw antwoord van {title}",
        wrote: "{name} heeft u geantwoord:",
        team_wrote: "Een medewerker heeft u geantwoord:",
        resume: "Gesprek voortzetten",
        once: "De link werkt één keer, 7 dagen lang. Stuur hem niet door: hij opent uw gesprek.",
        why: "U ontvangt deze e-mail omdat dit adres in de chat van {title} is opgegeven.",
        stop: "Afmelden",
        ended: "Deze link is al gebruikt of verlopen.",
        failed: "Dat is niet gelukt. Probeer het opnieuw.",
        ask_stop: "Wilt u geen e-mails meer ontvangen over uw gesprekken?",
        stopped: "U ontvangt geen e-mails meer over uw gesprekken.",
        invalid: "Deze link is ongeldig.",
    },
    MailTexts {
        tag: "pl",
        subject: "Nowa odpowiedź od {title}",
        wrote: "{name} odpowiada:",
        team_wrote: "Pracownik odpowiada:",
        resume: "Kontynuuj rozmowę",
        once: "Link działa jeden raz, przez 7 dni. Proszę go nie przekazywać: otwiera Państwa rozmowę.",
        why: "Otrzymują Państwo tę wiadomość, ponieważ ten adres podano na czacie {title}.",
        stop: "Zrezygnuj z wiadomości",
        ended: "Ten link został już użyty lub wygasł.",
        failed: "Nie udało się. Proszę spróbować ponownie.",
        ask_stop: "Czy nie chcą Państwo otrzymywać wiadomości o swoich rozmowach?",
        stopped: "Nie będą Państwo otrzymywać wiadomości o swoich rozmowach.",
        invalid: "Ten link jest nieprawidłowy.",
    },
    MailTexts {
        tag: "tr",
        subject: "{title}: yeni yanıt",
        wrote: "{name} size yanıt verdi:",
        team_wrote: "Bir görevli size yanıt verdi:",
        resume: "Görüşmeye devam et",
        once: "Bağlantı 7 gün boyunca bir kez çalışır. Başkasına iletmeyin: görüşmenizi açar.",
        why: "Bu e-postayı, bu adres {title} sohbetinde verildiği için alıyorsunuz.",
        stop: "Abonelikten çık",
        ended: "Bu bağlantı kullanılmış veya süresi dolmuş.",
        failed: "Olmadı. Lütfen yeniden deneyin.",
        ask_stop: "Görüşmeleriniz hakkında artık e-posta almak istemiyor musunuz?",
        stopped: "Görüşmeleriniz hakkında artık e-posta almayacaksınız.",
        invalid: "Bu bağlantı geçerli değil.",
    },
    MailTexts {
        tag: "ar",
        subject: "رد جديد من {title}",
        wrote: "ردّ عليك {name}:",
        team_wrote: "ردّ عليك أحد أعضاء الفريق:",
        resume: "متابعة المحادثة",
        once: "يعمل الرابط مرة واحدة خلال 7 أيام. لا تُعِد توجيهه: فهو يفتح محادثتك.",
        why: "تصلك هذه الرسالة لأن هذا العنوان ذُكر في محادثة {title}.",
        stop: "إلغاء الاشتراك",
        ended: "استُخدم هذا الرابط أو انتهت صلاحيته.",
        failed: "لم تنجح العملية. حاول مرة أخرى.",
        ask_stop: "هل تريد التوقف عن تلقي رسائل بشأن محادثاتك؟",
        stopped: "لن تصلك رسائل أخرى بشأن محادثاتك.",
        invalid: "هذا الرابط غير صالح.",
    },
    MailTexts {
        tag: "he",
        subject: "תשובה חדשה מאת {title}",
        wrote: "התקבלה תשובה מאת {name}:",
        team_wrote: "התקבלה תשובה מאת נציג:",
        resume: "המשך השיחה",
        once: "הקישור פועל פעם אחת, במשך 7 ימים. אין להעביר אותו הלאה: הוא פותח את השיחה שלך.",
        why: "הודעה זו נשלחה כי כתובת זו נמסרה בצ׳אט של {title}.",
        stop: "הסרה מרשימת התפוצה",
        ended: "הקישור כבר נוצל או שתוקפו פג.",
        failed: "הפעולה נכשלה. יש לנסות שוב.",
        ask_stop: "להפסיק לקבל הודעות על השיחות שלך?",
        stopped: "לא יישלחו עוד הודעות על השיחות שלך.",
        invalid: "הקישור אינו תקין.",
    },
    MailTexts {
        tag: "ja",
        subject: "{title}からの新しい返信",
        wrote: "{name}さんからの返信：",
        team_wrote: "担当者からの返信：",
        resume: "会話を続ける",
        once: "リンクは7日間、1回だけ有効です。会話が開きますので、転送しないでください。",
        why: "このメールは、{title}のチャットでこのアドレスが入力されたためお送りしています。",
        stop: "配信を停止する",
        ended: "このリンクは使用済みか、有効期限が切れています。",
        failed: "うまくいきませんでした。もう一度お試しください。",
        ask_stop: "会話に関するメールの配信を停止しますか？",
        stopped: "会話に関するメールは今後送信されません。",
        invalid: "このリンクは無効です。",
    },
    MailTexts {
        tag: "zh",
        subject: "{title} 的新回复",
        wrote: "{name} 回复了您：",
        team_wrote: "工作人员回复了您：",
        resume: "继续对话",
        once: "该链接在 7 天内仅可使用一次。请勿转发：它会打开您的对话。",
        why: "您收到此邮件，是因为有人在 {title} 的聊天中填写了此地址。",
        stop: "退订",
        ended: "该链接已被使用或已过期。",
        failed: "操作失败，请重试。",
        ask_stop: "您不想再收到有关您对话的邮件吗？",
        stopped: "您将不会再收到有关您对话的邮件。",
        invalid: "该链接无效。",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_with_or_without_its_region() {
        for (locale, tag) in [("de-AT", "de"), ("PT-br", "pt"), ("zh-Hans", "zh"), ("den", "en"), ("", "en")]
        {
            assert_eq!(MailTexts::of_locale(locale).tag, tag, "{locale}");
        }
        let is_rtl = |texts: &&MailTexts| texts.direction() == "rtl";
        assert_eq!(TEXTS.iter().filter(is_rtl).map(|texts| texts.tag).collect::<Vec<_>>(), ["ar", "he"]);
    }

    #[test]
    fn the_names_have_their_slots() {
        for texts in &TEXTS {
            assert!(texts.subject.contains("{title}") && texts.why.contains("{title}"), "{}", texts.tag);
            assert!(texts.wrote.contains("{name}") && !texts.team_wrote.contains('{'), "{}", texts.tag);
        }
    }
}
