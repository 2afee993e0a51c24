//! What every kind of document becomes: pages of lines of words, in reading order, with their places and tables.

mod docx;
mod error;
mod kind;
mod layout;
mod limits;
mod model;
mod pdf;
mod picture;
pub mod recognition;
mod text;
mod words;

pub use error::{ReadError, Reason, Unit};
pub use kind::Kind;
pub(crate) use kind::is_encrypted_office;
#[cfg(feature = "worker")]
pub(crate) use kind::refused_text;
pub use limits::Limits;
pub use model::{Cell, Document, Line, Page, PageSource, Picture, Rect, Table, Warning, Word};
pub use text::decode;

/// Reads a document in this process. The type is that of the content.
///
/// Memory and time are bounded by the limits for documents that mean well only; a hostile one is read in a process of
/// its own, by [`worker`](crate::worker).
///
/// # Errors
/// What [`ReadError`] says.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Document, ReadError> {
    read_with(bytes, limits, None)
}

/// Reads a document like [`read`], with recognition for its pictures and scanned pages.
///
/// # Errors
/// What [`ReadError`] says.
pub fn read_with(
    bytes: &[u8],
    limits: &Limits,
    recognise: Option<&dyn recognition::Recognise>,
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
        Kind::Pdf => pdf::read(bytes, limits, recognise),
        Kind::Jpeg | Kind::Png | Kind::Tiff | Kind::WebP | Kind::Bmp | Kind::Gif => {
            picture::read(bytes, kind, limits, recognise)
        }
    }
}
