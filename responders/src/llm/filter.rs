//! Filters the text of a model: citations of existing passages and links to known hosts reach the visitor; everything else
//! that would be a citation or a link is text.
//!
//! It works on chunks as they arrive. It holds back what it cannot decide yet, at most [`MAX_LENGTH`] bytes. What
//! is taken out never brings together what stood around it: a link must not arise from its halves.

use std::collections::BTreeSet;

use super::links::Links;

/// Bytes of an address; the widget makes no link of what is longer.
const MAX_LENGTH: usize = 2_100;
/// Bytes of the text of a link that is waited for.
const MAX_LABEL: usize = 240;
/// Bytes of a list of citations.
const MAX_CITATION: usize = 40;

/// The filter of one reply.
pub(super) struct Filter {
    links: Links,
    /// Passages that may be cited, from 1.
    passages: u32,
    pending: String,
    cited: BTreeSet<u32>,
    has_no_answer: bool,
    out: String,
    last: Option<char>,
    /// Spaces that are given out only before something else.
    spaces: usize,
    /// Whether something was taken out in front of what comes next.
    is_seam: bool,
    /// Whether the line has an odd number of backticks so far, and whether it belongs to fenced code.
    is_span: bool,
    is_fence: bool,
    line: String,
}

/// How the filter treats a position in the text.
enum Step {
    /// So many bytes are text.
    Text(usize),
    /// The decision needs more text.
    Wait,
    /// So many bytes are handled.
    Done(usize),
}

impl Filter {
    pub(super) fn new(links: Links, passages: usize) -> Self {
        Filter {
            links,
            passages: u32::try_from(passages).unwrap_or(u32::MAX),
            pending: String::new(),
            cited: BTreeSet::new(),
            has_no_answer: false,
            out: String::new(),
            last: None,
            spaces: 0,
            is_seam: false,
            is_span: false,
            is_fence: false,
            line: String::new(),
        }
    }

    /// The passages that were cited so far.
    pub(super) fn cited(&self) -> &BTreeSet<u32> {
        &self.cited
    }

    /// Whether the model has said that it does not know.
    pub(super) fn has_no_answer(&self) -> bool {
        self.has_no_answer
    }

    /// Takes more text, and gives what can be shown.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.pending.push_str(text);
        self.advance(false);
        std::mem::take(&mut self.out)
    }

    /// What is left at the end.
    pub(super) fn finish(&mut self) -> String {
        self.advance(true);
        std::mem::take(&mut self.out)
    }

    fn advance(&mut self, is_end: bool) {
        let pending = std::mem::take(&mut self.pending);
        let mut at = 0;
        while at < pending.len() {
            match self.step(&pending[at..], is_end) {
                Step::Text(bytes) => {
                    self.show(&pending[at..at + bytes]);
                    at += bytes;
                }
                Step::Done(bytes) => at += bytes,
                Step::Wait => break,
            }
        }
        self.pending = pending[at..].to_owned();
    }

    /// What the text begins with.
    fn step(&mut self, text: &str, is_end: bool) -> Step {
        let is_mark = |letter: char| matches!(letter, '[' | ']' | '\\' | '<' | '!' | 'h' | 'H');
        let first = text.find(is_mark).unwrap_or(text.len());
        if first > 0 {
            return Step::Text(first);
        }
        // Whether what is there could still become something.
        let is_open = |limit: usize| !is_end && text.len() < limit;
        match text.as_bytes()[0] {
            b'\\' => match text[1..].chars().next() {
                Some(next) if next.is_ascii_punctuation() => Step::Text(2),
                None if !is_end => Step::Wait,
                _ => Step::Text(1),
            },
            b'!' if text.len() == 1 && !is_end => Step::Wait,
            b'!' if text[1..].starts_with('[') => match self.link(&text[1..], is_open(MAX_LENGTH)) {
                Step::Done(bytes) => Step::Done(bytes + 1),
                Step::Wait => Step::Wait,
                Step::Text(_) => Step::Text(1),
            },
            b'[' => match self.citation(text, is_open(MAX_CITATION)) {
                Step::Text(_) => self.link(text, is_open(MAX_LENGTH)),
                other => other,
            },
            b']' => self.target(text, is_open(MAX_LENGTH)),
            b'<' => self.autolink(text, is_open(MAX_LENGTH)),
            b'h' | b'H' => self.address(text, is_open(MAX_LENGTH)),
            _ => Step::Text(1),
        }
    }

    /// Numbers in brackets.
    fn citation(&mut self, text: &str, is_open: bool) -> Step {
        let inner = text[1..].find(|letter: char| !matches!(letter, '0'..='9' | ',' | ' '));
        let Some(end) = inner.map(|inner| inner + 1) else {
            return if is_open { Step::Wait } else { Step::Text(1) };
        };
        let is_numbers = text[1..end].contains(|letter: char| letter.is_ascii_digit());
        if !text[end..].starts_with(']') || !is_numbers || end > MAX_CITATION {
            return Step::Text(1);
        }
        match text[end + 1..].chars().next() {
            None if is_open => return Step::Wait,
            Some('(') => return Step::Text(1),
            _ => {}
        }
        if self.is_span || self.is_fence {
            return Step::Text(end + 1);
        }
        let numbers: Vec<Option<u32>> =
            text[1..end].split([',', ' ']).filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect();
        let mut is_gone = true;
        for number in numbers {
            match number {
                Some(number) if (1..=self.passages).contains(&number) => {
                    self.cited.insert(number);
                    self.show(&format!("[{number}]"));
                    is_gone = false;
                }
                Some(0) => self.has_no_answer = true,
                _ => {}
            }
        }
        if is_gone {
            self.spaces = 0;
            self.is_seam = true;
        }
        Step::Done(end + 1)
    }

    /// `[label](address)`; where the address is not known the label alone is left.
    fn link(&mut self, text: &str, is_open: bool) -> Step {
        let label = text[1..].find(['[', ']', '\n']).map(|end| end + 1);
        let end = match label {
            Some(end) if text[end..].starts_with(']') && end <= MAX_LABEL => end,
            None if is_open && text.len() <= MAX_LABEL => return Step::Wait,
            _ => return Step::Text(1),
        };
        match text[end + 1..].chars().next() {
            Some('(') => {}
            None if is_open => return Step::Wait,
            _ => return Step::Text(1),
        }
        let after = &text[end + 2..];
        let Some(address) = address_of(after) else {
            return if is_open { Step::Wait } else { Step::Text(1) };
        };
        if !has_scheme(address) || self.links.allow(address) {
            return Step::Text(1);
        }
        let Some(close) = close(after) else {
            return if is_open && !after.contains('\n') { Step::Wait } else { Step::Text(1) };
        };
        let waiting = std::mem::replace(&mut self.pending, text[1..end].to_owned());
        self.is_seam = true;
        self.advance(true);
        self.pending = waiting;
        self.is_seam = true;
        Step::Done(end + 2 + close + 1)
    }

    /// `](address)` after a text that was already shown.
    fn target(&mut self, text: &str, is_open: bool) -> Step {
        match text[1..].chars().next() {
            Some('(') => {}
            None if is_open => return Step::Wait,
            _ => return Step::Text(1),
        }
        let after = &text[2..];
        match address_of(after) {
            Some(address) if !has_scheme(address) || self.links.allow(address) => Step::Text(2),
            None if is_open => Step::Wait,
            // Too long for the widget, or for us; with the bracket escaped it is no link.
            _ => {
                self.show("]\\(");
                Step::Done(2)
            }
        }
    }

    /// `<address>`.
    fn autolink(&mut self, text: &str, is_open: bool) -> Step {
        match (may_have_scheme(&text[1..]), address_of(&text[1..])) {
            (false, _) => Step::Text(1),
            (true, None) if is_open => Step::Wait,
            (true, Some(address)) if self.links.allow(address) => Step::Text(1),
            (true, _) => {
                self.show("\\<");
                Step::Done(1)
            }
        }
    }

    /// An address in the midst of text. The widget makes links of those with `http` or `https`.
    fn address(&mut self, text: &str, is_open: bool) -> Step {
        let starts =
            |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
        let scheme = ["http://", "https://"].into_iter().find(|scheme| starts(scheme));
        let Some(scheme) = scheme else {
            let is_begun = ["http://", "https://"].iter().any(|scheme| begins(scheme, text));
            return if is_begun && is_open { Step::Wait } else { Step::Text(1) };
        };
        let end = text.find(|letter: char| letter.is_whitespace() || "<>[]\"`|\\".contains(letter));
        if end.is_none() && is_open {
            return Step::Wait;
        }
        let address = &text[..end.unwrap_or(text.len())];
        if self.links.allow(address) {
            return Step::Text(address.len());
        }
        self.show(&text[..scheme.len() - 2]);
        self.show("\\//");
        Step::Done(scheme.len())
    }

    /// Gives out text.
    fn show(&mut self, text: &str) {
        for letter in text.chars() {
            if letter == ' ' {
                self.spaces += 1;
                self.is_seam = false;
                continue;
            }
            let is_joint = letter.is_alphanumeric() || matches!(letter, ':' | '/');
            if self.is_seam
                && self.spaces == 0
                && is_joint
                && self.last.is_some_and(|last| !last.is_whitespace())
            {
                self.spaces = 1;
            }
            self.is_seam = false;
            self.out.extend(std::iter::repeat_n(' ', std::mem::take(&mut self.spaces)));
            self.out.push(letter);
            self.last = Some(letter);
            self.follow_code(letter);
        }
    }

    /// Whether what comes next is code.
    fn follow_code(&mut self, letter: char) {
        if letter == '\n' {
            self.is_span = false;
            self.line.clear();
            return;
        }
        self.is_span ^= letter == '`';
        if self.line.len() < 3 {
            self.line.push(letter);
            self.is_fence ^= self.line == "```" || self.line == "~~~";
        }
    }
}

/// The address that a text begins with, perhaps in angle brackets; none when its end is not there.
fn address_of(text: &str) -> Option<&str> {
    let text = text.strip_prefix('<').unwrap_or(text);
    let end = text.find(|letter: char| letter.is_whitespace() || matches!(letter, '<' | '>' | '(' | ')'))?;
    Some(&text[..end])
}

/// Where the bracket closes that was opened before a text.
fn close(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            '\n' => return None,
            _ => {}
        }
    }
    None
}

const SCHEMES: [&str; 4] = ["http://", "https://", "mailto:", "tel:"];

fn has_scheme(address: &str) -> bool {
    SCHEMES
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// Whether a text has a scheme, or is the beginning of one.
fn may_have_scheme(text: &str) -> bool {
    has_scheme(text) || SCHEMES.iter().any(|scheme| begins(scheme, text))
}

/// Whether `whole` begins with a text that is shorter.
fn begins(whole: &str, text: &str) -> bool {
    whole.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
}
