//! Reading a body (contract 6.3 step 8): JSON as a whole, with its media type, size and text; a form as a stream.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use futures_core::Stream;
use http::request::Parts;
use http::{HeaderValue, header};
use http_body::Body;
use http_body_util::BodyExt;

use super::settings::ReceiptTimeout;
use crate::files::{BodyStream, FilePart, Form};
use crate::json;
use crate::operation::JsonBody;
use crate::reply::{ApiError, ErrorCode};

/// Any error, boxed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a request, however a server receives it.
pub trait HttpBody: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static {}

impl<B> HttpBody for B where B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static {}

/// The media types under which JSON is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonTypes {
    /// Those of JSON.
    Json,
    /// Plain text too, which a page may send to another origin without a preflight request.
    AlsoPlain,
}

/// Reads the body as JSON. Nothing is read of a body whose head already tells that it is refused.
///
/// # Errors
/// 415, 413, 408 and 400, as contract 6.3 says of step 8.
pub async fn read_json(
    parts: &Parts,
    body: impl HttpBody,
    limit: u64,
    accepted: JsonTypes,
) -> Result<JsonBody, ApiError> {
    let mut body = pin!(body);
    let declared = declared_bytes(parts, &*body);
    if body.is_end_stream() || declared == Some(0) {
        return Ok(JsonBody::Absent);
    }
    if let Some(declared) = declared {
        refuse_media_type(parts, accepted)?;
        refuse_larger(declared, limit, Some(declared))?;
    }
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut received = 0_u64;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| unreadable(error.into()))?;
        let Ok(mut chunk) = frame.into_data() else { continue };
        if !chunk.has_remaining() {
            continue;
        }
        if received == 0 {
            refuse_media_type(parts, accepted)?;
        }
        received += chunk.len() as u64;
        refuse_larger(received, limit, None)?;
        if received == chunk.len() as u64 {
            first = chunk;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&chunk.copy_to_bytes(chunk.len()));
        }
    }
    let text: &[u8] = if rest.is_empty() { &first } else { &rest };
    if text.is_empty() {
        return Ok(JsonBody::Absent);
    }
    json::parse(text).map(JsonBody::Value).map_err(|error| {
        let detail = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        ApiError::new(ErrorCode::InvalidJson, format!("The request body is not valid JSON: {error}"))
            .with_detail("line", detail(error.line()))
            .with_detail("column", detail(error.column()))
    })
}

/// The length of a body, if the client declares it.
fn declared_bytes<B: Body>(parts: &Parts, body: &B) -> Option<u64> {
    body.size_hint().exact().or_else(|| {
        parts
            .headers
            .get(header::CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok())
            .and_then(|length| length.parse().ok())
    })
}

/// Opens a form with a file; none where there is no body. Nothing is read of one whose head tells its length; of
/// another the begin, which tells whether there is a body at all.
///
/// # Errors
/// 415, 413, 408 and 400, as contract 6.3 says of step 8.
pub async fn open_form(parts: &Parts, body: impl HttpBody, part: FilePart) -> Result<Option<Form>, ApiError> {
    let declared = declared_bytes(parts, &body);
    if body.is_end_stream() || declared == Some(0) {
        return Ok(None);
    }
    let mut bytes = ByteStream { begin: None, body: Box::pin(body) };
    if declared.is_none() {
        match poll_fn(|cx| Pin::new(&mut bytes).poll_next(cx)).await.transpose()? {
            Some(begin) => bytes.begin = Some(begin),
            None => return Ok(None),
        }
    }
    let content_type = form_type(parts, part.name)?;
    part.refuse_declared(declared)?;
    let bytes: BodyStream = Box::pin(bytes);
    Form::new(content_type, bytes, part).map(Some)
}

/// The data of a body, no chunk of it empty, its errors as they are answered.
struct ByteStream<B> {
    /// What was read already.
    begin: Option<Bytes>,
    body: Pin<Box<B>>,
}

impl<B: HttpBody> Stream for ByteStream<B> {
    type Item = Result<Bytes, ApiError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(begin) = self.begin.take() {
            return Poll::Ready(Some(Ok(begin)));
        }
        loop {
            match ready!(self.body.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Some(bytes) = frame.into_data().ok().filter(|bytes| !bytes.is_empty()) {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(unreadable(error.into())))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// The media type of a form, not encoded any further.
fn form_type<'a>(parts: &'a Parts, part: &str) -> Result<&'a str, ApiError> {
    const FORM: &str = "multipart/form-data";
    refuse_encoding(parts, FORM)?;
    let value = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = value.split(';').next().unwrap_or("").trim();
    if essence.eq_ignore_ascii_case(FORM) {
        Ok(value)
    } else {
        let message = format!("Send the request body as multipart/form-data with a part named {part}");
        Err(unsupported(message, FORM))
    }
}

fn unsupported(message: impl Into<Cow<'static, str>>, accepted: &'static str) -> ApiError {
    ApiError::new(ErrorCode::UnsupportedMediaType, message)
        .with_header(header::ACCEPT, HeaderValue::from_static(accepted))
}

fn refuse_encoding(parts: &Parts, accepted: &'static str) -> Result<(), ApiError> {
    let identity = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    if parts.headers.get_all(header::CONTENT_ENCODING).iter().all(identity) {
        Ok(())
    } else {
        Err(unsupported("The request body must not be encoded", accepted))
    }
}

fn refuse_larger(bytes: u64, limit: u64, declared: Option<u64>) -> Result<(), ApiError> {
    if bytes <= limit {
        return Ok(());
    }
    let actual = declared.map_or(json::Json::Null, |bytes| json::Json::Number(bytes.into()));
    Err(ApiError::new(ErrorCode::PayloadTooLarge, format!("The request body exceeds {limit} bytes"))
        .with_detail("limit", limit)
        .with_detail("actual", actual)
        .with_detail("unit", "bytes"))
}

fn unreadable(error: BoxError) -> ApiError {
    if error.downcast_ref::<ReceiptTimeout>().is_some() {
        ApiError::new(ErrorCode::RequestTimeout, "The request body was not received in time")
    } else {
        ApiError::new(ErrorCode::BadRequest, "The request body could not be read")
    }
}

/// JSON in UTF-8, not encoded any further; an absent media type is read as JSON.
fn refuse_media_type(parts: &Parts, accepted: JsonTypes) -> Result<(), ApiError> {
    const JSON: &str = "application/json";
    refuse_encoding(parts, JSON)?;
    let Some(value) = parts.headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let is_accepted = |value: &str| {
        is_json_type(value)
            || accepted == JsonTypes::AlsoPlain && is_in_utf8(value, |essence| essence == "text/plain")
    };
    if value.to_str().is_ok_and(is_accepted) {
        Ok(())
    } else {
        Err(unsupported("Send the request body as application/json in UTF-8", JSON))
    }
}

fn is_json_type(value: &str) -> bool {
    is_in_utf8(value, |essence| {
        essence.strip_prefix("application/").is_some_and(|subtype| {
            subtype == "json" || subtype.strip_suffix("+json").is_some_and(|name| !name.is_empty())
        })
    })
}

/// Whether the essence of a media type is right, and its charset, where it has one, UTF-8.
fn is_in_utf8(value: &str, is_right: impl Fn(&str) -> bool) -> bool {
    let mut parts = value.split(';');
    let essence = parts.next().unwrap_or("").trim().to_ascii_lowercase();
    is_right(&essence)
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, charset)) if name.trim().eq_ignore_ascii_case("charset") => {
                let charset = charset.trim().trim_matches('"');
                charset.eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use super::is_json_type;

    #[test]
    fn json_and_its_kin() {
        for good in [
            "application/json",
            "Application/JSON; charset=\"UTF-8\"",
            "application/merge-patch+json",
            "application/json;",
        ] {
            assert!(is_json_type(good), "{good}");
        }
        for bad in [
            "text/json",
            "application/json; charset=latin1",
            "application/+json",
            "application/jsonx",
            "",
            "multipart/form-data",
        ] {
            assert!(!is_json_type(bad), "{bad}");
        }
    }
}
