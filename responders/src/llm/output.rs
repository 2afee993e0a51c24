//! The text that a visitor receives. No link arises in it but those that were rebuilt, however its parts meet.
//!
//! The rules are about characters, not about the structure of the text, so they hold wherever a Markdown parser believes
//! to be: `http://`, `](`, `<mailto:` and `<tel:` occur only in rebuilt links, and elsewhere with a backslash inside.

/// Characters that end an address in the midst of text; the widget's parser has the same.
pub(super) fn ends_address(letter: char) -> bool {
    letter.is_whitespace()
        || "<>[]\"`|\\".contains(letter)
        || ('\u{3001}'..='\u{300f}').contains(&letter)
        || ('\u{ff01}'..='\u{ff5e}').contains(&letter)
}

/// Whether a character at the end of an address belongs to the sentence around it.
pub(super) fn ends_sentence(letter: char) -> bool {
    ".,;:!?'*_~)".contains(letter)
}

/// Characters of a line that are remembered: enough to know how it begins.
const MAX_LINE: usize = 100;

/// Text on its way to the visitor.
#[derive(Default)]
pub(super) struct Output {
    text: String,
    /// Bytes so far, with those that were taken.
    total: usize,
    /// The last characters, in lower case.
    tail: String,
    /// How the line begins.
    line: String,
    /// Spaces that are given out only before something else.
    spaces: usize,
    /// Whether something was taken out in front of what comes next.
    is_seam: bool,
    /// Whether the last character is a backslash that escapes nothing.
    is_backslash: bool,
    /// Whether an address in the midst of text has ended, but for marks of the sentence.
    is_after_address: bool,
}

impl Output {
    /// Gives away what there is.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Bytes so far.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Removes what came after this many bytes in all.
    pub(super) fn cut(&mut self, total: usize) {
        self.text.truncate(self.text.len().saturating_sub(self.total - total));
        self.total = total;
    }

    /// Whether anything has come but blanks.
    pub(super) fn has_begun(&self) -> bool {
        self.total > 0
    }

    /// Whether the line has nothing but blanks.
    pub(super) fn is_line_blank(&self) -> bool {
        self.line.trim_start().is_empty()
    }

    /// Something was taken out here, which must not bring together what stood around it. Without it the blanks before
    /// it are too many.
    pub(super) fn seam(&mut self, is_without_blanks: bool) {
        self.is_seam = true;
        if is_without_blanks {
            self.spaces = 0;
        }
    }

    /// Text, with a backslash where it would become a link or begin fenced code.
    pub(super) fn text(&mut self, letter: char) {
        if letter == ' ' {
            self.spaces += 1;
            self.is_seam = false;
            return;
        }
        if !self.has_begun() && letter.is_whitespace() {
            self.spaces = 0;
            return;
        }
        self.flush(letter);
        let is_dangerous = match letter {
            '/' => self.tail.ends_with("http:") || self.tail.ends_with("https:"),
            '(' => self.tail.ends_with(']'),
            ':' => {
                let scheme = self.tail.ends_with("<mailto") || self.tail.ends_with("<tel");
                scheme || (self.tail.ends_with(']') && self.may_define())
            }
            '~' => self.line.trim_start() == "~~",
            _ => false,
        };
        if is_dangerous {
            self.push('\\');
        }
        self.push(letter);
        self.is_backslash = letter == '\\';
    }

    /// A character that a backslash escapes.
    pub(super) fn escaped(&mut self, letter: char) {
        self.flush('\\');
        self.push('\\');
        self.push(letter);
    }

    /// What goes out as it is: code, or a link with its brackets.
    pub(super) fn raw(&mut self, text: &str) {
        let Some(first) = text.chars().next() else { return };
        self.flush(first);
        text.chars().for_each(|letter| self.push(letter));
    }

    /// An address in the midst of text.
    pub(super) fn address(&mut self, address: &str) {
        self.raw(address);
        self.is_after_address = true;
    }

    /// The end of a link. Where a parser finds no beginning of it, the address stands in the midst of text, and what follows
    /// the bracket would belong to it.
    pub(super) fn target(&mut self, address: &str) {
        self.address(&format!("]({address})"));
    }

    /// Prepares for what comes next.
    fn flush(&mut self, next: char) {
        let is_joint = next.is_alphanumeric() || matches!(next, ':' | '/');
        let follows = self.tail.ends_with(|last: char| !last.is_whitespace());
        if self.is_seam && self.spaces == 0 && is_joint && follows {
            self.spaces = 1;
        }
        self.is_seam = false;
        for _ in 0..std::mem::take(&mut self.spaces) {
            if self.has_begun() {
                self.push(' ');
            }
        }
        if self.is_after_address && !ends_sentence(next) {
            self.is_after_address = false;
            if !ends_address(next) {
                self.push(' ');
            }
        }
        if std::mem::take(&mut self.is_backslash) && next.is_ascii_punctuation() {
            self.push('\\');
        }
    }

    fn push(&mut self, letter: char) {
        self.text.push(letter);
        self.total += letter.len_utf8();
        if letter == ' ' {
            (self.is_after_address, self.is_backslash) = (false, false);
        }
        if letter == '\n' {
            self.line.clear();
        } else if self.line.len() < MAX_LINE || self.is_line_blank() {
            self.line.push(letter);
        }
        if self.tail.len() > 64 {
            let from = (0..=self.tail.len() - 16).rev().find(|at| self.tail.is_char_boundary(*at));
            self.tail.drain(..from.unwrap_or(0));
        }
        self.tail.push(letter.to_ascii_lowercase());
    }

    /// Whether the line may define the target of a reference: `[label]: address`.
    fn may_define(&self) -> bool {
        let is_mark =
            |letter: char| letter.is_whitespace() || letter.is_ascii_digit() || ">-*+.)".contains(letter);
        self.line.trim_start_matches(is_mark).starts_with('[')
    }
}
