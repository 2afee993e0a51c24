//! What arrives, and what does not.

use conversations::mail::{MailError, Mailer, OutgoingMail};
use mail::{InvalidSmtp, SmtpMailer, SmtpSettings, SmtpTls};
use mail_parser::{HeaderValue, MessageParser};
use proptest::prelude::*;

use crate::server::{Behaviour, Server};

fn settings(server: &Server, tls: SmtpTls) -> SmtpSettings {
    SmtpSettings {
        host: "localhost".to_owned(),
        port: server.port,
        tls,
        credentials: None,
        authorities: Some(server.authority.clone()),
        from: "desk@example.com".parse().expect("an address"),
        reply_to: Some("team@example.com".parse().expect("an address")),
    }
}

fn a_mail() -> OutgoingMail {
    OutgoingMail {
        id: "697dcf3a5b0c8e14d2f7a690.4".to_owned(),
        to: "zoe@example.org".parse().expect("an address"),
        from_name: "Réception".to_owned(),
        subject: "Neue Antwort von Zoë".to_owned(),
        text: "Grüße\n.\nA line with a dot.\n".to_owned(),
        html: "<p>Grüße</p>\n".to_owned(),
        unsubscribe_url: Some("https://w.example/unsubscribe/un1.x?lang=de".to_owned()),
    }
}

fn mailer(settings: SmtpSettings) -> SmtpMailer {
    SmtpMailer::new(settings).expect("settings")
}

#[tokio::test]
async fn a_message_arrives_as_it_was_written() {
    for (tls, behaviour) in [
        (SmtpTls::None, Behaviour::default()),
        (SmtpTls::StartTls, Behaviour { starttls: true, ..Behaviour::default() }),
        (SmtpTls::Tls, Behaviour { implicit_tls: true, ..Behaviour::default() }),
    ] {
        let server = Server::start(behaviour).await;
        mailer(settings(&server, tls)).send(&a_mail()).await.expect("sent");
        let [received] = server.messages().try_into().expect("one message");
        assert!(received.commands.contains(&"EHLO example.com".to_owned()), "{received:?}");
        assert!(
            received.commands.iter().any(|it| it.starts_with("RCPT TO:<zoe@example.org>")),
            "{received:?}"
        );
        let message = MessageParser::new().parse(&received.data).expect("a message");
        assert_eq!(message.subject(), Some("Neue Antwort von Zoë"));
        assert_eq!(message.message_id(), Some("697dcf3a5b0c8e14d2f7a690.4@example.com"));
        let from = message.from().and_then(|it| it.first()).expect("a sender");
        assert_eq!((from.name(), from.address()), (Some("Réception"), Some("desk@example.com")));
        let reply_to = message.reply_to().and_then(|it| it.first()).expect("an address");
        assert_eq!(reply_to.address(), Some("team@example.com"));
        assert_eq!(message.body_text(0).map(|it| it.replace("\r\n", "\n")).as_deref(), Some(&*a_mail().text));
        assert!(message.body_html(0).is_some_and(|it| it.contains("<p>Grüße</p>")));
        let text = String::from_utf8_lossy(&received.data);
        for header in [
            "List-Unsubscribe: <https://w.example/unsubscribe/un1.x?lang=de>\r\n",
            "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n",
            "Auto-Submitted: auto-generated\r\n",
        ] {
            assert!(text.contains(header), "{text}");
        }
    }
}

#[tokio::test]
async fn a_server_says_whether_an_attempt_is_worth_repeating() {
    for (command, reply, is_permanent) in [
        ("RCPT", "550 5.1.1 no such user", true),
        ("RCPT", "450 4.2.1 try again later", false),
        ("DATA", "554 5.7.1 refused", true),
        ("MAIL", "451 4.3.0 later", false),
        ("AUTH", "535 5.7.8 wrong password", false),
    ] {
        let behaviour =
            Behaviour { implicit_tls: true, reply: Some((command, reply)), ..Behaviour::default() };
        let server = Server::start(behaviour).await;
        let mut settings = settings(&server, SmtpTls::Tls);
        settings.credentials = Some(("desk".to_owned(), "secret".to_owned()));
        let error = mailer(settings).send(&a_mail()).await.expect_err(reply);
        assert_eq!(matches!(error, MailError::Permanent(_)), is_permanent, "{reply}: {error:?}");
        assert!(error.to_string().contains(&reply[..3]) && !error.to_string().contains("secret"), "{error}");
        assert!(server.messages().is_empty());
    }
}

#[tokio::test]
async fn nothing_is_sent_without_the_promised_tls() {
    // A server, or somebody on the way, that offers no STARTTLS.
    let server = Server::start(Behaviour::default()).await;
    let error = mailer(settings(&server, SmtpTls::StartTls)).send(&a_mail()).await.expect_err("no TLS");
    assert!(matches!(error, MailError::Temporary(_)), "{error:?}");
    // A certificate that nobody vouches for.
    let server = Server::start(Behaviour { implicit_tls: true, ..Behaviour::default() }).await;
    let unknown = SmtpSettings { authorities: None, ..settings(&server, SmtpTls::Tls) };
    let error = mailer(unknown).send(&a_mail()).await.expect_err("an unknown authority");
    assert!(matches!(error, MailError::Temporary(_)), "{error:?}");
    assert!(server.messages().is_empty());
    let plain = SmtpSettings {
        credentials: Some(("desk".to_owned(), "secret".to_owned())),
        ..settings(&server, SmtpTls::None)
    };
    assert!(matches!(SmtpMailer::new(plain), Err(InvalidSmtp::PlainPassword)));
}

#[tokio::test]
async fn a_server_that_is_gone_is_asked_again() {
    let server = Server::start(Behaviour::default()).await;
    let mut gone = settings(&server, SmtpTls::None);
    gone.port = 1;
    let error = mailer(gone).send(&a_mail()).await.expect_err("no server");
    assert!(matches!(error, MailError::Temporary(_)), "{error:?}");
    let mut mail = a_mail();
    mail.to = "用户@例子.广告".parse().expect("an address");
    let error = mailer(settings(&server, SmtpTls::None)).send(&mail).await.expect_err("no SMTPUTF8");
    assert!(matches!(error, MailError::Permanent(_)), "{error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever people write, a message has the headers of every message, and one recipient.
    #[test]
    fn no_text_becomes_a_header(
        name in "[\\PC\r\n\t\"<>,;:@]{0,60}|x\r\nBcc: evil@example.net|\"<evil@example.net>",
        subject in "(.|\r|\n){0,200}|x\r\nBcc: evil@example.net\r\n\r\nbody",
        text in "(.|\r|\n){0,200}|x\r\n.\r\nMAIL FROM:<evil@example.net>",
        url in "https://w.example/.{0,40}|https://w.example/>\r\nBcc: evil@example.net",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let server = Server::start(Behaviour::default()).await;
            let mail = OutgoingMail {
                from_name: name.clone(), subject, text, unsubscribe_url: Some(url), ..a_mail()
            };
            mailer(settings(&server, SmtpTls::None)).send(&mail).await.expect("sent");
            let [received] = server.messages().try_into().expect("one message");
            let recipients = received.commands.iter().filter(|it| it.starts_with("RCPT")).count();
            assert_eq!(recipients, 1);
            assert!(received.commands.iter().all(|it| !it.contains("evil")), "{received:?}");
            let message = MessageParser::new().parse(&received.data).expect("a message");
            for header in message.headers() {
                let known = [
                    "Message-ID", "From", "To", "Subject", "Reply-To", "Auto-Submitted", "X-Auto-Response-Suppress",
                    "List-Unsubscribe", "List-Unsubscribe-Post", "MIME-Version", "Date", "Content-Type",
                ];
                let is_known = known.iter().any(|it| it.eq_ignore_ascii_case(header.name()));
                assert!(is_known, "{}", header.name());
            }
            assert!(message.bcc().is_none() && message.cc().is_none());
            let addresses = |value: Option<&mail_parser::Address<'_>>| value.map_or(0, |it| it.iter().count());
            assert_eq!((addresses(message.to()), addresses(message.from())), (1, 1));
            assert_eq!(message.from().and_then(|it| it.first()).and_then(|it| it.address()), Some("desk@example.com"));
            assert!(!matches!(message.header("From"), Some(HeaderValue::Empty) | None));
        });
    }
}
