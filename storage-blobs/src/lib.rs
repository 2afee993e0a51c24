//! Contents of files.

mod folder;
#[cfg(test)]
mod tests;

pub use folder::{FolderBlobs, OpenFolderError};
