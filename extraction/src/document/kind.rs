//! Detects the type of a document from its content; neither its name nor its declared type counts.

use encoding_rs::{Encoding, UTF_8, UTF_16BE};
use serde::{Deserialize, Serialize};

/// The supported document types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Portable Document Format.
    Pdf,
    /// Office Open XML, word processing.
    Docx,
    /// Plain text in any encoding.
    Text,
    /// A JPEG image.
    Jpeg,
    /// A PNG image.
    Png,
    /// A TIFF image, whose frames are pages.
    Tiff,
    /// A WebP image.
    WebP,
    /// A Windows bitmap.
    Bmp,
    /// A GIF image, whose first frame counts.
    Gif,
}

impl Kind {
    /// Every type.
    pub const ALL: [Kind; 9] = [
        Kind::Pdf,
        Kind::Docx,
        Kind::Text,
        Kind::Jpeg,
        Kind::Png,
        Kind::Tiff,
        Kind::WebP,
        Kind::Bmp,
        Kind::Gif,
    ];

    /// Detects the type by the first bytes, and of a ZIP archive by its entries; `None` if it is not supported.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let head = |signature: &[u8]| bytes.starts_with(signature);
        // Readers accept a PDF that begins within the first 1,024 bytes; mail gateways put lines before it.
        let start = &bytes[..bytes.len().min(1024 + 5)];
        if start.windows(5).any(|window| window == b"%PDF-") {
            return Some(Self::Pdf);
        }
        if head(b"\xff\xd8\xff") {
            return Some(Self::Jpeg);
        }
        if head(b"\x89PNG\r\n\x1a\n") {
            return Some(Self::Png);
        }
        if head(b"II*\0") || head(b"MM\0*") || head(b"II+\0") || head(b"MM\0+") {
            return Some(Self::Tiff);
        }
        if head(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            return Some(Self::WebP);
        }
        if head(b"GIF87a") || head(b"GIF89a") {
            return Some(Self::Gif);
        }
        if head(b"BM") && is_bitmap(bytes) {
            return Some(Self::Bmp);
        }
        if head(b"PK\x03\x04") {
            return super::docx::is_docx(bytes).then_some(Self::Docx);
        }
        if refused_text(bytes).is_some() {
            return None;
        }
        super::text::is_text(bytes).then_some(Self::Text)
    }

    /// The media type (contract 12.2, `contentType`).
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Docx => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Text => "text/plain",
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Tiff => "image/tiff",
            Self::WebP => "image/webp",
            Self::Bmp => "image/bmp",
            Self::Gif => "image/gif",
        }
    }
}

/// `BM` begins many a text; a bitmap goes on with two reserved zeros and the size of a header that exists.
fn is_bitmap(bytes: &[u8]) -> bool {
    let header = bytes.get(14..18).and_then(|size| size.try_into().ok()).map(u32::from_le_bytes);
    bytes.get(6..10) == Some(&[0; 4]) && matches!(header, Some(12 | 40 | 52 | 56 | 64 | 108 | 124))
}

/// The media type of what is written in plain characters and is no plain text: what people read in it is not what
/// stands there.
pub(crate) fn refused_text(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"{\\rtf") {
        return Some("application/rtf");
    }
    if bytes.starts_with(b"%!PS") {
        return Some("application/postscript");
    }
    is_html(bytes).then_some("text/html")
}

/// Whether this begins like HTML, after an optional byte order mark and white space. The encoding is the one that the
/// mark names, or a superset of ASCII.
fn is_html(bytes: &[u8]) -> bool {
    let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((UTF_8, 0));
    let written = &bytes[mark..];
    // UTF-16 has units of two bytes: white space, then the beginning of the text.
    let (unit, low) = if encoding == UTF_8 { (1, 0) } else { (2, usize::from(encoding == UTF_16BE)) };
    let is_ascii = |unit: &[u8]| unit.len() == 1 || unit.get(1 - low) == Some(&0);
    let letters = written
        .chunks(unit)
        .map_while(|unit| is_ascii(unit).then(|| unit.get(low).copied()).flatten())
        .skip_while(u8::is_ascii_whitespace);
    let head: Vec<u8> = letters.take(64).map(|letter| letter.to_ascii_lowercase()).collect();
    let ends = |rest: &[u8]| !rest.first().is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'-');
    if let Some(rest) = head.strip_prefix(b"<html") {
        return ends(rest);
    }
    let name = head.strip_prefix(b"<!doctype").map(<[u8]>::trim_ascii_start);
    name.and_then(|name| name.strip_prefix(b"html")).is_some_and(ends)
}

/// Whether this is the container of an encrypted Office document: a compound file with a stream of that name.
pub(crate) fn is_encrypted_office(bytes: &[u8]) -> bool {
    const COMPOUND_FILE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.starts_with(COMPOUND_FILE) && bytes.windows(name.len()).any(|window| window == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_decide() {
        assert_eq!(Kind::of(b"\xff\xd8\xff\xe0"), Some(Kind::Jpeg));
        assert_eq!(Kind::of(b"some lines\r\n%PDF-1.4"), Some(Kind::Pdf));
        assert_eq!(Kind::of(b"GIF89a"), Some(Kind::Gif));
        assert_eq!(Kind::of(b"BMW is a brand of cars"), Some(Kind::Text));
        assert_eq!(Kind::of(b"{\\rtf1 Hello}"), None);
        assert_eq!(Kind::of(b"\x7fELF\x02\x01\x01\0\0\0\0"), None);
        assert_eq!(Kind::of(b"PK\x03\x04 but no archive"), None);
    }

    #[test]
    fn html_is_no_plain_text_and_other_markup_is() {
        let utf16 = |of: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}\r\n<!DOCTYPE html>".encode_utf16().flat_map(of).collect()
        };
        for html in [
            b"<!DOCTYPE html>".to_vec(),
            b"<!doctype  HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">".to_vec(),
            b"\xef\xbb\xbf \n<html lang=en>".to_vec(),
            [&b" ".repeat(100_000)[..], b"<Html>"].concat(),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
        ] {
            assert_eq!((Kind::of(&html), refused_text(&html)), (None, Some("text/html")), "{html:?}");
        }
        for text in [
            "<?xml version=\"1.0\"?><order/>",
            "<order/>",
            "<!DOCTYPE order><order/>",
            "<html-report/>",
            "<htmlish>",
            "The <html> element",
            "{ \"total\": 12 }",
            "a;b\n1;2",
            "",
        ] {
            assert_eq!(refused_text(text.as_bytes()), None, "{text}");
            assert_eq!(Kind::of(text.as_bytes()), (!text.is_empty()).then_some(Kind::Text), "{text}");
        }
    }

    #[test]
    fn a_pdf_does_not_begin_far_into_the_file() {
        let mut late = vec![b' '; 1025];
        late.extend_from_slice(b"%PDF-1.4");
        assert_eq!(Kind::of(&late), Some(Kind::Text));
    }

    #[test]
    fn an_encrypted_office_document_is_identified_by_its_stream() {
        let mut bytes = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
        assert!(!is_encrypted_office(&bytes));
        bytes.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
        assert!(is_encrypted_office(&bytes));
    }
}
