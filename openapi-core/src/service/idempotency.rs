//! How a repeated request is recognized, and what a request created (contract 5.5).

use std::fmt;

use crate::reply::{ApiError, StoredReply};
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
