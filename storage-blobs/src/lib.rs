//! Contents of files for the Open API: a local folder, S3, Google Cloud Storage, Azure.
//!
//! Each store implements [`BlobStore`](openapi_core::ports::BlobStore) and passes the suite in
//! `testkit::conformance::blobs`. [`open`] makes one of a [`BlobsUrl`].
//!
//! - [`FolderBlobs`] keeps blobs in a local folder, and an acknowledged one through a power cut.
//! - `ObjectBlobs` (feature `cloud`, on by default) keeps them in an object store, over rustls.
//! - [`MemoryBlobs`](openapi_core::ports::MemoryBlobs), from the core, is what `memory:` names.
//!
//! The stores run on Tokio. They read no environment: variables with credentials are given to [`open`]. Only where the
//! system's certificates lie is asked as other programs ask it, `SSL_CERT_FILE` and `SSL_CERT_DIR` included.
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

mod folder;
#[cfg(feature = "cloud")]
mod objects;
mod open;
#[cfg(test)]
mod tests;
mod url;

pub use folder::{FolderBlobs, OpenFolderError};
#[cfg(feature = "cloud")]
pub use objects::ObjectBlobs;
pub use open::{OpenError, open};
pub use url::{BlobsUrl, Bucket, InvalidBlobsUrl};
