//! Contents of files in an object store.

mod connect;
mod environment;
mod error;
mod read;
mod store;
mod write;

pub use store::ObjectBlobs;
