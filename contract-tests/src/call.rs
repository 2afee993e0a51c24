//! A request in the making.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use openapi_core::access::Caller;
use openapi_core::api::{Handled, PeerAddress};
use openapi_core::json::Json;
use serde_json::Value;

use crate::sandbox::{ADDRESS, Credentials, Sandbox, wait};
use crate::{Form, Reply, rules};

/// A request in the making.
#[derive(Clone)]
pub struct Call<'a> {
    sandbox: &'a Sandbox,
    method: Method,
    target: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    credentials: Option<Credentials>,
    body: Option<Bytes>,
    chunks: Option<Vec<Chunk>>,
    address: IpAddr,
    caller: Option<Caller>,
}

/// A piece of a body that arrives bit by bit.
#[derive(Clone, Debug)]
pub enum Chunk {
    /// Octets.
    Octets(Bytes),
    /// The time for the body is over.
    Timeout,
    /// The client went away.
    Gone,
}

impl<'a> Call<'a> {
    /// A request with the sandbox's key.
    pub(crate) fn new(sandbox: &'a Sandbox, method: &str, target: &str) -> Self {
        Call {
            sandbox,
            method: method.parse().expect("a method"),
            target: target.to_owned(),
            headers: Vec::new(),
            credentials: Some(sandbox.credentials.clone()),
            body: None,
            chunks: None,
            address: ADDRESS.parse().expect("an address"),
            caller: None,
        }
    }

    /// Adds a header.
    ///
    /// # Panics
    /// When the value is not allowed in a header.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        self.raw_header(name, value.as_bytes())
    }

    /// Adds a header of any octets.
    ///
    /// # Panics
    /// When the value is not allowed in a header.
    #[must_use]
    pub fn raw_header(mut self, name: &str, value: &[u8]) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("the name of a header");
        self.headers.push((name, HeaderValue::from_bytes(value).expect("the value of a header")));
        self
    }

    /// Sends JSON with its media type.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.text(&body.to_string()).header("content-type", "application/json")
    }

    /// Sends text without a media type.
    #[must_use]
    pub fn text(self, body: &str) -> Self {
        self.octets(body.as_bytes())
    }

    /// Sends octets without a media type.
    #[must_use]
    pub fn octets(mut self, body: &[u8]) -> Self {
        self.body = Some(Bytes::copy_from_slice(body));
        self
    }

    /// Sends a body of unknown length in pieces.
    #[must_use]
    pub fn chunks(mut self, chunks: Vec<Chunk>) -> Self {
        self.chunks = Some(chunks);
        self
    }

    /// Sends a form.
    #[must_use]
    pub fn form(self, form: &Form) -> Self {
        self.octets(&form.octets()).header("content-type", &form.content_type())
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

    /// Comes from another address.
    ///
    /// # Panics
    /// When the text is no address.
    #[must_use]
    pub fn from(mut self, address: &str) -> Self {
        self.address = address.parse().expect("an address");
        self
    }

    /// Comes with a caller that the host authenticated: without key, gate and limits.
    #[must_use]
    pub fn as_caller(mut self, caller: Caller) -> Self {
        self.caller = Some(caller);
        self.credentials = None;
        self
    }

    /// The request as the API takes it.
    ///
    /// # Panics
    /// When the target is no URI.
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
            (_, Some(chunks)) => ChunkedBody(chunks.iter().cloned().collect()).boxed_unsync(),
            (Some(octets), None) => {
                http_body_util::Full::new(octets.clone()).map_err(|never| match never {}).boxed_unsync()
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

    /// Sends the request and holds the reply to the rules of all replies.
    ///
    /// # Panics
    /// When the reply breaks one.
    #[must_use]
    #[track_caller]
    pub fn send(&self) -> Reply {
        let reply = wait(self.answer());
        let request = self.request();
        rules::check(
            &rules::Asked { request: request.into_parts().0, settings: self.sandbox.settings() },
            &reply,
        );
        reply
    }

    /// The reply, not yet held to the rules.
    ///
    /// # Panics
    /// When the body cannot be read to its end, or calls itself JSON and is not.
    pub async fn answer(&self) -> Reply {
        let (parts, body) = self.sandbox.api.handle(self.request()).await.into_parts();
        let octets = body.collect().await.expect("a body that comes to its end").to_bytes();
        let text = String::from_utf8_lossy(&octets).into_owned();
        let media_type = parts.headers.get(http::header::CONTENT_TYPE);
        let is_json =
            media_type.is_some_and(|media_type| media_type.as_bytes().starts_with(b"application/json;"));
        let json = if is_json && !text.is_empty() { read(&text) } else { Value::Null };
        let handled = parts.extensions.get::<Handled>().expect("the response tells what became of it");
        Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            octets,
            text,
            json,
            operation: handled.operation,
        }
    }
}

/// Reads JSON; a number beyond the range of doubles, which a validation error may echo, becomes its text.
fn read(text: &str) -> Value {
    fn value(json: &Json) -> Value {
        match json {
            Json::Array(items) => items.iter().map(value).collect(),
            Json::Object(members) => {
                members.iter().map(|(name, member)| (name.to_owned(), value(member))).collect()
            }
            Json::Number(number) => serde_json::from_str(number.as_str())
                .unwrap_or_else(|_| Value::String(number.as_str().to_owned())),
            scalar => serde_json::from_str(&scalar.to_text()).unwrap_or(Value::Null),
        }
    }
    match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) if error.to_string().contains("out of range") => {
            value(&openapi_core::json::parse(text.as_bytes()).expect("JSON"))
        }
        Err(error) => panic!("{error}: {text}"),
    }
}

/// Why a body broke off.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// A body of unknown length.
struct ChunkedBody(VecDeque<Chunk>);

impl http_body::Body for ChunkedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BodyError>>> {
        Poll::Ready(self.0.pop_front().map(|chunk| match chunk {
            Chunk::Octets(octets) => Ok(http_body::Frame::data(octets)),
            Chunk::Timeout => Err(Box::new(openapi_core::api::ReceiptTimeout) as BodyError),
            Chunk::Gone => Err("connection reset".into()),
        }))
    }
}
