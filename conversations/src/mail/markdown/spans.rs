//! The inline part of the Markdown subset: a text as a tree of spans, in one pass, as the widget's `spans.ts` reads it.

/// A text, or an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Span {
    Text(String),
    Node(Node),
}

/// An element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) tag: Tag,
    pub(super) children: Vec<Span>,
}

/// The kind of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Paragraph,
    Break,
    Rule,
    Strong,
    Emphasis,
    Deleted,
    Code,
    CodeBlock,
    Quote,
    Bullets,
    /// With the number of the first item.
    Numbers(String),
    Item,
    Table,
    Row,
    Head,
    Cell,
    /// With its address.
    Link(String),
}

impl Node {
    pub(super) fn span(tag: Tag, children: Vec<Span>) -> Span {
        Span::Node(Node { tag, children })
    }
}

/// Returns the address of a link that is allowed, in the form to link to.
pub(super) type Allow<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What marks something in a text.
enum Token {
    /// A character with a backslash before it.
    Escaped(char),
    /// A row of so many backticks.
    Ticks(usize),
    /// What opens and closes emphasis.
    Mark(&'static str),
    /// The number of a source, in brackets.
    Citation(String),
    /// What opens a link or, with `!`, an image.
    Open(&'static str),
    /// The end of a text in brackets, with the target after it.
    Close(Option<String>),
    /// An address in angle brackets.
    Auto(String),
    /// An address in the midst of text.
    Address(String),
    Line,
}

/// A mark that something may close later.
struct Opener {
    mark: &'static str,
    /// Its index in the spans.
    at: usize,
}

/// The spans of a text. Elements nest at most `room` deep.
pub(super) fn spans(text: &str, room: usize, allow: Allow<'_>) -> Vec<Span> {
    let text: Vec<char> = text.chars().collect();
    let mut reader = Reader { text: &text, at: 0, out: Vec::new(), openers: Vec::new(), room, allow };
    let mut read = 0;
    while reader.at < text.len() {
        let Some((token, length)) = token_at(&text, reader.at) else {
            reader.at += 1;
            continue;
        };
        reader.push(text[read..reader.at].iter().collect());
        reader.take(token, length);
        read = reader.at;
    }
    reader.push(text[read..].iter().collect());
    reader.out
}

struct Reader<'a> {
    text: &'a [char],
    at: usize,
    out: Vec<Span>,
    /// At most `room`: the oldest is discarded.
    openers: Vec<Opener>,
    room: usize,
    allow: Allow<'a>,
}

impl Reader<'_> {
    fn push(&mut self, text: String) {
        if !text.is_empty() {
            self.out.push(Span::Text(text));
        }
    }

    fn take(&mut self, token: Token, length: usize) {
        let begin = self.at;
        self.at += length;
        match token {
            Token::Escaped(letter) => self.push(letter.to_string()),
            Token::Ticks(count) => self.code(count),
            Token::Mark(mark) => self.mark(mark, begin),
            Token::Citation(text) => self.push(text),
            Token::Open(mark) => self.open(mark),
            Token::Close(target) => self.close(target, begin),
            Token::Auto(address) => {
                let scheme = ["mailto:", "tel:"].into_iter().find(|scheme| starts_with(&address, scheme));
                let label = scheme.map_or(address.as_str(), |scheme| &address[scheme.len()..]).to_owned();
                self.link(&address, vec![Span::Text(label)]);
            }
            Token::Address(address) => {
                let end = end_of_sentence(&address);
                self.at = begin + address[..end].chars().count();
                self.link(&address[..end], vec![Span::Text(address[..end].to_owned())]);
            }
            Token::Line => self.out.push(Node::span(Tag::Break, Vec::new())),
        }
    }

    fn open(&mut self, mark: &'static str) {
        self.out.push(Span::Text(mark.to_owned()));
        self.openers.push(Opener { mark, at: self.out.len() - 1 });
        if self.openers.len() > self.room {
            self.openers.remove(0);
        }
    }

    /// Takes the last opener that matches and all after it; returns its mark and what came after it.
    fn opener(&mut self, matches: impl Fn(&str) -> bool) -> Option<Opener> {
        let at = self.openers.iter().rposition(|one| matches(one.mark))?;
        self.openers.drain(at..).next()
    }

    fn opened_by(&mut self, opener: &Opener) -> Vec<Span> {
        self.out.split_off(opener.at).into_iter().skip(1).collect()
    }

    fn code(&mut self, count: usize) {
        let row = vec!['`'; count];
        let rest = &self.text[self.at..];
        match rest.windows(count).position(|window| window == row) {
            Some(end) => {
                let code = rest[..end].iter().map(|letter| if *letter == '\n' { ' ' } else { *letter });
                let code = vec![Span::Text(code.collect())];
                self.out.push(Node::span(Tag::Code, code));
                self.at += end + count;
            }
            None => self.push(row.into_iter().collect()),
        }
    }

    fn close(&mut self, target: Option<String>, begin: usize) {
        let opener = self.opener(|mark| mark.ends_with('['));
        let (Some(opener), Some(target)) = (opener, target) else {
            self.push("]".to_owned());
            self.at = begin + 1;
            return;
        };
        let children = self.opened_by(&opener);
        if opener.mark == "[" {
            // Brackets around a link are plain text.
            self.openers.retain(|one| one.mark != "[");
            self.link(&target, without_links(children));
        } else {
            // A message has no image: a program that shows it would tell the sender of the image that it was read.
            self.push(plain(&children));
        }
    }

    fn link(&mut self, address: &str, label: Vec<Span>) {
        match (self.allow)(address).filter(|_| self.room > 0) {
            Some(address) => self.out.push(Node::span(Tag::Link(address), label)),
            None => self.push(plain(&label)),
        }
    }

    fn mark(&mut self, mark: &'static str, begin: usize) {
        let first = self.text[begin];
        let is_single = |opener: &Opener| opener.mark.len() == 1 && opener.mark.starts_with(first);
        let mut mark = mark;
        // `***` closes the innermost element first.
        if mark.len() > 1
            && self.text.get(self.at) == Some(&first)
            && self.openers.last().is_some_and(is_single)
        {
            mark = &mark[1..];
            self.at -= 1;
        }
        let before = begin.checked_sub(1).and_then(|at| self.text.get(at)).copied().unwrap_or(' ');
        let after = self.text.get(self.at).copied().unwrap_or(' ');
        let is_word = |letter: char| first == '_' && letter.is_alphanumeric();
        let may_close = !before.is_whitespace() && !is_word(after);
        let opener = if may_close { self.opener(|one| one == mark) } else { None };
        if let Some(opener) = opener {
            let children = self.opened_by(&opener);
            let tag = match (first, mark.len()) {
                ('~', _) => Tag::Deleted,
                (_, 2) => Tag::Strong,
                _ => Tag::Emphasis,
            };
            self.out.push(Node::span(tag, children));
        } else if !after.is_whitespace() && !is_word(before) {
            self.open(mark);
        } else {
            self.push(mark.to_owned());
        }
    }
}

/// The text without markup.
pub(super) fn plain(spans: &[Span]) -> String {
    let text = |span: &Span| match span {
        Span::Text(text) => text.clone(),
        Span::Node(Node { tag: Tag::Break, .. }) => "\n".to_owned(),
        Span::Node(node) => plain(&node.children),
    };
    spans.iter().map(text).collect()
}

/// The same, with the text of each link in its stead: links cannot nest.
fn without_links(spans: Vec<Span>) -> Vec<Span> {
    let inner = |span| match span {
        Span::Node(Node { tag: Tag::Link(_), children }) => without_links(children),
        Span::Node(Node { tag, children }) => vec![Node::span(tag, without_links(children))],
        text => vec![text],
    };
    spans.into_iter().flat_map(inner).collect()
}

/// The token that begins at `at`, and its length.
fn token_at(text: &[char], at: usize) -> Option<(Token, usize)> {
    let (first, second) = (text[at], text.get(at + 1).copied());
    match first {
        '\\' => second.filter(char::is_ascii_punctuation).map(|letter| (Token::Escaped(letter), 2)),
        '`' => {
            let count = text[at..].iter().take_while(|letter| **letter == '`').count();
            Some((Token::Ticks(count), count))
        }
        '*' | '_' | '~' => {
            let is_double = second == Some(first);
            let mark = match (first, is_double) {
                ('*', true) => "**",
                ('*', false) => "*",
                ('_', true) => "__",
                ('_', false) => "_",
                (_, true) => "~~",
                (_, false) => return None,
            };
            Some((Token::Mark(mark), mark.len()))
        }
        '[' => Some(citation(text, at).unwrap_or((Token::Open("["), 1))),
        '!' if second == Some('[') => Some((Token::Open("!["), 2)),
        ']' => {
            let target = target(text, at + 1);
            let length = 1 + target.as_ref().map_or(0, |(_, length)| *length);
            Some((Token::Close(target.map(|(target, _)| target)), length))
        }
        '<' => auto(text, at),
        'h' | 'H' => address(text, at),
        '\n' => Some((Token::Line, 1)),
        _ => None,
    }
}

/// `[1]`, unless it is the text of a link.
fn citation(text: &[char], at: usize) -> Option<(Token, usize)> {
    let digits = text[at + 1..].iter().take(3).take_while(|letter| letter.is_ascii_digit()).count();
    let end = at + 1 + digits;
    let is_citation = digits > 0 && text.get(end) == Some(&']') && text.get(end + 1) != Some(&'(');
    is_citation.then(|| (Token::Citation(text[at..=end].iter().collect()), end + 1 - at))
}

/// `(address "title")` at `at`: the address, and the length of it all.
fn target(text: &[char], at: usize) -> Option<(String, usize)> {
    let text = text.get(at..).filter(|text| text.first() == Some(&'('))?;
    let run = |from: usize, most: usize, ends: &dyn Fn(char) -> bool| {
        let length = text[from..].iter().take_while(|letter| !ends(**letter)).count();
        (length <= most).then_some(from + length)
    };
    let ends = |letter: char| letter.is_whitespace() || "()<>".contains(letter);
    let (address, mut end) = if text.get(1) == Some(&'<') {
        let end = run(2, 2_000, &|letter| "<>\n".contains(letter))?;
        (2..end, end + usize::from(text.get(end) == Some(&'>')))
    } else {
        let end = run(1, 2_000, &ends)?;
        let end = match text.get(end) {
            Some('(') => match run(end + 1, 500, &ends)? {
                close if text.get(close) == Some(&')') => run(close + 1, 500, &ends)?,
                _ => return None,
            },
            _ => end,
        };
        (1..end, end)
    };
    if text.get(1) == Some(&'<') && text.get(address.end) != Some(&'>') {
        return None;
    }
    let spaces = text[end..].iter().take_while(|letter| letter.is_whitespace()).count();
    if spaces > 0 {
        let begin = end + spaces;
        let close =
            (text.get(begin) == Some(&'"')).then(|| run(begin + 1, 200, &|letter| "\"\n".contains(letter)));
        end = close.flatten().filter(|close| spaces < 10 && text.get(*close) == Some(&'"'))? + 1;
    }
    (text.get(end) == Some(&')')).then(|| (unescaped(&text[address]), end + 1))
}

/// Without the backslashes before punctuation.
fn unescaped(text: &[char]) -> String {
    let mut letters = text.iter().copied().peekable();
    let mut plain = String::new();
    while let Some(letter) = letters.next() {
        if letter != '\\' || !letters.peek().is_some_and(char::is_ascii_punctuation) {
            plain.push(letter);
        }
    }
    plain
}

/// `<https://example.com>`, also of mail and telephone.
fn auto(text: &[char], at: usize) -> Option<(Token, usize)> {
    let inner: String = text[at + 1..]
        .iter()
        .take_while(|letter| !letter.is_whitespace() && !"<>".contains(**letter))
        .collect();
    let scheme = ["http://", "https://", "mailto:", "tel:"].into_iter().find(|it| starts_with(&inner, it))?;
    let length = inner.chars().count();
    let is_short = (scheme.len() + 1..=scheme.len() + 2_000).contains(&length);
    let is_closed = text.get(at + 1 + length) == Some(&'>');
    (is_short && is_closed).then_some((Token::Auto(inner), length + 2))
}

/// `https://example.com` in the midst of text.
fn address(text: &[char], at: usize) -> Option<(Token, usize)> {
    let ends = |letter: char| {
        letter.is_whitespace()
            || "<>[]\"`|\\".contains(letter)
            || matches!(letter, '\u{3001}'..='\u{300f}' | '\u{ff01}'..='\u{ff5e}')
    };
    let found: String = text[at..].iter().take(2_008).take_while(|letter| !ends(**letter)).collect();
    let scheme = ["http://", "https://"].into_iter().find(|scheme| starts_with(&found, scheme))?;
    let found: String = found.chars().take(scheme.len() + 2_000).collect();
    let length = found.chars().count();
    (length > scheme.len()).then_some((Token::Address(found), length))
}

/// The length of an address without what belongs to the sentence: punctuation, and brackets that it does not open.
fn end_of_sentence(address: &str) -> usize {
    let mut unmatched = address.matches(')').count().saturating_sub(address.matches('(').count());
    let mut end = address;
    while let Some(last) = end.chars().last() {
        if last == ')' && unmatched > 0 {
            unmatched -= 1;
        } else if !".,;:!?'*_~".contains(last) {
            break;
        }
        end = &end[..end.len() - last.len_utf8()];
    }
    end.len()
}

fn starts_with(text: &str, scheme: &str) -> bool {
    text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}
