//! Writing a blob: buffers that go to the system, then the step into its place.
//!
//! A system takes a buffer into its memory in some tens of microseconds, less than handing it to another thread and
//! back costs. So it is written where it is, until a write shows that the disk makes writers wait; then threads do it
//! for a while, two buffers for each writer.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use openapi_core::ports::{BlobError, BlobErrorKind, BlobKey, BlobResult, BlobWriter};
use tokio::task::{JoinHandle, spawn_blocking};

use super::unfinished::Unfinished;
use super::{Folder, blocking, failed, stopped, sync_content, sync_folder};

/// What goes to the disk at once; a writer has two of them. Larger ones are no faster.
const BUFFER: usize = 128 * 1024;

/// A write that takes longer has waited for the disk.
const QUICK: Duration = Duration::from_millis(2);

/// How many buffers threads write after a write that has waited, before one is tried without a thread again.
const WARY: u32 = 2_000;

/// Whether the system takes writes at once, as far as the last ones tell. Shared by the writers of a folder.
#[derive(Debug, Default)]
pub(super) struct Pace(AtomicU32);

impl Pace {
    /// Whether a thread is to write the next buffer.
    fn needs_thread(&self) -> bool {
        let counted = |wary: u32| wary.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted).is_ok()
    }

    /// Leaves everything to threads from now on.
    #[cfg(test)]
    pub(super) fn slow_down(&self) {
        self.0.store(u32::MAX, Ordering::Relaxed);
    }

    /// Runs a write and notes whether it had to wait.
    #[expect(clippy::disallowed_methods, reason = "how long a write takes is no time of day")]
    fn watch<T>(&self, write: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let outcome = write();
        if begun.elapsed() > QUICK {
            self.0.store(WARY, Ordering::Relaxed);
        }
        outcome
    }
}

/// A writer. Dropped at any moment, it takes its file along.
pub(super) struct Writer {
    folder: Arc<Folder>,
    key: BlobKey,
    filling: Vec<u8>,
    state: State,
}

enum State {
    /// The file, and an empty buffer.
    Idle(Unfinished, Vec<u8>),
    /// A buffer on its way to the disk.
    Writing(JoinHandle<(io::Result<()>, Unfinished, Vec<u8>)>),
    /// A write failed, or its future was dropped: octets may be missing.
    Broken,
}

impl Writer {
    pub(super) fn new(folder: Arc<Folder>, key: BlobKey, file: Unfinished) -> Self {
        Writer { folder, key, filling: Vec::new(), state: State::Idle(file, Vec::new()) }
    }

    /// The file, once the disk has taken what was on its way. Until the caller gives it back the writer is broken.
    async fn idle(&mut self) -> BlobResult<(Unfinished, Vec<u8>)> {
        match std::mem::replace(&mut self.state, State::Broken) {
            State::Idle(file, buffer) => Ok((file, buffer)),
            State::Writing(writing) => {
                let (written, file, buffer) = writing.await.map_err(stopped)?;
                written.map_err(failed)?;
                Ok((file, buffer))
            }
            State::Broken => {
                Err(BlobError::new(BlobErrorKind::Internal, "an earlier write did not end well"))
            }
        }
    }
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, octets: Bytes) -> BlobResult<()> {
        let mut rest = &octets[..];
        while !rest.is_empty() {
            let (taken, later) = rest.split_at(rest.len().min(BUFFER - self.filling.len()));
            self.filling.extend_from_slice(taken);
            rest = later;
            if self.filling.len() == BUFFER {
                let (mut file, empty) = self.idle().await?;
                let mut full = std::mem::replace(&mut self.filling, empty);
                if self.folder.pace.needs_thread() {
                    self.state = State::Writing(spawn_blocking(move || {
                        let written = file.write(&full);
                        full.clear();
                        (written, file, full)
                    }));
                } else {
                    self.folder.pace.watch(|| file.write(&full)).map_err(failed)?;
                    full.clear();
                    self.state = State::Idle(file, full);
                }
            }
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> BlobResult<()> {
        let (mut file, _) = self.idle().await?;
        let Writer { folder, key, filling, .. } = *self;
        blocking(move || {
            file.write(&filling)?;
            drop(filling);
            folder.publish(file, &key)
        })
        .await
    }
}

impl Folder {
    /// Gives a written file its place. It is durable first, and replaces nothing.
    fn publish(&self, unfinished: Unfinished, key: &BlobKey) -> io::Result<()> {
        sync_content(&unfinished.file)?;
        let agent = self.agent_folder(&key.agent)?;
        let (from, to) = (unfinished.path.as_path(), self.path(key));
        let mut placed = place(from, &to);
        if matches!(&placed, Err(error) if error.kind() == io::ErrorKind::NotFound) {
            // Somebody has removed the folder since it was made.
            self.forget(&key.agent);
            self.agent_folder(&key.agent)?;
            placed = place(from, &to);
        }
        let is_new = placed? == Placed::Now;
        sync_folder(&agent).inspect_err(|_| {
            // What is not acknowledged is not to be read.
            if is_new {
                drop(fs::remove_file(&to));
            }
        })
    }
}

#[derive(PartialEq)]
enum Placed {
    Now,
    Before,
}

/// Gives a file a second name, unless there is another file of that name.
fn place(from: &Path, to: &Path) -> io::Result<Placed> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(Placed::Now),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => same_content(from, to),
        // Some file systems know no second names.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) =>
        {
            if fs::exists(to)? {
                same_content(from, to)
            } else {
                fs::rename(from, to).map(|()| Placed::Now)
            }
        }
        Err(error) => Err(error),
    }
}

/// A blob never changes: one that is there already must be this one.
fn same_content(written: &Path, there: &Path) -> io::Result<Placed> {
    let (mut written, mut there) = (File::open(written)?, File::open(there)?);
    let mut same = written.metadata()?.len() == there.metadata()?.len();
    let mut buffers = (vec![0; BUFFER / 2], vec![0; BUFFER / 2]);
    while same {
        let length = written.read(&mut buffers.0)?;
        if length == 0 {
            return Ok(Placed::Before);
        }
        there.read_exact(&mut buffers.1[..length])?;
        same = buffers.0[..length] == buffers.1[..length];
    }
    Err(io::Error::other("there is another content under the same key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_makes_writers_wait_is_left_to_threads() {
        let pace = Pace::default();
        assert!(!pace.needs_thread());
        pace.watch(|| ());
        assert!(!pace.needs_thread());
        pace.watch(|| std::thread::sleep(2 * QUICK));
        assert!((0..WARY).all(|_| pace.needs_thread()));
        assert!(!pace.needs_thread());
    }
}
