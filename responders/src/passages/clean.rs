//! Markup that is no text for readers: tags of HTML and of templates, comments, images, marks of notes. A table in HTML
//! becomes one of Markdown. Code stays as it is.

use std::borrow::Cow;

use super::markdown::{Fences, front_matter, lines};

/// Names of HTML tags that are no text. Others may be placeholders such as `<name>`, which are.
const TAGS: [&str; 66] = [
    "a",
    "abbr",
    "article",
    "aside",
    "b",
    "blockquote",
    "br",
    "button",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "font",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "i",
    "iframe",
    "img",
    "ins",
    "kbd",
    "li",
    "main",
    "mark",
    "nav",
    "ol",
    "p",
    "picture",
    "pre",
    "s",
    "section",
    "small",
    "source",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
    "video",
    "q",
];
/// The bytes of a tag, a comment or an image; what is longer is text.
const MAX_MARKUP: usize = 4_000;

/// A Markdown text without that markup.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let has_markup = ["<", "{%", "{{", ":::", "!["].iter().any(|mark| text.contains(mark));
    if !has_markup {
        return Cow::Borrowed(text);
    }
    let (first, _) = front_matter(text);
    let mut cleaned = String::with_capacity(text.len());
    cleaned.push_str(&text[..first]);
    // Stretches of text between code are cleaned whole, because tags and comments reach over lines.
    let mut fences = Fences::default();
    let mut stretch = first;
    let mut is_code = false;
    for line in lines(&text[first..], first) {
        let holds = fences.hold(line.text);
        if holds != is_code {
            push(&mut cleaned, &text[stretch..line.start], is_code);
            stretch = line.start;
            is_code = holds;
        }
    }
    push(&mut cleaned, &text[stretch..], is_code);
    Cow::Owned(cleaned)
}

fn push(cleaned: &mut String, stretch: &str, is_code: bool) {
    if is_code {
        cleaned.push_str(stretch);
    } else {
        Cleaner { out: cleaned, cells: 0, rows: 0, table: 0 }.take(stretch);
    }
}

struct Cleaner<'a> {
    out: &'a mut String,
    /// Tables that are open.
    table: usize,
    /// Rows of the open table, and cells of the open row.
    rows: usize,
    cells: usize,
}

impl Cleaner<'_> {
    fn take(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find(['<', '{', '!', '`', ':', '\n']) {
            self.text(&rest[..at]);
            rest = &rest[at..];
            let taken = self.markup(rest);
            if taken == 0 {
                let mark = rest.chars().next().map_or(1, char::len_utf8);
                self.text(&rest[..mark]);
                rest = &rest[mark..];
            } else {
                rest = &rest[taken..];
            }
        }
        self.text(rest);
    }

    /// Text; in a table its cells are of one line.
    fn text(&mut self, text: &str) {
        if self.table == 0 {
            self.out.push_str(text);
        } else if self.cells > 0 {
            self.out.extend(
                text.chars().map(|letter| if matches!(letter, '\n' | '\r' | '|') { ' ' } else { letter }),
            );
        }
    }

    /// The bytes of markup at the beginning of a text; 0 where there is none.
    fn markup(&mut self, text: &str) -> usize {
        let up_to = |mark: &str, from: usize| {
            let end = text.get(from..)?.find(mark)? + from + mark.len();
            (end <= MAX_MARKUP).then_some(end)
        };
        let end = if text.starts_with('`') {
            // Code in a line stays, with what looks like a tag in it.
            let end = up_to("`", 1).filter(|end| !text[..*end].contains('\n'));
            if let Some(end) = end {
                self.text(&text[..end]);
            }
            end
        } else if text.starts_with("<!--") {
            up_to("-->", 4)
        } else if text.starts_with("{%") {
            up_to("%}", 2)
        } else if text.starts_with("{{") {
            up_to("}}", 2)
        } else if text.starts_with("![") {
            let close = up_to("](", 2);
            close.and_then(|close| up_to(")", close)).filter(|end| !text[..*end].contains("\n\n"))
        } else if text.starts_with(":::") {
            self.note(text)
        } else if text.starts_with('<') {
            up_to(">", 1).filter(|end| self.tag(&text[1..*end - 1]))
        } else {
            None
        };
        end.unwrap_or(0)
    }

    /// The mark of a note at the beginning of a line, with the name of its kind but without its title.
    fn note(&self, text: &str) -> Option<usize> {
        let line = text.find('\n').unwrap_or(text.len());
        let begins_line = self.out.is_empty() || self.out.ends_with('\n') || self.out.ends_with("\n ");
        let name = text[..line].trim_start_matches(':').trim_start();
        let kind =
            name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').unwrap_or(name.len());
        let end = line - name.len() + kind;
        begins_line.then_some(end)
    }

    /// Whether a tag is no text, whose position in a table is noted then.
    fn tag(&mut self, inner: &str) -> bool {
        let name = inner.trim_start_matches('/');
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        let folded = name.to_ascii_lowercase();
        // Attributes have values, but for a few.
        let attributes = after.trim_end_matches('/').trim();
        let has_end = attributes.is_empty() || after.starts_with(char::is_whitespace);
        let ends_well =
            has_end && (attributes.contains('=') || matches!(attributes, "" | "open" | "controls"));
        let is_component =
            name.starts_with(|first: char| first.is_ascii_uppercase()) && inner.contains(['=', '/']);
        if !ends_well || inner.contains('<') || !(TAGS.contains(&folded.as_str()) || is_component) {
            return false;
        }
        let closes = inner.starts_with('/');
        match folded.as_str() {
            "table" if closes => {
                self.end_row();
                self.table = self.table.saturating_sub(1);
                self.out.push_str("\n\n");
            }
            "table" => {
                self.out.push_str("\n\n");
                (self.table, self.rows, self.cells) = (self.table + 1, 0, 0);
            }
            "tr" if self.table > 0 => self.end_row(),
            "td" | "th" if self.table > 0 && !closes => {
                self.out.push_str(if self.cells == 0 { "| " } else { " | " });
                self.cells += 1;
            }
            "br" | "li" | "p" | "div" if self.table > 0 => self.text(" "),
            "br" => self.out.push('\n'),
            "li" if !closes && self.table == 0 => self.out.push_str("\n- "),
            _ => {}
        }
        true
    }

    fn end_row(&mut self) {
        if self.cells == 0 {
            return;
        }
        self.out.push_str(" |\n");
        if self.rows == 0 {
            self.out.push_str(&"|---".repeat(self.cells));
            self.out.push_str("|\n");
        }
        self.rows += 1;
        self.cells = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_is_no_text() {
        for (text, cleaned) in [
            ("plain & simple: 1 < 2", "plain & simple: 1 < 2"),
            (":::note\nMind the gap.\n:::\nEnd", "\nMind the gap.\n\nEnd"),
            (":::warning Hot!\nMind.", " Hot!\nMind."),
            ("{% page \"/leave/\" %}Leave {{ name }}now", "Leave now"),
            ("<aside class=\"x\">Mind <b>it</b>.</aside>", "Mind it."),
            ("<!-- not\nshown -->Shown", "Shown"),
            ("See ![an image](a.png) here", "See  here"),
            (
                "Use <name> or <https://example.com>, 1<a and b>2",
                "Use <name> or <https://example.com>, 1<a and b>2",
            ),
            ("`<b>` stays, `{{x}}` too", "`<b>` stays, `{{x}}` too"),
            ("```html\n<b>x</b>\n```\n<i>y</i>", "```html\n<b>x</b>\n```\ny"),
            ("---\ntitle: <b>\n---\n<b>x</b>", "---\ntitle: <b>\n---\nx"),
            ("<Tabs value=\"a\">text</Tabs>", "text"),
            ("<ul><li>one</li><li>two</li></ul>", "\n- one\n- two"),
            ("a: :::b", "a: :::b"),
            ("<b", "<b"),
            ("![a", "![a"),
        ] {
            assert_eq!(clean(text), cleaned, "{text}");
        }
    }

    #[test]
    fn tables_become_rows() {
        let table = "Prices\n<table>\n <tr><th>Size</th><th>Price</th></tr>\n <tr>\n  <td>a | b</td>\n  <td>4<br>5</td>\n </tr>\n</table>\nEnd";
        assert_eq!(clean(table), "Prices\n\n\n| Size | Price |\n|---|---|\n| a   b    | 4 5   |\n\n\n\nEnd");
    }

    proptest! {
        #[test]
        fn any_text_is_cleaned(text in "(<|>|/|b|table|tr|td|\\{%|%\\}|!\\[|\\]\\(|\\)|:::|`|\n|x| |\\PC){0,60}") {
            let cleaned = clean(&text).into_owned();
            prop_assert!(cleaned.len() <= text.len() * 4 + 16);
        }
    }
}
