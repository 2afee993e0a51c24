//! A file that is being written, under a name that is not read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use openapi_core::values::FileId;

/// The bytes after which the system is asked to write back.
const WRITE_BACK_EVERY: u64 = 2 * 1024 * 1024;

/// The most concurrent writers of one key.
const MAX_NAMES: u32 = 1_000;

/// A file in the folder `.unfinished`. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct StagedFile {
    pub(super) file: Arc<File>,
    pub(super) path: PathBuf,
    /// The bytes written so far, and how many of them are in write-back.
    written: u64,
    written_back: u64,
}

impl StagedFile {
    /// Creates the file. Its name contains the id of the blob, to identify it after a crash.
    pub(super) fn create(folder: &Path, id: FileId) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        for number in 0..MAX_NAMES {
            let path = folder.join(format!("{id}.{number}"));
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => {
                    return opened.map(|file| StagedFile {
                        file: Arc::new(file),
                        path,
                        written: 0,
                        written_back: 0,
                    });
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "the same file is being written too many times"))
    }
}

impl StagedFile {
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

    /// The part to write back, once it is large enough, so that the final sync has little left to write.
    pub(super) fn begin_writing_back(&mut self) -> Option<WriteBack> {
        let length = self.written - self.written_back;
        if length < WRITE_BACK_EVERY {
            return None;
        }
        let part = WriteBack { file: Arc::clone(&self.file), offset: self.written_back, length };
        self.written_back = self.written;
        Some(part)
    }
}

/// A part of a file for write-back.
#[derive(Debug)]
pub(super) struct WriteBack {
    file: Arc<File>,
    offset: u64,
    length: u64,
}

impl WriteBack {
    /// Starts the write-back without waiting for the disk. Dirty pages stay in the cache; only clean ones are dropped.
    pub(super) fn run(self) {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{Advice, fadvise};
            // A system that ignores the advice writes everything at the final sync.
            let _ =
                fadvise(&self.file, self.offset, std::num::NonZeroU64::new(self.length), Advice::DontNeed);
        }
        #[cfg(not(target_os = "linux"))]
        let WriteBack { file: _, offset: _, length: _ } = self;
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        let leftover = Leftover(std::mem::take(&mut self.path));
        // The writer may be dropped on a thread that must not wait for the disk.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(leftover))),
            Err(_) => drop(leftover),
        }
    }
}

/// The path of a file to remove, also when the runtime shuts down before it runs the task.
struct Leftover(PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        // The sweep removes what cannot be removed now.
        drop(fs::remove_file(&self.0));
    }
}
