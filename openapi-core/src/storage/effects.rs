//! What a store writes together with a change.

use serde::{Deserialize, Serialize};

use crate::audit::SealedEntry;
use crate::contacts::{Contact, ContactKeys};
use crate::values::{ContactId, PlatformId, Timestamp};

/// A contact to be stored, with everything that goes into the same transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactWrite {
    /// The complete record.
    pub contact: Contact,
    /// Its keys under the schema of `schema_version`.
    pub keys: ContactKeys,
    /// The version of the schema the record was checked against.
    pub schema_version: u64,
    /// When this is written.
    pub at: Timestamp,
    /// What else is written.
    pub effects: Effects,
}

/// What a write stores besides the change itself; by default nothing. A rejected write stores none of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// The entries of the audit log, in order.
    pub audit: Vec<SealedEntry>,
    /// The response to replay under the same idempotency key. Methods that can fail with
    /// [`ReplayExists`](super::StorageErrorKind::ReplayExists) check the key first; the others replace what it has.
    pub replay: Option<IdempotencyRecord>,
}

impl Effects {
    /// One entry of the audit log.
    #[must_use]
    pub fn audited(entry: SealedEntry) -> Self {
        Effects { audit: vec![entry], replay: None }
    }
}

/// What an idempotency key is bound to: SHA-256 of API key, method, path and the `Idempotency-Key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(pub [u8; 32]);

/// A stored answer (contract 5.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// What it is stored under.
    pub key: IdempotencyKey,
    /// SHA-256 of the parsed body.
    pub fingerprint: [u8; 32],
    /// The HTTP status.
    pub status: u16,
    /// The `Location` header.
    pub location: Option<String>,
    /// The body.
    pub body: Box<str>,
    /// The contact that the answer shows, so that erasing the contact removes the answer.
    pub resource: Option<ContactId>,
    /// When the answer ceases to be there.
    pub expires_at: Timestamp,
}

/// What is known of a key's sliding windows outside the memory of the servers: a ledger with a share for each server.
///
/// A server takes a lease of some requests before it admits them, so that one write covers many requests. A server that
/// reads the ledger counts a lease as if it were used up when it ends: so no server ever admits what another one may
/// have admitted, and after a crash no more is lost than the lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimitWindow {
    /// How often it was saved.
    pub version: u64,
    /// The shares of servers that admitted something in the last hour, or may have.
    pub shares: Vec<RateLimitLease>,
}

/// What one server has admitted of a key's requests, and what it may still admit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitLease {
    /// The server: a new random id at each start.
    pub server: PlatformId,
    /// Requests counted in the last hour: the end of a stretch and how many fell into it, by time. A stretch is at most
    /// 1 s long in the last minute, and at most 60 s before.
    pub counted: Vec<(Timestamp, u32)>,
    /// Requests that may have been admitted since, and may still be.
    pub leased: u32,
    /// From when on the server admits nothing of the lease any more.
    pub lease_ends: Timestamp,
}
