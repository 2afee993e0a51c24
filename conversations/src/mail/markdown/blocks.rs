//! The blocks of a text: paragraphs, lists, quotes, tables, code.

use super::spans::{Allow, Node, Span, Tag, spans};

/// How deep elements nest.
const MAX_DEPTH: usize = 6;

/// A text that was read.
pub(in crate::mail) struct Markdown(pub(super) Vec<Node>);

impl Markdown {
    /// Reads a text. `allow` returns the address of a link that is allowed, in the form to link to.
    pub(in crate::mail) fn read(text: &str, allow: Allow<'_>) -> Self {
        let lines: Vec<&str> = text.split('\n').collect();
        Markdown(blocks(&lines, 0, allow))
    }
}

/// What begins a block.
enum Start<'a> {
    /// The row of marks that opens code.
    Fence(&'a str),
    Heading,
    Quote,
    Rule,
    Item {
        number: Option<&'a str>,
    },
}

/// What begins at the beginning of a line, and the length of its marks.
fn start(line: &str) -> Option<(Start<'_>, usize)> {
    let indent = line.bytes().take(4).take_while(|byte| *byte == b' ').count();
    let rest = Some(&line[indent..]).filter(|_| indent < 4)?;
    let first = rest.chars().next()?;
    let row = rest.len() - rest.trim_start_matches(first).len();
    let after = |length: usize| rest[length..].chars().next();
    match first {
        '`' | '~' if row >= 3 => return Some((Start::Fence(&rest[..row]), indent + row)),
        '#' if row <= 6 && after(row).is_none_or(char::is_whitespace) => {
            let space = after(row).map_or(0, char::len_utf8);
            return Some((Start::Heading, indent + row + space));
        }
        '>' => return Some((Start::Quote, indent + 1 + usize::from(after(1) == Some(' ')))),
        '-' | '*' | '_' => {
            let marks = rest.matches(first).count();
            if marks >= 3 && rest.chars().all(|it| it == first || it == ' ' || it == '\t') {
                return Some((Start::Rule, line.len()));
            }
        }
        _ => {}
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, length) = match first {
        '-' | '*' | '+' => (None, 1),
        _ if (1..10).contains(&digits) && matches!(after(digits), Some('.' | ')')) => {
            (Some(&rest[..digits]), digits + 1)
        }
        _ => return None,
    };
    match after(length) {
        None => Some((Start::Item { number }, indent + length)),
        Some(' ') => Some((Start::Item { number }, indent + length + 1)),
        Some(_) => None,
    }
}

fn is_table(lines: &[&str], at: usize) -> bool {
    let Some(below) = lines.get(at + 1).map(|line| line.trim()) else { return false };
    // `|:--`: the row below the heads.
    let dashes = below.strip_prefix('|').unwrap_or(below).trim_start_matches([' ', '\t']);
    let dashes = dashes.strip_prefix(':').unwrap_or(dashes);
    let is_row = dashes.starts_with('-') && dashes.chars().all(|letter| "-:| \t".contains(letter));
    lines[at].contains('|') && below.contains('|') && is_row
}

fn begins(lines: &[&str], at: usize) -> bool {
    start(lines[at]).is_some() || is_table(lines, at)
}

fn blocks(lines: &[&str], depth: usize, allow: Allow<'_>) -> Vec<Node> {
    let inline = |text: &str| spans(text, MAX_DEPTH - depth, allow);
    let mut out = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if line.trim().is_empty() {
            at += 1;
            continue;
        }
        let (tag, children) = match start(line) {
            Some((Start::Fence(fence), _)) => code_block(lines, &mut at, fence),
            Some((Start::Heading, length)) => {
                at += 1;
                let heading = inline(line[length..].trim());
                (Tag::Paragraph, vec![Node::span(Tag::Strong, heading)])
            }
            Some((Start::Rule, _)) => {
                at += 1;
                (Tag::Rule, Vec::new())
            }
            Some((Start::Quote, _)) => {
                let mut quoted = Vec::new();
                while let Some((Start::Quote, length)) = lines.get(at).and_then(|line| start(line)) {
                    quoted.push(&lines[at][length..]);
                    at += 1;
                }
                (Tag::Quote, inner(&quoted, depth, allow))
            }
            Some((Start::Item { number }, _)) => {
                let tag = number.map_or(Tag::Bullets, |number| Tag::Numbers(number.to_owned()));
                (tag, items(lines, &mut at, depth, allow))
            }
            None if is_table(lines, at) => (Tag::Table, table(lines, &mut at, &inline)),
            None => {
                let begin = at;
                at += 1;
                while at < lines.len() && !lines[at].trim().is_empty() && !begins(lines, at) {
                    at += 1;
                }
                let lines: Vec<&str> = lines[begin..at].iter().map(|line| line.trim()).collect();
                (Tag::Paragraph, inline(&lines.join("\n")))
            }
        };
        out.push(Node { tag, children });
    }
    out
}

/// The blocks in a quote or an item.
fn inner(lines: &[&str], depth: usize, allow: Allow<'_>) -> Vec<Span> {
    if depth + 2 < MAX_DEPTH {
        return blocks(lines, depth + 1, allow).into_iter().map(Span::Node).collect();
    }
    vec![Node::span(Tag::Paragraph, vec![Span::Text(lines.join("\n"))])]
}

fn code_block(lines: &[&str], at: &mut usize, fence: &str) -> (Tag, Vec<Span>) {
    *at += 1;
    let begin = *at;
    while *at < lines.len() && !lines[*at].trim().starts_with(fence) {
        *at += 1;
    }
    let code = lines[begin..*at].join("\n");
    *at += 1;
    (Tag::CodeBlock, vec![Span::Text(code)])
}

/// The items of a list, which all have numbers or none.
fn items(lines: &[&str], at: &mut usize, depth: usize, allow: Allow<'_>) -> Vec<Span> {
    let mut items = Vec::new();
    let mut is_numbered = None;
    while let Some((Start::Item { number }, length)) = lines.get(*at).and_then(|line| start(line)) {
        if *is_numbered.get_or_insert(number.is_some()) != number.is_some() {
            break;
        }
        let mut of_item = vec![&lines[*at][length..]];
        *at += 1;
        let mut is_blank = false;
        while let Some(line) = lines.get(*at) {
            let text = line.trim_start();
            let indent = line.len() - text.len();
            if !text.is_empty() && indent < 2 && (is_blank || begins(lines, *at)) {
                break;
            }
            is_blank = text.is_empty();
            // Other white space may be longer than a byte.
            of_item.push(line.get(indent.min(length)..).unwrap_or(text));
            *at += 1;
        }
        let mut children = inner(&of_item, depth, allow);
        // The first paragraph of an item is its inline content.
        if let Some(Span::Node(Node { tag: Tag::Paragraph, .. })) = children.first()
            && let Span::Node(first) = children.remove(0)
        {
            children.splice(0..0, first.children);
        }
        items.push(Node::span(Tag::Item, children));
    }
    items
}

fn table(lines: &[&str], at: &mut usize, inline: &dyn Fn(&str) -> Vec<Span>) -> Vec<Span> {
    let row = |line: &str, tag: &Tag| {
        let line = line.trim();
        let line = line.strip_prefix('|').unwrap_or(line);
        let line = line.strip_suffix('|').unwrap_or(line);
        let cells = line.split('|').take(64).map(|cell| Node::span(tag.clone(), inline(cell.trim())));
        Node::span(Tag::Row, cells.collect())
    };
    let mut rows = vec![row(lines[*at], &Tag::Head)];
    *at += 2;
    while let Some(line) = lines.get(*at).filter(|line| line.contains('|')) {
        rows.push(row(line, &Tag::Cell));
        *at += 1;
    }
    rows
}
