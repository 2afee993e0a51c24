//! The e-mail about replies: a fixed template as plain text and as HTML. All that people wrote is data.

use super::escape::escape;
use super::markdown::{self, Markdown};
use super::texts::MailTexts;
use crate::links::{Link, LinkHosts, LinkTarget};
use crate::widget::direction::turns_text;
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
    /// The hosts that replies may link to; [`None`] for any.
    pub(super) link_hosts: Option<&'a LinkHosts>,
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
            text: Markdown::read(&lines(&message.text), &|address| self.link(address)),
        })
    }

    /// The address of a link, as the widget shows those of replies.
    fn link(&self, address: &str) -> Option<String> {
        let link = Link::read(address)?;
        let is_allowed = match (&link.target, self.link_hosts) {
            (LinkTarget::Web(host), Some(hosts)) => hosts.has(host),
            _ => true,
        };
        is_allowed.then_some(link.address)
    }

    fn text(&self, texts: &MailTexts, title: &str, replies: &[Said]) -> String {
        let mut text = String::new();
        for said in replies {
            let said_text = markdown::text(&said.text);
            let quoted: Vec<String> =
                said_text.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
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
            let text = markdown::html(&said.text);
            quotes.push_str(&format!(
                "<p class=\"head\" style=\"margin:0 0 8px;color:#495057\">{}</p>\n<div class=\"said\" \
                 style=\"margin:0 0 20px;padding:12px 16px 4px;background:#f1f3f5;border-radius:12px;\
                 overflow-wrap:anywhere;word-break:break-word\">{text}</div>\n",
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
    text: Markdown,
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
            link_hosts: None,
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

    #[test]
    fn markdown_is_shown_as_the_widget_shows_it() {
        let said = "**Yes**, at *nine*: see [the map](https://shop.example/map \"t\").\n\n1. Walk `in`\n2. Ask\n   - Ada\n\n\
            > quoted\n\n```\na < b\n```\n![a](https://x.example/1.png) help@shop.example <mailto:help@shop.example>";
        let mail = letter("en", "t", &[message(Speaker::Human, None, said)]).compose();
        for part in [
            "<strong>Yes</strong>, at <em>nine</em>: see <a href=\"https://shop.example/map\" rel=\"noopener",
            ">the map</a>.</p>",
            "start=\"1\"",
            ">in</code></li><li>Ask<ul ",
            "<li>Ada</li></ul></li></ol>",
            ">quoted</p></blockquote>",
            ">a &lt; b</pre>",
            ">a help@shop.example <a href=\"mailto:help@shop.example\" ",
        ] {
            assert!(mail.html.contains(part), "{part} in {}", mail.html);
        }
        let text = "> Yes, at nine: see the map (https://shop.example/map).\n>\n> 1. Walk in\n> 2. Ask\n>    - Ada\n>\n\
            > > quoted\n>\n> a < b\n>\n> a help@shop.example help@shop.example\n";
        assert!(mail.text.contains(text), "{}", mail.text);
    }

    #[test]
    fn links_lead_to_the_hosts_of_the_agent_alone() {
        let said = "[a](https://shop.example/) [b](https://evil.example/) https://evil.example <https://a.shop.example>";
        let hosts = LinkHosts::of(&["shop.example".to_owned(), "*.shop.example".to_owned()]);
        let messages = [message(Speaker::Human, None, said)];
        let mail = Letter { link_hosts: Some(&hosts), ..letter("en", "t", &messages) }.compose();
        assert!(
            mail.html.contains("href=\"https://shop.example/\"")
                && mail.html.contains("href=\"https://a.shop")
        );
        assert!(
            !mail.html.contains("href=\"https://evil") && mail.html.contains("b https://evil.example <a ")
        );
        assert!(
            mail.text.contains("> a (https://shop.example/) b https://evil.example https://a.shop.example\n")
        );
    }

    /// The tags of a document whose attributes have no angle brackets.
    fn tags(html: &str) -> Vec<&str> {
        let after = html.split('<').skip(1);
        after.map(|it| it.split_once('>').expect("the end of a tag").0).collect()
    }

    /// Whether each element ends in the one in which it began.
    fn is_balanced(tags: &[&str]) -> bool {
        let mut open = Vec::new();
        for tag in tags {
            let name = tag.split(' ').next().unwrap_or_default();
            match name.strip_prefix('/') {
                Some(name) if open.pop() != Some(name) => return false,
                None if !matches!(name, "br" | "hr" | "meta" | "!doctype") => open.push(name),
                _ => {}
            }
        }
        open.is_empty()
    }

    /// Whether a tag is one of a reply. The address of a link is one that is rebuilt, and its host is allowed.
    fn is_of_reply(tag: &str, hosts: Option<&LinkHosts>) -> bool {
        let of_link = tag.strip_prefix("a href=\"").and_then(|rest| rest.split_once("\" rel="));
        if let Some((address, rest)) = of_link {
            let address = address.replace("&amp;", "&").replace("&#39;", "'");
            let link = Link::read(&address).filter(|link| link.address == address);
            let is_allowed = link.is_some_and(|link| match (&link.target, hosts) {
                (LinkTarget::Web(host), Some(hosts)) => hosts.has(host),
                _ => true,
            });
            return is_allowed && rest == "\"noopener noreferrer nofollow\" style=\"color:inherit\"";
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        // Their styles are constant: no character of a reply is in them.
        let fixed = ["p", "code", "pre", "blockquote", "ul", "ol", "table", "th", "td", "hr"];
        let bare = ["br", "strong", "em", "del", "li", "tr"];
        let is_plain =
            attributes.bytes().all(|it| it.is_ascii_alphanumeric() || b" ;:,.#/=\"-".contains(&it));
        let is_known = |attribute: &str| matches!(attribute, "dir" | "style" | "start" | "");
        let names = attributes.split('"').step_by(2).all(|name| is_known(name.trim_matches([' ', '='])));
        bare.contains(&tag) || fixed.contains(&name) && is_plain && names
    }

    fn said() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[^\\p{L}\\p{N}]{0,12}",
            "(.|\n){0,40}",
            prop::sample::select(vec![
                "**",
                "*",
                "_",
                "~~",
                "`",
                "```\n",
                "[",
                "](",
                ")",
                "![",
                "<",
                ">",
                "\n",
                "\n\n",
                "- ",
                "1. ",
                "> ",
                "# ",
                "|",
                "|---|",
                "\\",
                " ",
                "a",
                "&lt;b&gt;",
                "\"",
                "'",
                "</div>",
                "<script>",
                "<img src=x onerror=y>",
                "[x](https://good.example/\"onclick=\"y)",
                "[x](https://evil.example/)",
                "https://good.example/?a&b='c'",
                "[x](javascript:alert(1))",
                "[x](data:text/html,<b>)",
                "https://good.example@evil.example/",
                "<https://good.example/'onclick='>",
                "[x](https://good.example\\@evil.example)",
                "mailto:a'b@evil.example",
                "[x](<mailto:a\"b@evil.example>)",
                "tel:+49123",
                "[x](tel:+49123)",
                "\r\n.\r\nQUIT",
                "\u{202e}",
                "\0",
                "[x](https://good.example/ \"\\\" onclick=y\")",
                "9999999999. ",
                "123456789) ",
                "~~~ \"><script>\n",
            ])
            .prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

        /// What people write becomes the elements of Markdown and links to allowed hosts. It becomes no other element,
        /// no attribute, no header, and does not leave the element that it is in.
        #[test]
        fn hostile_texts_stay_texts(
            title in ".{0,80}|<script>.*|\\{name\\}\r\nBcc: a@b.co|\u{202e}x",
            name in proptest::option::of(".{0,40}|</div><a href=x>|\\{title\\}\r\nBcc: a@b.co"),
            said in said(),
            has_hosts in any::<bool>(),
        ) {
            let hosts = LinkHosts::of(&["good.example".to_owned()]);
            let hosts = has_hosts.then_some(&hosts);
            let messages = [message(Speaker::Human, name.as_deref(), &said)];
            let mail = Letter { link_hosts: hosts, ..letter("en", &title, &messages) }.compose();
            for header in [&mail.subject, &mail.from_name] {
                prop_assert!(!header.contains(['\r', '\n', '\0', '\u{2028}', '\u{85}']), "{header:?}");
            }
            let plain = letter("en", "t", &[message(Speaker::Human, None, "")]).compose().html;
            let (tags, of_template) = (tags(&mail.html), tags(&plain));
            prop_assert!(is_balanced(&tags), "{}", mail.html);
            let mut template = of_template.iter().filter(|tag| !tag.starts_with('/')).peekable();
            for tag in tags.iter().filter(|tag| !tag.starts_with('/')) {
                let is_of_template = template.next_if(|next| *next == tag).is_some();
                prop_assert!(is_of_template || is_of_reply(tag, hosts), "<{tag}> in {}", mail.html);
            }
            prop_assert_eq!(template.next(), None, "the template is whole: {}", mail.html);
            let texts = mail.html.split('<').skip(1).map(|it| it.split_once('>').expect("a tag").1);
            for text in texts {
                prop_assert!(!text.contains(['>', '"', '\'']) , "{text:?}");
            }
            prop_assert!(!mail.html.contains(turns_text) && !mail.text.contains(turns_text));
            // Every line of a reply is quoted, so none poses as one of the template.
            let quoted = mail.text.split_once("\n\n").and_then(|(_, rest)| rest.split_once("\n\nContinue"));
            let (quoted, _) = quoted.unwrap_or((">", ""));
            prop_assert!(quoted.lines().all(|line| line.starts_with('>') || line.is_empty()), "{quoted:?}");
        }
    }
}
