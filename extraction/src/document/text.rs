//! Plain text: its encoding, its lines and words.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

use super::error::ReadError;
use super::limits::Characters;
use super::limits::Limits;
use super::model::{Document, Line, Page};
use super::words::WordBuilder;

/// Columns from one tab stop to the next, as terminals and editors have them.
const TAB: usize = 8;

/// Whether the content can be text: no character that no text has, or a byte order mark.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    if Encoding::for_bom(bytes).is_some() {
        return true;
    }
    let head = &bytes[..bytes.len().min(64 << 10)];
    let control = |byte: u8| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x1a);
    !bytes.is_empty()
        && !bytes.contains(&0)
        && head.iter().filter(|byte| control(**byte)).count() * 100 <= head.len()
}

/// Reads plain text, in the encoding that [`decode`] takes it to be.
pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Document, ReadError> {
    let text = decode(bytes);
    let mut characters = Characters::new(limits);
    let mut builder = WordBuilder::default();
    let mut lines = Vec::new();
    let mut block = 0;
    let mut blank = false;
    for line in text.split(['\n', '\u{0c}', '\u{2028}', '\u{2029}']).flat_map(|line| line.split('\r')) {
        builder.push(&expand_tabs(line), 0.0, false);
        let words = builder.finish();
        for word in &words {
            characters.word(&word.text)?;
        }
        if words.is_empty() {
            blank = true;
            continue;
        }
        if blank && !lines.is_empty() {
            block += 1;
        }
        blank = false;
        lines.push(Line { words, block });
    }
    let page = Page { number: 1, lines, ..Page::default() };
    Ok(Document { pages: vec![page], ..Document::default() })
}

/// The characters of plain text as they stand, in whatever encoding it is: that of its byte order mark, else UTF-8 if it
/// is valid, else the likeliest of the legacy ones.
#[must_use]
pub fn decode(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    if Encoding::for_bom(bytes).is_some() || std::str::from_utf8(bytes).is_ok() {
        // Takes the byte order mark at its word and off.
        return UTF_8.decode(bytes).0;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Allow).decode(bytes).0
}

fn expand_tabs(line: &str) -> std::borrow::Cow<'_, str> {
    if !line.contains('\t') {
        return line.into();
    }
    let mut expanded = String::with_capacity(line.len() + TAB);
    let mut column = 0;
    for character in line.chars() {
        if character == '\t' {
            let width = TAB - column % TAB;
            expanded.extend(std::iter::repeat_n(' ', width));
            column += width;
        } else {
            expanded.push(character);
            column += 1;
        }
    }
    expanded.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Unit;

    fn texts(bytes: &[u8]) -> Vec<Vec<String>> {
        let document = read(bytes, &Limits::default()).expect("text is read");
        document.pages[0]
            .lines
            .iter()
            .map(|line| line.words.iter().map(|word| word.text.clone()).collect())
            .collect()
    }

    #[test]
    fn every_common_encoding_comes_to_the_same() {
        let text = "Prüfbericht Nr. 7\nGröße: 12 €";
        let utf16 = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
        };
        let expected = texts(text.as_bytes());
        assert_eq!(expected, [vec!["Prüfbericht", "Nr.", "7"], vec!["Größe:", "12", "€"]]);
        assert_eq!(texts(&[b"\xef\xbb\xbf", text.as_bytes()].concat()), expected);
        assert_eq!(texts(&utf16(u16::to_le_bytes)), expected);
        assert_eq!(texts(&utf16(u16::to_be_bytes)), expected);
        assert_eq!(texts(&encoding_rs::WINDOWS_1252.encode(text).0), expected);
    }

    #[test]
    fn legacy_encodings_are_identified_by_their_letters() {
        let russian = "Договор аренды нежилого помещения\nСумма: 1500 рублей";
        assert_eq!(texts(&encoding_rs::WINDOWS_1251.encode(russian).0), texts(russian.as_bytes()));
        let japanese = "請求書\n合計金額は一万円です。お支払いください。";
        assert_eq!(texts(&encoding_rs::SHIFT_JIS.encode(japanese).0), texts(japanese.as_bytes()));
    }

    #[test]
    fn gaps_and_blocks_are_those_that_a_reader_sees() {
        let document = read(b"Total:\t 12.00\n\n  Thank you\r\n", &Limits::default()).expect("text is read");
        let lines = &document.pages[0].lines;
        assert_eq!((lines[0].words[1].gap, lines[0].block), (3, 0));
        assert_eq!((lines[1].words[0].gap, lines[1].words[1].gap, lines[1].block), (0, 1, 1));
        assert_eq!(document.page_count, None);
    }

    #[test]
    fn too_many_characters_are_refused_and_exactly_as_many_are_not() {
        let limits = Limits { characters: 7, ..Limits::default() };
        assert!(read(b"abc def", &limits).is_ok());
        assert_eq!(
            read(b"abc defg", &limits),
            Err(ReadError::TooLarge { unit: Unit::Characters, limit: 7, actual: None })
        );
    }
}
