//! Reading a range of a blob.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use openapi_core::ports::BlobStream;

use super::prefetch::{Prefetch, Source, step};

/// The size of a read; a stream holds at most two chunks.
const CHUNK: u64 = 256 * 1024;

/// A file, and how many bytes remain.
pub(super) struct Reader {
    file: File,
    left: u64,
}

impl Reader {
    /// Opens a file and reads the first chunk of the range, so that a small blob takes one turn of a thread.
    pub(super) fn open(path: &Path, range: Range<u64>) -> io::Result<Option<(Self, Bytes)>> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("the path of a blob is no file"));
        }
        if range.start.max(range.end) > metadata.len() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the blob is shorter"));
        }
        if range.start > 0 {
            file.seek(SeekFrom::Start(range.start))?;
        }
        step(Reader { file, left: range.end.saturating_sub(range.start) })
    }
}

impl Source for Reader {
    type Piece = Bytes;

    fn next(&mut self) -> io::Result<Option<Bytes>> {
        let length = self.left.min(CHUNK);
        if length == 0 {
            return Ok(None);
        }
        let mut chunk = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        (&mut self.file).take(length).read_to_end(&mut chunk)?;
        if (chunk.len() as u64) < length {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the blob was truncated while it was read",
            ));
        }
        self.left -= length;
        Ok(Some(chunk.into()))
    }
}

pub(super) fn stream(opened: Option<(Reader, Bytes)>) -> BlobStream {
    Box::pin(Prefetch::new(opened))
}
