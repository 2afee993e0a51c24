//! A reply as a test reads it.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

/// The answer to one request, its body read.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub octets: Bytes,
    /// The body as text; what is not UTF-8 is replaced.
    pub text: String,
    /// The body as JSON; `null` when there is none.
    pub json: Value,
    /// The operation that the API says it ran.
    pub operation: Option<&'static str>,
}

impl Reply {
    /// The text of a header; `None` when it is absent.
    ///
    /// # Panics
    /// When the header is repeated or not text.
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
    /// When `data` is no array.
    #[must_use]
    pub fn column(&self, field: &str) -> Vec<Value> {
        self.data().as_array().expect("a list").iter().map(|item| item[field].clone()).collect()
    }

    /// The `id` of the record.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn id(&self) -> String {
        self.data()["id"].as_str().unwrap_or_else(|| panic!("no id in {}", self.text)).to_owned()
    }

    /// `code` of an error.
    #[must_use]
    pub fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or_default()
    }

    /// Field and type of each validation error.
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
    /// When there are not so many.
    #[must_use]
    pub fn violation(&self, index: usize) -> &Value {
        let error = &self.json["validationErrors"][index];
        assert!(error.is_object(), "no validation error {index} in {}", self.text);
        error
    }

    /// The body as far as a failed assertion shows it.
    #[must_use]
    pub fn shown(&self) -> String {
        self.text.chars().take(2_000).collect()
    }

    /// Expects a status.
    ///
    /// # Panics
    /// When it is another.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        let reason = StatusCode::from_u16(status).ok();
        assert_eq!(self.status, status, "expected {reason:?}, got {}", self.shown());
        self
    }

    /// Expects a failure.
    ///
    /// # Panics
    /// When status or code are others.
    #[track_caller]
    pub fn fails(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.shown());
        self
    }

    /// Expects exactly these validation errors, in this order, as pairs of field and type.
    ///
    /// # Panics
    /// When there are others.
    #[track_caller]
    pub fn invalid(self, expected: &[(&str, &str)]) -> Self {
        let reply = self.fails(400, "VALIDATION_ERROR");
        assert_eq!(reply.violations(), expected, "{}", reply.shown());
        reply
    }
}
