//! The model of every kind of document: pages, lines and words in reading order, with positions and tables.

mod csv;
mod docx;
mod error;
mod flow;
mod html;
mod image;
mod kind;
mod layout;
mod limits;
mod message;
mod model;
pub mod ocr;
mod opendocument;
mod package;
mod pdf;
mod rtf;
mod slides;
mod spreadsheet;
mod text;
mod words;
mod xml;

pub use error::{ReadError, Reason, Unit};
pub use kind::Kind;
pub(crate) use kind::is_encrypted_office;
#[cfg(feature = "worker")]
pub(crate) use kind::refused_text;
pub use limits::Limits;
pub use model::{Cell, Document, Line, Page, PageImage, PageSource, Rect, Table, Warning, Word};
pub use text::decode;

/// Reads a document in this process. The type is that of the content.
///
/// Memory and time are bounded by the limits for documents that mean well only; a hostile one is read in a process of
/// its own, by [`worker`](crate::worker).
///
/// # Errors
/// See [`ReadError`].
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Document, ReadError> {
    read_with(bytes, limits, None)
}

/// Reads a document like [`read`], with OCR for its images and scanned pages.
///
/// # Errors
/// See [`ReadError`].
pub fn read_with(
    bytes: &[u8],
    limits: &Limits,
    ocr: Option<&dyn ocr::OcrEngine>,
) -> Result<Document, ReadError> {
    limits.check_bytes(bytes.len())?;
    let kind = match Kind::of(bytes) {
        Some(kind) => kind,
        None if is_encrypted_office(bytes) => return Err(ReadError::Encrypted),
        None => return Err(ReadError::Unsupported),
    };
    match kind {
        Kind::Text => text::read(bytes, limits),
        Kind::Docx => docx::read(bytes, limits),
        Kind::Pdf => pdf::read(bytes, limits, ocr),
        Kind::Xlsx => spreadsheet::read(bytes, limits),
        Kind::Pptx => slides::read(bytes, limits),
        Kind::Odt | Kind::Ods | Kind::Odp => opendocument::read(bytes, limits),
        Kind::Rtf => rtf::read(bytes, limits),
        Kind::Html => html::read(bytes, limits),
        Kind::Csv => {
            let text = decode(bytes);
            match csv::delimiter(&text) {
                Some(delimiter) => csv::read(&text, delimiter, limits),
                None => text::read(bytes, limits),
            }
        }
        Kind::Message => message::read(bytes, limits, ocr, 0),
        Kind::Jpeg | Kind::Png | Kind::Tiff | Kind::WebP | Kind::Bmp | Kind::Gif => {
            image::read(bytes, kind, limits, ocr)
        }
    }
}
