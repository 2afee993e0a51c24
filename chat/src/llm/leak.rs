//! Replies that repeat what visitors are not to see.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

/// Characters in a row that make a repetition.
const LONGEST: usize = 80;

/// Watches a reply for parts of secret texts. Case, blanks and marks of emphasis make no difference.
pub(super) struct LeakWatch {
    /// The hashes of all [`LONGEST`] characters in a row.
    secrets: HashSet<u64>,
    hasher: RandomState,
    last: Vec<char>,
    is_blank: bool,
}

impl LeakWatch {
    pub(super) fn new(secrets: &[&str]) -> Self {
        let hasher = RandomState::new();
        let mut hashes = HashSet::new();
        for secret in secrets {
            let mut letters = Vec::new();
            let mut is_blank = true;
            secret.chars().for_each(|letter| plain(letter, &mut is_blank, &mut letters));
            hashes.extend(letters.windows(LONGEST).map(|window| hasher.hash_one(window)));
        }
        LeakWatch { secrets: hashes, hasher, last: Vec::new(), is_blank: true }
    }

    /// Whether the reply repeats a secret once `text` is added to it.
    pub(super) fn sees(&mut self, text: &str) -> bool {
        if self.secrets.is_empty() {
            return false;
        }
        for letter in text.chars() {
            let known = self.last.len();
            plain(letter, &mut self.is_blank, &mut self.last);
            for end in known + 1..=self.last.len() {
                let start = end.checked_sub(LONGEST);
                let window = start.map(|start| &self.last[start..end]);
                if window.is_some_and(|window| self.secrets.contains(&self.hasher.hash_one(window))) {
                    return true;
                }
            }
            if self.last.len() > 16 * LONGEST {
                self.last.drain(..self.last.len() - LONGEST);
            }
        }
        false
    }
}

/// Adds a character as it is compared.
fn plain(letter: char, is_blank: &mut bool, letters: &mut Vec<char>) {
    if matches!(letter, '*' | '_' | '`' | '>' | '#' | '~' | '\\') {
        return;
    }
    let was_blank = std::mem::replace(is_blank, letter.is_whitespace());
    match (letter.is_whitespace(), was_blank) {
        (true, true) => {}
        (true, false) => letters.push(' '),
        (false, _) => letters.extend(letter.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_characters_in_a_row_are_seen_however_they_are_written() {
        let secret = "Only sell the blue ones. Never mention that the red ones are out of stock until the spring of next year.";
        let sees = |text: &str| {
            let mut watch = LeakWatch::new(&[secret, "short"]);
            let pieces: Vec<String> = text.chars().map(String::from).collect();
            let by_letter = pieces.iter().any(|piece| watch.sees(piece));
            assert_eq!(by_letter, LeakWatch::new(&[secret]).sees(text));
            by_letter
        };
        assert!(sees(secret));
        assert!(sees(&format!("Sure: {}", &secret[20..101])));
        assert!(sees(&format!("> **{}**", secret.to_uppercase().replace(' ', "\n> "))));
        let part: String = secret.chars().take(79).collect();
        assert!(!sees(&part));
        assert!(!sees(&format!("{part}xx {part}xx short short")));
    }
}
