//! The port of file contents, and implementations that need no server.

mod memory;
mod none;
mod store;

pub use memory::MemoryBlobs;
pub use none::NoBlobs;
pub use store::{
    BlobEntry, BlobError, BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
    InvalidBlobKey,
};
