//! Documents to text with layout ([`document`]), and text to the fields of a schema with honest confidence ([`engine`]).
//!
//! The two halves meet in one type, [`document::Document`]: readers of PDF, DOCX, text and images make it, engines
//! read nothing else.

pub mod document;
pub mod engine;
#[cfg(feature = "worker")]
pub mod worker;
