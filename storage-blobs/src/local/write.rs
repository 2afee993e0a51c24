//! Writing a blob: batches of bytes, then the publication of the staged file.
//!
//! The system copies a batch into its cache in tens of microseconds, which is less than a round trip to another thread. A
//! writer therefore writes in its own task until a slow write shows that the disk makes writers wait; then blocking threads
//! write the next batches. Starting the write-back takes longer and nothing waits for it, so a thread always does it.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use openapi_core::ports::{BlobError, BlobErrorKind, BlobKey, BlobResult, BlobWriter};
use tokio::task::{JoinHandle, spawn_blocking};

use super::folder::Folder;
use super::staged_file::StagedFile;
use super::sync::{blocking, failed, stopped};

/// The size of a write; a writer has two batches. Larger ones are no faster, and smaller or unaligned ones cost the system
/// more.
const BATCH: usize = 128 * 1024;

/// Smaller pieces are copied together: a list of many would take more memory than their bytes.
const SMALL: usize = 16 * 1024;

/// How a staged file gets its key.
pub(super) type Publish = fn(&Folder, StagedFile, &BlobKey) -> io::Result<()>;

/// A writer. Dropping it removes its file.
pub(super) struct Writer {
    folder: Arc<Folder>,
    key: BlobKey,
    publish: Publish,
    waiting: Batch,
    state: State,
}

enum State {
    Idle(StagedFile),
    /// A thread writes a batch.
    Writing(JoinHandle<(io::Result<()>, StagedFile)>),
    /// A write failed, or its future was dropped: bytes may be missing.
    Broken,
}

/// Bytes that are written together, in the pieces in which they came.
#[derive(Default)]
struct Batch {
    pieces: Vec<Bytes>,
    /// The last small ones, copied together.
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
    pub(super) fn new(folder: Arc<Folder>, key: BlobKey, file: StagedFile, publish: Publish) -> Self {
        Writer { folder, key, publish, waiting: Batch::default(), state: State::Idle(file) }
    }

    /// The file, after the current write. The writer is broken until the caller returns the file.
    async fn idle(&mut self) -> BlobResult<StagedFile> {
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
                if self.folder.offload.needs_thread() {
                    self.state = State::Writing(spawn_blocking(move || {
                        let written = file.write(&pieces);
                        if let Some(part) = file.begin_writing_back() {
                            part.run();
                        }
                        (written, file)
                    }));
                } else {
                    self.folder.offload.watch(|| file.write(&pieces)).map_err(failed)?;
                    if let Some(part) = file.begin_writing_back() {
                        // The final sync reports its errors.
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
        let Writer { folder, key, publish, waiting, .. } = *self;
        blocking(move || {
            file.write(&waiting.into_pieces())?;
            publish(&folder, file, &key)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
