//! Import of contacts: files as spreadsheets, CRM systems and the export write them, read line by line as contacts.
//!
//! The command line imports with these parts, and so do the operations `contacts.previewImport` and `contacts.runImport`.
//! Reading order: `source` → `columns` → `header` → `line`; then `file` → `dry` → `run`.

mod characters;
mod columns;
pub(crate) mod dry;
mod escape;
pub(crate) mod file;
mod format;
pub(crate) mod guess;
mod header;
mod line;
pub(crate) mod permits;
mod refused;
pub(crate) mod run;
mod source;
pub(crate) mod tally;

pub use characters::{is_format as is_format_character, is_unsafe as is_unsafe_character};
pub use columns::{CUSTOM, Columns, Target, cell};
pub use escape::{escaped, unescaped};
pub use format::{ImportFormat, parse_delimiter};
pub use header::{Header, Mapping};
pub use line::{Identity, import, message_of};
pub use source::{Given, Line, Lines, Source, Table, parse_encoding};
