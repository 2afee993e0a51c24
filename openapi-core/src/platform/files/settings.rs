//! The operator's settings of files.

use crate::files::FileTypes;
use crate::storage::FileQuota;

/// What an operator decides about files; the defaults are the contract's (2.2, 9).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileSettings {
    /// Which types are accepted.
    pub types: FileTypes,
    /// Files of one contact (1,000).
    pub max_files_of_contact: u64,
    /// Bytes of all files of one agent; none, the default, is no bound.
    pub max_bytes_of_agent: Option<u64>,
    /// How long the content of a deleted file is retained, in milliseconds (30 days); 0 removes it at once.
    pub retention_millis: u64,
}

impl Default for FileSettings {
    fn default() -> Self {
        FileSettings {
            types: FileTypes::default(),
            max_files_of_contact: 1_000,
            max_bytes_of_agent: None,
            retention_millis: 30 * 24 * 3_600_000,
        }
    }
}

impl FileSettings {
    pub(super) fn quota(&self) -> FileQuota {
        FileQuota { files_of_contact: self.max_files_of_contact, bytes_of_agent: self.max_bytes_of_agent }
    }
}
