//! A file that is being written, under a name that nobody reads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use openapi_core::values::FileId;

/// After how many octets the disk is told to begin.
const TOLD_EVERY: u64 = 2 * 1024 * 1024;

/// How many writers of one key at once are given a name of their own.
const NAMES: u32 = 1_000;

/// A file in the folder `.unfinished`. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Octets written so far, and how many of these the disk was told to take.
    written: u64,
    told: u64,
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
                opened => return opened.map(|file| Unfinished { file, path, written: 0, told: 0 }),
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "the same file is being written too many times"))
    }
}

impl Unfinished {
    /// Writes the next octets. From time to time the disk is told to take what was written, so that little is left to
    /// wait for in the end.
    pub(super) fn write(&mut self, octets: &[u8]) -> io::Result<()> {
        self.file.write_all(octets)?;
        self.written += octets.len() as u64;
        if self.written - self.told >= TOLD_EVERY {
            begin_writing_back(&self.file, self.told, self.written - self.told);
            self.told = self.written;
        }
        Ok(())
    }
}

/// Lets the system write a part of a file to its disk, without waiting for it. Octets that are not on the disk yet stay
/// in memory: only clean ones could be dropped.
fn begin_writing_back(file: &File, offset: u64, length: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Advice, fadvise};
        // A system that does not take the advice writes it all in the end.
        let _ = fadvise(file, offset, std::num::NonZeroU64::new(length), Advice::DontNeed);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, length);
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
