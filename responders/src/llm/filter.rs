//! Filters the text of a model: citations of existing passages and links to known hosts reach the visitor; everything else
//! that would be a citation or a link is text. Links are rebuilt from their parsed addresses ([`Links::rebuild`]), and
//! [`Output`] lets no other arise. Code is left as it is.
//!
//! It works on chunks as they arrive. It holds back what it cannot decide yet, at most [`MAX_LENGTH`] bytes.

use std::collections::BTreeSet;

use super::code::{self, Beginning, Fence};
use super::links::Links;
use super::output::{Output, ends_address, ends_sentence};

/// The maximum size of a reply in bytes; the rest is dropped. A link or a line of code is dropped whole.
pub(super) const MAX_REPLY: usize = 64 << 10;
/// Bytes of a link or of code in a line that are waited for.
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
    out: Output,
    is_full: bool,
    line: Line,
    /// The code that the text is in, and the one that begins with the next line.
    fence: Option<Fence>,
    opening: Option<Fence>,
    /// Whether the widget may see code with tildes that has not ended: at the margin, or in a list.
    may_be_open: bool,
    may_be_open_in_list: bool,
    /// Whether the line before has nothing but blanks.
    is_after_blank: bool,
    /// Whether code in this line may be split into the cells of a table.
    has_split_code: bool,
}

/// What the rest of a line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Nothing of it was looked at.
    Beginning,
    Text,
    Code,
    /// What follows the marks of a fence.
    Info,
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
            out: Output::default(),
            is_full: false,
            line: Line::Beginning,
            fence: None,
            opening: None,
            may_be_open: false,
            may_be_open_in_list: false,
            is_after_blank: false,
            has_split_code: false,
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

    /// Whether the reply has its maximum size.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Takes more text, and gives what can be shown.
    pub(super) fn push(&mut self, text: &str) -> String {
        // Programs disagree about what these separate, or do not show them.
        let is_shown =
            |letter: &char| matches!(letter, '\n' | '\t') || !(letter.is_control() || *letter == '\u{feff}');
        self.pending.extend(text.chars().filter(is_shown));
        self.advance(false);
        self.out.take()
    }

    /// What is left at the end.
    pub(super) fn finish(&mut self) -> String {
        self.advance(true);
        self.out.take()
    }

    fn advance(&mut self, is_end: bool) {
        let pending = std::mem::take(&mut self.pending);
        let mut at = 0;
        while at < pending.len() && !self.is_full {
            let before = self.out.total();
            match self.step(&pending[at..], is_end) {
                Step::Text(bytes) => {
                    self.show(&pending[at..at + bytes]);
                    at += bytes;
                }
                Step::Done(bytes) => {
                    at += bytes;
                    self.keep_within_size(before);
                }
                Step::Wait => break,
            }
        }
        self.pending = pending[at..].to_owned();
    }

    /// Gives out text.
    fn show(&mut self, text: &str) {
        for letter in text.chars() {
            if self.is_full {
                return;
            }
            let before = self.out.total();
            self.out.text(letter);
            self.keep_within_size(before);
        }
    }

    fn keep_within_size(&mut self, before: usize) {
        if self.out.total() >= MAX_REPLY {
            self.is_full = true;
            if self.out.total() > MAX_REPLY {
                self.out.cut(before);
            }
        }
    }

    /// What the text begins with.
    fn step(&mut self, text: &str, is_end: bool) -> Step {
        if self.line == Line::Beginning
            && let Some(step) = self.beginning(text, is_end)
        {
            return step;
        }
        match self.line {
            Line::Code => return self.code_line(text),
            Line::Info => return self.info(text),
            Line::Beginning | Line::Text => {}
        }
        let is_mark = |letter: char| matches!(letter, '[' | ']' | '\\' | '<' | '!' | 'h' | 'H' | '`' | '\n');
        let first = text.find(is_mark).unwrap_or(text.len());
        if first > 0 {
            return Step::Text(first);
        }
        // Whether what is there could still become something.
        let is_open = |limit: usize| !is_end && text.len() < limit;
        match text.as_bytes()[0] {
            b'\n' => self.end_of_line(),
            b'\\' => self.backslash(text, is_end),
            b'`' => self.code(text, is_end),
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

    /// The beginning of a line, if it is a fence or a line of code.
    fn beginning(&mut self, text: &str, is_end: bool) -> Option<Step> {
        if let Some(fence) = self.fence {
            let (blanks, bytes) = code::indent(text);
            let rest = &text[bytes..];
            let Some(first) = rest.chars().next() else {
                self.line = Line::Code;
                return if is_end { None } else { self.wait() };
            };
            if first == '\n' || blanks >= fence.indent {
                return self.line_of_code(fence, text, bytes, is_end);
            }
            // A list may end here, and the code with it.
            (self.may_be_open, self.may_be_open_in_list) = (true, true);
            self.fence = None;
        }
        match Beginning::of(text, is_end) {
            Beginning::Unclear => self.wait(),
            Beginning::Other => {
                // The end of a list: nothing is taken out before a letter.
                if self.is_after_blank && text.starts_with(char::is_alphabetic) {
                    self.may_be_open_in_list = false;
                }
                self.line = Line::Text;
                None
            }
            Beginning::Fence { prefix, is_plain, own, length } => {
                let is_margin = (is_plain && prefix <= 1)
                    || (!self.out.has_begun() && text[..prefix].trim_start().is_empty());
                let is_indented = is_plain && prefix <= 3 && !self.may_be_open && !self.may_be_open_in_list;
                // Outside a list, a fence that is in none opens code at the margin, which the end of the list does not end.
                self.may_be_open |= is_plain && prefix <= 3 && !is_margin && !is_indented;
                // A fence at the margin ends a list.
                self.may_be_open_in_list = !is_margin && (self.may_be_open_in_list || !is_indented);
                let mark = if is_margin { '`' } else { '~' };
                self.opening = match (is_margin, is_indented) {
                    (true, _) => Some(Fence { mark, length, own, indent: 0 }),
                    (false, true) => Some(Fence { mark, length, own, indent: prefix }),
                    (false, false) => None,
                };
                self.show(&text[..prefix]);
                self.out.raw(&mark.to_string().repeat(length));
                if text[prefix + length..].starts_with(mark) {
                    self.out.raw(" ");
                }
                self.line = Line::Info;
                Some(Step::Done(prefix + length))
            }
        }
    }

    fn wait(&mut self) -> Option<Step> {
        self.line = Line::Beginning;
        Some(Step::Wait)
    }

    /// A line in fenced code, which has so many bytes of blanks: the end of the code, or a part of it.
    fn line_of_code(&mut self, fence: Fence, text: &str, blanks: usize, is_end: bool) -> Option<Step> {
        let rest = &text[blanks..];
        if let Some(first) = rest.chars().next()
            && (first == fence.mark || first == fence.own)
        {
            let length = code::run(rest, first);
            if length == rest.len() && !is_end {
                return self.wait();
            }
            if length >= fence.length {
                self.out.raw(&text[..blanks]);
                self.out.raw(&fence.mark.to_string().repeat(length));
                self.fence = None;
                self.line = Line::Text;
                return Some(Step::Done(blanks + length));
            }
        }
        if self.may_be_open && rest.starts_with('~') {
            self.out.raw("\\");
        }
        self.line = Line::Code;
        None
    }

    fn code_line(&mut self, text: &str) -> Step {
        match text.find('\n') {
            Some(0) => self.end_of_line(),
            Some(end) => {
                self.out.raw(&text[..end]);
                Step::Done(end)
            }
            None => {
                self.out.raw(text);
                Step::Done(text.len())
            }
        }
    }

    /// The language of fenced code. A line of the output that begins it has no column.
    fn info(&mut self, text: &str) -> Step {
        match text.chars().next() {
            Some('\n') => return self.end_of_line(),
            Some('|') => {}
            Some('`') => self.out.escaped('`'),
            Some(letter) => self.out.text(letter),
            None => {}
        }
        Step::Done(text.chars().next().map_or(0, char::len_utf8))
    }

    fn end_of_line(&mut self) -> Step {
        self.is_after_blank = self.out.is_line_blank();
        if self.line == Line::Code {
            self.out.raw("\n");
        } else {
            self.out.text('\n');
        }
        self.line = Line::Beginning;
        self.has_split_code = false;
        self.fence = self.opening.take().or(self.fence);
        Step::Done(1)
    }

    fn backslash(&mut self, text: &str, is_end: bool) -> Step {
        match text[1..].chars().next() {
            Some(next) if next.is_ascii_punctuation() => {
                self.out.escaped(next);
                Step::Done(2)
            }
            None if !is_end => Step::Wait,
            _ => Step::Text(1),
        }
    }

    /// Code within a line. Marks without an end are text, so the widget does not find an end for them in another line.
    fn code(&mut self, text: &str, is_end: bool) -> Step {
        let length = code::run(text, '`');
        let line = text.find('\n').unwrap_or(text.len());
        let is_open = !is_end && line == text.len() && text.len() < MAX_LENGTH;
        if length == text.len() && is_open {
            return Step::Wait;
        }
        let marks = &text[..length];
        let content = text[length..line].find(marks).map(|end| &text[length..length + end]);
        match content {
            None if is_open => Step::Wait,
            // The widget would take three marks at the beginning of a line for a fence.
            Some(content) if length < 3 || !self.out.is_line_blank() => {
                let whole = &text[..2 * length + content.len()];
                self.has_split_code |= content.contains('|');
                if self.has_split_code {
                    self.out.raw(marks);
                    content.chars().for_each(|letter| self.out.text(letter));
                    self.out.raw(marks);
                } else {
                    self.out.raw(whole);
                }
                Step::Done(whole.len())
            }
            _ => {
                (0..length).for_each(|_| self.out.escaped('`'));
                Step::Done(length)
            }
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
            self.out.seam(true);
        }
        Step::Done(end + 1)
    }

    /// `[label](address)`; where the address is not allowed the label alone is left.
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
        let Some(close) = close(after) else {
            return if is_open && !after.contains('\n') { Step::Wait } else { Step::Text(1) };
        };
        if self.rebuild(&after[..close]).is_some() {
            return Step::Text(1);
        }
        let waiting = std::mem::replace(&mut self.pending, text[1..end].to_owned());
        self.out.seam(false);
        self.advance(true);
        self.pending = waiting;
        self.out.seam(false);
        Step::Done(end + 2 + close + 1)
    }

    /// `](address)` after the text of a link.
    fn target(&mut self, text: &str, is_open: bool) -> Step {
        match text[1..].chars().next() {
            Some('(') => {}
            None if is_open => return Step::Wait,
            _ => return Step::Text(1),
        }
        let after = &text[2..];
        let Some(close) = close(after) else {
            return if is_open && !after.contains('\n') { Step::Wait } else { Step::Text(1) };
        };
        match self.rebuild(&after[..close]) {
            Some(address) => {
                self.out.target(&address);
                Step::Done(2 + close + 1)
            }
            None => Step::Text(1),
        }
    }

    /// The address in the brackets of a link, rebuilt. A title is left out.
    fn rebuild(&self, brackets: &str) -> Option<String> {
        let inner = brackets.trim();
        let address = match inner.strip_prefix('<') {
            Some(inner) => inner.split_once('>')?.0,
            None => inner.split(char::is_whitespace).next()?,
        };
        self.links.rebuild(address)
    }

    /// `<address>`.
    fn autolink(&mut self, text: &str, is_open: bool) -> Step {
        if !may_have_scheme(&text[1..]) {
            return Step::Text(1);
        }
        let end = text[1..].find(|letter: char| letter.is_whitespace() || matches!(letter, '<' | '>'));
        let Some(end) = end.map(|end| end + 1) else {
            return if is_open { Step::Wait } else { self.bracket(text) };
        };
        match self.links.rebuild(&text[1..end]) {
            Some(address) if text[end..].starts_with('>') => {
                self.out.raw(&format!("<{address}>"));
                Step::Done(end + 1)
            }
            _ => self.bracket(text),
        }
    }

    /// A bracket that opens no link, whatever follows it.
    fn bracket(&mut self, text: &str) -> Step {
        if !has_scheme(&text[1..]) {
            return Step::Text(1);
        }
        self.out.escaped('<');
        Step::Done(1)
    }

    /// An address in the midst of text. The widget makes links of those with `http` or `https`.
    fn address(&mut self, text: &str, is_open: bool) -> Step {
        let starts =
            |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
        if !["http://", "https://"].into_iter().any(starts) {
            let is_begun = ["http://", "https://"].iter().any(|scheme| begins(scheme, text));
            return if is_begun && is_open { Step::Wait } else { Step::Text(1) };
        }
        let end = text.find(ends_address);
        if end.is_none() && is_open {
            return Step::Wait;
        }
        let address = without_sentence(&text[..end.unwrap_or(text.len())]);
        match self.links.rebuild(address) {
            Some(rebuilt) => {
                self.out.address(&rebuilt);
                Step::Done(address.len())
            }
            // Its slashes get a backslash.
            None => Step::Text(1),
        }
    }
}

/// An address without the marks of the sentence around it, as the widget ends it.
fn without_sentence(address: &str) -> &str {
    let mut unmatched = address.matches(')').count().saturating_sub(address.matches('(').count());
    address.trim_end_matches(|letter: char| {
        if letter == ')' {
            let is_unmatched = unmatched > 0;
            unmatched = unmatched.saturating_sub(1);
            is_unmatched
        } else {
            ends_sentence(letter)
        }
    })
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
