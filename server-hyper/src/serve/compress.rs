//! Compression of large responses (contract 5.2).

use std::convert::Infallible;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, ETAG, VARY};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use tower_http::CompressionLevel;
use tower_http::compression::Compression;
use tower_http::compression::predicate::SizeAbove;

use super::body::{BoxError, ResponseBody};

/// Responses of more bytes than this are compressed.
const MIN_COMPRESSED_BYTES: u64 = 1024;

/// Known responses up to this size are compressed as a whole before they are sent. A response that the client does not
/// read then holds its compressed bytes, and no encoder, which takes megabytes.
const MAX_AT_ONCE: u64 = 1024 * 1024;

/// A fast level, because the client waits for the compression.
const LEVEL: CompressionLevel = CompressionLevel::Precise(4);

/// The `Accept-Encoding` of a request.
#[derive(Debug)]
pub struct Accepted(Vec<HeaderValue>);

impl Accepted {
    /// Reads it from the headers.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        Accepted(headers.get_all(ACCEPT_ENCODING).iter().cloned().collect())
    }
}

/// Compresses a response if it is large enough and the client accepts it. Most responses are small.
pub async fn compress<B>(accepted: Accepted, mut response: Response<B>) -> Response<ResponseBody<B>>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    if response.body().size_hint().exact().is_some_and(|size| size <= MIN_COMPRESSED_BYTES) {
        return response.map(ResponseBody::of_handler);
    }
    let headers = response.headers();
    // A strong ETag identifies the exact bytes, which compression changes.
    let is_strong = headers.get(ETAG).is_some_and(|tag| !tag.as_bytes().starts_with(b"W/"));
    // Event streams forbid transformation, because a compressor would delay events.
    let is_fixed = headers.get_all(CACHE_CONTROL).iter().any(|value| {
        value.to_str().is_ok_and(|value| value.split(',').any(|word| word.trim() == "no-transform"))
    });
    if is_strong || is_fixed || headers.contains_key(CONTENT_ENCODING) {
        return response.map(ResponseBody::of_handler);
    }
    if accepted.0.is_empty() {
        response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
        return response.map(ResponseBody::of_handler);
    }
    let is_known = response.body().size_hint().exact().is_some_and(|size| size <= MAX_AT_ONCE);
    let mut request = Request::new(());
    for line in accepted.0 {
        request.headers_mut().append(ACCEPT_ENCODING, line);
    }
    let mut compression =
        Compression::new(Ready(Some(response))).quality(LEVEL).compress_when(SizeAbove::new(0));
    let Ok(response) = Box::pin(tower_service::Service::call(&mut compression, request)).await;
    if !is_known {
        return response.map(|body| ResponseBody::compressed(Box::pin(body)));
    }
    let (parts, body) = response.into_parts();
    let body = match Box::pin(body.collect()).await {
        Ok(body) => ResponseBody::own(body.to_bytes()),
        Err(error) => ResponseBody::failed(error),
    };
    Response::from_parts(parts, body)
}

/// A service that returns a given response.
struct Ready<B>(Option<Response<B>>);

impl<B> tower_service::Service<Request<()>> for Ready<B> {
    type Response = Response<B>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<B>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let response = self.0.take().unwrap_or_else(|| unreachable!("called once"));
        std::future::ready(Ok(response))
    }
}
