//! Detects replies that leak the prompt.

/// Characters in a row that make a repetition.
const MAX_LENGTH: usize = 80;

/// Every repetition holds a whole block of the reply, wherever in a block it begins.
const BLOCK: usize = MAX_LENGTH / 2;

/// Searches a reply for parts of secret texts. Case, blanks and marks of emphasis make no difference.
pub(super) struct PromptLeakDetector {
    secrets: Vec<String>,
    /// The end of the reply: the block that is being written and the one before.
    last: Vec<char>,
    /// Characters of the block that is being written.
    written: usize,
    /// Where the secrets have what the reply ends with, if that is a block or more.
    runs: Vec<Run>,
    is_blank: bool,
}

/// The end of the reply, matched with a part of a secret.
struct Run {
    secret: usize,
    /// The position in the secret after it.
    next: usize,
    /// Its length in characters.
    length: usize,
}

impl PromptLeakDetector {
    pub(super) fn new(secrets: &[&str]) -> Self {
        let letters = |secret: &&str| {
            let (mut letters, mut is_blank) = (Vec::new(), true);
            secret.chars().for_each(|letter| plain(letter, &mut is_blank, &mut letters));
            (letters.len() >= MAX_LENGTH).then(|| letters.iter().collect())
        };
        let secrets = secrets.iter().filter_map(letters).collect();
        PromptLeakDetector { secrets, last: Vec::new(), written: 0, runs: Vec::new(), is_blank: true }
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
                self.go_on(end);
            }
            if self.runs.iter().any(|run| run.length >= MAX_LENGTH) {
                return true;
            }
            if self.last.len() > 16 * MAX_LENGTH {
                self.last.drain(..self.last.len() - MAX_LENGTH);
            }
        }
        false
    }

    /// Takes in the character before `end`.
    fn go_on(&mut self, end: usize) {
        let Self { secrets, last, runs, .. } = self;
        let letter = last[end - 1];
        runs.retain_mut(|run| {
            run.length += 1;
            run.next += letter.len_utf8();
            secrets[run.secret][run.next - letter.len_utf8()..].starts_with(letter)
        });
        self.written += 1;
        if self.written < BLOCK {
            return;
        }
        self.written = 0;
        let (before, block) = last[..end].split_at(end - BLOCK);
        let block: String = block.iter().collect();
        for (number, secret) in secrets.iter().enumerate() {
            let windows = secret.as_bytes().windows(block.len()).enumerate();
            for (at, _) in windows.filter(|(_, window)| *window == block.as_bytes()) {
                let next = at + block.len();
                if runs.iter().any(|run| run.secret == number && run.next == next) {
                    continue;
                }
                let same = before.iter().rev().zip(secret[..at].chars().rev());
                let length = BLOCK + same.take_while(|(one, other)| *one == other).count();
                runs.push(Run { secret: number, next, length });
            }
        }
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
            let mut watch = PromptLeakDetector::new(&[secret, "short"]);
            let pieces: Vec<String> = text.chars().map(String::from).collect();
            let by_letter = pieces.iter().any(|piece| watch.sees(piece));
            assert_eq!(by_letter, PromptLeakDetector::new(&[secret]).sees(text));
            by_letter
        };
        assert!(sees(secret));
        assert!(sees(&format!("Sure: {}", &secret[20..101])));
        assert!(sees(&format!("> **{}**", secret.to_uppercase().replace(' ', "\n> "))));
        let part: String = secret.chars().take(79).collect();
        assert!(!sees(&part));
        assert!(!sees(&format!("{part}xx {part}xx short short")));
    }

    proptest::proptest! {
        /// Against looking for every part of that length, letter by letter.
        #[test]
        fn a_part_is_seen_with_its_last_character(
            secret in "[aé]{60,200}",
            parts in proptest::collection::vec(("[aéc]{0,70}", 0..200_usize, 70..95_usize), 1..4),
        ) {
            let letters: Vec<char> = secret.chars().collect();
            let mut reply = String::new();
            for (other, from, length) in parts {
                reply += &other;
                reply.extend(letters.iter().skip(from).take(length));
            }
            let parts: Vec<String> = letters.windows(MAX_LENGTH).map(|part| part.iter().collect()).collect();
            let mut watch = PromptLeakDetector::new(&[&secret]);
            for (at, letter) in reply.char_indices() {
                let said = &reply[..at + letter.len_utf8()];
                let is_there = parts.iter().any(|part| said.contains(part));
                let is_seen = watch.sees(&letter.to_string());
                proptest::prop_assert_eq!(is_seen, is_there, "at {} of {}", at, &reply);
                if is_seen {
                    break;
                }
            }
        }
    }
}
