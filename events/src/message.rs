//! The request that carries an event, and what its response means.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use openapi_core::ports::{OutboundError, OutboundRequest, OutboundResponse};
use openapi_core::values::{PlatformId, Timestamp};

use crate::secrets::Secret;

/// How much of a failure's text is shown to the owner of the endpoint, in bytes.
const MAX_EXCERPT_BYTES: usize = 1 << 10;
/// The longest wait that a receiver can ask for, in milliseconds; what is longer counts as this.
const MAX_RETRY_AFTER: i64 = 7 * 86_400_000;

/// An attempt to send an event.
#[derive(Clone, Debug)]
pub struct Message {
    /// The id of the event, the same at every attempt and endpoint.
    pub id: PlatformId,
    /// When this attempt begins.
    pub at: Timestamp,
    /// The event as JSON: exactly what is sent and signed.
    pub body: Bytes,
}

impl Message {
    /// The request, signed with each of these secrets in their order. `service` is the name of the service.
    #[must_use]
    pub fn request(&self, url: &str, service: &str, secrets: &[Secret]) -> OutboundRequest {
        let mut request = OutboundRequest::new(Method::POST, url);
        request.headers = self.headers(service, secrets);
        request.body = self.body.clone();
        // Receivers know repeated messages by their id.
        request.is_repeatable = true;
        request
    }

    /// The header fields.
    #[must_use]
    pub fn headers(&self, service: &str, secrets: &[Secret]) -> HeaderMap {
        let (id, seconds) = (self.id.to_string(), self.at.seconds());
        let signatures: Vec<String> =
            secrets.iter().map(|secret| secret.sign(&id, seconds, &self.body)).collect();
        let mut headers = HeaderMap::with_capacity(5);
        headers.insert("webhook-id", value(&id));
        headers.insert("webhook-timestamp", value(&seconds.to_string()));
        headers.insert("webhook-signature", value(&signatures.join(" ")));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, value(&format!("{}-Webhooks/1", product(service))));
        headers
    }
}

/// Digits, letters, base64 and punctuation are values of header fields.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| unreachable!("the text is visible ASCII"))
}

/// The name of the service as a product in `User-Agent`: its ASCII letters and digits.
fn product(service: &str) -> String {
    let product: String = service.chars().filter(char::is_ascii_alphanumeric).collect();
    if product.is_empty() { "Service".to_owned() } else { product }
}

/// How an attempt ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The status, if there was a response.
    pub status: Option<u16>,
    /// One word for what failed before there was one ([`OutboundError::word`]).
    pub error: Option<&'static str>,
    /// How long the receiver asks to wait, in milliseconds.
    pub retry_after: Option<i64>,
    /// How long the attempt took, in milliseconds.
    pub millis: u32,
    /// The begin of the text of a failure, without control characters.
    pub text: String,
}

impl Outcome {
    /// How an attempt ended that took `millis` milliseconds until `now`.
    #[must_use]
    pub fn of(sent: &Result<OutboundResponse, OutboundError>, millis: u32, now: Timestamp) -> Self {
        match sent {
            Ok(response) if response.status.is_success() => {
                Outcome { status: Some(response.status.as_u16()), millis, ..Outcome::default() }
            }
            Ok(response) => Outcome {
                status: Some(response.status.as_u16()),
                error: None,
                retry_after: retry_after(&response.headers, now),
                millis,
                text: excerpt(&response.body),
            },
            // The text of the error may describe the operator's network.
            Err(error) => Outcome { error: Some(error.word()), millis, ..Outcome::default() },
        }
    }

    /// Whether the receiver has accepted the event.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Whether the receiver is gone for good.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.status == Some(410)
    }

    /// Whether the receiver asks for a rest.
    #[must_use]
    pub fn asks_for_rest(&self) -> bool {
        matches!(self.status, Some(429 | 502 | 503 | 504))
    }
}

/// The wait that a response asks for, in milliseconds: seconds, or a date relative to the response's own `Date`.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<i64> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(i64::MAX);
        return Some(seconds.saturating_mul(1_000).min(MAX_RETRY_AFTER));
    }
    let millis = |text: &str| Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp().as_millisecond());
    let sent = headers.get(header::DATE).and_then(|date| millis(date.to_str().ok()?.trim()));
    Some(millis(text)?.saturating_sub(sent.unwrap_or(now.millis())).clamp(0, MAX_RETRY_AFTER))
}

/// The begin of a text without control characters. Line breaks become spaces.
fn excerpt(body: &[u8]) -> String {
    let body = &body[..body.len().min(4 * MAX_EXCERPT_BYTES)];
    let mut text = String::new();
    for character in String::from_utf8_lossy(body).chars() {
        let shown = match character {
            '\n' | '\t' => ' ',
            other => other,
        };
        if text.len() + shown.len_utf8() > MAX_EXCERPT_BYTES {
            break;
        }
        // Marks of direction could change how the console shows what stands around them.
        if !shown.is_control()
            && !matches!(shown, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            text.push(shown);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn response(
        status: u16,
        fields: &[(&'static str, &str)],
        body: &'static [u8],
    ) -> Result<OutboundResponse, OutboundError> {
        let headers =
            fields.iter().map(|(name, text)| (name.parse().unwrap(), text.parse().unwrap())).collect();
        Ok(OutboundResponse {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: Bytes::from_static(body),
            is_truncated: false,
            url: String::new(),
        })
    }

    #[test]
    fn the_request() {
        let id: PlatformId = "695b6f80de7378c4412112d3".parse().unwrap();
        let message =
            Message { id, at: Timestamp::from_millis(1_769_856_330_999), body: Bytes::from_static(b"{}") };
        let secrets: Vec<Secret> =
            ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"]
                .map(|text| text.parse().unwrap())
                .into();
        let request = message.request("https://hooks.example.com/a", "Front Désk", &secrets);
        assert_eq!((request.method, request.url.as_str()), (Method::POST, "https://hooks.example.com/a"));
        assert_eq!((request.body.as_ref(), request.max_redirects), (b"{}".as_slice(), 0));
        let field = |name: &str| request.headers[name].to_str().unwrap().to_owned();
        assert_eq!(field("webhook-id"), "695b6f80de7378c4412112d3");
        assert_eq!(field("webhook-timestamp"), "1769856330");
        assert_eq!(field("content-type"), "application/json");
        assert_eq!(field("user-agent"), "FrontDsk-Webhooks/1");
        let signed = secrets.iter().map(|it| it.sign("695b6f80de7378c4412112d3", 1_769_856_330, b"{}"));
        assert_eq!(field("webhook-signature"), signed.collect::<Vec<_>>().join(" "));
        assert_eq!((request.headers.len(), product("日本")), (5, "Service".to_owned()));
    }

    #[test]
    fn outcomes() {
        let now = Timestamp::from_millis(1_792_567_680_000);
        let outcome = |sent| Outcome::of(&sent, 12, now);
        let fine = outcome(response(204, &[("retry-after", "9")], b"ok"));
        assert_eq!(fine, Outcome { status: Some(204), millis: 12, ..Outcome::default() });
        assert!(fine.is_success());
        for status in [300, 301, 304, 400, 401, 404, 410, 429, 500, 503] {
            let failed = outcome(response(status, &[], b"no\n\x1b[2Jway\0"));
            assert!(!failed.is_success() && failed.text == "no [2Jway", "{failed:?}");
            assert_eq!(failed.is_gone(), status == 410);
            assert_eq!(failed.asks_for_rest(), matches!(status, 429 | 503), "{status}");
        }
        let refused = outcome(Err(OutboundError::Refused { rule: "private", reason: "10.0.0.1".to_owned() }));
        assert_eq!(refused, Outcome { error: Some("refused"), millis: 12, ..Outcome::default() });
    }

    #[test]
    fn waits_that_receivers_ask_for() {
        let now = Timestamp::from_millis(1_792_567_680_000);
        let wait =
            |fields: &[(&'static str, &str)]| Outcome::of(&response(503, fields, b""), 0, now).retry_after;
        assert_eq!(wait(&[("retry-after", "7")]), Some(7_000));
        assert_eq!(wait(&[("retry-after", "99999999999999999999")]), Some(MAX_RETRY_AFTER));
        let date = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2026 07:28:09 GMT"), date]), Some(9_000));
        assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT"), date]), Some(0));
        assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2026 07:28:09 GMT")]), Some(9_000));
        for text in ["", "soon", "-1", "1.5"] {
            assert_eq!(wait(&[("retry-after", text)]), None, "{text}");
        }
    }

    #[test]
    fn excerpts_are_bounded() {
        let long = "é".repeat(5_000);
        let text = excerpt(long.as_bytes());
        assert_eq!((text.len(), text.chars().all(|character| character == 'é')), (1_024, true));
        assert_eq!(excerpt("a\u{202e}b\u{7f}\r\nc\u{85}".as_bytes()), "ab c");
        assert_eq!(excerpt(&[0xff, b'x']), "\u{fffd}x");
    }
}
