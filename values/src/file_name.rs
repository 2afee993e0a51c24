//! Names of files: what a client sends becomes a name that is safe on every system (contract 2.2).

use compact_str::CompactString;
use unicode_normalization::UnicodeNormalization;

use super::marks::{is_invisible, is_tag};
use super::{TextValue, fold_case, text_value};
use crate::validation::{ValidationCode, ValidationIssue};

/// The name of a file: 1 to 255 bytes, a single path component that no common file system gives a meaning of its own.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileName(CompactString);

text_value!(FileName);

/// The longest name, in bytes.
const MAX_BYTES: usize = 255;

/// The longest extension that shortening keeps, in bytes; what is longer is no extension but a name with a dot.
const MAX_EXTENSION: usize = 64;

/// Stems that name devices on some systems, whatever follows the first dot.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

impl FileName {
    /// The name made of what was sent, or `file.<extension>` when nothing is left of it: the last component after `/`
    /// and `\` without control, zero-width and bidirectional control characters, in NFC, with `_` for `< > : " | ? *`,
    /// without dots and blanks at both ends, with `_` before the stem of a device, of at most 255 bytes.
    ///
    /// Making a name of a name changes nothing.
    #[must_use]
    pub fn of_sent(sent: Option<&str>, extension: &str) -> Self {
        match sent.map(cleaned).filter(|name| !name.is_empty()) {
            Some(name) => FileName(name.into()),
            None => FileName(format!("file.{extension}").into()),
        }
    }

    /// What follows the last dot, in lower case; empty when there is none.
    #[must_use]
    pub fn extension(&self) -> String {
        extension(&self.0)
    }

    /// What the name sorts by: without regard to case (contract 4.3).
    #[must_use]
    pub fn sort_key(&self) -> String {
        fold_case(&self.0)
    }
}

impl TextValue for FileName {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        if text.is_empty() || cleaned(text) != text {
            return Err(ValidationIssue::new(
                ValidationCode::Format,
                "must be a plain file name of at most 255 bytes",
            ));
        }
        Ok(FileName(text.into()))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "minLength": 1, "maxLength": MAX_BYTES })
    }
}

/// What follows the last dot of a name, in lower case; empty when there is none.
pub(super) fn extension(name: &str) -> String {
    name.rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_lowercase())
}

fn cleaned(sent: &str) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or(sent);
    let visible = last.chars().filter(|c| !is_hidden(*c));
    let mut name: String = visible
        .nfc()
        .map(|c| if matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*') { '_' } else { c })
        .collect();
    name = trimmed(&name).to_owned();
    let stem = name.split('.').next().unwrap_or("").trim_end();
    if is_device(stem) {
        name.insert(0, '_');
    }
    shortened(&name)
}

fn trimmed(name: &str) -> &str {
    name.trim_matches(|c: char| c == '.' || c.is_whitespace())
}

/// Control, zero-width and bidirectional control characters and line separators: what a reader does not see, or is misled by.
fn is_hidden(c: char) -> bool {
    c.is_control() || is_invisible(c) || is_tag(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

fn is_device(stem: &str) -> bool {
    let stem = stem.to_ascii_lowercase();
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    DEVICES.contains(&stem.as_str())
        || numbered.is_some_and(|number| matches!(number.as_bytes(), [b'1'..=b'9']))
}

/// At most 255 bytes; shortening preserves the extension.
fn shortened(name: &str) -> String {
    if name.len() <= MAX_BYTES {
        return name.to_owned();
    }
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= MAX_EXTENSION => (stem, extension),
        _ => (name, ""),
    };
    let room = MAX_BYTES - if extension.is_empty() { 0 } else { extension.len() + 1 };
    let mut end = room.min(stem.len());
    while !stem.is_char_boundary(end) {
        end -= 1;
    }
    let stem = stem[..end].trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    if extension.is_empty() { stem.to_owned() } else { format!("{stem}.{extension}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(sent: &str) -> String {
        FileName::of_sent(Some(sent), "txt").to_string()
    }

    #[test]
    fn every_rule() {
        for (sent, stored) in [
            ("referral.pdf", "referral.pdf"),
            ("C:\\Users\\zoe\\scan 1.pdf", "scan 1.pdf"),
            ("../../etc/passwd", "passwd"),
            ("a/..", "file.txt"),
            ("..\\..", "file.txt"),
            ("", "file.txt"),
            ("   ", "file.txt"),
            ("...", "file.txt"),
            ("/", "file.txt"),
            (".htaccess", "htaccess"),
            (" report. ", "report"),
            ("a\0b\r\n.txt", "ab.txt"),
            ("in\u{202e}fdp.exe", "infdp.exe"),
            ("a\u{200b}b\u{feff}.txt", "ab.txt"),
            ("<a>:\"b\"|?*.txt", "_a___b____.txt"),
            ("e\u{301}te\u{301}.txt", "été.txt"),
            ("CON", "_CON"),
            ("con.txt", "_con.txt"),
            ("nul .tar.gz", "_nul .tar.gz"),
            ("LPT9.x", "_LPT9.x"),
            ("COM0.x", "COM0.x"),
            ("com10.x", "com10.x"),
            ("console.log", "console.log"),
            ("日本語.pdf", "日本語.pdf"),
        ] {
            assert_eq!(made(sent), stored, "{sent:?}");
        }
        assert_eq!(FileName::of_sent(None, "pdf").as_str(), "file.pdf");
    }

    #[test]
    fn long_names_keep_their_extension() {
        let long = made(&format!("{}.pdf", "ä".repeat(300)));
        assert_eq!((long.len(), long.ends_with("ä.pdf")), (254, true));
        assert_eq!(made(&"x".repeat(300)).len(), 255);
        let blank = made(&format!("{} {}.pdf", "a".repeat(250), "b".repeat(50)));
        assert_eq!(blank, format!("{}.pdf", "a".repeat(250)));
        assert_eq!(made(&format!("a.{}", "b".repeat(300))).len(), 255);
    }

    #[test]
    fn the_extension_is_lower_case() {
        assert_eq!(FileName::of_sent(Some("A.B.PDF"), "txt").extension(), "pdf");
        assert_eq!(FileName::of_sent(Some("none"), "txt").extension(), "");
    }

    proptest! {
        #[test]
        fn a_name_is_harmless_and_stays_itself(sent in prop_oneof![
            ".*",
            "[./\\\\ a:CON\u{202e}\u{301}-]{0,12}",
            "(con|prn|aux|nul|com[0-9]|lpt[0-9])[. ]{0,3}[a-z]{0,3}",
            "[aä.\u{1f600} ]{200,300}",
        ]) {
            let name = made(&sent);
            prop_assert!((1..=255).contains(&name.len()));
            prop_assert!(!name.contains(['/', '\\', '\0']) && name != "." && name != "..");
            prop_assert_eq!(trimmed(&name), &name);
            prop_assert_eq!(made(&name), name.clone());
            prop_assert!(FileName::parse(&name).is_ok());
        }
    }
}
