//! A stream whose pieces a blocking thread produces, one ahead of the reader.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use openapi_core::ports::BlobResult;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::sync::{failed, stopped};

/// Produces one piece after another and may wait for the disk.
pub(super) trait Source: Send + Unpin + 'static {
    type Piece: Send + Unpin + 'static;

    /// The next piece; `None` at the end.
    fn next(&mut self) -> io::Result<Option<Self::Piece>>;
}

/// The pieces of a source. The next one is produced while the reader processes the last one.
pub(super) struct Prefetch<S: Source> {
    runtime: Handle,
    state: State<S>,
}

/// A piece with its source; `None` at the end.
type Step<S> = io::Result<Option<(S, <S as Source>::Piece)>>;

enum State<S: Source> {
    Ready(S, S::Piece),
    Producing(JoinHandle<Step<S>>),
    Ended,
}

/// The next piece with its source, which ends with its last piece.
pub(super) fn step<S: Source>(mut source: S) -> Step<S> {
    Ok(source.next()?.map(|piece| (source, piece)))
}

impl<S: Source> Prefetch<S> {
    /// A stream that starts with a piece; must be called within a runtime.
    pub(super) fn new(first: Option<(S, S::Piece)>) -> Self {
        let state = first.map_or(State::Ended, |(source, piece)| State::Ready(source, piece));
        Prefetch { runtime: Handle::current(), state }
    }
}

impl<S: Source> Stream for Prefetch<S> {
    type Item = BlobResult<S::Piece>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ready(source, piece) => {
                    self.state = State::Producing(self.runtime.spawn_blocking(move || step(source)));
                    return Poll::Ready(Some(Ok(piece)));
                }
                State::Producing(mut task) => {
                    let Poll::Ready(produced) = Pin::new(&mut task).poll(context) else {
                        self.state = State::Producing(task);
                        return Poll::Pending;
                    };
                    match produced.map_err(stopped).and_then(|produced| produced.map_err(failed)) {
                        Ok(Some((source, piece))) => self.state = State::Ready(source, piece),
                        Ok(None) => {}
                        Err(error) => return Poll::Ready(Some(Err(error))),
                    }
                }
                State::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl<S: Source> Drop for Prefetch<S> {
    fn drop(&mut self) {
        if let State::Producing(task) = &self.state {
            task.abort();
        }
    }
}

/// The single items of pieces that hold many.
pub(super) struct Items<S: Source<Piece = Vec<T>>, T> {
    pieces: Prefetch<S>,
    piece: std::vec::IntoIter<T>,
}

impl<S: Source<Piece = Vec<T>>, T> Items<S, T> {
    pub(super) fn new(pieces: Prefetch<S>) -> Self {
        Items { pieces, piece: Vec::new().into_iter() }
    }
}

impl<S: Source<Piece = Vec<T>>, T: Unpin> Stream for Items<S, T> {
    type Item = BlobResult<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.piece.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(Pin::new(&mut self.pieces).poll_next(context)) {
                Some(Ok(piece)) => self.piece = piece.into_iter(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}
