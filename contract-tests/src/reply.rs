//! A reply as tests inspect it.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use openapi_core::api::{ApiBody, ResponseSummary};
use openapi_core::json::Json;
use serde_json::Value;

/// The reply to one request, with its whole body.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub bytes: Bytes,
    /// The body as text, with invalid UTF-8 replaced.
    pub text: String,
    /// The body as JSON; `null` if absent.
    pub json: Value,
    /// The operation that the API reports.
    pub operation: Option<&'static str>,
}

impl Reply {
    /// Reads a response to the end.
    ///
    /// # Panics
    /// If the body cannot be read, or claims to be JSON and is not.
    pub async fn read(response: Response<ApiBody>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body that comes to its end").to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let media_type = parts.headers.get(http::header::CONTENT_TYPE);
        let is_json =
            media_type.is_some_and(|media_type| media_type.as_bytes().starts_with(b"application/json;"));
        let json = if is_json && !text.is_empty() { read(&text) } else { Value::Null };
        let handled = parts.extensions.get::<ResponseSummary>().expect("the response describes its request");
        Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            bytes,
            text,
            json,
            operation: handled.operation,
        }
    }

    /// The text of a header; `None` when it is absent.
    ///
    /// # Panics
    /// If the header is repeated or not text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?;
        assert!(values.next().is_none(), "{name} is repeated");
        Some(value.to_str().unwrap_or_else(|_| panic!("{name} is not text")))
    }

    /// `data` of a success.
    #[must_use]
    pub fn data(&self) -> &Value {
        &self.json["data"]
    }

    /// `pagination` of a list.
    #[must_use]
    pub fn pagination(&self) -> &Value {
        &self.json["pagination"]
    }

    /// The values of one field of the items of a list.
    ///
    /// # Panics
    /// If `data` is not an array.
    #[must_use]
    pub fn column(&self, field: &str) -> Vec<Value> {
        self.data().as_array().expect("a list").iter().map(|item| item[field].clone()).collect()
    }

    /// The `id` of the record.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn id(&self) -> String {
        self.data()["id"].as_str().unwrap_or_else(|| panic!("no id in {}", self.text)).to_owned()
    }

    /// `code` of an error.
    #[must_use]
    pub fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or_default()
    }

    /// The field and type of each validation error.
    #[must_use]
    pub fn violations(&self) -> Vec<(&str, &str)> {
        let listed = self.json["validationErrors"].as_array().map(Vec::as_slice).unwrap_or_default();
        listed
            .iter()
            .map(|error| {
                (error["field"].as_str().unwrap_or_default(), error["type"].as_str().unwrap_or_default())
            })
            .collect()
    }

    /// One validation error.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn violation(&self, index: usize) -> &Value {
        let error = &self.json["validationErrors"][index];
        assert!(error.is_object(), "no validation error {index} in {}", self.text);
        error
    }

    /// The body, truncated for assertion messages.
    #[must_use]
    pub fn shown(&self) -> String {
        self.text.chars().take(2_000).collect()
    }

    /// Asserts the status.
    ///
    /// # Panics
    /// If it differs.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        let reason = StatusCode::from_u16(status).ok();
        assert_eq!(self.status, status, "expected {reason:?}, got {}", self.shown());
        self
    }

    /// Asserts an error.
    ///
    /// # Panics
    /// If the status or the code differs.
    #[track_caller]
    pub fn fails(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.shown());
        self
    }

    /// Asserts exactly these validation errors, in this order, as pairs of field and type.
    ///
    /// # Panics
    /// If they differ.
    #[track_caller]
    pub fn invalid(self, expected: &[(&str, &str)]) -> Self {
        let reply = self.fails(400, "VALIDATION_ERROR");
        assert_eq!(reply.violations(), expected, "{}", reply.shown());
        reply
    }
}

/// Parses JSON. A number beyond the range of doubles, which a validation error may echo, becomes its text.
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
