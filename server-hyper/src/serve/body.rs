//! Bodies: request bodies with timeouts, and response bodies.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use openapi_core::api::ReceiptTimeout;
use tokio::time::{Instant, Sleep};
use tower_http::compression::CompressionBody;

/// An error of any body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

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
    }
}

impl<B: Body> ResponseBody<B> {
    /// The body of a handler.
    pub fn of_handler(body: B) -> Self {
        ResponseBody { source: Source::Handler { body } }
    }

    /// The compressed body of a handler.
    pub fn compressed(body: Pin<Box<CompressionBody<B>>>) -> Self {
        ResponseBody { source: Source::Compressed { body } }
    }

    /// The body of the server's own response.
    pub fn own(bytes: Bytes) -> Self {
        ResponseBody { source: Source::Own { body: Full::new(bytes) } }
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
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Handler { body } => body.is_end_stream(),
            Source::Compressed { body } => body.is_end_stream(),
            Source::Own { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Handler { body } => body.size_hint(),
            Source::Compressed { body } => body.size_hint(),
            Source::Own { body } => body.size_hint(),
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
