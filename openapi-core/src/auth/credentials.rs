//! The key headers of a request (contract 7.1).

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};

use super::error::AuthError;
use crate::reply::{ApiError, ErrorCode};

/// The name of the header that carries the key.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");
/// The name of the header that carries the secret.
const SECRET_HEADER: HeaderName = HeaderName::from_static("x-api-secret");

/// The credentials as sent, trimmed. Text of another form than a key's is no key that is known, and no secret of one.
pub(super) struct Credentials<'a> {
    pub(super) key: Cow<'a, str>,
    pub(super) secret: Cow<'a, str>,
}

/// Reads both headers. Credentials anywhere else are ignored.
pub(super) fn read(headers: &HeaderMap) -> Result<Credentials<'_>, AuthError> {
    let key = single(headers, &KEY_HEADER)?;
    let secret = single(headers, &SECRET_HEADER)?;
    if key.is_empty() || secret.is_empty() {
        return Err(AuthError::NoCredentials(ApiError::new(
            ErrorCode::MissingCredentials,
            "Send the headers X-API-Key and X-API-Secret",
        )));
    }
    Ok(Credentials { key: text(key), secret: text(secret) })
}

/// The text of a value; what is no UTF-8 becomes text that is no credential.
fn text(value: &[u8]) -> Cow<'_, str> {
    // Looked at as a whole first, at a fraction of what the search for what is no UTF-8 takes.
    std::str::from_utf8(value).map_or_else(|_| String::from_utf8_lossy(value), Cow::Borrowed)
}

/// The trimmed value of a header; empty when it is absent.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a [u8], AuthError> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        let message = format!("The header {name} is repeated");
        return Err(AuthError::Other(ApiError::new(ErrorCode::BadRequest, message)));
    }
    Ok(value.map_or(&[], |value| value.as_bytes().trim_ascii()))
}
