//! `Content-Disposition` of a download (RFC 6266, RFC 8187).

use std::fmt::Write as _;

use http::HeaderValue;

use crate::FileName;

/// What a browser does with a download.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Disposition {
    /// It saves the file.
    #[default]
    Attachment,
    /// It shows the file, where it can.
    Inline,
}

impl Disposition {
    /// Both.
    pub const ALL: [Disposition; 2] = [Disposition::Attachment, Disposition::Inline];

    /// The word of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Disposition::Attachment => "attachment",
            Disposition::Inline => "inline",
        }
    }

    /// The disposition of exactly this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Disposition::ALL.into_iter().find(|disposition| disposition.as_str() == word)
    }

    /// The header: an ASCII `filename` for old clients and `filename*` with the name itself.
    #[must_use]
    pub fn header(self, name: &FileName) -> HeaderValue {
        let mut text = format!("{}; filename=\"", self.as_str());
        for c in name.as_str().chars() {
            // A per cent sign would be decoded by some clients, quotes and backslashes end or escape.
            let plain = (' '..='~').contains(&c) && !matches!(c, '"' | '\\' | '%');
            text.push(if plain { c } else { '_' });
        }
        text.push_str("\"; filename*=UTF-8''");
        for byte in name.as_str().bytes() {
            // attr-char of RFC 8187.
            if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
                text.push(char::from(byte));
            } else {
                let _ = write!(text, "%{byte:02X}");
            }
        }
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("attachment"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(disposition: Disposition, name: &str) -> String {
        let header = disposition.header(&FileName::of_sent(Some(name), "txt"));
        header.to_str().expect("ASCII").to_owned()
    }

    #[test]
    fn both_names() {
        assert_eq!(
            header(Disposition::Attachment, "referral.pdf"),
            "attachment; filename=\"referral.pdf\"; filename*=UTF-8''referral.pdf"
        );
        assert_eq!(
            header(Disposition::Inline, "Überweisung 100%.pdf"),
            "inline; filename=\"_berweisung 100_.pdf\"; filename*=UTF-8''%C3%9Cberweisung%20100%25.pdf"
        );
    }

    proptest! {
        #[test]
        fn the_name_can_be_read_back(sent in ".*") {
            let name = FileName::of_sent(Some(&sent), "txt");
            let header = header(Disposition::Attachment, name.as_str());
            let (quoted, extended) = header.split_once("; filename*=UTF-8''").expect("two names");
            let quoted = quoted.strip_prefix("attachment; filename=\"").and_then(|rest| rest.strip_suffix('"'));
            let quoted = quoted.expect("quotes around the first name");
            prop_assert!(!quoted.contains(['"', '\\', '%', '\r', '\n']));
            let mut bytes = Vec::new();
            let mut rest = extended.bytes();
            while let Some(byte) = rest.next() {
                bytes.push(match byte {
                    b'%' => {
                        let digits = [rest.next().expect("digit"), rest.next().expect("digit")];
                        u8::from_str_radix(std::str::from_utf8(&digits).expect("ASCII"), 16).expect("digits")
                    }
                    plain => plain,
                });
            }
            prop_assert_eq!(String::from_utf8(bytes).expect("UTF-8"), name.as_str());
        }
    }
}
