//! Reads documents as text with layout ([`document`]) and extracts the fields of a schema with calibrated confidence
//! ([`engine`]).
//!
//! [`Extractor`] combines both for the port of the Open API, [`openapi_core::extraction::DocumentExtractor`].
//!
//! The two halves share one type, [`document::Document`]: the readers of PDF, DOCX, text and images create it, and
//! engines read nothing else.
//!
//! ```
//! use extraction::document::{Limits, read};
//! use extraction::engine::builtin;
//! use openapi_core::extraction::{Extraction, ExtractionSchema};
//!
//! let document = read(b"Invoice number: 2026-77\nTotal: 40.00 GBP\n", &Limits::default())?;
//! let schema = ExtractionSchema::parse(br#"{ "invoiceNumber": { "type": "string" } }"#).expect("a schema");
//! let answer = builtin::extract(&document, &schema);
//! let found = Extraction::of(&schema, answer.findings, &answer.warnings);
//! assert_eq!(found.data.get("invoiceNumber").and_then(|value| value.as_str()), Some("2026-77"));
//! # Ok::<(), extraction::document::ReadError>(())
//! ```

pub mod document;
pub mod engine;
#[cfg(feature = "worker")]
mod extractor;
#[cfg(feature = "worker")]
pub mod worker;

#[cfg(feature = "worker")]
pub use extractor::Extractor;
#[cfg(all(feature = "worker", feature = "model"))]
pub use extractor::Models;
