//! The stream of a response.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;

use crate::config::EndpointConfig;
use crate::error::Error;
use crate::response::StreamChunk;
use crate::sse::{EventReader, SseError};

/// The data of the event that ends a stream.
const END: &str = "[DONE]";

/// The stream of a response. Dropping it closes the connection.
pub struct ChunkStream {
    /// The body without the rest of the response, which would hold the request's buffers for minutes.
    body: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    /// The whole body so far, where the endpoint does not stream.
    whole: Option<Vec<u8>>,
    events: EventReader,
    pending: VecDeque<String>,
    /// The limit that the bytes after the pending events exceed.
    exceeded: Option<SseError>,
    is_over: bool,
    has_end_mark: bool,
    idle_timeout: Duration,
    max_response_bytes: usize,
}

impl std::fmt::Debug for ChunkStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkStream").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

impl ChunkStream {
    pub(crate) fn new(response: Response, config: &EndpointConfig) -> Self {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.unwrap_or_default().trim_start().starts_with("application/json");
        ChunkStream {
            body: Box::pin(response.bytes_stream()),
            whole: is_json.then(Vec::new),
            events: EventReader::new(config.max_event_bytes, config.max_response_bytes),
            pending: VecDeque::new(),
            exceeded: None,
            is_over: false,
            has_end_mark: false,
            idle_timeout: config.idle_timeout,
            max_response_bytes: config.max_response_bytes,
        }
    }

    /// Whether the endpoint has marked the end of the stream. Some endpoints only give a
    /// [`finish_reason`](StreamChunk::finish_reason).
    #[must_use]
    pub fn has_end_mark(&self) -> bool {
        self.has_end_mark
    }

    /// The next chunk; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Timeout`] if the endpoint is silent for too long, and [`Error::Transient`] if the connection breaks, the
    /// response exceeds a limit or is not of the protocol.
    pub async fn next(&mut self) -> Result<Option<StreamChunk>, Error> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                if event.trim() == END {
                    self.has_end_mark = true;
                    self.is_over = true;
                    self.pending.clear();
                    return Ok(None);
                }
                return StreamChunk::read(&event).map(Some).map_err(unusable);
            }
            if let Some(exceeded) = self.exceeded {
                return Err(unusable(match exceeded {
                    SseError::EventTooLong => "an event is too long",
                    SseError::ResponseTooLong => "it is too long",
                }));
            }
            if self.is_over {
                return Ok(None);
            }
            let next = poll_fn(|context| self.body.as_mut().poll_next(context));
            let bytes = tokio::time::timeout(self.idle_timeout, next).await.map_err(|_| Error::Timeout)?;
            let bytes = bytes.transpose();
            let bytes =
                bytes.map_err(|error| Error::connection(error, "the endpoint broke off its answer"))?;
            self.exceeded = self.take(bytes).err();
        }
    }

    /// Reads the next bytes of the body; `None` is its end.
    fn take(&mut self, bytes: Option<Bytes>) -> Result<(), SseError> {
        let mut events = Vec::new();
        let result = match (bytes, &mut self.whole) {
            (Some(bytes), Some(whole)) => {
                whole.extend_from_slice(&bytes);
                if whole.len() > self.max_response_bytes { Err(SseError::ResponseTooLong) } else { Ok(()) }
            }
            (Some(bytes), None) => self.events.feed(&bytes, &mut events),
            (None, Some(whole)) => {
                self.is_over = true;
                events.push(String::from_utf8_lossy(whole).into_owned());
                Ok(())
            }
            (None, None) => {
                self.is_over = true;
                self.events.finish(&mut events)
            }
        };
        self.pending.extend(events);
        result
    }
}

/// A response that another attempt may improve.
fn unusable(reason: &str) -> Error {
    Error::transient(format!("the endpoint's answer cannot be used: {reason}"))
}
