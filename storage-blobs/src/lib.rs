//! Contents of files for the Open API: a local folder, S3, Google Cloud Storage, Azure.
//!
//! Each store implements [`BlobStore`](openapi_core::ports::BlobStore) and passes the suite in
//! `testkit::conformance::blobs`. [`open`] makes one of a [`BlobsUrl`].
//!
//! - [`FolderBlobs`] stores blobs in a local folder; an acknowledged blob survives a power cut.
//! - `ObjectBlobs` (feature `cloud`, on by default) stores them in an object store, over rustls.
//! - [`MemoryBlobs`](openapi_core::ports::MemoryBlobs), from the core, is what `memory:` names.
//!
//! The stores run on Tokio. They do not read the environment: the caller passes variables with credentials to [`open`]. The
//! only exception is the location of the system's certificates, `SSL_CERT_FILE` and `SSL_CERT_DIR`.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(&folder)?;
//! let url: storage_blobs::BlobsUrl = "file:./data/blobs".parse()?;
//! let blobs = storage_blobs::open(&url, std::env::vars())?;
//! # drop(blobs);
//! # Ok(())
//! # }
//! ```

mod error;
mod local;
#[cfg(feature = "cloud")]
mod objects;
mod open;
#[cfg(test)]
mod tests;
mod url;

pub use error::OpenError;
pub use local::{FolderBlobs, OpenFolderError};
#[cfg(feature = "cloud")]
pub use objects::ObjectBlobs;
pub use open::open;
pub use url::{BlobsUrl, Bucket, InvalidBlobsUrl};
