//! Successful replies: the envelope, pagination and headers.

use std::borrow::Cow;

use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ApiError;
use crate::json::{JsonSchema, json_object};

/// A successful outcome of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply<T> {
    /// The HTTP status: 200, 201 or 207.
    pub status: u16,
    /// A short English sentence.
    pub message: Cow<'static, str>,
    /// What `data` holds.
    pub data: T,
    /// Of a list.
    pub pagination: Option<Pagination>,
    /// The path of what was created or renamed: the header `Location`.
    pub location: Option<String>,
    /// The entity tag, quotes included: the header `ETag`.
    pub etag: Option<String>,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// A stored response that replaces everything above (contract 5.5).
    pub replay: Option<StoredReply>,
}

impl<T> Reply<T> {
    /// A reply with status 200.
    pub fn ok(message: impl Into<Cow<'static, str>>, data: T) -> Self {
        Reply {
            status: 200,
            message: message.into(),
            data,
            pagination: None,
            location: None,
            etag: None,
            headers: Vec::new(),
            replay: None,
        }
    }

    /// The same outcome with other data.
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reply<U> {
        let Reply { status, message, data, pagination, location, etag, headers, replay } = self;
        Reply { status, message, data: change(data), pagination, location, etag, headers, replay }
    }

    /// Sets the status 201 and the path of what was created.
    #[must_use]
    pub fn created(mut self, location: String) -> Self {
        self.status = 201;
        self.location = Some(location);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sets the entity tag.
    #[must_use]
    pub fn with_etag(mut self, etag: String) -> Self {
        self.etag = Some(etag);
        self
    }
}

/// A stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReply {
    /// The HTTP status.
    pub status: u16,
    /// The header `Location`.
    pub location: Option<String>,
    /// The body.
    pub body: Box<str>,
}

impl StoredReply {
    /// The response with this record as its data.
    ///
    /// # Errors
    /// INTERNAL_ERROR when the record cannot be written as JSON.
    pub fn new<T: Serialize>(
        status: u16,
        location: Option<String>,
        message: &str,
        record: &T,
    ) -> Result<Self, ApiError> {
        let body =
            String::from_utf8(success_body(message, record, None)?).map_err(|_| ApiError::internal())?;
        Ok(StoredReply { status, location, body: body.into() })
    }
}

/// The data of a response to a create.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Creation<T, P = T> {
    /// The stored record.
    Stored(T),
    /// The record of a dry run.
    Preview(P),
    /// Nothing: a stored response is replayed.
    Replayed,
}

impl<T: JsonSchema, P> JsonSchema for Creation<T, P> {
    const NAME: Option<&'static str> = T::NAME;

    fn schema() -> Value {
        T::schema()
    }
}

impl<T, P> Reply<Creation<T, P>> {
    /// The reply that an idempotency key has stored.
    #[must_use]
    pub fn replayed(stored: StoredReply) -> Self {
        Reply { replay: Some(stored), ..Reply::ok("", Creation::Replayed) }
    }
}

/// The `pagination` object of a list (contract 2.5).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    /// The page asked for, from 1; in cursor mode counted on from the page that issued the cursor.
    pub current_page: u64,
    /// How many pages there are.
    pub total_pages: u64,
    /// How many items there are, exactly.
    pub total_items: u64,
    /// The items of a page.
    pub items_per_page: u32,
    /// Whether a page follows.
    pub has_next_page: bool,
    /// Whether a page precedes.
    pub has_previous_page: bool,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
}

json_object! { Pagination as "Pagination" = |page| {
    "currentPage": u64 { "minimum": 1 } = page.current_page,
    "totalPages": u64 { "minimum": 0 } = page.total_pages,
    "totalItems": u64 { "minimum": 0, "description": "Exact." } = page.total_items,
    "itemsPerPage": u32 { "minimum": 1, "maximum": 100 } = page.items_per_page,
    "hasNextPage": bool = page.has_next_page,
    "hasPreviousPage": bool = page.has_previous_page,
    "nextCursor": Option<String> {
        "description": "To be passed as `cursor`; `null` on the last page."
    } = page.next_cursor,
} }

/// One target of the `Link` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// `first`, `prev`, `next` or `last`.
    pub relation: &'static str,
    /// Query parameters that differ from the request's.
    pub page: PageTarget,
}

/// Which page a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageTarget {
    /// By number.
    Number(u64),
    /// By cursor.
    Cursor(String),
    /// The first page of a cursor list: neither number nor cursor.
    Start,
}

/// The largest product of page and limit (contract 2.5).
pub(crate) const MAX_REACH: u64 = 1_000_000;

impl Pagination {
    /// The pages that a `Link` header names: only those that can be requested.
    #[must_use]
    pub fn links(&self, by_cursor: bool) -> Vec<Link> {
        let mut links = Vec::with_capacity(4);
        if self.total_pages == 0 {
            return links;
        }
        if by_cursor {
            links.push(Link { relation: "first", page: PageTarget::Start });
            if let Some(cursor) = &self.next_cursor {
                links.push(Link { relation: "next", page: PageTarget::Cursor(cursor.clone()) });
            }
            return links;
        }
        let mut add = |relation, page: u64| {
            if page.saturating_mul(u64::from(self.items_per_page)) <= MAX_REACH {
                links.push(Link { relation, page: PageTarget::Number(page) });
            }
        };
        add("first", 1);
        if self.has_previous_page {
            add("prev", (self.current_page - 1).min(self.total_pages));
        }
        if self.has_next_page {
            add("next", self.current_page + 1);
        }
        add("last", self.total_pages);
        links
    }
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    success: bool,
    message: &'a str,
    data: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<&'a Pagination>,
}

/// The JSON of a success envelope.
pub(crate) fn success_body<T: Serialize>(
    message: &str,
    data: &T,
    pagination: Option<&Pagination>,
) -> Result<Vec<u8>, ApiError> {
    let mut body = Vec::with_capacity(1024);
    let envelope = Envelope { success: true, message, data, pagination };
    serde_json::to_writer(&mut body, &envelope).map_err(unserialisable)?;
    Ok(body)
}

/// The same around data that is JSON already.
pub(crate) fn success_body_around(message: &str, data: &[u8]) -> Result<Vec<u8>, ApiError> {
    let mut body = Vec::with_capacity(message.len() + data.len() + 64);
    body.extend_from_slice(br#"{"success":true,"message":"#);
    serde_json::to_writer(&mut body, message).map_err(unserialisable)?;
    body.extend_from_slice(br#","data":"#);
    body.extend_from_slice(data);
    body.push(b'}');
    Ok(body)
}

fn unserialisable(error: serde_json::Error) -> ApiError {
    tracing::error!(%error, "failed to serialize a response");
    ApiError::internal()
}

/// `Content-Type` of every JSON body.
pub(crate) const fn content_type() -> HeaderValue {
    HeaderValue::from_static("application/json; charset=utf-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_around_json_is_the_envelope() {
        for message in ["Contact retrieved successfully", "a \"b\"\n"] {
            for data in [serde_json::json!({"a": [1, null]}), serde_json::json!("text")] {
                let text = serde_json::to_vec(&data).unwrap();
                let around = success_body_around(message, &text).ok().unwrap();
                assert_eq!(around, success_body(message, &data, None).ok().unwrap());
            }
        }
    }
}
