//! Opening a folder: creating it and testing that it is writable.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::{Folder, STAGING};
use super::store::FolderBlobs;
use super::sync::{private_folder, sync_folder, try_to_write};

/// Why a folder cannot hold the contents of files. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenFolderError {
    /// The folder cannot be created.
    #[error("cannot create the folder {} for the contents of files: {source}; create it and give it to the service's user, or name another folder", .folder.display())]
    Make {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The name is not that of a folder.
    #[error("{} is no folder; name a folder for the contents of files", .folder.display())]
    NoFolder {
        /// The path.
        folder: PathBuf,
    },
    /// The folder cannot be written.
    #[error("cannot write to the folder {} of the contents of files: {source}; give the service's user the right to write there, free some space, or name another folder", .folder.display())]
    Write {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl FolderBlobs {
    /// Opens a folder, creates it if it is absent, and tests that it is writable.
    ///
    /// Blocks for a few milliseconds.
    ///
    /// # Errors
    /// [`OpenFolderError`] says what is wrong with the folder and what to do.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, OpenFolderError> {
        let root: PathBuf = folder.into();
        if root.exists() && !root.is_dir() {
            return Err(OpenFolderError::NoFolder { folder: root });
        }
        make(&root).map_err(|source| OpenFolderError::Make { folder: root.clone(), source })?;
        let staging = root.join(STAGING);
        let tried = make(&staging).and_then(|()| try_to_write(&staging));
        tried.map_err(|source| OpenFolderError::Write { folder: root.clone(), source })?;
        Ok(FolderBlobs(Arc::new(Folder::new(root))))
    }

    /// Opens an existing folder to read from it, without trying whether it can be written.
    ///
    /// # Errors
    /// [`OpenFolderError::NoFolder`] when it is none.
    pub fn open_for_reading(folder: impl Into<PathBuf>) -> Result<Self, OpenFolderError> {
        let root: PathBuf = folder.into();
        if !root.is_dir() {
            return Err(OpenFolderError::NoFolder { folder: root });
        }
        Ok(FolderBlobs(Arc::new(Folder::new(root))))
    }
}

/// Creates a folder and its missing parents, readable only by their owner. Their names survive a power cut.
fn make(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.exists())
        .collect();
    private_folder().recursive(true).create(folder)?;
    for made in missing {
        let above = made.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match sync_folder(above) {
            // A folder that is writable but not readable cannot be opened.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
    }
    Ok(())
}
