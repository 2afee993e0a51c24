//! Records: small JSON objects with a version, replaced by compare-and-swap. A new feature adds a kind, not a trait.

use serde::{Deserialize, Serialize};

use super::Effects;
use crate::json::RawObject;
use crate::values::{ContactId, ConversationId, KeyId, PlatformId, Timestamp};

/// A small record, replaced as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredRecord {
    /// What distinguishes it from the other records of its scope.
    pub key: RecordKey,
    /// How often it was saved, from 1.
    pub version: u64,
    /// Whose erasure erases the record in the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// A value that no other record of the scope and the kind may have: SHA-256 of what it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique: Option<[u8; 32]>,
    /// When there is something to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// Its members.
    pub body: RawObject,
}

impl StoredRecord {
    /// A record of which there is one in each scope, without subject, unique value and due time.
    #[must_use]
    pub fn single(kind: RecordKind, version: u64, body: RawObject) -> Self {
        StoredRecord { key: kind.into(), version, subject: None, unique: None, due_at: None, body }
    }
}

/// What distinguishes a record from the others of its scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordKey {
    /// What it is.
    pub kind: RecordKind,
    /// Which of its kind.
    pub id: RecordId,
}

impl RecordKey {
    /// The key of a record.
    #[must_use]
    pub fn new(kind: RecordKind, id: impl Into<RecordId>) -> Self {
        RecordKey { kind, id: id.into() }
    }
}

impl From<RecordKind> for RecordKey {
    /// The key of a kind of which there is one record in each scope.
    fn from(kind: RecordKind) -> Self {
        RecordKey { kind, id: RecordId::default() }
    }
}

/// Which record of a kind: up to [`RecordId::MAX_BYTES`] bytes, none where there is one record in each scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordId(Box<[u8]>);

impl RecordId {
    /// The most bytes of an id.
    pub const MAX_BYTES: usize = 64;

    /// The id of these bytes; [`None`] if they are too many.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= RecordId::MAX_BYTES).then(|| RecordId(bytes.into()))
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<PlatformId> for RecordId {
    fn from(id: PlatformId) -> Self {
        RecordId(id.as_bytes().as_slice().into())
    }
}

impl From<KeyId> for RecordId {
    fn from(id: KeyId) -> Self {
        RecordId(id.as_bytes().as_slice().into())
    }
}

/// Whose data a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "type", content = "id", rename_all = "camelCase")]
pub enum Subject {
    /// A contact.
    Contact(ContactId),
    /// A conversation; the erasure of its contact erases it too.
    Conversation(ConversationId),
}

impl Subject {
    /// The bytes that stores write for it: a number for its kind, then the id.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 13] {
        let (kind, id) = match &self {
            Subject::Contact(id) => (1, id.as_bytes()),
            Subject::Conversation(id) => (2, id.as_bytes()),
        };
        let mut bytes = [kind; 13];
        bytes[1..].copy_from_slice(id);
        bytes
    }

    /// The subject of the bytes that a store has written.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 13]) -> Option<Self> {
        let (kind, id) = bytes.split_first_chunk::<1>()?;
        let id = id.try_into().ok()?;
        match kind {
            [1] => Some(Subject::Contact(ContactId::from_bytes(id))),
            [2] => Some(Subject::Conversation(ConversationId::from_bytes(id))),
            _ => None,
        }
    }
}

macro_rules! record_kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What records there are. Stores write the numbers for good; 9 is for evaluation cases.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum RecordKind {
            $($(#[$doc])* $name,)*
        }

        impl RecordKind {
            /// Every kind.
            pub const ALL: &'static [RecordKind] = &[$(RecordKind::$name),*];

            /// The number that stores write for it.
            #[must_use]
            pub const fn number(self) -> u16 {
                match self {
                    $(RecordKind::$name => $number,)*
                }
            }
        }
    };
}

record_kinds! {
    /// The settings of an agent; one for each agent.
    Settings = 1,
    /// What the chat of an agent has used today; one for each agent.
    ChatUsage = 2,
    /// The version of the knowledge of an agent; one for each agent, with an empty body.
    Knowledge = 3,
    /// What the identity secrets of an agent are made from; one for each agent.
    Identity = 4,
    /// The rate-limit window of an API key, by the key's id.
    RateLimitWindow = 5,
    /// A webhook endpoint, by its id: what a person sets.
    WebhookEndpoint = 6,
    /// The progress of a webhook endpoint, by its id.
    WebhookState = 7,
    /// What a person says that a document has, by the id of its extraction. The document of its member `copy` goes with it.
    Correction = 8,
    /// An attempt to deliver, by the id of the endpoint and a number that puts the newest first.
    WebhookAttempt = 64,
    /// A page of a website that an agent's documents come from, by the id of the website and a hash of its address.
    CrawledPage = 65,
    /// When a host may be asked next for a page, by a hash of its name.
    CrawledHost = 66,
    /// An address that gets no e-mail of an agent, by its hash; the body is empty.
    MailOptOut = 67,
    /// A person with an account in the console; unique by e-mail address.
    Operator = 10,
    /// A passkey of an operator; unique by credential.
    Passkey = 11,
    /// The hash of an operator's password.
    Password = 12,
    /// What the seed of an operator's one-time codes is derived from.
    Totp = 13,
    /// The HMACs of an operator's recovery codes.
    RecoveryCodes = 14,
    /// A person at a provider who an operator signs in as; unique by issuer and subject.
    OidcIdentity = 15,
    /// A provider that operators sign in with, by its id.
    Provider = 16,
    /// A token by which a script calls the console; unique by the start of its text.
    ServiceToken = 17,
    /// A signed-in browser.
    Session = 18,
    /// A link by which an operator is created or recovers.
    Link = 19,
    /// A challenge that was answered, so that it counts once.
    UsedChallenge = 20,
    /// A note on a contact, by the ids of the contact and the note; the contact is its subject.
    Note = 22,
}

impl RecordKind {
    /// The kind of a number that a store has written.
    #[must_use]
    pub fn of_number(number: u16) -> Option<Self> {
        RecordKind::ALL.iter().copied().find(|kind| kind.number() == number)
    }
}

/// Changes of records of one scope, all of them or none, with their effects. No two changes are of the same key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordsWrite {
    /// The changes. Removals come first, whatever their position here.
    pub changes: Vec<RecordChange>,
    /// What else is written; of a write without an agent, entries of the audit log alone.
    pub effects: Effects,
}

impl RecordsWrite {
    /// The save of one record.
    #[must_use]
    pub fn save(record: StoredRecord, effects: Effects) -> Self {
        RecordsWrite { changes: vec![RecordChange::Save(record)], effects }
    }
}

/// A change of a record.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordChange {
    /// Replaces the record if the stored version is `version - 1`, 0 standing for none.
    Save(StoredRecord),
    /// Removes the record if this version is stored.
    Remove {
        /// The record.
        key: RecordKey,
        /// The version that the caller has seen.
        version: u64,
    },
}

impl RecordChange {
    /// The record that is changed.
    #[must_use]
    pub const fn key(&self) -> &RecordKey {
        match self {
            RecordChange::Save(record) => &record.key,
            RecordChange::Remove { key, .. } => key,
        }
    }

    /// The version that has to be stored before, 0 standing for none. [`None`] where no version can precede.
    #[must_use]
    pub fn expected(&self) -> Option<u64> {
        match self {
            RecordChange::Save(record) => record.version.checked_sub(1),
            RecordChange::Remove { version, .. } => (*version > 0).then_some(*version),
        }
    }
}
