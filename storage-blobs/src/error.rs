//! Why a store of file contents cannot be opened.

use crate::local::OpenFolderError;

/// Why a store of file contents cannot be opened. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] OpenFolderError),
    /// The settings in the environment are invalid for the store.
    #[error("cannot open the store of file contents {url}: {reason}")]
    Settings {
        /// The store.
        url: String,
        /// What is wrong.
        reason: String,
    },
}
