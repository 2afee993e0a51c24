//! Types of files: what the content of a file says, whatever its name claims (contract 2.2).
//!
//! An [`Inspector`] looks at a file while it streams by, in bounded memory, and says at its end what was
//! [`Detected`]. [`FileTypes`] are those that an operator allows. The crate `openapi-core` re-exports everything here as
//! `openapi_core::files`.

mod container;
mod content;
mod detected;
mod kind;
mod markup;

pub use content::Inspector;
pub use detected::Detected;
pub use kind::{FileKind, FileTypes, InvalidFileTypes};
