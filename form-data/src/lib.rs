//! Forms (`multipart/form-data`), part by part, while they arrive.
//!
//! A [`Form`] gives its pieces: a part begins, or bytes of it. One part of it holds files, and the limits of a [`FilePart`]
//! tell what it and the others may hold. The errors are those of the caller, which implements [`FormError`].

mod chunk_stream;
mod form;

pub use chunk_stream::BodyStream;
pub use form::{FilePart, Form, FormError, Piece};
