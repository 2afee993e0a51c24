//! The body of a reply: known as a whole, the content of a file, or a stream of events.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderName, HeaderValue, header};
use http_body::{Body, Frame, SizeHint};

use crate::ports::BlobStream;

/// The body of a reply: known as a whole before the first byte is sent, the content of a file of known length, or
/// a stream of events.
#[derive(Default)]
pub struct ApiBody(Source);

enum Source {
    Known(Bytes),
    Content { stream: BlobStream, left: u64 },
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Default for Source {
    fn default() -> Self {
        Source::Known(Bytes::new())
    }
}

/// The error of a reply's body: the content of a file ended early or its store failed. Bodies known as a whole never
/// fail; the type is concrete because some servers need one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reply could not be completed")]
pub struct ApiBodyError;

impl ApiBody {
    /// An empty body.
    #[must_use]
    pub fn empty() -> Self {
        ApiBody::default()
    }

    /// The content of a file, of exactly `bytes` bytes.
    pub(crate) fn content(stream: BlobStream, bytes: u64) -> Self {
        ApiBody(Source::Content { stream, left: bytes })
    }

    /// Events, each piece sent as it comes.
    #[must_use]
    pub fn events(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        ApiBody(Source::Events(Box::pin(stream)))
    }

    /// The headers of a reply with events. Intermediaries neither buffer nor compress it.
    pub const EVENT_HEADERS: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];

    /// The bytes that are left to be sent; `None` of what is read or made as it is sent.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Source::Known(bytes) => Some(bytes),
            Source::Content { .. } | Source::Events(_) => None,
        }
    }

    /// Takes the bytes; `None` of what is read or made as it is sent.
    #[must_use]
    pub fn into_bytes(self) -> Option<Bytes> {
        match self.0 {
            Source::Known(bytes) => Some(bytes),
            Source::Content { .. } | Source::Events(_) => None,
        }
    }
}

impl fmt::Debug for ApiBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Known(bytes) => f.debug_tuple("ApiBody").field(bytes).finish(),
            Source::Content { left, .. } => f.debug_struct("ApiBody").field("left", left).finish(),
            Source::Events(_) => f.write_str("ApiBody(events)"),
        }
    }
}

impl From<Bytes> for ApiBody {
    fn from(bytes: Bytes) -> Self {
        ApiBody(Source::Known(bytes))
    }
}

impl From<Vec<u8>> for ApiBody {
    fn from(bytes: Vec<u8>) -> Self {
        ApiBody(Source::Known(bytes.into()))
    }
}

impl From<String> for ApiBody {
    fn from(text: String) -> Self {
        ApiBody(Source::Known(text.into()))
    }
}

impl Body for ApiBody {
    type Data = Bytes;
    type Error = ApiBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ApiBodyError>>> {
        let (stream, left) = match &mut self.0 {
            Source::Known(bytes) => {
                let bytes = std::mem::take(bytes);
                return Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))));
            }
            Source::Events(stream) => {
                return stream.as_mut().poll_next(cx).map(|bytes| bytes.map(Frame::data).map(Ok));
            }
            Source::Content { left: 0, .. } => return Poll::Ready(None),
            Source::Content { stream, left } => (stream, left),
        };
        let read = match ready!(stream.as_mut().poll_next(cx)) {
            Some(Ok(bytes)) if bytes.len() as u64 <= *left => {
                *left -= bytes.len() as u64;
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            Some(Ok(_)) => "the content is longer than its record says".to_owned(),
            None => "the content is shorter than its record says".to_owned(),
            Some(Err(error)) => format!("{error}: {:?}", error.source),
        };
        tracing::error!(error = read, "failed to read the content of a file to its end");
        *left = 0;
        Poll::Ready(Some(Err(ApiBodyError)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Source::Known(bytes) => bytes.is_empty(),
            Source::Content { left, .. } => *left == 0,
            Source::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Source::Known(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Source::Content { left, .. } => SizeHint::with_exact(*left),
            Source::Events(_) => SizeHint::default(),
        }
    }
}
