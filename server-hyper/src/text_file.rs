//! Text files of the operator, in the encodings that editors and shells write: UTF-8 with or without a byte order mark, and
//! UTF-16 with one.

use std::io;
use std::path::Path;

/// Reads a file as text.
///
/// # Errors
/// The file cannot be read, or is not text in one of these encodings.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    decode(std::fs::read(path)?)
}

/// Reads the content of a file as text.
///
/// # Errors
/// It is not text in one of these encodings.
pub fn decode(bytes: Vec<u8>) -> io::Result<String> {
    let invalid = |message| io::Error::new(io::ErrorKind::InvalidData, message);
    let utf_16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        text.ok()
            .filter(|_| bytes.len().is_multiple_of(2))
            .ok_or_else(|| invalid("the file is not valid UTF-16"))
    };
    match &bytes[..] {
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes),
        _ => {
            let text = String::from_utf8(bytes).map_err(|_| invalid("the file is not valid UTF-8"))?;
            Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_is_the_same_in_every_encoding(text in "[^\u{feff}]{0,40}") {
            let units: Vec<u16> = text.encode_utf16().collect();
            let with_mark = |mark: &[u8], rest: Vec<u8>| [mark, &rest].concat();
            let encodings = [
                text.clone().into_bytes(),
                with_mark(&[0xef, 0xbb, 0xbf], text.clone().into_bytes()),
                with_mark(&[0xff, 0xfe], units.iter().flat_map(|unit| unit.to_le_bytes()).collect()),
                with_mark(&[0xfe, 0xff], units.iter().flat_map(|unit| unit.to_be_bytes()).collect()),
            ];
            for bytes in encodings {
                prop_assert_eq!(decode(bytes).unwrap(), text.clone());
            }
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        for bytes in [&b"a\xe9"[..], b"\xff\xfea", b"\xff\xfe\x00\xd8", b"\xef\xbb"] {
            assert!(decode(bytes.to_vec()).is_err(), "{bytes:?}");
        }
    }
}
