//! The headings of Markdown, and what stands under them.

use std::ops::Range;

/// Bytes of a heading; what is longer is text.
const MAX_HEADING: usize = 400;
/// Lines at the beginning that may be front matter.
const FRONT_MATTER_LINES: usize = 64;

/// A part of a text under the same headings.
pub(super) struct Section {
    pub(super) headings: Vec<String>,
    /// Where its text is.
    pub(super) body: Range<usize>,
}

/// A line of a text, without its end.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) start: usize,
    pub(super) text: &'a str,
}

impl Line<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// The lines of a text; a carriage return before the end of a line is no part of it.
pub(super) fn lines(text: &str, start: usize) -> impl Iterator<Item = Line<'_>> {
    let mut start = start;
    text.split('\n').map(move |line| {
        let at = start;
        start += line.len() + 1;
        Line { start: at, text: line.strip_suffix('\r').unwrap_or(line) }
    })
}

/// A line without the up to three spaces that Markdown allows before its marks; none of code that is set in.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3 && !text.starts_with('\t')).then_some(text)
}

/// The fences of code.
#[derive(Clone, Copy, Default)]
pub(super) struct Fences {
    open: Option<(u8, usize)>,
}

impl Fences {
    /// Whether a line belongs to fenced code, its fences included. Lines are given in their order.
    pub(super) fn hold(&mut self, line: &str) -> bool {
        let Some(text) = unindented(line) else { return self.open.is_some() };
        let mark = text.bytes().next().filter(|mark| matches!(mark, b'`' | b'~'));
        let count = text.bytes().take_while(|byte| Some(*byte) == mark).count();
        let rest = &text[count..];
        match (self.open, mark) {
            (Some((open, least)), Some(mark)) if mark == open && count >= least && rest.trim().is_empty() => {
                self.open = None;
                true
            }
            (Some(_), _) => true,
            (None, Some(mark)) if count >= 3 && (mark == b'~' || !rest.contains('`')) => {
                self.open = Some((mark, count));
                true
            }
            (None, _) => false,
        }
    }
}

/// The level and the text of an ATX heading.
fn atx(line: &str) -> Option<(usize, &str)> {
    let text = unindented(line)?;
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &text[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let rest = rest.trim();
    let open = rest.trim_end_matches('#');
    let is_closed = open.is_empty() || open.ends_with([' ', '\t']);
    Some((level, if is_closed { open.trim_end() } else { rest }))
}

/// The level that a line under a paragraph makes a heading of.
fn underline(line: &str) -> Option<usize> {
    let text = unindented(line)?.trim_end();
    let all = |mark: u8| !text.is_empty() && text.bytes().all(|byte| byte == mark);
    match (all(b'='), all(b'-')) {
        (true, _) => Some(1),
        (_, true) => Some(2),
        _ => None,
    }
}

/// Whether a line is of something that an underline makes no heading of: a list, a quotation, a table, code.
fn is_no_paragraph(line: &str) -> bool {
    let Some(text) = unindented(line) else { return true };
    let number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    text.starts_with(['>', '|'])
        || ["- ", "* ", "+ "].iter().any(|mark| text.starts_with(mark))
        || (number.len() < text.len() && (number.starts_with(". ") || number.starts_with(") ")))
}

/// The text of a heading as a reader sees it.
fn plain(heading: &str) -> String {
    let mut plain = String::new();
    let mut rest = heading;
    while let Some(at) = rest.find(['[', '*', '`', '\\', '{', '!']) {
        plain.push_str(&rest[..at]);
        let mark = &rest[at..];
        rest = &mark[1..];
        let end = mark.find("](").filter(|_| mark.starts_with('['));
        if let Some((end, close)) = end.and_then(|end| Some((end, mark[end..].find(')')?))) {
            plain.push_str(&mark[1..end]);
            rest = &mark[end + close + 1..];
            continue;
        }
        if mark.starts_with("{#") && mark.ends_with('}') {
            rest = "";
        } else if mark.starts_with(['[', '{']) || (mark.starts_with('!') && !mark.starts_with("![")) {
            plain.push_str(&mark[..1]);
        } else if mark.starts_with('\\') {
            let next = rest.chars().next().map_or(0, char::len_utf8);
            plain.push_str(&rest[..next]);
            rest = &rest[next..];
        }
    }
    plain.push_str(rest);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A heading that stands open.
struct Open {
    level: usize,
    text: String,
    /// Its lines in the text.
    lines: Range<usize>,
    /// Whether there is a section under it.
    is_carried: bool,
}

/// The headings that stand open, the outermost first.
#[derive(Default)]
struct Path(Vec<Open>);

impl Path {
    /// Closes the headings of `level` and deeper ones. One under which there was nothing is a section itself, so that
    /// nothing is lost.
    fn close(&mut self, level: usize, sections: &mut Vec<Section>) {
        while let Some(last) = self.0.pop_if(|last| last.level >= level) {
            if !last.is_carried && !last.text.is_empty() {
                let headings = self.headings().chain([last.text.clone()]).collect();
                sections.push(Section { headings, body: last.lines });
                self.carry();
            }
        }
    }

    fn headings(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|open| open.text.clone()).filter(|text| !text.is_empty())
    }

    fn carry(&mut self) {
        self.0.iter_mut().for_each(|open| open.is_carried = true);
    }
}

/// Metadata before the text, in YAML between `---` or in TOML between `+++`: where the text after it begins, and the
/// title that it names.
pub(super) fn front_matter(text: &str) -> (usize, Option<String>) {
    let mut lines = lines(text, 0).take(FRONT_MATTER_LINES);
    let (ends, separator) = match lines.next().map(|line| line.text.trim_end()) {
        Some("---") => (["---", "..."], ':'),
        Some("+++") => (["+++", "+++"], '='),
        _ => return (0, None),
    };
    let mut title = None;
    for line in lines {
        let trimmed = line.text.trim_end();
        if ends.contains(&trimmed) {
            return (line.end(), title);
        }
        let is_nested = trimmed.is_empty() || trimmed.starts_with([' ', '\t', '#', '-', '[', ']', '}']);
        match trimmed.split_once(separator) {
            _ if is_nested => {}
            Some((key, value)) if is_key(key.trim()) => {
                if key.trim().eq_ignore_ascii_case("title") {
                    title = Some(unquoted(value.trim()).trim().to_owned()).filter(|title| !title.is_empty());
                }
            }
            // A text between two rules.
            _ => return (0, None),
        }
    }
    (0, None)
}

fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '"'))
}

fn unquoted(value: &str) -> &str {
    let without = |mark| value.strip_prefix(mark)?.strip_suffix(mark);
    without('"').or_else(|| without('\'')).unwrap_or(value)
}

/// The sections of a text.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut path = Path::default();
    let mut fences = Fences::default();
    let (first, _) = front_matter(text);
    let mut body = first;
    // Where the lines begin that an underline would make a heading of.
    let mut paragraph: Option<usize> = None;
    for line in lines(&text[first..], first) {
        if fences.hold(line.text) {
            paragraph = None;
            continue;
        }
        let heading = match (atx(line.text), paragraph, underline(line.text)) {
            (Some((level, heading)), _, _) => Some((level, line.start, heading)),
            (None, Some(start), Some(level)) => Some((level, start, text[start..line.start].trim())),
            _ => None,
        };
        // What is too long for a heading is text.
        if let Some((level, start, heading)) = heading.filter(|(_, _, heading)| heading.len() <= MAX_HEADING)
        {
            if !text[body..start].trim().is_empty() {
                sections.push(Section { headings: path.headings().collect(), body: body..start });
                path.carry();
            }
            path.close(level, &mut sections);
            path.0.push(Open { level, text: plain(heading), lines: start..line.end(), is_carried: false });
            body = line.end();
            paragraph = None;
        } else if line.is_blank() || is_no_paragraph(line.text) || underline(line.text).is_some() {
            paragraph = None;
        } else {
            paragraph = paragraph.or(Some(line.start));
        }
    }
    if !text[body..].trim().is_empty() {
        sections.push(Section { headings: path.headings().collect(), body: body..text.len() });
        path.carry();
    }
    path.close(0, &mut sections);
    sections
}
