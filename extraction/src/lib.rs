//! Documents to text with layout ([`document`]), and text to the fields of a schema with honest confidence ([`engine`]).
//!
//! [`Extractor`] is both behind the port of the Open API, [`openapi_core::ports::DocumentExtractor`].
//!
//! The two halves meet in one type, [`document::Document`]: readers of PDF, DOCX, text and images make it, engines
//! read nothing else.

pub mod document;
pub mod engine;
#[cfg(feature = "worker")]
mod extractor;
#[cfg(feature = "worker")]
pub mod worker;

#[cfg(feature = "worker")]
pub use extractor::Extractor;
#[cfg(all(feature = "worker", feature = "model"))]
pub use extractor::ModelUse;
