//! Writing a blob: batches of bytes that go to the system, then the step into its place.
//!
//! A system takes a batch into its memory in some tens of microseconds, less than handing it to another thread and
//! back costs. So it is written where it is, until a write shows that the disk makes writers wait; then threads do it
//! for a while, two batches for each writer. Telling the disk to begin costs more, and nobody waits for it: that is
//! always for a thread.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use openapi_core::ports::{BlobError, BlobErrorKind, BlobKey, BlobResult, BlobWriter};
use tokio::task::{JoinHandle, spawn_blocking};

use super::unfinished::Unfinished;
use super::{Folder, blocking, failed, stopped, sync_content, sync_folder};

/// What goes to the system at once; a writer has two of them. Larger ones are no faster, smaller ones and those that end
/// between two pages of the file cost the system more.
const BATCH: usize = 128 * 1024;

/// Smaller pieces are copied together: a list of many would hold more memory than their bytes.
const SMALL: usize = 16 * 1024;

/// A write that takes longer has waited for the disk. A shorter one may have, or its thread had to make way for others,
/// as it often has to on a machine with few cores.
const QUICK: Duration = Duration::from_millis(25);

/// How many batches threads write after a write that has waited, before one is tried without a thread again.
const WARY: u32 = 64;

/// Whether the system takes writes at once, as far as the last ones tell. Shared by the writers of a folder.
#[derive(Debug, Default)]
pub(super) struct Pace(AtomicU32);

impl Pace {
    /// Whether a thread is to write the next batch.
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
    waiting: Batch,
    state: State,
}

enum State {
    Idle(Unfinished),
    /// A batch on its way to the disk.
    Writing(JoinHandle<(io::Result<()>, Unfinished)>),
    /// A write failed, or its future was dropped: bytes may be missing.
    Broken,
}

/// Bytes that are written together, in the pieces they came in.
#[derive(Default)]
struct Batch {
    pieces: Vec<Bytes>,
    /// The last ones, copied together.
    small: BytesMut,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        if piece.len() < SMALL {
            self.small.extend_from_slice(&piece);
        } else {
            self.join_small();
            self.pieces.push(piece);
        }
    }

    fn join_small(&mut self) {
        if !self.small.is_empty() {
            self.pieces.push(self.small.split().freeze());
        }
    }

    fn into_pieces(mut self) -> Vec<Bytes> {
        self.join_small();
        self.pieces
    }
}

impl Writer {
    pub(super) fn new(folder: Arc<Folder>, key: BlobKey, file: Unfinished) -> Self {
        Writer { folder, key, waiting: Batch::default(), state: State::Idle(file) }
    }

    /// The file, once the disk has taken what was on its way. Until the caller gives it back the writer is broken.
    async fn idle(&mut self) -> BlobResult<Unfinished> {
        match std::mem::replace(&mut self.state, State::Broken) {
            State::Idle(file) => Ok(file),
            State::Writing(writing) => {
                let (written, file) = writing.await.map_err(stopped)?;
                written.map_err(failed)?;
                Ok(file)
            }
            State::Broken => {
                Err(BlobError::new(BlobErrorKind::Internal, "an earlier write did not end well"))
            }
        }
    }
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, mut bytes: Bytes) -> BlobResult<()> {
        while !bytes.is_empty() {
            let room = BATCH - self.waiting.bytes;
            self.waiting.push(bytes.split_to(bytes.len().min(room)));
            if self.waiting.bytes == BATCH {
                let mut file = self.idle().await?;
                let pieces = std::mem::take(&mut self.waiting).into_pieces();
                if self.folder.pace.needs_thread() {
                    self.state = State::Writing(spawn_blocking(move || {
                        let written = file.write(&pieces);
                        if let Some(part) = file.begin_writing_back() {
                            part.run();
                        }
                        (written, file)
                    }));
                } else {
                    self.folder.pace.watch(|| file.write(&pieces)).map_err(failed)?;
                    if let Some(part) = file.begin_writing_back() {
                        // How it goes is seen at the last sync.
                        drop(spawn_blocking(move || part.run()));
                    }
                    self.state = State::Idle(file);
                }
            }
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> BlobResult<()> {
        let mut file = self.idle().await?;
        let Writer { folder, key, waiting, .. } = *self;
        blocking(move || {
            file.write(&waiting.into_pieces())?;
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
    let mut buffers = (vec![0; BATCH / 2], vec![0; BATCH / 2]);
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

    #[test]
    fn small_pieces_are_joined_in_order() {
        let mut batch = Batch::default();
        let sizes = [1, 5, SMALL, 0, SMALL - 1, 2, SMALL + 1, 3];
        let mut all = Vec::new();
        for (number, size) in sizes.into_iter().enumerate() {
            let piece = vec![number as u8; size];
            all.extend_from_slice(&piece);
            batch.push(piece.into());
        }
        assert_eq!(batch.bytes, all.len());
        let pieces = batch.into_pieces();
        assert_eq!(pieces.len(), 5);
        assert_eq!(pieces.concat(), all);
    }
}
