//! The Markdown subset of replies, as the widget shows it, for e-mail. It is read as the widget reads it (`blocks.ts`
//! and `spans.ts`), except that images and numbers of sources are text; `examples.json` has what both must find.

mod blocks;
mod render;
mod spans;

pub(super) use blocks::Markdown;
pub(super) use render::{html, text};

#[cfg(test)]
mod tests {
    use super::blocks::Markdown;
    use super::spans::{Node, Span, Tag};

    /// An address that is safe to follow, as the widget sees it.
    fn safe(address: &str) -> Option<String> {
        let lower = address.to_ascii_lowercase();
        let schemes = ["http://", "https://", "mailto:", "tel:"];
        let rest = schemes.iter().find_map(|scheme| lower.strip_prefix(scheme))?;
        let is_safe =
            !rest.is_empty() && !rest.contains(|letter: char| letter.is_whitespace() || letter < ' ');
        is_safe.then(|| address.to_owned())
    }

    fn show(node: &Node) -> String {
        let children: String = node
            .children
            .iter()
            .map(|child| match child {
                Span::Text(text) => text.clone(),
                Span::Node(node) => show(node),
            })
            .collect();
        let tag = match &node.tag {
            Tag::Paragraph => "p",
            Tag::Break => "br",
            Tag::Rule => "hr",
            Tag::Strong => "strong",
            Tag::Emphasis => "em",
            Tag::Deleted => "del",
            Tag::Code => "code",
            Tag::CodeBlock => "pre",
            Tag::Quote => "blockquote",
            Tag::Bullets => "ul",
            Tag::Numbers(first) => &format!("ol={first}"),
            Tag::Item => "li",
            Tag::Table => "table",
            Tag::Row => "tr",
            Tag::Head => "th",
            Tag::Cell => "td",
            Tag::Link(address) => &format!("a={address}"),
        };
        format!("{tag}({children})")
    }

    /// `widget/tests/unit/mail.test.mjs` has found the same.
    #[test]
    fn texts_are_read_as_the_widget_reads_them() {
        let examples: Vec<(String, String)> =
            serde_json::from_str(include_str!("examples.json")).expect("examples");
        for (text, expected) in &examples {
            let found: String = Markdown::read(text, &safe).0.iter().map(show).collect();
            assert_eq!(found, *expected, "{text:?}");
        }
    }
}
