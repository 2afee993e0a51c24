//! Characters that a terminal obeys instead of showing them.

use ::console::imports::is_format_character as is_format;
use ::console::imports::is_unsafe_character as is_unsafe;

/// Text on one line: what ends lines or moves the cursor becomes a blank, what is invisible is removed.
pub fn on_one_line(text: &str) -> String {
    let letters = text.chars().filter(|letter| !is_format(*letter));
    letters.map(|letter| if is_unsafe(letter) { ' ' } else { letter }).collect()
}

/// Text for a terminal: line feeds and tabs remain, other characters that it would obey are written as JSON escapes,
/// so that a JSON document keeps its meaning.
pub fn for_terminal(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '\n' | '\t') || !is_unsafe(letter) {
            safe.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use regex_automata::meta::Regex;

    use super::*;

    #[test]
    fn the_format_characters_are_those_of_unicode() {
        let cf = Regex::new(r"\A\p{Cf}\z").unwrap();
        for letter in '\0'..=char::MAX {
            assert_eq!(
                is_format(letter),
                cf.is_match(letter.encode_utf8(&mut [0; 4]).as_bytes()),
                "{letter:?}"
            );
        }
    }

    #[test]
    fn a_terminal_gets_nothing_to_obey() {
        let text = "a\u{1b}[2J\u{9b}2J\u{202e}b\u{2066}\u{7f}\u{200b}é\u{2028}\r\u{e0041}\n\t日本";
        assert_eq!(on_one_line(text), "a [2J 2Jb é    日本");
        assert_eq!(
            for_terminal(text),
            "a\\u001b[2J\\u009b2J\\u202eb\\u2066\\u007f\\u200bé\\u2028\\u000d\\udb40\\udc41\n\t日本"
        );
        let json = serde_json::to_string(text).unwrap();
        assert_eq!(serde_json::from_str::<String>(&for_terminal(&json)).unwrap(), text);
    }
}
