//! Words out of running text.

use unicode_normalization::UnicodeNormalization;

use super::model::Word;

/// Builds the words of one line from pieces of text: a word may begin in one piece and end in another.
#[derive(Default)]
pub(super) struct WordBuilder {
    words: Vec<Word>,
    current: String,
    gap: u16,
    size: f32,
    bold: bool,
}

impl WordBuilder {
    /// Adds text. A word looks as its first piece does.
    pub(super) fn push(&mut self, text: &str, size: f32, bold: bool) {
        for character in text.chars() {
            if character.is_whitespace() {
                self.space(1);
            } else if !is_unseen(character) {
                if self.current.is_empty() {
                    (self.size, self.bold) = (size, bold);
                }
                self.current.push(character);
            }
        }
    }

    /// Ends the word; the next one begins so many characters later.
    pub(super) fn space(&mut self, width: u16) {
        self.end_word();
        self.gap = self.gap.saturating_add(width);
    }

    /// The words of the line, and a new line begins.
    pub(super) fn finish(&mut self) -> Vec<Word> {
        self.end_word();
        self.gap = 0;
        std::mem::take(&mut self.words)
    }

    fn end_word(&mut self) {
        if self.current.is_empty() {
            return;
        }
        self.words.push(Word {
            text: normal(&self.current),
            bbox: None,
            confidence: 1.0,
            gap: if self.words.is_empty() { 0 } else { self.gap.max(1) },
            size: self.size,
            bold: self.bold,
        });
        self.current.clear();
        self.gap = 0;
    }
}

/// The text in NFC, ligatures of type taken apart.
pub(super) fn normal(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{fb00}' => plain.push_str("ff"),
            '\u{fb01}' => plain.push_str("fi"),
            '\u{fb02}' => plain.push_str("fl"),
            '\u{fb03}' => plain.push_str("ffi"),
            '\u{fb04}' => plain.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => plain.push_str("st"),
            _ => plain.push(character),
        }
    }
    plain.nfc().collect()
}

/// Characters without a shape: controls, soft hyphen, zero-width ones, marks of direction, byte order mark.
pub(super) fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}')
        || matches!(character, '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_normalised_and_gaps_counted() {
        let mut line = WordBuilder::default();
        line.push("  Stra\u{df}e\u{a0}  of\u{fb01}ce e\u{301}\u{200b}t\u{ad}e ", 0.0, false);
        let words = line.finish();
        let seen: Vec<_> = words.iter().map(|word| (word.text.as_str(), word.gap)).collect();
        assert_eq!(seen, [("Straße", 0), ("office", 3), ("éte", 1)]);
    }

    #[test]
    fn a_word_continues_in_the_next_piece() {
        let mut line = WordBuilder::default();
        line.push("Inv", 11.0, true);
        line.push("oice ", 9.0, false);
        line.space(4);
        line.push("7", 9.0, false);
        let words = line.finish();
        assert_eq!((words[0].text.as_str(), words[0].size, words[0].bold), ("Invoice", 11.0, true));
        assert_eq!((words[1].text.as_str(), words[1].gap), ("7", 5));
        assert!(line.finish().is_empty());
    }
}
