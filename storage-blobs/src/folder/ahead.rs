//! A stream of what a blocking thread makes, one piece ahead of its reader.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use openapi_core::ports::BlobResult;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::{failed, stopped};

/// Makes one piece after another and may wait for the disk.
pub(super) trait Source: Send + Unpin + 'static {
    type Piece: Send + Unpin + 'static;

    /// The next piece; `None` at the end.
    fn next(&mut self) -> io::Result<Option<Self::Piece>>;
}

/// The pieces of a source. The next is made while its reader has the last, and not before.
pub(super) struct Ahead<S: Source> {
    runtime: Handle,
    state: State<S>,
}

/// A piece with its source; `None` at the end.
type Step<S> = io::Result<Option<(S, <S as Source>::Piece)>>;

enum State<S: Source> {
    Made(S, S::Piece),
    Making(JoinHandle<Step<S>>),
    Ended,
}

/// The next piece with its source, which ends with its last piece.
pub(super) fn step<S: Source>(mut source: S) -> Step<S> {
    Ok(source.next()?.map(|piece| (source, piece)))
}

impl<S: Source> Ahead<S> {
    /// A stream that begins with a piece made already; to be called within a runtime.
    pub(super) fn new(first: Option<(S, S::Piece)>) -> Self {
        let state = first.map_or(State::Ended, |(source, piece)| State::Made(source, piece));
        Ahead { runtime: Handle::current(), state }
    }
}

impl<S: Source> Stream for Ahead<S> {
    type Item = BlobResult<S::Piece>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Made(source, piece) => {
                    self.state = State::Making(self.runtime.spawn_blocking(move || step(source)));
                    return Poll::Ready(Some(Ok(piece)));
                }
                State::Making(mut making) => {
                    let Poll::Ready(made) = Pin::new(&mut making).poll(context) else {
                        self.state = State::Making(making);
                        return Poll::Pending;
                    };
                    match made.map_err(stopped).and_then(|made| made.map_err(failed)) {
                        Ok(Some((source, piece))) => self.state = State::Made(source, piece),
                        Ok(None) => {}
                        Err(error) => return Poll::Ready(Some(Err(error))),
                    }
                }
                State::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl<S: Source> Drop for Ahead<S> {
    fn drop(&mut self) {
        if let State::Making(making) = &self.state {
            making.abort();
        }
    }
}

/// The single items of pieces that hold many.
pub(super) struct Items<S: Source<Piece = Vec<T>>, T> {
    pieces: Ahead<S>,
    piece: std::vec::IntoIter<T>,
}

impl<S: Source<Piece = Vec<T>>, T> Items<S, T> {
    pub(super) fn new(pieces: Ahead<S>) -> Self {
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
