//! How a repeated request is recognized, and what a request created (contract 5.5).

use std::fmt;
use std::marker::PhantomData;

use http::HeaderName;
use sha2::{Digest, Sha256};

use crate::json::Json;
use crate::reply::{ApiError, StoredReply};
use crate::request::rules::Flag;
use crate::request::{JsonBody, Part, Reader, header_fault, parameter};
use crate::service_info::ServiceInfo;

/// Identifies a repeated request (contract 5.5).
#[derive(Clone, Debug, PartialEq)]
pub struct Idempotency<T> {
    /// The `Idempotency-Key` without surrounding quotes.
    pub key: String,
    /// Method and path.
    pub operation: String,
    /// SHA-256 of the parsed body, whatever the order of its members.
    pub fingerprint: [u8; 32],
    /// How the reply is stored.
    pub encoder: ReplyEncoder<T>,
}

/// Encodes the reply to a request that created a `T`, as an idempotency key stores it. The endpoint passes it with the
/// call, because the service does not know the JSON of replies.
pub struct ReplyEncoder<T>(pub fn(&ServiceInfo, &T) -> Result<StoredReply, ApiError>);

impl<T> ReplyEncoder<T> {
    /// The reply, under the names of the service.
    ///
    /// # Errors
    /// INTERNAL_ERROR when the value cannot be written as JSON.
    pub fn encode(&self, service_info: &ServiceInfo, value: &T) -> Result<StoredReply, ApiError> {
        (self.0)(service_info, value)
    }
}

impl<T> Clone for ReplyEncoder<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ReplyEncoder<T> {}

impl<T> PartialEq for ReplyEncoder<T> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl<T> fmt::Debug for ReplyEncoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplyEncoder")
    }
}

/// The outcome of a create.
#[derive(Clone, Debug, PartialEq)]
pub enum Created<T> {
    /// It is stored.
    New(T),
    /// It would be stored: a dry run.
    Preview(T),
    /// It was stored by an earlier request with the same idempotency key.
    Replayed(StoredReply),
}

/// The outcome of an update.
#[derive(Clone, Debug, PartialEq)]
pub enum Updated<T> {
    /// It existed; `renamed` if its path has changed.
    Changed {
        /// The record as it is now.
        value: T,
        /// Whether the external id has changed.
        renamed: bool,
    },
    /// It was created.
    Created(T),
}

/// What an idempotency key can be about: its reply can be stored and given again.
pub trait Replayable: Sized {
    /// The reply to the request that created the value, as an idempotency key stores it.
    ///
    /// # Errors
    /// INTERNAL_ERROR when the value cannot be written as JSON.
    fn stored_reply(service_info: &ServiceInfo, value: &Self) -> Result<StoredReply, ApiError>;
}

/// The header `Idempotency-Key` (contract 5.5): 1 to 255 printable ASCII characters, surrounding quotes ignored.
/// Without a well-formed key the request has none, and the fault is noted. A dry run ignores the header, be it
/// well-formed or not.
pub struct IdempotencyKey<T>(PhantomData<T>);

impl<T: Replayable> Part for IdempotencyKey<T> {
    type Value = Option<Idempotency<T>>;
    const IDEMPOTENT: bool = true;

    fn read(request: &mut Reader<'_>) -> Option<Idempotency<T>> {
        if request.query.peek("dryRun", &Flag) {
            return None;
        }
        let name = HeaderName::from_static("idempotency-key");
        let mut lines = request.sent.headers.get_all(&name).iter();
        let line = lines.next()?;
        let text = line.to_str().ok().map(str::trim);
        let unquoted =
            text.map(|text| text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text));
        let valid = |key: &&str| {
            (1..=255).contains(&key.len()) && key.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        };
        let Some(key) = unquoted.filter(valid).filter(|_| lines.next().is_none()) else {
            let words = "must be one key of 1 to 255 printable ASCII characters";
            request.headers.push(header_fault(&name, words));
            return None;
        };
        let mut hash = Sha256::new();
        if let JsonBody::Value(body) = request.sent.body {
            fingerprint(body, &mut hash);
        }
        let (method, path) = (request.sent.meta.method.as_str(), request.sent.path.trim_end_matches('/'));
        Some(Idempotency {
            key: key.to_owned(),
            operation: format!("{method} {path}"),
            fingerprint: hash.finalize().into(),
            encoder: ReplyEncoder(T::stored_reply),
        })
    }
}

/// Feeds a value to a hash so that equal values, whatever the order of their members, feed the same.
fn fingerprint(value: &Json, hash: &mut Sha256) {
    let mut text = |tag: &[u8], text: &str| {
        hash.update(tag);
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    };
    match value {
        Json::Null => text(b"0", ""),
        Json::Bool(value) => text(b"b", if *value { "1" } else { "0" }),
        Json::Number(number) => text(b"n", number.as_str()),
        Json::String(value) => text(b"s", value),
        Json::Array(items) => {
            text(b"a", &items.len().to_string());
            items.iter().for_each(|item| fingerprint(item, hash));
        }
        Json::Object(members) => {
            text(b"o", &members.len().to_string());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            for (name, value) in members {
                fingerprint(&Json::String(name.to_owned()), hash);
                fingerprint(value, hash);
            }
        }
    }
}

parameter! {
    /// Runs every check and stores nothing; answers 200 with the record as it would be stored, its id and times `null`.
    pub DryRun = "dryRun": bool = Flag
}
