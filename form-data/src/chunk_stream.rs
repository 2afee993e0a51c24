//! The stream between a request body and the parser of forms. It gives one chunk each time the parser can go no further
//! without.
//!
//! The parser copies whatever it is given. Bytes in which no boundary can begin go past it: of a large file nearly all.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use memchr::memmem::Finder;
use parking_lot::{Mutex, MutexGuard};

/// The bytes of a body, with the errors of the caller.
pub type BodyStream<E> = Pin<Box<dyn Stream<Item = Result<Bytes, E>> + Send>>;

/// The most bytes that are given to the parser at once.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;

/// The most bytes that go past the parser at once.
const PIECE_BYTES: usize = 256 * 1024;

/// Between body and parser.
pub(super) struct ChunkStream<E> {
    body: BodyStream<E>,
    /// What the body gave and the parser did not get yet.
    rest: Bytes,
    /// Whether the parser may have another chunk.
    pub(super) credit: bool,
    /// What ends the content of a part: a line break, two hyphens, the boundary.
    delimiter: Finder<'static>,
    /// Bytes that the parser got after the last carriage return among them.
    after_cr: usize,
    /// Bytes that the body gave and that were passed on.
    pub(super) given: u64,
    /// Whether the body has ended.
    pub(super) ended: bool,
    pub(super) failure: Option<E>,
}

/// The parser's end of the feed.
pub(super) struct SharedChunkStream<E>(pub(super) Arc<Mutex<ChunkStream<E>>>);

pub(super) fn lock<E>(feed: &Mutex<ChunkStream<E>>) -> MutexGuard<'_, ChunkStream<E>> {
    feed.lock()
}

/// The parser only needs to know that there will be no more; the error is stored in the stream.
#[derive(Debug, thiserror::Error)]
#[error("the body failed")]
pub(super) struct BodyFailed;

impl<E> ChunkStream<E> {
    pub(super) fn new(body: BodyStream<E>, boundary: &str) -> Self {
        ChunkStream {
            body,
            rest: Bytes::new(),
            credit: false,
            delimiter: Finder::new(&format!("\r\n--{boundary}")).into_owned(),
            after_cr: 0,
            given: 0,
            ended: false,
            failure: None,
        }
    }

    /// The next bytes for the parser.
    pub(super) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, E>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Err(error) = ready!(self.poll_rest(cx)) {
            return Poll::Ready(Some(Err(error)));
        }
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let chunk = self.rest.split_to(self.rest.len().min(CHUNK_BYTES));
        self.given += chunk.len() as u64;
        self.after_cr = match chunk.iter().rev().take(self.delimiter.needle().len()).position(is_cr) {
            Some(after) => after,
            None => self.after_cr.saturating_add(chunk.len()),
        };
        Poll::Ready(Some(Ok(chunk)))
    }

    /// Has bytes in `rest`, unless the body has ended.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        while self.rest.is_empty() && !self.ended {
            match ready!(self.body.as_mut().poll_next(cx)) {
                Some(bytes) => self.rest = bytes?,
                None => self.ended = true,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Content that the parser need not see, once it has given all that it can of a part; `None` where it must look.
    pub(super) fn poll_content(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, E>>> {
        // It may hold what could be the begin of a delimiter: a carriage return and less than a delimiter after it.
        if self.after_cr + 1 < self.delimiter.needle().len() {
            return Poll::Ready(None);
        }
        if let Err(error) = ready!(self.poll_rest(cx)) {
            return Poll::Ready(Some(Err(error)));
        }
        let before_delimiter = self.before_delimiter();
        let content = self.rest.split_to(before_delimiter);
        self.given += content.len() as u64;
        Poll::Ready((!content.is_empty()).then_some(Ok(content)))
    }

    /// How many bytes of `rest` stand before a delimiter, and before what could be the begin of one.
    fn before_delimiter(&self) -> usize {
        let rest = &self.rest[..self.rest.len().min(PIECE_BYTES)];
        self.delimiter.find(rest).unwrap_or_else(|| {
            let delimiter = self.delimiter.needle();
            let begin = rest.len().saturating_sub(delimiter.len() - 1);
            (begin..rest.len()).find(|at| delimiter.starts_with(&rest[*at..])).unwrap_or(rest.len())
        })
    }
}

fn is_cr(byte: &u8) -> bool {
    *byte == b'\r'
}

impl<E> Stream for SharedChunkStream<E> {
    type Item = Result<Bytes, BodyFailed>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut feed = lock(&self.0);
        if !feed.credit {
            // Nobody needs to be woken: `advance` polls again.
            return Poll::Pending;
        }
        let chunk = ready!(feed.poll_chunk(cx));
        feed.credit = false;
        Poll::Ready(chunk.map(|chunk| {
            chunk.map_err(|error| {
                feed.failure = Some(error);
                BodyFailed
            })
        }))
    }
}

/// Polls the parser: first with what it has, then with one more chunk each time.
pub(super) fn advance<T, E>(
    feed: &Mutex<ChunkStream<E>>,
    cx: &mut Context<'_>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    lock(feed).credit = false;
    loop {
        if let Poll::Ready(outcome) = poll(cx) {
            return Poll::Ready(outcome);
        }
        let mut feed = lock(feed);
        // A credit that was not used: the body itself has nothing yet.
        if std::mem::replace(&mut feed.credit, true) {
            return Poll::Pending;
        }
    }
}
