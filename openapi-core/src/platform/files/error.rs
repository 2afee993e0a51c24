//! Why maintenance failed.

use crate::admin::AdminError;
use crate::ports::BlobError;
use crate::storage::StorageError;

/// Why regular work was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MaintainError {
    /// The data store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The store of file contents failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
}

impl From<MaintainError> for AdminError {
    fn from(error: MaintainError) -> Self {
        match error {
            MaintainError::Storage(error) => error.into(),
            MaintainError::Blobs(error) => error.into(),
        }
    }
}
