//! What a store writes together with a change.

use crate::audit::SealedEntry;
use crate::contacts::{Contact, ContactKeys};
use crate::events::NewEvent;
use crate::values::{ContactId, Timestamp};

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
    /// What is appended to the event log of the agent, in order ([`LogStore`](super::LogStore)).
    pub events: Vec<NewEvent>,
}

impl Effects {
    /// One entry of the audit log.
    #[must_use]
    pub fn audited(entry: SealedEntry) -> Self {
        Effects { audit: vec![entry], ..Effects::default() }
    }

    /// The same with an event more.
    #[must_use]
    pub fn with_event(self, event: impl Into<Option<NewEvent>>) -> Self {
        self.with_events(event.into())
    }

    /// The same with more events.
    #[must_use]
    pub fn with_events(mut self, events: impl IntoIterator<Item = NewEvent>) -> Self {
        self.events.extend(events);
        self
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
