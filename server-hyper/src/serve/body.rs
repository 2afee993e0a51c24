//! Bodies: request bodies with timeouts, and response bodies.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use openapi_core::api::ReceiptTimeout;
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep};
use tower_http::compression::CompressionBody;

use super::connection_state::ActiveRequest;

/// Bytes of a body that the server reads after its handler has responded, to keep the connection.
const MAX_UNREAD: usize = 64 * 1024;

/// How often it looks for more of them.
const MAX_UNREAD_POLLS: usize = 8;

/// An error of any body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request body as it is received. The server can read on when the handler has dropped it.
pub enum ReceivedBody {
    /// An empty body, or one that nobody reads after the handler.
    Plain(Incoming),
    /// A body that the server shares with the handler.
    Shared(Arc<SharedBody>),
}

/// A body that the server shares with its handler.
pub struct SharedBody {
    body: Mutex<Incoming>,
    /// Whether the handler has asked for any of it.
    is_polled: AtomicBool,
}

impl SharedBody {
    /// Shares a body.
    #[must_use]
    pub fn new(body: Incoming) -> Arc<Self> {
        Arc::new(SharedBody { body: Mutex::new(body), is_polled: AtomicBool::new(false) })
    }

    /// Whether the connection can take another request: the handler has read the body, or the rest of it has arrived and
    /// is short. A client that `expects` permission to send its body and never got it may not send it.
    pub async fn finish(&self, expects: bool) -> bool {
        if expects && !self.is_polled.load(Ordering::Relaxed) {
            return false;
        }
        let mut taken = 0;
        for _ in 0..MAX_UNREAD_POLLS {
            if self.body.lock().is_end_stream() {
                return true;
            }
            let next =
                std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut *self.body.lock()).poll_frame(cx)));
            match next.await {
                Poll::Ready(None) => return true,
                Poll::Ready(Some(Err(_))) => return false,
                Poll::Ready(Some(Ok(frame))) => taken += frame.data_ref().map_or(0, Bytes::len),
                // The connection reads on when this task yields.
                Poll::Pending => tokio::task::yield_now().await,
            }
            if taken > MAX_UNREAD {
                return false;
            }
        }
        false
    }
}

impl Body for ReceivedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            ReceivedBody::Plain(body) => Pin::new(body).poll_frame(cx),
            ReceivedBody::Shared(shared) => {
                shared.is_polled.store(true, Ordering::Relaxed);
                Pin::new(&mut *shared.body.lock()).poll_frame(cx)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReceivedBody::Plain(body) => body.is_end_stream(),
            ReceivedBody::Shared(shared) => shared.body.lock().is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReceivedBody::Plain(body) => body.size_hint(),
            ReceivedBody::Shared(shared) => shared.body.lock().size_hint(),
        }
    }
}

pin_project_lite::pin_project! {
    /// A request body that ends with [`ReceiptTimeout`] when it stalls or takes too long (contract 9, body receipt).
    /// Bodies that have arrived already cost no timer.
    pub struct RequestTimeoutBody<B> {
        #[pin]
        body: B,
        idle: Duration,
        total: Duration,
        timer: Option<Timer>,
    }
}

struct Timer {
    sleep: Pin<Box<Sleep>>,
    /// The deadline of the whole body.
    end: Instant,
    /// Whether the sleep belongs to the current wait.
    armed: bool,
}

impl<B> RequestTimeoutBody<B> {
    /// Limits `body` to `total` as a whole and to `idle` between two reads.
    pub const fn new(body: B, idle: Duration, total: Duration) -> Self {
        RequestTimeoutBody { body, idle, total, timer: None }
    }
}

impl<B> Body for RequestTimeoutBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        match this.body.poll_frame(cx) {
            Poll::Ready(frame) => {
                if let Some(timer) = this.timer {
                    timer.armed = false;
                    // A body that trickles in never waits, so the deadline is checked here as well.
                    if matches!(frame, Some(Ok(_))) && Instant::now() >= timer.end {
                        return Poll::Ready(Some(Err(ReceiptTimeout.into())));
                    }
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending => {
                let now = Instant::now();
                let timer = this.timer.get_or_insert_with(|| Timer {
                    sleep: Box::pin(tokio::time::sleep_until(now + *this.idle)),
                    end: now + *this.total,
                    armed: false,
                });
                if !timer.armed {
                    timer.armed = true;
                    timer.sleep.as_mut().reset((now + *this.idle).min(timer.end));
                }
                timer.sleep.as_mut().poll(cx).map(|()| Some(Err(ReceiptTimeout.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

pin_project_lite::pin_project! {
    /// A response body.
    pub struct ResponseBody<B>
    where
        B: Body,
    {
        #[pin]
        source: Source<B>,
        // The request is in progress until its response has been sent.
        request: Option<ActiveRequest>,
    }
}

pin_project_lite::pin_project! {
    #[project = SourceProjection]
    enum Source<B>
    where
        B: Body,
    {
        Handler { #[pin] body: B },
        // An encoder is large, and responses are moved: it is boxed.
        Compressed { body: Pin<Box<CompressionBody<B>>> },
        Own { #[pin] body: Full<Bytes> },
        Failed { error: Option<BoxError> },
    }
}

impl<B: Body> ResponseBody<B> {
    /// The body of a handler.
    pub fn of_handler(body: B) -> Self {
        ResponseBody { source: Source::Handler { body }, request: None }
    }

    /// The compressed body of a handler.
    pub fn compressed(body: Pin<Box<CompressionBody<B>>>) -> Self {
        ResponseBody { source: Source::Compressed { body }, request: None }
    }

    /// The body of the server's own response.
    pub fn own(bytes: Bytes) -> Self {
        ResponseBody { source: Source::Own { body: Full::new(bytes) }, request: None }
    }

    /// A body that fails, so that the client sees that the response is incomplete.
    pub fn failed(error: BoxError) -> Self {
        ResponseBody { source: Source::Failed { error: Some(error) }, request: None }
    }

    /// The same body, which ends this request when it is dropped.
    #[must_use]
    pub fn ending(mut self, request: ActiveRequest) -> Self {
        self.request = Some(request);
        self
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.project().source.project() {
            SourceProjection::Handler { body } => {
                body.poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
            }
            SourceProjection::Compressed { body } => body.as_mut().poll_frame(cx),
            SourceProjection::Own { body } => {
                body.poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(|never| match never {})))
            }
            SourceProjection::Failed { error } => Poll::Ready(error.take().map(Err)),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Handler { body } => body.is_end_stream(),
            Source::Compressed { body } => body.is_end_stream(),
            Source::Own { body } => body.is_end_stream(),
            Source::Failed { error } => error.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Handler { body } => body.size_hint(),
            Source::Compressed { body } => body.size_hint(),
            Source::Own { body } => body.size_hint(),
            Source::Failed { .. } => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use tokio::sync::mpsc;

    struct Channel(mpsc::Receiver<Bytes>);

    impl Body for Channel {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            self.0.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
        }
    }

    /// Sends a byte every `pause`, `count` times, and returns the length of the collected body.
    async fn send(count: usize, pause: Duration) -> Result<usize, BoxError> {
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            for _ in 0..count {
                tokio::time::sleep(pause).await;
                if sender.send(Bytes::from_static(b"x")).await.is_err() {
                    break;
                }
            }
        });
        let body =
            RequestTimeoutBody::new(Channel(receiver), Duration::from_secs(30), Duration::from_secs(300));
        Ok(body.collect().await?.to_bytes().len())
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_be_slow_but_not_stall_and_not_take_for_ever() {
        assert_eq!(send(10, Duration::from_secs(29)).await.unwrap(), 10);
        let stalled = send(2, Duration::from_secs(31)).await.unwrap_err();
        assert!(stalled.downcast_ref::<ReceiptTimeout>().is_some());
        let begin = Instant::now();
        let endless = send(1000, Duration::from_secs(7)).await.unwrap_err();
        assert!(endless.downcast_ref::<ReceiptTimeout>().is_some());
        assert_eq!(begin.elapsed().as_secs(), 300);
    }
}
