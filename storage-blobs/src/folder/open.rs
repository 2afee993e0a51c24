//! Opening a folder: it is made, and tried.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{Folder, FolderBlobs, UNFINISHED, private_folder, sync_folder};

/// Why a folder cannot hold the contents of files. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenFolderError {
    /// The folder cannot be made.
    #[error("cannot make the folder {} for the contents of files: {source}; make it and give it to the service's user, or name another folder", .folder.display())]
    Make {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is something else under that name.
    #[error("{} is no folder; name a folder for the contents of files", .folder.display())]
    NoFolder {
        /// What is there instead.
        folder: PathBuf,
    },
    /// The folder cannot be written.
    #[error("cannot write to the folder {} of the contents of files: {source}; give the service's user the right to write there, free some space, or name another folder", .folder.display())]
    Write {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl FolderBlobs {
    /// Uses a folder, which is made when it is not there, and tries to write in it.
    ///
    /// Blocks for as long as that takes: some milliseconds.
    ///
    /// # Errors
    /// [`OpenFolderError`] says what is wrong with the folder and what to do.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, OpenFolderError> {
        let root: PathBuf = folder.into();
        if root.exists() && !root.is_dir() {
            return Err(OpenFolderError::NoFolder { folder: root });
        }
        make(&root).map_err(|source| OpenFolderError::Make { folder: root.clone(), source })?;
        let unfinished = root.join(UNFINISHED);
        let tried = make(&unfinished).and_then(|()| try_to_write(&unfinished));
        tried.map_err(|source| OpenFolderError::Write { folder: root.clone(), source })?;
        Ok(FolderBlobs(Arc::new(Folder { root, synced: Mutex::default(), pace: Default::default() })))
    }
}

/// Makes a folder and those above it that are missing, all readable by their owner only. They outlive a power cut.
fn make(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.exists())
        .collect();
    private_folder().recursive(true).create(folder)?;
    for made in missing {
        let above = made.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match sync_folder(above) {
            // A folder that may be written and not listed cannot be opened.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
    }
    Ok(())
}

/// Makes a file, writes to it and removes it again.
pub(super) fn try_to_write(unfinished: &Path) -> io::Result<()> {
    let path = unfinished.join("probe");
    let written = OpenOptions::new().write(true).create(true).truncate(true).open(&path);
    let written = written.and_then(|mut file| file.write_all(b"."));
    match fs::remove_file(&path) {
        // Another probe at the same time removes it first.
        Err(error) if error.kind() != io::ErrorKind::NotFound => written.and(Err(error)),
        _ => written,
    }
}
