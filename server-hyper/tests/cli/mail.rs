//! E-mail to visitors by a real server, through an SMTP server of the test.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::support::{Sandbox, Serving, within};
use super::widget_listener::{PAGE, TEXT, agent, ask};

/// An SMTP server without TLS. While it `refuses`, it wants messages to come later.
struct Smtp {
    port: String,
    taken: Arc<Mutex<Vec<String>>>,
    refuses: Arc<AtomicBool>,
}

impl Smtp {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let smtp = Smtp { port, taken: Arc::default(), refuses: Arc::default() };
        let (taken, refuses) = (Arc::clone(&smtp.taken), Arc::clone(&smtp.refuses));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (taken, refuses) = (Arc::clone(&taken), Arc::clone(&refuses));
                std::thread::spawn(move || converse(&stream.unwrap(), &taken, &refuses));
            }
        });
        smtp
    }

    fn settings(&self) -> Vec<&str> {
        let mut settings =
            vec!["--smtp-host", "127.0.0.1", "--smtp-tls", "none", "--mail-from", "desk@example.com"];
        settings.extend(["--smtp-port", &self.port]);
        settings
    }

    /// The messages, with their lines joined again.
    fn taken(&self) -> Vec<String> {
        self.taken.lock().unwrap().iter().map(|it| it.replace("=\r\n", "").replace("=3D", "=")).collect()
    }
}

fn converse(stream: &TcpStream, taken: &Mutex<Vec<String>>, refuses: &AtomicBool) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let say = |text: &str| { stream }.write_all(format!("{text}\r\n").as_bytes()).ok();
    say("220 localhost")?;
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
        match line.trim_end() {
            "DATA" => {
                say("354 go on")?;
                let (mut data, mut next) = (String::new(), String::new());
                while reader.read_line(&mut next).is_ok_and(|read| read > 0) && next != ".\r\n" {
                    data.push_str(&next);
                    next.clear();
                }
                taken.lock().unwrap().push(data);
                say("250 taken")?;
            }
            command if command.starts_with("RCPT") && refuses.load(Ordering::Relaxed) => say("450 later")?,
            _ => say("250 ok")?,
        };
        line.clear();
    }
    Some(())
}

/// A visitor who left an address and was replied to; the token of the conversation.
fn a_reply(sandbox: &Sandbox, server: &Serving, text: &str) -> Value {
    let turn = json!({
        "v": 1, "agentId": "acme", "id": "5f0c2b1e-8a47-4d3b-9c61-000000000001", "token": null, "text": "Hello?",
        "lead": { "fields": { "primaryEmail": "zoe@example.org" }, "consent": null },
    });
    let headers = [TEXT, ("Origin", PAGE), ("Accept", "application/json")];
    let answer = ask(server, "POST", "/widget/v1/turns", &headers, &turn.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let session = answer.json()["data"]["session"].clone();
    let id = session["conversation"].as_str().unwrap();
    sandbox.run(&["conversations", "reply", id, text, "--agent", "acme", "--name", "Zoë"]).done();
    session
}

const LISTEN: [&str; 2] = ["--widget-listen", "127.0.0.1:0"];
const TEST: [&str; 3] = ["mail", "test", "you@example.org"];

fn joined<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

/// The part of a message between two texts.
fn between<'a>(message: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = message.split_once(begin).unwrap_or_else(|| panic!("no {begin} in {message}"));
    rest.split_once(end).unwrap().0
}

#[test]
fn a_reply_reaches_a_visitor_who_has_left() {
    let (sandbox, smtp) = (Sandbox::with(vec![("OPENAPI_MAIL_DELAY", "1s".to_owned())]), Smtp::start());
    agent(&sandbox, "acme", &["emailReplies=true"]);
    let server = sandbox.serve(&joined(&LISTEN, &smtp.settings()));
    let session = a_reply(&sandbox, &server, "We open at <nine>.");
    within(Duration::from_secs(20), "an e-mail", || !smtp.taken().is_empty());
    let message = smtp.taken().remove(0);
    assert!(
        message.contains("> We open at <nine>.") && message.contains("We open at &lt;nine&gt;."),
        "{message}"
    );
    let origin = server.widget.clone().unwrap();

    // Opening a page changes nothing.
    let path = between(&message, &format!("List-Unsubscribe: <{origin}"), ">");
    for _ in 0..2 {
        let page = ask(&server, "GET", path, &[], "");
        assert_eq!(page.status, 200, "{}", page.text());
        assert!(page.text().contains("<form method=\"post\">"), "{}", page.text());
        assert!(page.header("content-security-policy").unwrap().contains("form-action 'self'"));
    }
    let (path_of_page, link) =
        between(&message, &format!("\r\n{origin}/resume/"), "\r\n").split_once('#').unwrap();
    let page = ask(&server, "GET", &format!("/resume/{path_of_page}"), &[], "");
    assert!(
        page.status == 200 && page.text().contains("data-key=\"service-widget:acme\""),
        "{}",
        page.text()
    );
    for file in ["/resume.js", "/mail.css", "/chat/acme?lang=ar"] {
        assert_eq!(ask(&server, "GET", file, &[], "").status, 200, "{file}");
    }
    assert_eq!(ask(&server, "POST", "/resume/acme", &[], "").status, 405);
    assert_eq!(ask(&server, "GET", "/resume/no%3Cagent", &[], "").status, 404);
    assert_eq!(ask(&server, "GET", "/unsubscribe/un1.x", &[], "").status, 404);

    // The link continues the conversation, once.
    let body = json!({ "agentId": "acme", "link": link }).to_string();
    let headers = [TEXT, ("Origin", origin.as_str())];
    let opened = ask(&server, "POST", "/widget/v1/links", &headers, &body);
    assert_eq!(opened.status, 200, "{}", opened.text());
    assert_eq!(opened.json()["data"]["session"]["conversation"], session["conversation"]);
    assert_eq!(ask(&server, "POST", "/widget/v1/links", &headers, &body).status, 401);

    // One click, as a mail program sends it.
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let stopped = ask(&server, "POST", path, &[form], "List-Unsubscribe=One-Click");
    assert_eq!(stopped.status, 200, "{}", stopped.text());
    let id = session["conversation"].as_str().unwrap();
    sandbox.run(&["conversations", "reply", id, "Or ten.", "--agent", "acme"]).done();
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(smtp.taken().len(), 1, "unsubscribed");
    let (_, metrics) = server.ops("/metrics");
    assert!(metrics.contains("openapi_mail_attempts_total{outcome=\"sent\"} 1"), "{metrics}");
    assert_eq!(server.end(), 0);
}

#[test]
fn an_email_survives_a_killed_server_and_one_that_cannot_be_reached() {
    let (sandbox, smtp) = (Sandbox::with(vec![("OPENAPI_MAIL_DELAY", "1s".to_owned())]), Smtp::start());
    agent(&sandbox, "acme", &["emailReplies=true"]);
    smtp.refuses.store(true, Ordering::Relaxed);
    let settings = smtp.settings();
    let flags = joined(&LISTEN, &settings);
    let mut server = sandbox.serve(&flags);
    a_reply(&sandbox, &server, "At nine.");
    within(Duration::from_secs(20), "a failure", || {
        server.ops("/readyz").1.contains("e-mail to visitors cannot be sent")
    });
    assert!(server.ops("/readyz").1.starts_with("ready\n"), "a server without e-mail is ready");
    server.child.kill().unwrap();
    server.wait();
    smtp.refuses.store(false, Ordering::Relaxed);
    // The pause after the failed attempt is a minute.
    let server = sandbox.serve(&flags);
    within(Duration::from_secs(100), "an e-mail", || !smtp.taken().is_empty());
    assert_eq!(server.end(), 0);
    assert_eq!(smtp.taken().len(), 1);
}

#[test]
fn settings_are_tried_with_a_message() {
    let (sandbox, smtp) = (Sandbox::new(), Smtp::start());
    let test = joined(&TEST, &smtp.settings());
    assert_eq!(sandbox.run(&test).done(), "the SMTP server has taken the message\n");
    assert!(smtp.taken()[0].contains("To: you@example.org") && !smtp.taken()[0].contains("List-Unsubscribe"));
    smtp.refuses.store(true, Ordering::Relaxed);
    let said = sandbox.run(&test).failed(1);
    assert!(said.contains("450") && said.contains("smtp_host"), "{said}");
    let refused: [(&[&str], &str); 7] = [
        (&["--smtp-host", "smtp.example.com"], "set mail_from"),
        (&["--smtp-host", "smtp.example.com:25", "--mail-from", "a@b.co"], "smtp_port"),
        (&["--smtp-host", "smtp.example.com", "--mail-from", "A <a@b.co>"], "without a name"),
        (&["--smtp-host", "h.example", "--mail-from", "a@b.co", "--smtp-user", "a"], "smtp_password_file"),
        (&["--smtp-host", "h.example", "--mail-from", "a@b.co", "--smtp-tls", "ssl"], "write starttls"),
        (&["--smtp-host", "h.example", "--mail-from", "a@b.co", "--smtp-ca", "/nowhere"], "cannot read"),
        (&[], "set smtp_host"),
    ];
    for (flags, error) in refused {
        let said = sandbox.run(&joined(&TEST, flags)).failed(2);
        assert!(said.contains(error), "{flags:?}: {said}");
    }
    let without_pages = sandbox.run(&joined(&["config", "check"], &smtp.settings())).failed(2);
    assert!(without_pages.contains("set widget_listen"), "{without_pages}");
}
