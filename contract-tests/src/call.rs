//! A builder for requests.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use openapi_core::access::Caller;
use openapi_core::api::{Api, PeerAddress, Settings};
use serde_json::Value;

use crate::backend::wait;
use crate::{Form, Reply, rules};

/// The address of the client.
pub const ADDRESS: &str = "192.0.2.10";

/// A key with its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The value of `X-API-Key`.
    pub key: String,
    /// The value of `X-API-Secret`.
    pub secret: String,
}

/// A request under construction.
#[derive(Clone)]
pub struct Call<'a> {
    api: &'a Api,
    settings: &'a Settings,
    method: Method,
    target: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    credentials: Option<Credentials>,
    body: Option<Bytes>,
    chunks: Option<Vec<Chunk>>,
    address: IpAddr,
    caller: Option<Caller>,
}

/// A piece of a streamed body.
#[derive(Clone, Debug)]
pub enum Chunk {
    /// Bytes.
    Bytes(Bytes),
    /// The body timeout has expired.
    Timeout,
    /// The client disconnects.
    Gone,
    /// No data yet.
    Pause,
    /// Trailers after the body.
    Trailers(HeaderMap),
}

impl<'a> Call<'a> {
    /// A request to an API with these settings.
    pub(crate) fn new(
        api: &'a Api,
        settings: &'a Settings,
        credentials: &Credentials,
        method: &str,
        target: &str,
    ) -> Self {
        Call {
            api,
            settings,
            method: method.parse().expect("a method"),
            target: target.to_owned(),
            headers: Vec::new(),
            credentials: Some(credentials.clone()),
            body: None,
            chunks: None,
            address: ADDRESS.parse().expect("an address"),
            caller: None,
        }
    }

    /// Adds a header.
    ///
    /// # Panics
    /// If the value is not allowed in a header.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        self.raw_header(name, value.as_bytes())
    }

    /// Adds a header with arbitrary bytes.
    ///
    /// # Panics
    /// If the value is not allowed in a header.
    #[must_use]
    pub fn raw_header(mut self, name: &str, value: &[u8]) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("the name of a header");
        self.headers.push((name, HeaderValue::from_bytes(value).expect("the value of a header")));
        self
    }

    /// Sends a JSON body with its media type.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.text(&body.to_string()).header("content-type", "application/json")
    }

    /// Sends a text body without a media type.
    #[must_use]
    pub fn text(self, body: &str) -> Self {
        self.bytes(body.as_bytes())
    }

    /// Sends a body of bytes without a media type.
    #[must_use]
    pub fn bytes(mut self, body: &[u8]) -> Self {
        self.body = Some(Bytes::copy_from_slice(body));
        self
    }

    /// Sends a body of unknown length in chunks.
    #[must_use]
    pub fn chunks(mut self, chunks: Vec<Chunk>) -> Self {
        self.chunks = Some(chunks);
        self
    }

    /// Sends the body in two chunks, with pauses around them.
    #[must_use]
    pub fn slowly(self) -> Self {
        let Some(body) = self.body.clone() else { return self };
        let (first, second) = (body.slice(..body.len() / 2), body.slice(body.len() / 2..));
        self.chunks(vec![Chunk::Pause, Chunk::Bytes(first), Chunk::Pause, Chunk::Bytes(second), Chunk::Pause])
    }

    /// Sends a form.
    #[must_use]
    pub fn form(self, form: &Form) -> Self {
        self.bytes(&form.bytes()).header("content-type", &form.content_type())
    }

    /// Uses another key.
    #[must_use]
    pub fn with(mut self, credentials: &Credentials) -> Self {
        self.credentials = Some(credentials.clone());
        self
    }

    /// Sends no key.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.credentials = None;
        self
    }

    /// Sets the client address.
    ///
    /// # Panics
    /// If the text is not an address.
    #[must_use]
    pub fn from(mut self, address: &str) -> Self {
        self.address = address.parse().expect("an address");
        self
    }

    /// Uses a caller that the host authenticated, which bypasses key, authentication and limits.
    #[must_use]
    pub fn as_caller(mut self, caller: Caller) -> Self {
        self.caller = Some(caller);
        self.credentials = None;
        self
    }

    /// Builds the request that the API receives.
    ///
    /// # Panics
    /// If the target is not a URI.
    #[must_use]
    pub fn request(&self) -> Request<UnsyncBoxBody<Bytes, BodyError>> {
        let mut request = Request::builder().method(self.method.clone()).uri(self.target.as_str());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(credentials) = &self.credentials {
            request =
                request.header("X-API-Key", &credentials.key).header("X-API-Secret", &credentials.secret);
        }
        let body = match (&self.body, &self.chunks) {
            (_, Some(chunks)) => ChunkedBody::from(chunks.clone()).boxed_unsync(),
            (Some(bytes), None) => {
                http_body_util::Full::new(bytes.clone()).map_err(|never| match never {}).boxed_unsync()
            }
            (None, None) => http_body_util::Empty::new().map_err(|never| match never {}).boxed_unsync(),
        };
        let mut request = request.body(body).expect("a request");
        request.extensions_mut().insert(PeerAddress(self.address));
        if let Some(caller) = &self.caller {
            request.extensions_mut().insert(caller.clone());
        }
        request
    }

    /// Sends the request and checks the reply against the rules for all replies.
    ///
    /// # Panics
    /// If the reply breaks a rule.
    #[must_use]
    #[track_caller]
    pub fn send(&self) -> Reply {
        let reply = wait(self.answer());
        let request = self.request();
        rules::check(&rules::Asked { request: request.into_parts().0, settings: self.settings }, &reply);
        reply
    }

    /// Sends the request without checking the rules.
    ///
    /// # Panics
    /// If the body cannot be read, or claims to be JSON and is not.
    pub async fn answer(&self) -> Reply {
        Reply::read(self.api.handle(self.request()).await).await
    }
}

/// The error that ends a body early.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// A body of unknown length.
#[derive(Clone, Debug)]
pub struct ChunkedBody(VecDeque<Chunk>);

impl From<Vec<Chunk>> for ChunkedBody {
    fn from(chunks: Vec<Chunk>) -> Self {
        ChunkedBody(chunks.into())
    }
}

impl http_body::Body for ChunkedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BodyError>>> {
        let Some(chunk) = self.0.pop_front() else { return Poll::Ready(None) };
        Poll::Ready(Some(match chunk {
            Chunk::Bytes(bytes) => Ok(http_body::Frame::data(bytes)),
            Chunk::Trailers(fields) => Ok(http_body::Frame::trailers(fields)),
            Chunk::Timeout => Err(Box::new(openapi_core::api::ReceiptTimeout) as BodyError),
            Chunk::Gone => Err("connection reset".into()),
            Chunk::Pause => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }))
    }
}
