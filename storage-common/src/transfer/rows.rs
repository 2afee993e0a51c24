//! Copying all data of a tenant from one store to another: records unchanged, in the order of their keys.

use std::fmt;

use async_trait::async_trait;
use conversations::storage::ConversationStorage;
use conversations::{Conversation, KnowledgeDocument, Message, Passage};
use openapi_core::access::StoredKey;
use openapi_core::agents::Agent;
use openapi_core::audit::ChainedEntry;
use openapi_core::contacts::Contact;
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::files::ContactFile;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission, WithHistory};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    FileTombstone, IdempotencyRecord, Job, LogEntry, Result, StoredDocument, StoredRecord,
};
use openapi_core::values::{AgentId, ConversationId, FileId, KnowledgeId, SubmissionId, Timestamp};
use serde::Serialize;

use crate::error::StoreError;
use crate::fields::signed;

/// A store whose records can be copied to another store, and that can receive them. Only operators use it.
///
/// # Contract
/// - A received record is stored as if the methods of [`ConversationStorage`] had stored it: every list, total, search
///   and unique value includes it, and every later change works on it.
/// - Records are stored kind by kind in the order of [`TransferKind::ALL`], and within a kind in the order of their
///   keys. The last stored key therefore shows where an interrupted copy resumes.
/// - Deleted tenants are copied too, because their ids are never reused.
#[async_trait]
pub trait TransferStore: ConversationStorage {
    /// Up to `at_most` tenants after `after`, including deleted ones, by id.
    async fn agents_after(&self, after: Option<&AgentId>, at_most: u32) -> Result<Vec<Agent>>;

    /// Up to `at_most` records of a kind after `after`, by their keys; none for an absent tenant.
    async fn records(
        &self,
        agent: &AgentId,
        kind: TransferKind,
        after: Option<&TransferKey>,
        at_most: u32,
    ) -> Result<Vec<TransferRow>>;

    /// The greatest key of a kind.
    async fn last_record(&self, agent: &AgentId, kind: TransferKind) -> Result<Option<TransferKey>>;

    /// Stores a tenant, replacing one with the same id; its records stay.
    async fn put_agent(&self, agent: &Agent) -> Result<()>;

    /// Stores new records of one kind, all or none. The keys of contacts follow from the current contact schema, which
    /// is the one with the greatest version.
    ///
    /// # Errors
    /// [`Missing`](openapi_core::storage::StorageErrorKind::Missing) without such an agent,
    /// [`AlreadyExists`](openapi_core::storage::StorageErrorKind::AlreadyExists) when a key is in use,
    /// [`Duplicate`](openapi_core::storage::StorageErrorKind::Duplicate) when a unique value of a contact is.
    async fn put_records(&self, agent: &AgentId, records: &[TransferRow]) -> Result<()>;
}

/// A kind of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TransferKind {
    /// A version of the contact schema, by version.
    ContactSchema,
    /// A form template at its current version, by id.
    Template,
    /// A form template at each of its versions, by id and version.
    TemplateVersion,
    /// A contact, by id.
    Contact,
    /// The record of a file or of its deletion, by id.
    File,
    /// A retained document of an extraction, by id.
    Document,
    /// When a content is due for deletion, by the id of its file or document.
    Purge,
    /// A submission, by id.
    Submission,
    /// An earlier version of the data of a submission, by the submission's id and version.
    Revision,
    /// A stored response, by its key.
    IdempotencyRecord,
    /// The credits of the tenant, under the number 0.
    CreditAccount,
    /// An entry of the ledger of credits, by time and id.
    CreditEntry,
    /// A document of the tenant's knowledge, by id.
    Knowledge,
    /// A passage of a knowledge document, by the document's id and the position.
    Passage,
    /// A conversation in the widget, by id.
    Conversation,
    /// A message of a conversation, by the conversation's id and its number.
    Message,
    /// A record of the tenant, by the number of its kind and its id.
    Record,
    /// An event of the tenant's log, by its number.
    Log,
    /// A job of the tenant, by id.
    Job,
    /// An entry of the audit log, by time and id.
    Audit,
    /// An API key, by id. The last kind, so no request is authenticated before the copy is complete.
    Key,
}

impl TransferKind {
    /// Every kind, in the order of a copy: a record comes after the records that it refers to.
    pub const ALL: [TransferKind; 21] = [
        TransferKind::ContactSchema,
        TransferKind::Template,
        TransferKind::TemplateVersion,
        TransferKind::Contact,
        TransferKind::File,
        TransferKind::Document,
        TransferKind::Purge,
        TransferKind::Submission,
        TransferKind::Revision,
        TransferKind::IdempotencyRecord,
        TransferKind::CreditAccount,
        TransferKind::CreditEntry,
        TransferKind::Knowledge,
        TransferKind::Passage,
        TransferKind::Conversation,
        TransferKind::Message,
        TransferKind::Record,
        TransferKind::Log,
        TransferKind::Job,
        TransferKind::Audit,
        TransferKind::Key,
    ];

    /// The plural in texts for humans.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            TransferKind::ContactSchema => "contact schemas",
            TransferKind::Template => "templates",
            TransferKind::TemplateVersion => "template versions",
            TransferKind::Contact => "contacts",
            TransferKind::File => "files",
            TransferKind::Document => "documents",
            TransferKind::Purge => "purges",
            TransferKind::Submission => "submissions",
            TransferKind::Revision => "revisions",
            TransferKind::IdempotencyRecord => "stored answers",
            TransferKind::CreditAccount => "credit accounts",
            TransferKind::CreditEntry => "credit entries",
            TransferKind::Knowledge => "knowledge documents",
            TransferKind::Passage => "passages",
            TransferKind::Conversation => "conversations",
            TransferKind::Message => "messages",
            TransferKind::Record => "records",
            TransferKind::Log => "events",
            TransferKind::Job => "jobs",
            TransferKind::Audit => "audit entries",
            TransferKind::Key => "keys",
        }
    }

    /// The shape of the keys of its records.
    #[must_use]
    pub const fn key_shape(self) -> KeyShape {
        match self {
            TransferKind::ContactSchema | TransferKind::Log | TransferKind::CreditAccount => KeyShape::Number,
            TransferKind::Record => KeyShape::Named,
            TransferKind::TemplateVersion
            | TransferKind::Revision
            | TransferKind::Passage
            | TransferKind::Message => KeyShape::Version,
            TransferKind::CreditEntry | TransferKind::Audit => KeyShape::Time,
            TransferKind::Template
            | TransferKind::Contact
            | TransferKind::File
            | TransferKind::Document
            | TransferKind::Purge
            | TransferKind::Submission
            | TransferKind::IdempotencyRecord
            | TransferKind::Knowledge
            | TransferKind::Conversation
            | TransferKind::Job
            | TransferKind::Key => KeyShape::Id,
        }
    }

    /// The values of a key as databases store them; without a key, values before every key.
    ///
    /// # Errors
    /// When the key is of another kind.
    pub fn key_parts<E: StoreError>(self, key: Option<&TransferKey>) -> Result<KeyParts, E> {
        let other_kind = || E::corrupt("a key of another kind of record");
        Ok(match (self.key_shape(), key) {
            (KeyShape::Number, None) => KeyParts::Number(-1),
            (KeyShape::Number, Some(key)) => {
                KeyParts::Number(signed::<E>(key.number().ok_or_else(other_kind)?)?)
            }
            // The empty byte string sorts first.
            (KeyShape::Id, key) => KeyParts::Id(key.map(|key| key.0.clone()).unwrap_or_default()),
            (KeyShape::Named, None) => KeyParts::Named(-1, Vec::new()),
            (KeyShape::Named, Some(key)) => {
                let (number, id) = key.named().ok_or_else(other_kind)?;
                KeyParts::Named(signed::<E>(number)?, id.to_vec())
            }
            (KeyShape::Version, None) => KeyParts::Version(Vec::new(), -1),
            (KeyShape::Version, Some(key)) => {
                let (id, version) = key.version().ok_or_else(other_kind)?;
                KeyParts::Version(id.to_vec(), signed::<E>(version)?)
            }
            (KeyShape::Time, None) => KeyParts::Time(Timestamp::from_millis(i64::MIN), Vec::new()),
            (KeyShape::Time, Some(key)) => {
                let (at, id) = key.time().ok_or_else(other_kind)?;
                KeyParts::Time(at, id.to_vec())
            }
        })
    }

    /// How many records are copied at a time; a few MiB of the kinds with large records.
    #[must_use]
    pub const fn batch(self) -> u32 {
        match self {
            TransferKind::TemplateVersion | TransferKind::Template => 16,
            TransferKind::Submission
            | TransferKind::Revision
            | TransferKind::IdempotencyRecord
            | TransferKind::Message
            | TransferKind::Job => 64,
            _ => 500,
        }
    }
}

impl fmt::Display for TransferKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What distinguishes a record from the others of its kind and tenant: bytes that sort like the records. Numbers are
/// eight bytes, most significant first; times likewise, with the highest bit inverted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransferKey(pub Vec<u8>);

impl TransferKey {
    /// The key of a number.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        TransferKey(number.to_be_bytes().to_vec())
    }

    /// The key of an id and a number.
    #[must_use]
    pub fn of_version(id: &[u8; 12], number: u64) -> Self {
        TransferKey([id.as_slice(), &number.to_be_bytes()].concat())
    }

    /// The key of a number and an id of any length.
    #[must_use]
    pub fn of_named(number: u64, id: &[u8]) -> Self {
        TransferKey([&number.to_be_bytes(), id].concat())
    }

    /// The key of a time and an id.
    #[must_use]
    pub fn of_time(at: Timestamp, id: &[u8; 12]) -> Self {
        let sortable = (at.millis() as u64) ^ (1 << 63);
        TransferKey([sortable.to_be_bytes().as_slice(), id].concat())
    }

    /// The number of [`TransferKey::of_number`]; `None` for any other key.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        self.0.as_slice().try_into().ok().map(u64::from_be_bytes)
    }

    /// The parts of [`TransferKey::of_version`]; `None` for any other key.
    #[must_use]
    pub fn version(&self) -> Option<([u8; 12], u64)> {
        let (id, number) = self.0.split_first_chunk::<12>()?;
        Some((*id, u64::from_be_bytes(number.try_into().ok()?)))
    }

    /// The parts of [`TransferKey::of_named`]; `None` for any other key.
    #[must_use]
    pub fn named(&self) -> Option<(u64, &[u8])> {
        let (number, id) = self.0.split_first_chunk::<8>()?;
        Some((u64::from_be_bytes(*number), id))
    }

    /// The parts of [`TransferKey::of_time`]; `None` for any other key.
    #[must_use]
    pub fn time(&self) -> Option<(Timestamp, [u8; 12])> {
        let (sortable, id) = self.0.split_first_chunk::<8>()?;
        let millis = (u64::from_be_bytes(*sortable) ^ (1 << 63)) as i64;
        Some((Timestamp::from_millis(millis), id.try_into().ok()?))
    }
}

/// The shape of the keys of a kind of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyShape {
    /// An id.
    Id,
    /// A number.
    Number,
    /// An id and a number.
    Version,
    /// A number and an id of any length.
    Named,
    /// A time and an id.
    Time,
}

/// The values of a key, by its [`KeyShape`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyParts {
    /// An id.
    Id(Vec<u8>),
    /// A number.
    Number(i64),
    /// An id and a number.
    Version(Vec<u8>, i64),
    /// A number and an id of any length.
    Named(i64, Vec<u8>),
    /// A time and an id.
    Time(Timestamp, Vec<u8>),
}

/// A stored record.
#[derive(Clone, Debug, PartialEq)]
pub enum TransferRow {
    /// A version of the contact schema.
    ContactSchema(ContactSchema),
    /// A template at its current version.
    Template(FormTemplate),
    /// A template at a version, with the name, description and fields of that version.
    TemplateVersion(FormTemplate),
    /// A contact.
    Contact(Contact),
    /// A file, with its tombstone if it is deleted.
    File {
        /// The record.
        file: ContactFile,
        /// Its tombstone.
        tombstone: Option<FileTombstone>,
    },
    /// A retained document of an extraction.
    Document(StoredDocument),
    /// A content that is due for deletion.
    Purge {
        /// The file or document with the content.
        file: FileId,
        /// The due time.
        due_at: Timestamp,
    },
    /// A submission. Its external id is that of the contact and is not stored with it.
    Submission(Submission),
    /// An earlier version of the data of a submission.
    Revision {
        /// The submission.
        submission: SubmissionId,
        /// The data.
        revision: FormDataRevision,
    },
    /// A stored response.
    IdempotencyRecord(IdempotencyRecord),
    /// The credits of the tenant.
    CreditAccount(CreditAccount),
    /// An entry of the ledger of credits.
    CreditEntry(CreditEntry),
    /// A document of the tenant's knowledge.
    Knowledge(KnowledgeDocument),
    /// A passage of a knowledge document.
    Passage {
        /// The document.
        document: KnowledgeId,
        /// The passage.
        passage: Passage,
    },
    /// A conversation in the widget.
    Conversation(Box<Conversation>),
    /// A message of a conversation.
    Message {
        /// The conversation.
        conversation: ConversationId,
        /// The message.
        message: Message,
    },
    /// A record of the tenant.
    Record(StoredRecord),
    /// An event of the tenant's log.
    Log(LogEntry),
    /// A job of the tenant.
    Job(Box<Job>),
    /// An entry of the audit log.
    Audit(ChainedEntry),
    /// An API key.
    Key(StoredKey),
}

impl TransferRow {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> TransferKind {
        match self {
            TransferRow::ContactSchema(_) => TransferKind::ContactSchema,
            TransferRow::Template(_) => TransferKind::Template,
            TransferRow::TemplateVersion(_) => TransferKind::TemplateVersion,
            TransferRow::Contact(_) => TransferKind::Contact,
            TransferRow::File { .. } => TransferKind::File,
            TransferRow::Document(_) => TransferKind::Document,
            TransferRow::Purge { .. } => TransferKind::Purge,
            TransferRow::Submission(_) => TransferKind::Submission,
            TransferRow::Revision { .. } => TransferKind::Revision,
            TransferRow::IdempotencyRecord(_) => TransferKind::IdempotencyRecord,
            TransferRow::CreditAccount(_) => TransferKind::CreditAccount,
            TransferRow::CreditEntry(_) => TransferKind::CreditEntry,
            TransferRow::Knowledge(_) => TransferKind::Knowledge,
            TransferRow::Passage { .. } => TransferKind::Passage,
            TransferRow::Conversation(_) => TransferKind::Conversation,
            TransferRow::Message { .. } => TransferKind::Message,
            TransferRow::Record(_) => TransferKind::Record,
            TransferRow::Log(_) => TransferKind::Log,
            TransferRow::Job(_) => TransferKind::Job,
            TransferRow::Audit(_) => TransferKind::Audit,
            TransferRow::Key(_) => TransferKind::Key,
        }
    }

    /// Its key among the records of its kind.
    #[must_use]
    pub fn key(&self) -> TransferKey {
        let of_id = |id: &[u8; 12]| TransferKey(id.to_vec());
        match self {
            TransferRow::ContactSchema(schema) => TransferKey::of_number(schema.version),
            TransferRow::Template(template) => of_id(template.id.as_bytes()),
            TransferRow::TemplateVersion(template) => {
                TransferKey::of_version(template.id.as_bytes(), template.version)
            }
            TransferRow::Contact(contact) => of_id(contact.id.as_bytes()),
            TransferRow::File { file, .. } => of_id(file.id.as_bytes()),
            TransferRow::Document(document) => of_id(document.id.as_bytes()),
            TransferRow::Purge { file, .. } => of_id(file.as_bytes()),
            TransferRow::Submission(submission) => of_id(submission.id.as_bytes()),
            TransferRow::Revision { submission, revision } => {
                TransferKey::of_version(submission.as_bytes(), revision.version)
            }
            TransferRow::IdempotencyRecord(replay) => TransferKey(replay.key.0.to_vec()),
            TransferRow::CreditAccount(_) => TransferKey::of_number(0),
            TransferRow::CreditEntry(entry) => TransferKey::of_time(entry.at, entry.id.as_bytes()),
            TransferRow::Knowledge(document) => of_id(document.id.as_bytes()),
            TransferRow::Passage { document, passage } => {
                TransferKey::of_version(document.as_bytes(), u64::from(passage.position))
            }
            TransferRow::Conversation(conversation) => of_id(conversation.id.as_bytes()),
            TransferRow::Message { conversation, message } => {
                TransferKey::of_version(conversation.as_bytes(), message.seq)
            }
            TransferRow::Record(StoredRecord { key, .. }) => {
                TransferKey::of_named(u64::from(key.kind.number()), key.id.as_bytes())
            }
            TransferRow::Log(entry) => TransferKey::of_number(entry.seq),
            TransferRow::Job(job) => of_id(job.id.as_bytes()),
            TransferRow::Audit(entry) => TransferKey::of_time(entry.at, entry.id.as_bytes()),
            TransferRow::Key(stored) => of_id(stored.key.id.as_bytes()),
        }
    }

    /// The record as JSON: equal for equal records and different for different ones, whatever store they come from.
    /// Digests are computed from it; it is not meant to be parsed.
    ///
    /// # Errors
    /// Never, for records from a store.
    pub fn canonical(&self) -> serde_json::Result<Vec<u8>> {
        match self {
            TransferRow::ContactSchema(schema) => json(schema),
            TransferRow::Template(it) | TransferRow::TemplateVersion(it) => json(&(
                (it.id, it.version, &it.name, &it.description, &it.fields),
                (it.status, it.submission_policy, &it.disabled_transitions, it.generation),
                (it.created_at, it.updated_at),
            )),
            TransferRow::Contact(contact) => json(&(contact, contact.version)),
            TransferRow::File { file, tombstone } => json(&(
                (file, &file.server_key),
                tombstone.as_ref().map(|tombstone| (tombstone.at, &tombstone.by, &tombstone.reason)),
            )),
            TransferRow::Document(document) => json(document),
            TransferRow::Purge { file, due_at } => json(&(file, due_at)),
            TransferRow::Submission(submission) => {
                json(&(WithHistory(submission.clone()), submission.version, submission.revision))
            }
            TransferRow::Revision { submission, revision } => json(&(submission, revision)),
            TransferRow::IdempotencyRecord(it) => json(&(
                (it.key.0, it.fingerprint, it.status),
                (&it.location, &it.body, it.resource, it.expires_at),
            )),
            TransferRow::CreditAccount(account) => json(account),
            TransferRow::CreditEntry(entry) => json(entry),
            TransferRow::Knowledge(document) => json(document),
            TransferRow::Passage { document, passage } => json(&(document, passage)),
            TransferRow::Conversation(conversation) => json(conversation),
            TransferRow::Message { conversation, message } => json(&(conversation, message)),
            TransferRow::Record(record) => json(record),
            TransferRow::Log(entry) => json(entry),
            TransferRow::Job(job) => json(job),
            TransferRow::Audit(entry) => json(entry),
            TransferRow::Key(stored) => json(stored),
        }
    }
}

fn json(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(value)
}
