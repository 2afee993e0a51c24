//! A file that is being written, under a name that nobody reads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use openapi_core::values::FileId;

/// After how many bytes the disk is told to begin.
const TOLD_EVERY: u64 = 2 * 1024 * 1024;

/// How many writers of one key at once are given a name of their own.
const NAMES: u32 = 1_000;

/// A file in the folder `.unfinished`. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) file: Arc<File>,
    pub(super) path: PathBuf,
    /// Bytes written so far, and how many of these the disk was told to take.
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
                opened => {
                    return opened.map(|file| Unfinished { file: Arc::new(file), path, written: 0, told: 0 });
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "the same file is being written too many times"))
    }
}

impl Unfinished {
    /// Writes the next bytes.
    pub(super) fn write(&mut self, pieces: &[Bytes]) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        let mut rest = slices.as_mut_slice();
        while !rest.is_empty() {
            match (&*self.file).write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.written += written as u64;
                    IoSlice::advance_slices(&mut rest, written);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What the disk is to be told to take, from time to time, so that little is left to wait for in the end.
    pub(super) fn begin_writing_back(&mut self) -> Option<WriteBack> {
        let length = self.written - self.told;
        if length < TOLD_EVERY {
            return None;
        }
        let part = WriteBack { file: Arc::clone(&self.file), offset: self.told, length };
        self.told = self.written;
        Some(part)
    }
}

/// A part of a file that is to go to the disk.
#[derive(Debug)]
pub(super) struct WriteBack {
    file: Arc<File>,
    offset: u64,
    length: u64,
}

impl WriteBack {
    /// Lets the system write it, without waiting for the disk. Bytes that are not there yet stay in memory: only clean
    /// ones could be dropped.
    pub(super) fn run(self) {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{Advice, fadvise};
            // A system that does not take the advice writes it all in the end.
            let _ =
                fadvise(&self.file, self.offset, std::num::NonZeroU64::new(self.length), Advice::DontNeed);
        }
        #[cfg(not(target_os = "linux"))]
        let WriteBack { file: _, offset: _, length: _ } = self;
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
