//! Converts the API's response bodies for actix-web.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::Body;
use openapi_core::api::{ApiBody, ApiBodyError};

/// An actix-web body: a content of known length, streamed as it is read, or a buffer.
pub struct Answer {
    body: ApiBody,
    size: BodySize,
}

impl Answer {
    /// The body of a response. For a `HEAD` the length is that of the `GET`, taken from the headers.
    pub fn new(body: ApiBody, headers: &HeaderMap) -> Self {
        let declared = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let size = declared.or_else(|| body.size_hint().exact()).map_or(BodySize::Stream, BodySize::Sized);
        Answer { body, size }
    }
}

impl MessageBody for Answer {
    type Error = ApiBodyError;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, ApiBodyError>>> {
        // The API sends no trailers: every frame is data.
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default())))
    }
}
