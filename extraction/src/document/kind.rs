//! Detects the type of a document from its content; neither its name nor its declared type counts.

use serde::{Deserialize, Serialize};

use super::package::{Held, held};

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
    /// Office Open XML, workbook.
    Xlsx,
    /// Office Open XML, presentation.
    Pptx,
    /// OpenDocument text.
    Odt,
    /// OpenDocument spreadsheet.
    Ods,
    /// OpenDocument presentation.
    Odp,
    /// Rich Text Format.
    Rtf,
    /// HTML, also XHTML.
    Html,
    /// Text whose lines have the same number of separated fields.
    Csv,
    /// A message (RFC 5322) with its attachments.
    Message,
}

impl Kind {
    /// Every type.
    pub const ALL: [Kind; 18] = [
        Kind::Pdf,
        Kind::Docx,
        Kind::Text,
        Kind::Jpeg,
        Kind::Png,
        Kind::Tiff,
        Kind::WebP,
        Kind::Bmp,
        Kind::Gif,
        Kind::Xlsx,
        Kind::Pptx,
        Kind::Odt,
        Kind::Ods,
        Kind::Odp,
        Kind::Rtf,
        Kind::Html,
        Kind::Csv,
        Kind::Message,
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
            return Some(match held(bytes)? {
                Held::Word => Self::Docx,
                Held::Workbook => Self::Xlsx,
                Held::Slides => Self::Pptx,
                Held::OpenDocument("text") => Self::Odt,
                Held::OpenDocument("spreadsheet") => Self::Ods,
                Held::OpenDocument(_) => Self::Odp,
            });
        }
        if head(b"{\\rtf") {
            return Some(Self::Rtf);
        }
        if refused_text(bytes).is_some() || !super::text::is_text(bytes) {
            return None;
        }
        if is_html(bytes) {
            return Some(Self::Html);
        }
        if is_message(bytes) {
            return Some(Self::Message);
        }
        let is_csv = super::csv::delimiter(&beginning(bytes)).is_some();
        Some(if is_csv { Self::Csv } else { Self::Text })
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
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::Pptx => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            Self::Odt => "application/vnd.oasis.opendocument.text",
            Self::Ods => "application/vnd.oasis.opendocument.spreadsheet",
            Self::Odp => "application/vnd.oasis.opendocument.presentation",
            Self::Rtf => "application/rtf",
            Self::Html => "text/html",
            Self::Csv => "text/csv",
            Self::Message => "message/rfc822",
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
    if bytes.starts_with(b"%!PS") {
        return Some("application/postscript");
    }
    root(bytes).is_some_and(|root| root == "svg").then_some("image/svg+xml")
}

/// How much of text is looked at for its kind.
const BEGINNING: usize = 32 << 10;

/// Whole lines from the beginning of text.
fn beginning(bytes: &[u8]) -> String {
    let text = super::text::decode(&bytes[..bytes.len().min(BEGINNING)]).into_owned();
    match text.rfind('\n').filter(|_| bytes.len() > BEGINNING) {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// The name of the first element of markup, after its declarations and comments, if it begins as markup.
fn root(bytes: &[u8]) -> Option<String> {
    let text = beginning(bytes);
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let inner = rest.strip_prefix('<')?;
        let (mark, end) = match inner {
            inner if inner.starts_with("!--") => ("-->", inner.find("-->")?),
            inner if inner.starts_with('?') => ("?>", inner.find("?>")?),
            inner if inner.to_ascii_lowercase().starts_with("!doctype html") => {
                return Some("html".to_owned());
            }
            inner if inner.starts_with('!') => (">", inner.find('>')?),
            inner => {
                let is_name =
                    |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | ':' | '_');
                let name = inner.split(|letter| !is_name(letter)).next().unwrap_or_default();
                return (!name.is_empty()).then(|| name.to_ascii_lowercase());
            }
        };
        rest = inner[end + mark.len()..].trim_start();
    }
}

/// Elements that begin a page or a part of one.
const HTML: [&str; 20] = [
    "html", "head", "body", "title", "meta", "div", "p", "table", "span", "h1", "h2", "h3", "section",
    "article", "ul", "ol", "header", "main", "br", "center",
];

/// Whether this begins like HTML or a part of a page.
fn is_html(bytes: &[u8]) -> bool {
    root(bytes).is_some_and(|root| HTML.contains(&root.as_str()))
}

/// Headers that every message on its way has one of, and those that some text that is none has as well.
const OF_MESSAGES: [&str; 7] = [
    "message-id",
    "mime-version",
    "received",
    "return-path",
    "delivered-to",
    "dkim-signature",
    "content-type",
];
const OF_HEADS: [&str; 4] = ["from", "to", "subject", "date"];
/// The lines of a head that are looked at.
const HEAD_LINES: usize = 400;

/// Whether text begins as a message does: with headers, one of which only messages have.
fn is_message(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(64 << 10)]);
    let (mut certain, mut usual) = (0, 0);
    for (nth, line) in head.lines().take(HEAD_LINES).enumerate() {
        if line.is_empty() {
            break;
        }
        if line.starts_with([' ', '\t']) && nth > 0 || nth == 0 && line.starts_with("From ") {
            continue;
        }
        let name = line.split_once(':').map(|(name, _)| name.to_ascii_lowercase());
        let is_token = |name: &String| name.bytes().all(|byte| byte.is_ascii_graphic()) && !name.is_empty();
        let Some(name) = name.filter(is_token) else { return false };
        certain += usize::from(OF_MESSAGES.contains(&name.as_str()));
        usual += usize::from(OF_HEADS.contains(&name.as_str()));
    }
    certain >= 1 && usual >= 2
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
        assert_eq!(Kind::of(b"{\\rtf1 Hello}"), Some(Kind::Rtf));
        assert_eq!(Kind::of(b"%!PS-Adobe-3.0"), None);
        assert_eq!(Kind::of(b"\x7fELF\x02\x01\x01\0\0\0\0"), None);
        assert_eq!(Kind::of(b"PK\x03\x04 but no archive"), None);
    }

    #[test]
    fn the_first_element_names_markup() {
        let utf16 = |of: fn(u16) -> [u8; 2]| -> Vec<u8> {
            "\u{feff}\r\n<!DOCTYPE html>".encode_utf16().flat_map(of).collect()
        };
        for html in [
            b"<!DOCTYPE html>".to_vec(),
            b"<!doctype HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">".to_vec(),
            b"\xef\xbb\xbf \n<html lang=en>".to_vec(),
            [&b" ".repeat(20_000)[..], b"<Html>"].concat(),
            b"<?xml version=\"1.0\"?>\n<!-- a page -->\n<!DOCTYPE html PUBLIC \"x\">\n<html xmlns=\"y\"/>"
                .to_vec(),
            b"<body><p>Total: 12".to_vec(),
            b"<table><tr><td>Total".to_vec(),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
        ] {
            assert_eq!(Kind::of(&html), Some(Kind::Html), "{html:?}");
        }
        for svg in ["<svg xmlns=\"a\"/>", "<?xml version=\"1.0\"?><!-- b --><svg/>"] {
            assert_eq!(
                (Kind::of(svg.as_bytes()), refused_text(svg.as_bytes())),
                (None, Some("image/svg+xml"))
            );
        }
        for text in [
            "<?xml version=\"1.0\"?><order/>",
            "<order/>",
            "<!DOCTYPE order><order/>",
            "<html-report/>",
            "<htmlish>",
            "The <html> element",
            "{ \"total\": 12 }",
            "<",
            "<!--",
            "",
        ] {
            assert_eq!(refused_text(text.as_bytes()), None, "{text}");
            assert_eq!(Kind::of(text.as_bytes()), (!text.is_empty()).then_some(Kind::Text), "{text}");
        }
    }

    #[test]
    fn tables_of_values_and_messages_differ_from_other_text() {
        for csv in ["a;b;c\n1;2;3", "Item,Count,Price\n\"Lamp, red\",2,9.50\n", "a\tb\tc\n1\t2\t3\n"] {
            assert_eq!(Kind::of(csv.as_bytes()), Some(Kind::Csv), "{csv}");
        }
        for message in [
            "From: a@b.example\nTo: c@d.example\nMessage-ID: <1@b.example>\n\nHello",
            "Received: by x;\n\tMon, 1 Jan 2026\nDate: Mon, 1 Jan 2026\nSubject: Bill\n\nHello",
        ] {
            assert_eq!(Kind::of(message.as_bytes()), Some(Kind::Message), "{message}");
        }
        for text in [
            "Dear Ann,\nthank you, and good luck, too.",
            "a;b\n1;2",
            "From: Ann\nTo: Ben\nSubject: Bill\n\nContent-Type: none",
            "Name: Ann, Ben, Cy\nTown: A, B, C",
            "one, two, three\nfour, five",
        ] {
            assert_eq!(Kind::of(text.as_bytes()), Some(Kind::Text), "{text}");
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
