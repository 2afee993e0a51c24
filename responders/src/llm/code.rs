//! Which parts of a reply are code for certain, in every state in which the widget's parser can be.
//!
//! A fence at the margin begins code wherever it stands. An indented one does so too, inside a list or outside; the
//! code lasts while its lines are indented as well. What the marks are tells both apart in the output: the former have
//! backticks, all others have tildes, so one never closes the other. Everything that is not certain is text.

/// Bytes at the beginning of a line before a fence.
const MAX_PREFIX: usize = 200;

/// Fenced code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    /// The mark in the output, and how many of them.
    pub(super) mark: char,
    pub(super) length: usize,
    /// The mark that the model has written.
    pub(super) own: char,
    /// The blanks before it; its lines have as many, or the code may have ended.
    pub(super) indent: usize,
}

/// The beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// More text is needed.
    Unclear,
    /// No fence.
    Other,
    /// A fence: the bytes before it, and whether there are only blanks among them.
    Fence { prefix: usize, is_plain: bool, own: char, length: usize },
}

impl Beginning {
    pub(super) fn of(text: &str, is_end: bool) -> Self {
        let unclear = if is_end { Beginning::Other } else { Beginning::Unclear };
        let (mut at, mut is_plain) = (0, true);
        while at < MAX_PREFIX {
            let rest = &text[at..];
            let Some(first) = rest.chars().next() else { return unclear };
            let marker = match first {
                '\n' => return Beginning::Other,
                '>' => 1,
                '-' | '*' | '+' => 1,
                '0'..='9' => {
                    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                    match rest.as_bytes().get(digits) {
                        None if digits < 10 => return unclear,
                        Some(b'.' | b')') => digits + 1,
                        _ => return Beginning::Other,
                    }
                }
                '`' | '~' => {
                    let length = run(rest, first);
                    return match length {
                        _ if length == rest.len() && !is_end => Beginning::Unclear,
                        0..3 => Beginning::Other,
                        _ => Beginning::Fence { prefix: at, is_plain, own: first, length },
                    };
                }
                _ if first.is_whitespace() => {
                    is_plain &= first == ' ';
                    at += first.len_utf8();
                    continue;
                }
                _ => return Beginning::Other,
            };
            match rest[marker..].chars().next() {
                None => return unclear,
                Some(next) if first == '>' || (next.is_whitespace() && next != '\n') => {}
                Some(_) => return Beginning::Other,
            }
            is_plain = false;
            at += marker;
        }
        Beginning::Other
    }
}

/// How many of a mark a text begins with.
pub(super) fn run(text: &str, mark: char) -> usize {
    text.chars().take_while(|letter| *letter == mark).count()
}

/// The blanks that a line begins with: how many, and their bytes.
pub(super) fn indent(text: &str) -> (usize, usize) {
    let blanks = text.chars().take_while(|letter| letter.is_whitespace() && *letter != '\n');
    blanks.fold((0, 0), |(count, bytes), letter| (count + 1, bytes + letter.len_utf8()))
}
