//! Contents of files in a local folder.
//!
//! `LocalFileSystem` of `object_store` 0.14 does not fit the contract of [`BlobStore`](openapi_core::ports::BlobStore): its
//! streamed uploads replace an existing object, and its removals are not synced, so a removed blob may return after a power
//! cut. It also creates files and folders with the modes of the process, and stages uploads next to the objects.

mod folder;
mod list;
mod names;
mod offload;
mod open;
mod prefetch;
mod read;
mod staged_file;
mod store;
mod sweep;
mod sync;
mod write;

pub use open::OpenFolderError;
pub use store::FolderBlobs;
