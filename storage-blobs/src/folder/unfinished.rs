//! A file that is being written, under a name that nobody reads.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use openapi_core::values::FileId;

/// How many writers of one key at once are given a name of their own.
const NAMES: u32 = 1_000;

/// A file in the folder `.unfinished`. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

impl Unfinished {
    /// Makes the file. Its name holds the id of the file, for whoever looks for what is left after a crash.
    pub(super) fn begin(folder: &Path, id: FileId) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        for number in 0..NAMES {
            let path = folder.join(format!("{id}.{number}"));
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => return opened.map(|file| Unfinished { file, path }),
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "the same file is being written too many times"))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let leftover = Leftover(std::mem::take(&mut self.path));
        // A dropped writer is on a thread that must not wait for the disk.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(leftover))),
            Err(_) => drop(leftover),
        }
    }
}

/// The name of a file that is to be removed: also when the runtime shuts down before it runs what it was given.
struct Leftover(PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        // What cannot be removed is swept later.
        drop(fs::remove_file(&self.0));
    }
}
