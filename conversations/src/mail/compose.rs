//! The e-mail about replies: a fixed template as plain text and as HTML. All that people wrote is data.

use super::texts::MailTexts;
use crate::widget::request::turns_text;
use crate::{Message, Speaker};

/// The most characters of a message; the conversation has the rest.
const MAX_CHARACTERS: usize = 2_000;
/// The most messages of an e-mail: the last ones.
const MAX_MESSAGES: usize = 10;

/// What an e-mail is made of.
#[derive(Debug)]
pub(super) struct Letter<'a> {
    pub(super) locale: &'a str,
    /// The title of the agent.
    pub(super) title: &'a str,
    /// The colour of the button, `#rgb` or `#rrggbb`.
    pub(super) color: &'a str,
    pub(super) messages: &'a [Message],
    pub(super) resume_url: &'a str,
    pub(super) unsubscribe_url: &'a str,
}

/// The parts of an e-mail.
#[derive(Debug)]
pub(super) struct Composed {
    pub(super) from_name: String,
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) html: String,
}

impl Letter<'_> {
    pub(super) fn compose(&self) -> Composed {
        let texts = MailTexts::of_locale(self.locale);
        let title = line(self.title);
        let replies: Vec<Said> = self.replies().collect();
        Composed {
            subject: filled(texts.subject, "{title}", &title),
            text: self.text(texts, &title, &replies),
            html: self.html(texts, &title, &replies),
            from_name: title,
        }
    }

    fn replies(&self) -> impl Iterator<Item = Said> + '_ {
        let replies = self.messages.iter().filter(|message| message.role == Speaker::Human);
        let skipped = replies.clone().count().saturating_sub(MAX_MESSAGES);
        replies.skip(skipped).map(|message| Said {
            name: message.author.as_deref().map(line).filter(|name| !name.is_empty()),
            text: lines(&message.text),
        })
    }

    fn text(&self, texts: &MailTexts, title: &str, replies: &[Said]) -> String {
        let mut text = String::new();
        for said in replies {
            let quoted: Vec<String> = said.text.lines().map(|line| format!("> {line}")).collect();
            text.push_str(&format!("{}\n\n{}\n\n", said.head(texts), quoted.join("\n")));
        }
        let why = filled(texts.why, "{title}", title);
        text.push_str(&format!(
            "{}:\n{}\n\n{}\n\n-- \n{why}\n{}: {}\n",
            texts.resume, self.resume_url, texts.once, texts.stop, self.unsubscribe_url
        ));
        text
    }

    fn html(&self, texts: &MailTexts, title: &str, replies: &[Said]) -> String {
        let (color, on_color) = button_colors(self.color);
        let mut quotes = String::new();
        for said in replies {
            let text = escape(&said.text).replace('\n', "<br>");
            quotes.push_str(&format!(
                "<p class=\"head\" style=\"margin:0 0 8px;color:#495057\">{}</p>\n<div class=\"said\" dir=\"auto\" \
                 style=\"margin:0 0 20px;padding:12px 16px;background:#f1f3f5;border-radius:12px;\
                 overflow-wrap:anywhere;word-break:break-word;unicode-bidi:plaintext\">{text}</div>\n",
                escape(&said.head(texts))
            ));
        }
        let (resume_url, unsubscribe_url) = (escape(self.resume_url), escape(self.unsubscribe_url));
        let why = escape(&filled(texts.why, "{title}", title));
        let (tag, direction, title) = (texts.tag, texts.direction(), escape(title));
        let (resume, once, stop) = (escape(texts.resume), escape(texts.once), escape(texts.stop));
        format!(
            "<!doctype html>\n<html lang=\"{tag}\" dir=\"{direction}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             </head>\n<body style=\"margin:0;padding:0;background:#ffffff\">\n\
             <table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\"><tr>\
             <td align=\"center\" style=\"padding:24px 16px\">\n\
             <div dir=\"{direction}\" style=\"max-width:560px;text-align:start;color:#212529;\
             font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif\" class=\"body\">\n\
             <h1 style=\"margin:0 0 20px;font-size:20px;line-height:1.3;overflow-wrap:anywhere\">{title}</h1>\n{quotes}\
             <p style=\"margin:0 0 16px\"><a href=\"{resume_url}\" style=\"display:inline-block;padding:12px 20px;\
             border-radius:8px;background:{color};color:{on_color};text-decoration:none;font-weight:600\">{resume}</a>\
             </p>\n<p class=\"note\" style=\"margin:0 0 24px;font-size:14px;color:#5c636a\">{once}</p>\n\
             <hr style=\"border:0;border-top:1px solid #dee2e6;margin:0 0 12px\">\n\
             <p class=\"note\" style=\"margin:0;font-size:13px;color:#5c636a;overflow-wrap:anywhere\">{why} \
             <a href=\"{unsubscribe_url}\" style=\"color:inherit\">{stop}</a></p>\n\
             </div></td></tr></table>\n</body>\n</html>\n"
        )
    }
}

/// The colours where the reader prefers dark ones and the program shows them.
const STYLE: &str = "@media (prefers-color-scheme:dark){body{background:#141517!important}\
    .body{color:#e9ecef!important}.head{color:#ced4da!important}.said{background:#25262b!important}\
    .note{color:#adb5bd!important}hr{border-top-color:#373a40!important}}";

/// What a person wrote.
struct Said {
    name: Option<String>,
    text: String,
}

impl Said {
    fn head(&self, texts: &MailTexts) -> String {
        match &self.name {
            Some(name) => filled(texts.wrote, "{name}", name),
            None => texts.team_wrote.to_owned(),
        }
    }
}

/// A template with a value in its slot. The value is not searched for slots.
fn filled(template: &str, slot: &str, value: &str) -> String {
    template.replacen(slot, value, 1)
}

/// One line, without characters that break lines, are hidden or turn the direction of what follows.
fn line(text: &str) -> String {
    let shown = |letter: char| if letter.is_whitespace() { ' ' } else { letter };
    let text: String = text.chars().map(shown).filter(|it| is_shown(*it)).take(200).collect();
    text.trim().to_owned()
}

/// Lines, shortened.
fn lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}'], "\n");
    let mut shown = text.chars().filter(|it| *it == '\n' || *it == '\t' || is_shown(*it));
    let mut short: String = shown.by_ref().take(MAX_CHARACTERS).collect();
    if shown.next().is_some() {
        short.push('…');
    }
    short.trim().to_owned()
}

fn is_shown(letter: char) -> bool {
    !letter.is_control() && !turns_text(letter) && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Text as HTML, for elements and attributes in double quotes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The colour of the button and that of its text, the one of black and white that is easier to read on it.
fn button_colors(color: &str) -> (String, &'static str) {
    let digits = color.strip_prefix('#').unwrap_or_default();
    let digits: String = match digits.len() {
        3 => digits.chars().flat_map(|digit| [digit, digit]).collect(),
        _ => digits.to_owned(),
    };
    let is_hex = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = if is_hex { digits } else { "3b5bdb".to_owned() };
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&digits[at..at + 2], 16).unwrap_or(0)) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    let luminance = 0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4);
    // Contrast is (lighter + 0.05) / (darker + 0.05).
    let is_light = (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05);
    (format!("#{digits}"), if is_light { "#000000" } else { "#ffffff" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FollowUp, MessageState};
    use openapi_core::values::Timestamp;
    use proptest::prelude::*;

    fn message(role: Speaker, author: Option<&str>, text: &str) -> Message {
        Message {
            id: "697dcf3a5b0c8e14d2f7a690".parse().expect("an id"),
            seq: 1,
            role,
            text: text.to_owned(),
            state: MessageState::Complete,
            sources: Vec::new(),
            uploads: Vec::new(),
            feedback: 0,
            comment: None,
            at: Timestamp::from_millis(0),
            turn: None,
            author: author.map(str::to_owned),
            outcome: None,
            after: FollowUp::default(),
            usage: None,
            credits: 0,
        }
    }

    fn letter<'a>(locale: &'a str, title: &'a str, messages: &'a [Message]) -> Letter<'a> {
        Letter {
            locale,
            title,
            color: "#3b5bdb",
            messages,
            resume_url: "https://w.example/resume/acme#t",
            unsubscribe_url: "https://w.example/unsubscribe/u",
        }
    }

    #[test]
    fn a_reply_is_quoted_in_both_forms() {
        let messages = [
            message(Speaker::Agent, None, "I do not know."),
            message(Speaker::Human, Some("Zoë"), "Yes, at nine.\nSee you!"),
            message(Speaker::Human, None, "Or ten."),
        ];
        let mail = letter("en", "Front desk", &messages).compose();
        assert_eq!(
            (mail.subject.as_str(), mail.from_name.as_str()),
            ("New reply from Front desk", "Front desk")
        );
        for part in
            ["Zoë replied to you:\n\n> Yes, at nine.\n> See you!\n", "A person replied to you:\n\n> Or ten."]
        {
            assert!(mail.text.contains(part), "{}", mail.text);
        }
        assert!(mail.html.contains("Yes, at nine.<br>See you!"), "{}", mail.html);
        assert!(!mail.text.contains("I do not know") && !mail.html.contains("I do not know"));
        assert!(letter("he", "x", &messages).compose().html.contains("<html lang=\"he\" dir=\"rtl\">"));
    }

    #[test]
    fn long_messages_and_many_are_cut() {
        let long = "x".repeat(MAX_CHARACTERS + 1);
        let mail = letter("en", "t", &[message(Speaker::Human, None, &long)]).compose();
        assert!(mail.text.contains("x…") && mail.text.matches('x').count() < MAX_CHARACTERS + 10);
        let many: Vec<Message> =
            (0..30).map(|at| message(Speaker::Human, None, &format!("number {at}"))).collect();
        let mail = letter("en", "t", &many).compose();
        assert!(mail.text.contains("number 29") && mail.text.contains("number 20"));
        assert!(!mail.text.contains("number 19"));
    }

    #[test]
    fn the_text_of_the_button_is_readable() {
        for (color, on_color) in
            [("#fff", "#000000"), ("#000", "#ffffff"), ("#3b5bdb", "#ffffff"), ("#ffd43b", "#000000")]
        {
            assert_eq!(button_colors(color).1, on_color, "{color}");
        }
        assert_eq!(button_colors("red;}").0, "#3b5bdb");
    }

    proptest! {
        /// Nothing that people write becomes markup, a header or a second link.
        #[test]
        fn hostile_texts_stay_texts(
            title in ".{0,80}|<script>.*|\\{name\\}\r\nBcc: a@b.co|\u{202e}x",
            name in proptest::option::of(".{0,40}|</div><a href=x>|\\{title\\}\r\nBcc: a@b.co"),
            said in "(.|\n){0,200}|<img src=x onerror=y>|&lt;b&gt;|\r\n.\r\nQUIT",
        ) {
            let messages = [message(Speaker::Human, name.as_deref(), &said)];
            let mail = letter("en", &title, &messages).compose();
            for header in [&mail.subject, &mail.from_name] {
                prop_assert!(!header.contains(['\r', '\n', '\0', '\u{2028}', '\u{85}']), "{header:?}");
            }
            // The template has these tags whatever its data.
            let plain = letter("en", "t", &[message(Speaker::Human, None, "x")]).compose().html;
            let tags = |html: &str| html.replace("<br>", "").matches('<').count();
            prop_assert_eq!(tags(&mail.html), tags(&plain), "{}", mail.html);
            prop_assert_eq!(mail.html.matches("href=\"").count(), 2);
            prop_assert!(!mail.html.contains(turns_text) && !mail.text.contains(turns_text));
        }
    }
}
