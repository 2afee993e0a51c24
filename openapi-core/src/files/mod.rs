//! Contact files, without their storage: names, types, signed links, ranges (contract 2.2).

mod link;
mod record;
mod upload;

pub use crate::values::byte_range::{Selection, selection};
pub use crate::values::{Disposition, FileName};
pub use file_types::{Detected, FileKind, FileTypes, Inspector, InvalidFileTypes};
pub use link::{Issuer, Link};
pub use record::{ContactFile, Sha256Digest};
pub use upload::{BodyStream, FilePart, Form, Piece, Received, ReceivedFile, Upload};
pub(crate) use upload::{ECHOED_BYTES, MAX_BEYOND_FILE, echo};
