//! What was read of a reply, as HTML and as plain text.

use super::blocks::Markdown;
use super::spans::{Node, Span, Tag};
use crate::links::Link;
use crate::mail::escape::escape;

/// The HTML of a text. It has no element but those below, and no attribute but theirs.
pub(in crate::mail) fn html(markdown: &Markdown) -> String {
    let mut html = String::new();
    for node in &markdown.0 {
        element(node, &mut html);
    }
    html
}

fn element(node: &Node, html: &mut String) {
    let address;
    let (open, close) = match &node.tag {
        Tag::Break => return html.push_str("<br>"),
        Tag::Rule => return html.push_str(RULE),
        Tag::Paragraph => (PARAGRAPH, "</p>"),
        Tag::Strong => ("<strong>", "</strong>"),
        Tag::Emphasis => ("<em>", "</em>"),
        Tag::Deleted => ("<del>", "</del>"),
        Tag::Code => (CODE, "</code>"),
        Tag::CodeBlock => (CODE_BLOCK, "</pre>"),
        Tag::Quote => (QUOTE, "</blockquote>"),
        Tag::Bullets => (BULLETS, "</ul>"),
        Tag::Numbers(first) => {
            address = format!("<ol dir=\"auto\" start=\"{first}\" {LIST}>");
            (address.as_str(), "</ol>")
        }
        Tag::Item => ("<li>", "</li>"),
        Tag::Table => (TABLE, "</table>"),
        Tag::Row => ("<tr>", "</tr>"),
        Tag::Head => (HEAD, "</th>"),
        Tag::Cell => (CELL, "</td>"),
        Tag::Link(target) => {
            address = format!("<a href=\"{}\" {LINK}>", escape(target));
            (address.as_str(), "</a>")
        }
    };
    html.push_str(open);
    for child in &node.children {
        match child {
            Span::Text(text) if node.tag == Tag::CodeBlock => html.push_str(&escape(text)),
            // A paragraph that is nested too deep has its line breaks in its text.
            Span::Text(text) => html.push_str(&escape(text).replace('\n', "<br>")),
            Span::Node(node) => element(node, html),
        }
    }
    html.push_str(close);
}

const PARAGRAPH: &str = "<p dir=\"auto\" style=\"margin:0 0 8px;unicode-bidi:plaintext\">";
const CODE: &str = "<code style=\"font:14px/1.5 ui-monospace,Consolas,Menlo,monospace\">";
const CODE_BLOCK: &str = "<pre dir=\"ltr\" style=\"margin:0 0 8px;font:14px/1.5 ui-monospace,Consolas,Menlo,monospace;\
    text-align:left;white-space:pre-wrap\">";
const QUOTE: &str =
    "<blockquote style=\"margin:0 0 8px;padding:0 12px;border-inline-start:3px solid #868e96\">";
/// The attribute of lists.
const LIST: &str = "style=\"margin:0 0 8px;padding-inline-start:24px\"";
const BULLETS: &str = "<ul dir=\"auto\" style=\"margin:0 0 8px;padding-inline-start:24px\">";
const TABLE: &str = "<table dir=\"auto\" style=\"margin:0 0 8px;border-collapse:collapse\">";
const HEAD: &str = "<th style=\"padding:4px 8px;border:1px solid #868e96;text-align:start\">";
const CELL: &str = "<td style=\"padding:4px 8px;border:1px solid #868e96\">";
const RULE: &str = "<hr style=\"border:0;border-top:1px solid #868e96;margin:8px 0 16px\">";
/// The attributes of links.
const LINK: &str = "rel=\"noopener noreferrer nofollow\" style=\"color:inherit\"";

/// The plain text of a text: without marks that only a program reads, and with the addresses of links.
pub(in crate::mail) fn text(markdown: &Markdown) -> String {
    let blocks: Vec<String> = markdown.0.iter().map(block).collect();
    blocks.join("\n\n")
}

fn block(node: &Node) -> String {
    match &node.tag {
        Tag::Rule => "---".to_owned(),
        Tag::Quote => indented(&content(&node.children), "> ", "> "),
        Tag::Bullets => list(&node.children, |_| "- ".to_owned()),
        Tag::Numbers(first) => {
            let first: u64 = first.parse().unwrap_or(1);
            list(&node.children, |at| format!("{}. ", first + at))
        }
        Tag::Table => {
            let row = |row: &Span| match row {
                Span::Node(row) => row.children.iter().map(inline).collect::<Vec<_>>().join(" | "),
                Span::Text(text) => text.clone(),
            };
            node.children.iter().map(row).collect::<Vec<_>>().join("\n")
        }
        _ => content(&node.children),
    }
}

fn list(items: &[Span], mark: impl Fn(u64) -> String) -> String {
    let item = |(at, item): (u64, &Span)| {
        let mark = mark(at);
        let Span::Node(item) = item else { return String::new() };
        indented(&content(&item.children), &mark, &" ".repeat(mark.len()))
    };
    (0..).zip(items).map(item).collect::<Vec<_>>().join("\n")
}

/// Lines with something before the first one and before the others.
fn indented(text: &str, first: &str, others: &str) -> String {
    let lines = text.split('\n').enumerate().map(|(at, line)| {
        let before = if at == 0 { first } else { others };
        format!("{before}{line}").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Inline content, and the blocks after it, each on its own line.
fn content(spans: &[Span]) -> String {
    let mut text = String::new();
    for span in spans {
        match span {
            Span::Node(node) if is_block(&node.tag) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&block(node));
            }
            span => text.push_str(&inline(span)),
        }
    }
    text
}

const fn is_block(tag: &Tag) -> bool {
    matches!(
        tag,
        Tag::Paragraph
            | Tag::Rule
            | Tag::CodeBlock
            | Tag::Quote
            | Tag::Bullets
            | Tag::Numbers(_)
            | Tag::Table
    )
}

fn inline(span: &Span) -> String {
    let node = match span {
        Span::Text(text) => return text.clone(),
        Span::Node(node) => node,
    };
    let label: String = node.children.iter().map(inline).collect();
    match &node.tag {
        Tag::Break => "\n".to_owned(),
        Tag::Link(address) => {
            let is_shown = |shown: &str| Link::read(shown).is_some_and(|link| link.address == *address);
            let schemes = ["", "mailto:", "tel:"];
            let is_label = schemes.iter().any(|scheme| is_shown(&format!("{scheme}{label}")));
            if is_label { label } else { format!("{label} ({address})") }
        }
        _ => label,
    }
}
