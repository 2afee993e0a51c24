//! Contact files, without their storage: names, types, signed links, ranges (contract 2.2).

mod container;
mod content;
mod detected;
mod disposition;
mod kind;
mod link;
mod markup;
mod range;
mod record;
mod upload;

pub use crate::values::FileName;
pub use content::Inspector;
pub use detected::Detected;
pub use disposition::Disposition;
pub use kind::{FileKind, FileTypes, InvalidFileTypes};
pub use link::{Issuer, Link};
pub use range::{Selection, selection};
pub use record::{ContactFile, Sha256Digest};
pub use upload::{BodyStream, FilePart, Form, Piece, Received, ReceivedFile, Upload};
pub(crate) use upload::{ECHOED_BYTES, MAX_BEYOND_FILE, echo};
