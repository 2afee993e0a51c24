//! Moving everything of an agent from one store to another: records as they are stored, in the order of their keys.

use std::fmt;

use async_trait::async_trait;
use serde::Serialize;

use super::{AgentRecord, FileTombstone, RateWindow, Replay, Result, Storage, StoredDocument};
use crate::access::StoredKey;
use crate::agents::Agent;
use crate::audit::AuditEntry;
use crate::chat::{Conversation, KnowledgeDocument, Message, Passage};
use crate::contacts::Contact;
use crate::credits::{CreditAccount, CreditEntry};
use crate::files::ContactFile;
use crate::forms::{FormDataRevision, FormTemplate, Submission, WithHistory};
use crate::schema::ContactSchema;
use crate::values::{AgentId, ConversationId, FileId, KeyId, KnowledgeId, SubmissionId, Timestamp};

/// A store whose records can be moved to another one, and that can take them. The operator's own.
///
/// # Contract
/// - What was put is stored as if the methods of [`Storage`] had led to it: every list, total, search and unique value
///   holds it, and every later change works on it.
/// - Records are put kind by kind in the order of [`RecordKind::ALL`], and within a kind in the order of their keys: so
///   the last key that is there tells where a copy that was interrupted goes on.
/// - Deleted agents are moved too, because their ids are never given again.
#[async_trait]
pub trait TransferStore: Storage {
    /// Up to `at_most` agents behind `after`, deleted ones included, by id.
    async fn agents_after(&self, after: Option<&AgentId>, at_most: u32) -> Result<Vec<Agent>>;

    /// Up to `at_most` records of a kind behind `after`, by their keys; none of an agent that is not there.
    async fn records(
        &self,
        agent: &AgentId,
        kind: RecordKind,
        after: Option<&RecordKey>,
        at_most: u32,
    ) -> Result<Vec<Record>>;

    /// The greatest key of a kind.
    async fn last_record(&self, agent: &AgentId, kind: RecordKind) -> Result<Option<RecordKey>>;

    /// Stores an agent in place of one with the same id; its records stay.
    async fn put_agent(&self, agent: &Agent) -> Result<()>;

    /// Stores new records of one kind, all or none. The keys of contacts are made by the contact schema in force, which
    /// is that of the greatest version.
    ///
    /// # Errors
    /// [`Missing`](super::StorageErrorKind::Missing) without such an agent,
    /// [`AlreadyExists`](super::StorageErrorKind::AlreadyExists) when a key is in use,
    /// [`Duplicate`](super::StorageErrorKind::Duplicate) when a unique value of a contact is.
    async fn put_records(&self, agent: &AgentId, records: &[Record]) -> Result<()>;
}

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// A version of the contact schema, by version.
    ContactSchema,
    /// A form template at the version in force, by id.
    Template,
    /// A form template at each of its versions, by id and version.
    TemplateVersion,
    /// A contact, by id.
    Contact,
    /// The record of a file or of its deletion, by id.
    File,
    /// A document that is kept of an extraction, by id.
    Document,
    /// When a content is to be removed, by the id of its file or document.
    Purge,
    /// A submission, by id.
    Submission,
    /// What the data of a submission was, by the submission's id and version.
    Revision,
    /// A stored answer, by its key.
    Replay,
    /// What is counted of an API key's requests, by the key's id.
    RateWindow,
    /// The credits of the agent, under the number 0.
    CreditAccount,
    /// An entry of the ledger of credits, by time and id.
    CreditEntry,
    /// A document that the agent answers from, by id.
    Knowledge,
    /// A passage of one, by the document's id and its position.
    Passage,
    /// A conversation in the widget, by id.
    Conversation,
    /// A message of one, by the conversation's id and its number.
    Message,
    /// A small record of the agent, by the number of its kind.
    AgentRecord,
    /// An entry of the audit log, by time and id.
    Audit,
    /// An API key, by id. The last kind: nobody is let in before everything else is there.
    Key,
}

impl RecordKind {
    /// Every kind, in the order in which they are put: what refers to something comes after it.
    pub const ALL: [RecordKind; 20] = [
        RecordKind::ContactSchema,
        RecordKind::Template,
        RecordKind::TemplateVersion,
        RecordKind::Contact,
        RecordKind::File,
        RecordKind::Document,
        RecordKind::Purge,
        RecordKind::Submission,
        RecordKind::Revision,
        RecordKind::Replay,
        RecordKind::RateWindow,
        RecordKind::CreditAccount,
        RecordKind::CreditEntry,
        RecordKind::Knowledge,
        RecordKind::Passage,
        RecordKind::Conversation,
        RecordKind::Message,
        RecordKind::AgentRecord,
        RecordKind::Audit,
        RecordKind::Key,
    ];

    /// What people call several of them.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            RecordKind::ContactSchema => "contact schemas",
            RecordKind::Template => "templates",
            RecordKind::TemplateVersion => "template versions",
            RecordKind::Contact => "contacts",
            RecordKind::File => "files",
            RecordKind::Document => "documents",
            RecordKind::Purge => "purges",
            RecordKind::Submission => "submissions",
            RecordKind::Revision => "revisions",
            RecordKind::Replay => "stored answers",
            RecordKind::RateWindow => "rate windows",
            RecordKind::CreditAccount => "credit accounts",
            RecordKind::CreditEntry => "credit entries",
            RecordKind::Knowledge => "knowledge documents",
            RecordKind::Passage => "passages",
            RecordKind::Conversation => "conversations",
            RecordKind::Message => "messages",
            RecordKind::AgentRecord => "agent records",
            RecordKind::Audit => "audit entries",
            RecordKind::Key => "keys",
        }
    }

    /// How many are moved at once: a few MiB where the largest are common.
    #[must_use]
    pub const fn batch(self) -> u32 {
        match self {
            RecordKind::TemplateVersion | RecordKind::Template => 16,
            RecordKind::Submission | RecordKind::Revision | RecordKind::Replay | RecordKind::Message => 64,
            _ => 500,
        }
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What tells a record from the others of its kind and agent: octets that sort as the records do. Numbers are eight
/// octets, the highest first; times likewise, with the highest bit turned over.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordKey(pub Vec<u8>);

impl RecordKey {
    /// The key of a number.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        RecordKey(number.to_be_bytes().to_vec())
    }

    /// The key of an id and a number.
    #[must_use]
    pub fn of_version(id: &[u8; 12], number: u64) -> Self {
        RecordKey([id.as_slice(), &number.to_be_bytes()].concat())
    }

    /// The key of a time and an id.
    #[must_use]
    pub fn of_time(at: Timestamp, id: &[u8; 12]) -> Self {
        let sortable = (at.millis() as u64) ^ (1 << 63);
        RecordKey([sortable.to_be_bytes().as_slice(), id].concat())
    }

    /// The number of [`RecordKey::of_number`]; none when the key is another.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        self.0.as_slice().try_into().ok().map(u64::from_be_bytes)
    }

    /// The parts of [`RecordKey::of_version`]; none when the key is another.
    #[must_use]
    pub fn version(&self) -> Option<([u8; 12], u64)> {
        let (id, number) = self.0.split_first_chunk::<12>()?;
        Some((*id, u64::from_be_bytes(number.try_into().ok()?)))
    }

    /// The parts of [`RecordKey::of_time`]; none when the key is another.
    #[must_use]
    pub fn time(&self) -> Option<(Timestamp, [u8; 12])> {
        let (sortable, id) = self.0.split_first_chunk::<8>()?;
        let millis = (u64::from_be_bytes(*sortable) ^ (1 << 63)) as i64;
        Some((Timestamp::from_millis(millis), id.try_into().ok()?))
    }
}

/// A record as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A version of the contact schema.
    ContactSchema(ContactSchema),
    /// A template at the version in force.
    Template(FormTemplate),
    /// A template at a version: its name, description and fields are that version's.
    TemplateVersion(FormTemplate),
    /// A contact.
    Contact(Contact),
    /// A file, and its tombstone once it is deleted.
    File {
        /// The record.
        file: ContactFile,
        /// What is kept of its deletion.
        tombstone: Option<FileTombstone>,
    },
    /// A document that is kept of an extraction.
    Document(StoredDocument),
    /// A content that is to be removed.
    Purge {
        /// The file or document whose content it is.
        file: FileId,
        /// From when on.
        due_at: Timestamp,
    },
    /// A submission. The external id in it is the contact's and is not stored with it.
    Submission(Submission),
    /// What the data of a submission was.
    Revision {
        /// The submission.
        submission: SubmissionId,
        /// The data.
        revision: FormDataRevision,
    },
    /// A stored answer.
    Replay(Replay),
    /// What is counted of a key's requests.
    RateWindow {
        /// The key.
        key: KeyId,
        /// What is counted.
        window: RateWindow,
    },
    /// The credits of the agent.
    CreditAccount(CreditAccount),
    /// An entry of their ledger.
    CreditEntry(CreditEntry),
    /// A document that the agent answers from.
    Knowledge(KnowledgeDocument),
    /// A passage of one.
    Passage {
        /// The document.
        document: KnowledgeId,
        /// The passage.
        passage: Passage,
    },
    /// A conversation in the widget.
    Conversation(Box<Conversation>),
    /// A message of one.
    Message {
        /// The conversation.
        conversation: ConversationId,
        /// The message.
        message: Message,
    },
    /// A small record of the agent.
    AgentRecord(AgentRecord),
    /// An entry of the audit log.
    Audit(AuditEntry),
    /// An API key.
    Key(StoredKey),
}

impl Record {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> RecordKind {
        match self {
            Record::ContactSchema(_) => RecordKind::ContactSchema,
            Record::Template(_) => RecordKind::Template,
            Record::TemplateVersion(_) => RecordKind::TemplateVersion,
            Record::Contact(_) => RecordKind::Contact,
            Record::File { .. } => RecordKind::File,
            Record::Document(_) => RecordKind::Document,
            Record::Purge { .. } => RecordKind::Purge,
            Record::Submission(_) => RecordKind::Submission,
            Record::Revision { .. } => RecordKind::Revision,
            Record::Replay(_) => RecordKind::Replay,
            Record::RateWindow { .. } => RecordKind::RateWindow,
            Record::CreditAccount(_) => RecordKind::CreditAccount,
            Record::CreditEntry(_) => RecordKind::CreditEntry,
            Record::Knowledge(_) => RecordKind::Knowledge,
            Record::Passage { .. } => RecordKind::Passage,
            Record::Conversation(_) => RecordKind::Conversation,
            Record::Message { .. } => RecordKind::Message,
            Record::AgentRecord(_) => RecordKind::AgentRecord,
            Record::Audit(_) => RecordKind::Audit,
            Record::Key(_) => RecordKind::Key,
        }
    }

    /// What tells it from the others of its kind.
    #[must_use]
    pub fn key(&self) -> RecordKey {
        let of_id = |id: &[u8; 12]| RecordKey(id.to_vec());
        match self {
            Record::ContactSchema(schema) => RecordKey::of_number(schema.version),
            Record::Template(template) => of_id(template.id.as_bytes()),
            Record::TemplateVersion(template) => {
                RecordKey::of_version(template.id.as_bytes(), template.version)
            }
            Record::Contact(contact) => of_id(contact.id.as_bytes()),
            Record::File { file, .. } => of_id(file.id.as_bytes()),
            Record::Document(document) => of_id(document.id.as_bytes()),
            Record::Purge { file, .. } => of_id(file.as_bytes()),
            Record::Submission(submission) => of_id(submission.id.as_bytes()),
            Record::Revision { submission, revision } => {
                RecordKey::of_version(submission.as_bytes(), revision.version)
            }
            Record::Replay(replay) => RecordKey(replay.key.0.to_vec()),
            Record::RateWindow { key, .. } => of_id(key.as_bytes()),
            Record::CreditAccount(_) => RecordKey::of_number(0),
            Record::CreditEntry(entry) => RecordKey::of_time(entry.at, entry.id.as_bytes()),
            Record::Knowledge(document) => of_id(document.id.as_bytes()),
            Record::Passage { document, passage } => {
                RecordKey::of_version(document.as_bytes(), u64::from(passage.position))
            }
            Record::Conversation(conversation) => of_id(conversation.id.as_bytes()),
            Record::Message { conversation, message } => {
                RecordKey::of_version(conversation.as_bytes(), message.seq)
            }
            Record::AgentRecord(record) => RecordKey::of_number(u64::from(record.kind.number())),
            Record::Audit(entry) => RecordKey::of_time(entry.at, entry.id.as_bytes()),
            Record::Key(stored) => of_id(stored.key.id.as_bytes()),
        }
    }

    /// Everything in it as JSON: equal for equal records and different for different ones, whatever store they are from.
    /// What digests are made of; no form to read back.
    ///
    /// # Errors
    /// Never, for records from a store.
    pub fn canonical(&self) -> serde_json::Result<Vec<u8>> {
        match self {
            Record::ContactSchema(schema) => json(schema),
            Record::Template(it) | Record::TemplateVersion(it) => json(&(
                (it.id, it.version, &it.name, &it.description, &it.fields),
                (it.status, it.submission_policy, &it.disabled_transitions, it.generation),
                (it.created_at, it.updated_at),
            )),
            Record::Contact(contact) => json(&(contact, contact.version)),
            Record::File { file, tombstone } => json(&(
                file,
                tombstone.as_ref().map(|tombstone| (tombstone.at, &tombstone.by, &tombstone.reason)),
            )),
            Record::Document(document) => json(document),
            Record::Purge { file, due_at } => json(&(file, due_at)),
            Record::Submission(submission) => {
                json(&(WithHistory(submission.clone()), submission.version, submission.revision))
            }
            Record::Revision { submission, revision } => json(&(submission, revision)),
            Record::Replay(it) => json(&(
                (it.key.0, it.fingerprint, it.status),
                (&it.location, &it.body, it.resource, it.expires_at),
            )),
            Record::RateWindow { key, window } => json(&(key, window)),
            Record::CreditAccount(account) => json(account),
            Record::CreditEntry(entry) => json(entry),
            Record::Knowledge(document) => json(document),
            Record::Passage { document, passage } => json(&(document, passage)),
            Record::Conversation(conversation) => json(conversation),
            Record::Message { conversation, message } => json(&(conversation, message)),
            Record::AgentRecord(record) => json(record),
            Record::Audit(entry) => json(entry),
            Record::Key(stored) => json(stored),
        }
    }
}

fn json(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(value)
}
