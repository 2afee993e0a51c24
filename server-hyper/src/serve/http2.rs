//! Response streams of HTTP/2 that the client does not read: a deadline of progress, and bounded buffers.
//!
//! A client can keep a connection alive with pings and grant a stream no window, so nothing below this level notices.
//! [`PacedBody`] hands out small pieces, each only after the client's window has covered the one before.
//! [`StreamExecutor`] drops a stream whose client has taken no piece for too long, which resets it with CANCEL.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep};

use super::body::BoxError;
use crate::metrics::Metrics;

/// The largest piece of a body: the default size of a DATA frame.
const PIECE: usize = 16 * 1024;

tokio::task_local! {
    /// The progress of the stream that this task serves.
    static PROGRESS: Arc<Progress>;
}

/// Since when the client has to take a piece of the response.
#[derive(Debug, Default)]
struct Progress(Mutex<Option<Instant>>);

impl Progress {
    fn set(&self, since: Option<Instant>) {
        *self.0.lock() = since;
    }
}

/// Runs each stream of a connection as a task with a deadline of progress.
#[derive(Clone, Debug)]
pub struct StreamExecutor {
    timeout: Duration,
    metrics: Arc<Metrics>,
}

impl StreamExecutor {
    /// Cancels streams of which the client takes nothing for `timeout`.
    #[must_use]
    pub fn new(timeout: Duration, metrics: Arc<Metrics>) -> Self {
        StreamExecutor { timeout, metrics }
    }
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let progress = Arc::new(Progress::default());
        let stream = StreamTask {
            stream,
            progress: Arc::clone(&progress),
            timeout: self.timeout,
            sleep: None,
            metrics: Arc::clone(&self.metrics),
        };
        tokio::spawn(PROGRESS.scope(progress, stream));
    }
}

pin_project_lite::pin_project! {
    struct StreamTask<F> {
        #[pin]
        stream: F,
        progress: Arc<Progress>,
        timeout: Duration,
        sleep: Option<Pin<Box<Sleep>>>,
        metrics: Arc<Metrics>,
    }
}

impl<F: Future<Output = ()>> Future for StreamTask<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if this.stream.poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let Some(since) = *this.progress.0.lock() else { return Poll::Pending };
        let deadline = since + *this.timeout;
        let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        std::task::ready!(sleep.as_mut().poll(cx));
        this.metrics.cancelled_streams.inc();
        // Dropping the stream resets it and discards its buffers.
        Poll::Ready(())
    }
}

pin_project_lite::pin_project! {
    /// A response body in pieces of at most 16 KiB. The last piece is one byte: hyper takes it only when the client's
    /// window covers all before it, so a stream does not end while buffers hold data that the client has no window for.
    pub struct PacedBody<B> {
        #[pin]
        source: B,
        // The rest of the chunk that is being sent.
        current: Bytes,
        // What follows it, as far as the source had it ready.
        following: Option<Result<Bytes, BoxError>>,
        ended: bool,
        progress: Option<Arc<Progress>>,
    }
}

impl<B> PacedBody<B> {
    /// Paces the body of the response that this task serves.
    pub fn new(source: B) -> Self {
        let progress = PROGRESS.try_with(Arc::clone).ok();
        PacedBody { source, current: Bytes::new(), following: None, ended: false, progress }
    }
}

/// The next chunk of data; trailers are skipped.
fn poll_chunk<B>(mut source: Pin<&mut B>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>>
where
    B: Body<Data = Bytes, Error = BoxError>,
{
    loop {
        match std::task::ready!(source.as_mut().poll_frame(cx)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) if !data.is_empty() => return Poll::Ready(Some(Ok(data))),
                _ => {}
            },
        }
    }
}

impl<B> Body for PacedBody<B>
where
    B: Body<Data = Bytes, Error = BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut this = self.project();
        let progress = |since| {
            if let Some(progress) = &this.progress {
                progress.set(since);
            }
        };
        if this.current.is_empty() {
            let next = match this.following.take() {
                Some(next) => Some(next),
                None if *this.ended => None,
                None => match poll_chunk(this.source.as_mut(), cx) {
                    Poll::Ready(next) => next,
                    Poll::Pending => {
                        progress(None);
                        return Poll::Pending;
                    }
                },
            };
            match next {
                Some(Ok(chunk)) => *this.current = chunk,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    *this.ended = true;
                    return Poll::Ready(None);
                }
            }
        }
        if this.following.is_none() && !*this.ended {
            match this.source.is_end_stream() {
                true => *this.ended = true,
                false => match poll_chunk(this.source.as_mut(), cx) {
                    Poll::Ready(None) => *this.ended = true,
                    Poll::Ready(next) => *this.following = next,
                    Poll::Pending => {}
                },
            }
        }
        let is_last = *this.ended && this.following.is_none();
        let all = this.current.len();
        let length = PIECE.min(if is_last && all > 1 { all - 1 } else { all });
        progress(Some(Instant::now()));
        Poll::Ready(Some(Ok(Frame::data(this.current.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.current.is_empty() && self.following.is_none() && (self.ended || self.source.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let following = self.following.as_ref().and_then(|next| next.as_ref().ok()).map_or(0, Bytes::len);
        let held = (self.current.len() + following) as u64;
        let source = if self.ended { SizeHint::with_exact(0) } else { self.source.size_hint() };
        let mut hint = SizeHint::new();
        hint.set_lower(source.lower() + held);
        if let Some(upper) = source.upper() {
            hint.set_upper(upper + held);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use http_body_util::BodyExt;
    use proptest::prelude::*;

    /// A body of these chunks that is `Pending` before each chunk whose flag is set, and does not know its end.
    struct Chunks(VecDeque<(Vec<u8>, bool)>);

    impl Body for Chunks {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
            if let Some((_, waits @ true)) = self.0.front_mut() {
                *waits = false;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(self.0.pop_front().map(|(bytes, _)| Ok(Frame::data(bytes.into()))))
        }
    }

    fn part() -> impl Strategy<Value = (Vec<u8>, bool)> {
        let length = prop_oneof![Just(0), 1..4_usize, Just(PIECE), Just(PIECE + 1), 1..3 * PIECE];
        (length, any::<u8>(), any::<bool>()).prop_map(|(length, byte, waits)| (vec![byte; length], waits))
    }

    proptest! {
        #[test]
        fn pieces_are_small_and_add_up(parts in prop::collection::vec(part(), 0..6)) {
            let all: Vec<u8> = parts.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
            let ends_at_once = parts.last().is_some_and(|(bytes, waits)| !bytes.is_empty() && !waits);
            let mut body = PacedBody::new(Chunks(parts.into()));
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut pieces = Vec::new();
            let mut ended_with_data = false;
            while let Some(frame) = runtime.block_on(body.frame()) {
                pieces.push(frame.unwrap().into_data().unwrap());
                ended_with_data = body.is_end_stream();
            }
            prop_assert!(pieces.iter().all(|piece| (1..=PIECE).contains(&piece.len())));
            prop_assert_eq!(pieces.concat(), all);
            if ends_at_once {
                prop_assert!(ended_with_data, "the end comes with the last piece");
                prop_assert_eq!(pieces.last().map(Bytes::len), Some(1));
            }
        }
    }

    #[tokio::test]
    async fn the_length_stays_known() {
        let known = http_body_util::Full::new(Bytes::from(vec![7; 40_000])).map_err(|never| match never {});
        let mut body = PacedBody::new(known);
        let mut left = 40_000;
        while left > 0 {
            assert_eq!(body.size_hint().exact(), Some(left));
            left -= body.frame().await.unwrap().unwrap().into_data().unwrap().len() as u64;
        }
        assert!(body.is_end_stream());
    }
}
