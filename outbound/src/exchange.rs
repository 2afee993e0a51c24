//! One request and its response on one connection.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderName, HeaderValue, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::rt::{Read, Write};
use openapi_core::ports::{OutboundError, OutboundRequest};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::judge::Target;

/// The largest head of a response, in bytes.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Header fields of a response.
const MAX_HEADERS: usize = 128;
/// Header fields that the client writes itself: with others, receiver and client could see different requests.
const OWN_HEADERS: [HeaderName; 9] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    header::EXPECT,
    HeaderName::from_static("keep-alive"),
];

/// A connection on which no request is running.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    opened: Instant,
    _driver: Driver,
}

/// The task that moves the bytes of a connection. It ends with the connection's owner.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The end of an exchange.
pub(crate) struct Exchanged {
    /// Status, header fields and the body that was read.
    pub(crate) response: Response<Bytes>,
    /// Whether the body is longer than that.
    pub(crate) is_truncated: bool,
    /// The connection, if it can carry another request.
    pub(crate) connection: Option<Connection>,
}

/// Why an exchange failed.
pub(crate) struct Failed {
    pub(crate) error: OutboundError,
    /// Whether no byte of the request was sent.
    pub(crate) is_unsent: bool,
    /// Whether the connection ended before a byte of a response came.
    pub(crate) has_no_response: bool,
}

impl Connection {
    /// Begins to speak HTTP/1.1 on a transport.
    pub(crate) async fn open(
        transport: impl Read + Write + Unpin + Send + 'static,
    ) -> Result<Self, OutboundError> {
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .handshake(transport)
            .await
            .map_err(|error| malformed(&error))?;
        let driver = tokio::spawn(async move {
            // The request itself reports how the connection fails.
            let _ = connection.await;
        });
        Ok(Connection { sender, opened: Instant::now(), _driver: Driver(driver) })
    }

    pub(crate) fn is_usable(&self, now: Instant, max_age: Duration) -> bool {
        self.sender.is_ready() && now.duration_since(self.opened) < max_age
    }

    /// Sends a request and reads its response.
    pub(crate) async fn exchange(
        mut self,
        request: Request<Full<Bytes>>,
        max_body_bytes: usize,
    ) -> Result<Exchanged, Failed> {
        let response = self.sender.try_send_request(request).await.map_err(|mut error| {
            let is_unsent = error.take_message().is_some();
            let error = error.into_error();
            let has_no_response = error.is_incomplete_message() || error.is_canceled();
            Failed { error: malformed(&error), is_unsent, has_no_response }
        })?;
        let is_reusable = response.status() != http::StatusCode::SWITCHING_PROTOCOLS;
        let (head, body) = response.into_parts();
        let (body, is_truncated) = read(body, max_body_bytes).await.map_err(|error| Failed {
            error,
            is_unsent: false,
            has_no_response: false,
        })?;
        let connection = (is_reusable && !is_truncated).then_some(self);
        Ok(Exchanged { response: Response::from_parts(head, body), is_truncated, connection })
    }
}

/// The body up to a limit, and whether there is more.
async fn read(mut body: Incoming, max: usize) -> Result<(Bytes, bool), OutboundError> {
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| malformed(&error))?;
        let Some(data) = frame.data_ref() else { continue };
        let room = max - read.len();
        read.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return Ok((read.freeze(), true));
        }
    }
    Ok((read.freeze(), false))
}

/// The request in the form in which it is sent.
pub(crate) fn request(
    target: &Target,
    request: &OutboundRequest,
) -> Result<Request<Full<Bytes>>, OutboundError> {
    if OWN_HEADERS.iter().any(|name| request.headers.contains_key(name)) {
        return Err(OutboundError::Request("it brings header fields that belong to the connection"));
    }
    let path = target.path().ok_or(OutboundError::Request("its path contains characters that no URL has"))?;
    let host = HeaderValue::from_str(target.authority());
    let host = host.map_err(|_| OutboundError::Request("its host is no value of a header field"))?;
    let mut sent = Request::new(Full::new(request.body.clone()));
    *sent.method_mut() = request.method.clone();
    *sent.uri_mut() = path;
    *sent.headers_mut() = request.headers.clone();
    sent.headers_mut().insert(header::HOST, host);
    if !sent.headers().contains_key(header::ACCEPT_ENCODING) {
        sent.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    Ok(sent)
}

fn malformed(error: &hyper::Error) -> OutboundError {
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    OutboundError::Response(format!("{error}{cause}"))
}
