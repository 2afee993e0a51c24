//! What a document is, by its content: neither its name nor what the sender says counts.

use serde::{Deserialize, Serialize};

/// The types of documents that are read.
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

    /// Tells the type by the first octets, and of a ZIP by what is in it; `None` if it is none of those that are read.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let head = |signature: &[u8]| bytes.starts_with(signature);
        // Readers accept a PDF that begins within the first 1,024 octets; mail gateways put lines before it.
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
        if head(b"{\\rtf") || head(b"%!PS") {
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
    fn a_pdf_does_not_begin_far_behind() {
        let mut late = vec![b' '; 1025];
        late.extend_from_slice(b"%PDF-1.4");
        assert_eq!(Kind::of(&late), Some(Kind::Text));
    }

    #[test]
    fn an_encrypted_office_document_is_told_by_its_stream() {
        let mut bytes = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
        assert!(!is_encrypted_office(&bytes));
        bytes.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
        assert!(is_encrypted_office(&bytes));
    }
}
