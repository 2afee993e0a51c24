//! The storage ports: what a database does for the platform.
//!
//! # Contract of every method
//! - A method is one intent and atomic as a whole: what must be written together is passed together, and after an
//!   error nothing of it is stored.
//! - A write that returned is durable as far as the backend promises durability at all.
//! - Inputs are complete: ids, instants, versions and keys come in as arguments; a backend reads no clock and draws no
//!   randomness.
//! - Nothing of one agent is visible to another: only [`KeyStore::look_up_key`] and the operator's own methods
//!   ([`AgentStore`], [`KeyStore::find_key`], [`AuditStore::audit_entries`]) take no agent.
//! - A dropped future leaves the store either unchanged or completely changed.

mod effects;
mod erasure;
mod error;
mod extraction;
mod files;
mod forms;
mod jobs;
mod log;
mod query;
mod records;
pub mod retry;

use async_trait::async_trait;

pub use effects::{ContactWrite, Effects, IdempotencyKey, IdempotencyRecord};
pub use erasure::ErasureState;
pub use error::{Duplicate, StorageError, StorageErrorKind};
pub use extraction::{CreditWrite, DocumentWrite, LedgerQuery, StoredDocument};
pub use files::{
    FileBlob, FileDeletion, FilePage, FilePosition, FileQuery, FileQuota, FileSort, FileSortKey,
    FileTombstone, FileUsage, FileWrite, QuotaExcess, QuotaUnit, ServerKeyUses,
};
pub use forms::{
    LatestQuery, NewSubmission, SubmissionChange, SubmissionFilter, SubmissionPage, SubmissionPosition,
    SubmissionQuery, SubmissionsWrite, Supersession, TemplatePage, TemplatePosition, TemplateQuery,
};
pub use jobs::{
    Job, JobChange, JobClaim, JobLease, JobPage, JobPosition, JobQuery, JobState, JobsWrite, Queue,
    QueueFront, QueueLoad, QueueStore, ScopedJob, Woken,
};
pub use log::{ChangeNotifier, LogEntry, LogPage, Subscription};
pub use query::{
    AuditQuery, ChainPosition, ChainQuery, ContactFilter, ContactPage, ContactQuery, ContactSort, Order,
    SortKey, SortPosition, Window,
};
pub use records::{RecordChange, RecordId, RecordKey, RecordKind, RecordsWrite, StoredRecord, Subject};

use crate::access::{ApiKey, KeyLookup, KeySelector, StoredKey};
use crate::agents::Agent;
use crate::audit::{ChainHead, ChainedEntry, SealedEntry};
use crate::contacts::{ContactRef, SharedContact, UniqueValue};
use crate::credits::{CreditAccount, CreditEntry};
use crate::files::ContactFile;
use crate::forms::{FormDataRevision, FormTemplate, Submission};
use crate::ports::BlobKey;
use crate::schema::ContactSchema;
use crate::values::{AgentId, ContactId, ExternalId, FileId, KeyId, SubmissionId, TemplateId, Timestamp};

/// The result of a storage method.
pub type Result<T, E = StorageError> = std::result::Result<T, E>;

/// Declares a trait of all types that have the parts.
macro_rules! joined {
    ($($(#[$doc:meta])* $name:ident: $($part:ident),+;)+) => {$(
        $(#[$doc])*
        pub trait $name: $($part +)+ {}
        impl<S: $($part +)+> $name for S {}
    )+};
}

joined! {
    /// Everything the platform stores. Implement the parts; a blanket implementation adds this trait.
    Storage: AccessStore, AgentStore, ContactSchemaStore, ContactStore, FileStore, FormStore, CreditStore, DocumentStore, LogStore, QueueStore, IdempotencyStore, HealthProbe;
    /// What authentication needs: keys, records of rate-limit windows and the audit log.
    AccessStore: KeyStore, RecordStore, AuditStore;
}

/// Agents. All methods are the operator's own.
#[async_trait]
pub trait AgentStore: Send + Sync {
    /// Stores a new agent with its first contact schema.
    ///
    /// # Errors
    /// [`AlreadyExists`](StorageErrorKind::AlreadyExists) when the id is or ever was an agent's.
    async fn insert_agent(&self, agent: &Agent, schema: &ContactSchema, effects: &Effects) -> Result<()>;

    /// One agent, deleted ones included.
    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>>;

    /// All agents that are not deleted, by `created_at`, then id.
    async fn agents(&self) -> Result<Vec<Agent>>;

    /// Replaces name, status and `updated_at` of an agent. Deleting is setting the status `deleted`; from then on
    /// everything of the agent is as absent as after [`AgentStore::purge_agent`].
    ///
    /// # Errors
    /// [`Missing`](StorageErrorKind::Missing) when there is no such agent or it is deleted.
    async fn update_agent(&self, agent: &Agent, effects: &Effects) -> Result<()>;

    /// Removes up to `at_most` rows of a deleted agent (contacts, files, documents, submissions, templates, keys,
    /// schemas, replays, credits with their ledger, conversations with their messages, knowledge with its
    /// passages, records, events, jobs, and the payloads of audit entries, not the tombstone) and returns how many; 0 when
    /// nothing is left. The contents of its files and documents are due at once
    /// ([`FileStore::blobs_due_for_deletion`]).
    async fn purge_agent(&self, id: &AgentId, at_most: u32) -> Result<u64>;
}

/// API keys.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// The key of this public string with its agent's status: the look-up that authenticates a request.
    async fn look_up_key(&self, api_key: &ApiKey) -> Result<Option<KeyLookup>>;

    /// One key, by either of its names; the operator's own. Keys of deleted agents are absent.
    async fn find_key(&self, selector: &KeySelector) -> Result<Option<StoredKey>>;

    /// The keys of an agent by `created_at`, then id.
    async fn keys(&self, agent: &AgentId) -> Result<Vec<StoredKey>>;

    /// Stores a new key.
    ///
    /// # Errors
    /// [`AlreadyExists`](StorageErrorKind::AlreadyExists) when id or public string are taken,
    /// [`Missing`](StorageErrorKind::Missing) when the agent is absent or deleted.
    async fn insert_key(&self, agent: &AgentId, key: &StoredKey, effects: &Effects) -> Result<()>;

    /// Replaces a key, but for its last use, if its stored version is `expected_version`.
    ///
    /// # Errors
    /// [`Stale`](StorageErrorKind::Stale) when another version is stored, [`Missing`](StorageErrorKind::Missing) when
    /// the key does not exist.
    async fn update_key(
        &self,
        agent: &AgentId,
        expected_version: u64,
        key: &StoredKey,
        effects: &Effects,
    ) -> Result<()>;

    /// What the server keys are needed for, of all agents; the operator's own. API keys are not counted.
    async fn server_key_uses(&self) -> Result<ServerKeyUses>;

    /// Records the last use of a key without changing its version. A no-op if the key does not exist or its recorded
    /// use is later.
    async fn record_key_use(
        &self,
        agent: &AgentId,
        key: KeyId,
        at: Timestamp,
        address: Option<std::net::IpAddr>,
    ) -> Result<()>;
}

/// Contact schemas and their history.
#[async_trait]
pub trait ContactSchemaStore: Send + Sync {
    /// The schema in force; `None` for an absent or deleted agent.
    async fn contact_schema(&self, agent: &AgentId) -> Result<Option<ContactSchema>>;

    /// All versions, oldest first.
    async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>>;

    /// Puts a new version in force if the stored one is `schema.version - 1`. When the keys of contacts may differ
    /// ([`ContactSchema::keys_differ`]), the keys of all stored contacts, archived ones included, are recomputed in
    /// the same step.
    ///
    /// # Errors
    /// [`Stale`](StorageErrorKind::Stale) when another version is in force,
    /// [`Missing`](StorageErrorKind::Missing) without such an agent, and
    /// [`Duplicate`](StorageErrorKind::Duplicate) when stored contacts share a value of a field that becomes unique.
    async fn replace_contact_schema(
        &self,
        agent: &AgentId,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<()>;
}

/// Contacts.
#[async_trait]
pub trait ContactStore: Send + Sync {
    /// One contact, archived or not. A store that caches contacts returns them
    /// [`written`](SharedContact::written); others convert theirs [`into`](Into::into) it.
    async fn contact(&self, agent: &AgentId, contact: &ContactRef) -> Result<Option<SharedContact>>;

    /// A page of contacts and the exact number of all that the filter lets through.
    async fn contacts(&self, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage>;

    /// The first contact other than `except`, archived ones included, that already has the external id or, in the
    /// given order, one of the unique values.
    async fn duplicate_contact(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external_reference_id: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Result<Option<Duplicate>>;

    /// Stores a new contact with the effects of its creation.
    ///
    /// # Errors
    /// In this order: [`Missing`](StorageErrorKind::Missing) without such an agent,
    /// [`Stale`](StorageErrorKind::Stale) when another schema version is in force,
    /// [`ReplayExists`](StorageErrorKind::ReplayExists), [`Duplicate`](StorageErrorKind::Duplicate) as
    /// [`ContactStore::duplicate_contact`] finds it, [`AlreadyExists`](StorageErrorKind::AlreadyExists) for a used id.
    async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<()>;

    /// Replaces a contact if its stored version is `expected_version`.
    ///
    /// # Errors
    /// As [`ContactStore::insert_contact`], and [`Stale`](StorageErrorKind::Stale) also when another version of the
    /// contact is stored; [`Missing`](StorageErrorKind::Missing) if the contact does not exist.
    async fn update_contact(
        &self,
        agent: &AgentId,
        expected_version: u64,
        write: &ContactWrite,
    ) -> Result<()>;

    /// Removes a contact with everything that belongs to it: its submissions with their revision log; its conversations
    /// with their messages; its files, deleted ones included, whose contents are due from `at` on
    /// ([`FileStore::blobs_due_for_deletion`]); of audit entries about the contact or something of it
    /// ([`contact_id`](crate::audit::AuditEntry::contact_id)) the payload is emptied, and stored answers ([`IdempotencyStore`]) whose
    /// [`IdempotencyRecord::resource`] is the contact go too, as do records whose subject is the contact or one of its
    /// conversations. Events of the contact before those of `effects` are empty from now on ([`LogStore::log`]).
    ///
    /// # Errors
    /// [`Missing`](StorageErrorKind::Missing) if the contact does not exist.
    async fn erase_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<()>;

    /// Waits until whatever was erased before the call, of contacts, conversations and agents, has left the files that
    /// the store itself keeps: its tables, its indexes and its write-ahead log. Waits at most a minute. The operator's
    /// own.
    async fn complete_erasures(&self) -> Result<ErasureState>;
}

/// Files of contacts: the records, and which contents are due for deletion. The contents themselves are in a
/// [`BlobStore`](crate::ports::BlobStore).
#[async_trait]
pub trait FileStore: Send + Sync {
    /// One file; deleted ones are absent.
    async fn file(&self, agent: &AgentId, file: FileId) -> Result<Option<ContactFile>>;

    /// A page of the files of a contact and the exact number of all it has.
    async fn files(&self, agent: &AgentId, query: &FileQuery) -> Result<FilePage>;

    /// How much is stored of a contact and of its agent.
    async fn file_usage(&self, agent: &AgentId, contact: ContactId) -> Result<FileUsage>;

    /// Stores a new file.
    ///
    /// # Errors
    /// In this order: [`Missing`](StorageErrorKind::Missing) without such a contact,
    /// [`Stale`](StorageErrorKind::Stale) when another version of the contact is stored,
    /// [`ReplayExists`](StorageErrorKind::ReplayExists), [`QuotaExceeded`](StorageErrorKind::QuotaExceeded),
    /// [`AlreadyExists`](StorageErrorKind::AlreadyExists) for a used id.
    async fn insert_file(&self, agent: &AgentId, write: &FileWrite) -> Result<()>;

    /// Makes a file absent. Its tombstone and its content stay until the content is due.
    ///
    /// # Errors
    /// [`Missing`](StorageErrorKind::Missing) without such a file of the contact, [`Stale`](StorageErrorKind::Stale)
    /// when another version of the contact is stored.
    async fn delete_file(&self, agent: &AgentId, deletion: &FileDeletion) -> Result<()>;

    /// The record of a deleted file whose content still exists.
    async fn file_tombstone(&self, agent: &AgentId, file: FileId) -> Result<Option<FileTombstone>>;

    /// Makes all contents of deleted files and of documents of an agent due at `now`; returns how many that were not.
    /// The operator's own.
    ///
    /// # Errors
    /// [`Missing`](StorageErrorKind::Missing) when the agent never existed.
    async fn expedite_purges(&self, agent: &AgentId, now: Timestamp, effects: &Effects) -> Result<u64>;

    /// Up to `at_most` contents of all agents that are due for deletion at `now`, the longest due first.
    async fn blobs_due_for_deletion(&self, now: Timestamp, at_most: u32) -> Result<Vec<BlobKey>>;

    /// Removes the records of deleted contents: the tombstones of their files and the records of documents. Ignores
    /// keys of files that are not deleted.
    async fn remove_blob_records(&self, keys: &[BlobKey]) -> Result<()>;

    /// For each key, whether the store has a record of it: as the content of a file, deleted or not, or of a document,
    /// or as due for deletion. A content without a record is an orphan.
    async fn existing_blobs(&self, keys: &[BlobKey]) -> Result<Vec<bool>>;

    /// Up to `at_most` files of all agents that are not deleted, after `after`, by key: which contents there must be.
    /// Documents are not among them: an operator may purge them at any time.
    async fn referenced_blobs(&self, after: Option<&BlobKey>, at_most: u32) -> Result<Vec<FileBlob>>;

    /// Notes that the content of a file, deleted or not, is sealed with this server key. A no-op if there is no such
    /// file.
    async fn mark_sealed(&self, key: &BlobKey, server_key: &str) -> Result<()>;
}

/// Form templates and submissions. A submission is shown with the external id that its contact has at the time of the
/// read; what a write carries there is not stored.
#[async_trait]
pub trait FormStore: Send + Sync {
    /// One template, at the version in force.
    async fn template(&self, agent: &AgentId, template: TemplateId) -> Result<Option<FormTemplate>>;

    /// One template with the name, the description and the fields that it had at a version; all else as it is now.
    async fn template_version(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: u64,
    ) -> Result<Option<FormTemplate>>;

    /// A page of templates and the exact number of all.
    async fn templates(&self, agent: &AgentId, query: &TemplateQuery) -> Result<TemplatePage>;

    /// Stores a new template.
    ///
    /// # Errors
    /// In this order: [`Missing`](StorageErrorKind::Missing) without such an agent,
    /// [`AlreadyExists`](StorageErrorKind::AlreadyExists) for a used id.
    async fn insert_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<()>;

    /// Replaces a template, but for its creation time, if its stored generation is `template.generation - 1`. The
    /// content of `template.version` is replaced, or added when it is a new one; those of other versions stay.
    ///
    /// # Errors
    /// [`Missing`](StorageErrorKind::Missing) if the template does not exist, [`Stale`](StorageErrorKind::Stale) when
    /// another generation is stored.
    async fn replace_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<()>;

    /// One submission.
    async fn submission(&self, agent: &AgentId, submission: SubmissionId) -> Result<Option<Submission>>;

    /// A page of submissions and the exact number of all that the filter lets through.
    async fn submissions(&self, agent: &AgentId, query: &SubmissionQuery) -> Result<SubmissionPage>;

    /// The newest submission of the pair, by `submitted_at`, then id, that has `submitted_at` and is not superseded,
    /// whatever its state: what a new one replaces. `status_history` is left empty.
    async fn head_submission(
        &self,
        agent: &AgentId,
        contact: ContactId,
        template: TemplateId,
    ) -> Result<Option<Submission>>;

    /// The submission with the greatest [`LatestQuery::rank`].
    async fn latest_submission(&self, agent: &AgentId, query: &LatestQuery) -> Result<Option<Submission>>;

    /// For each file, whether it exists, is not deleted and belongs to this contact.
    async fn files_of_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        files: &[FileId],
    ) -> Result<Vec<bool>>;

    /// Stores submissions, all or none. Without submissions, stores only the effects.
    ///
    /// # Errors
    /// In this order: [`Missing`](StorageErrorKind::Missing) without such a contact,
    /// [`Stale`](StorageErrorKind::Stale) when another version of the contact is stored,
    /// [`ReplayExists`](StorageErrorKind::ReplayExists); then for each submission in turn: `Missing` without such a
    /// template, `Stale` when another generation of the template or another head is stored,
    /// [`AlreadyExists`](StorageErrorKind::AlreadyExists) for a used id, be it by an earlier one of the same write.
    async fn insert_submissions(&self, agent: &AgentId, write: &SubmissionsWrite) -> Result<()>;

    /// Replaces a submission. Every earlier version is retained once.
    ///
    /// # Errors
    /// In this order: [`Missing`](StorageErrorKind::Missing) if the submission does not exist,
    /// [`Stale`](StorageErrorKind::Stale) when another version of it or of its contact, another generation of its
    /// template, or another head is stored.
    async fn update_submission(&self, agent: &AgentId, change: &SubmissionChange) -> Result<()>;

    /// What the data of a submission was before each change, oldest first; the operator's own.
    async fn form_data_revisions(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Vec<FormDataRevision>>;
}

/// Credits of agents and their ledgers (contract 13).
#[async_trait]
pub trait CreditStore: Send + Sync {
    /// The account of an agent; `None` if credits were never configured.
    async fn credit_account(&self, agent: &AgentId) -> Result<Option<CreditAccount>>;

    /// Stores a change of credits with everything that belongs to it.
    ///
    /// # Errors
    /// In this order: [`Missing`](StorageErrorKind::Missing) without such an agent,
    /// [`ReplayExists`](StorageErrorKind::ReplayExists), [`Stale`](StorageErrorKind::Stale) when the version of the
    /// stored account is not `account.version - 1`, 0 standing for none,
    /// [`QuotaExceeded`](StorageErrorKind::QuotaExceeded) when the files and documents of the agent would have more
    /// bytes than `document.max_bytes`, [`AlreadyExists`](StorageErrorKind::AlreadyExists) when the ledger of the
    /// agent has an entry of this time and id, or the agent a file or document of the document's id.
    async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<()>;

    /// Entries of a ledger by `at`, then id, the newest first; the operator's own.
    async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>>;
}

/// Retained documents: of extractions (contract 12.3), whose records come with the answers of the extractions
/// ([`CreditWrite::document`]), and those that visitors send in the widget. The contents themselves are in a
/// [`BlobStore`](crate::ports::BlobStore), and due at the end of each record's time
/// ([`FileStore::blobs_due_for_deletion`]). The `stored_size` of each counts among the bytes of the agent's files
/// ([`FileUsage::bytes_of_agent`]) until its content is forgotten ([`FileStore::remove_blob_records`]), which removes
/// the record too.
#[async_trait]
pub trait DocumentStore: Send + Sync {
    /// Stores the record of a document by itself.
    ///
    /// # Errors
    /// In this order: [`Missing`](StorageErrorKind::Missing) without such an agent,
    /// [`QuotaExceeded`](StorageErrorKind::QuotaExceeded) when the files and documents of the agent would have more
    /// bytes than `max_bytes`, [`AlreadyExists`](StorageErrorKind::AlreadyExists) for a used id.
    async fn insert_document(&self, agent: &AgentId, write: &DocumentWrite) -> Result<()>;

    /// Removes the record of a document; its content is due at `now`. A no-op if the document does not exist.
    async fn discard_document(&self, agent: &AgentId, document: FileId, now: Timestamp) -> Result<()>;

    /// One document.
    async fn document(&self, agent: &AgentId, document: FileId) -> Result<Option<StoredDocument>>;

    /// Up to `at_most` documents after `after`, by id; the operator's own.
    async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        at_most: u32,
    ) -> Result<Vec<StoredDocument>>;
}

/// Records: settings, rate-limit windows, and what later features store. The scope of a record is an agent, or without
/// one the installation. Records of an absent or deleted agent are absent.
#[async_trait]
pub trait RecordStore: Send + Sync {
    /// One record.
    async fn record(&self, scope: Option<&AgentId>, key: &RecordKey) -> Result<Option<StoredRecord>>;

    /// The record of a kind that has a unique value.
    async fn record_by_unique(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        unique: &[u8; 32],
    ) -> Result<Option<StoredRecord>>;

    /// Up to `at_most` records of a kind after `after`, by id.
    async fn records_of(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        after: Option<&RecordId>,
        at_most: u32,
    ) -> Result<Vec<StoredRecord>>;

    /// Up to `at_most` records of a kind after `after`, of all scopes: by scope, in an order of the store's own, then by
    /// id; the operator's own.
    async fn all_records(
        &self,
        kind: RecordKind,
        after: Option<&(Option<AgentId>, RecordId)>,
        at_most: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>>;

    /// Up to `at_most` records of a kind that are due at `now`, of all scopes, the longest due first; the operator's
    /// own.
    async fn due_records(
        &self,
        kind: RecordKind,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>>;

    /// Changes records of a scope, all of them or none.
    ///
    /// # Errors
    /// In this order: [`Missing`](StorageErrorKind::Missing) without such an agent,
    /// [`Stale`](StorageErrorKind::Stale) when another version of a record is stored,
    /// [`DuplicateRecord`](StorageErrorKind::DuplicateRecord) when a unique value is that of another record.
    async fn save_records(&self, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<()>;
}

/// The event log of each agent: append-only, numbered from 1 without a gap, in the order of the commits. The writes
/// append to it ([`Effects::events`]).
#[async_trait]
pub trait LogStore: ChangeSource {
    /// Up to `at_most` events after the number `after`, oldest first. Nothing of an absent or deleted agent.
    async fn log(&self, agent: &AgentId, after: u64, at_most: u32) -> Result<LogPage>;

    /// The number of the newest event of each agent, 0 standing for none; the operator's own.
    async fn log_heads(&self, agents: &[AgentId]) -> Result<Vec<u64>>;

    /// Removes up to `at_most` events of an agent, the oldest first, and returns how many. The first event of `before`
    /// or later ends what is removed, whatever the times after it; so does the newest event, which always stays.
    async fn sweep_log(&self, agent: &AgentId, before: Timestamp, at_most: u32) -> Result<u64>;

    /// Reads show events of erased contacts emptied from the commit of the erasure on ([`LogEntry::body`]). This looks
    /// at up to `at_most` events of all agents and empties those on disk; returns how many erased contacts are left.
    async fn scrub_logs(&self, at_most: u32) -> Result<u64>;
}

/// What wakes the readers of event logs in this process.
pub trait ChangeSource: Send + Sync {
    /// Notified by the store after each commit that appended events.
    fn notifier(&self) -> &ChangeNotifier;
}

/// Stored responses of idempotent requests (contract 5.5). A store writes them together with the change.
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// The stored response, unless it expired by `now`.
    async fn replay(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>>;

    /// Removes up to `at_most` responses of all agents that expired by `now` and returns how many.
    async fn sweep_idempotency_records(&self, now: Timestamp, at_most: u32) -> Result<u64>;
}

/// The audit log.
#[async_trait]
pub trait AuditStore: Send + Sync {
    /// Adds an entry without another change.
    ///
    /// # Errors
    /// [`Missing`](StorageErrorKind::Missing) when its agent never existed.
    async fn append_audit(&self, entry: &SealedEntry) -> Result<()>;

    /// Entries by `at`, then id; the operator's own.
    async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<ChainedEntry>>;

    /// Entries of one chain by number, those that are older than the chain first, by `at`, then id.
    async fn audit_chain(&self, query: &ChainQuery) -> Result<Vec<ChainedEntry>>;

    /// The end of a chain; of an agent's, or of that of the entries without one.
    async fn audit_head(&self, chain: Option<&AgentId>) -> Result<ChainHead>;

    /// The chains that have entries, those of deleted agents included, with their ends, in any order.
    async fn audit_heads(&self) -> Result<Vec<(Option<AgentId>, ChainHead)>>;

    /// Removes the entries of a chain up to `through`, this one included, in the order of [`AuditStore::audit_chain`],
    /// adds the entry about it, and returns how many were removed. Without entries to remove, nothing is added.
    ///
    /// # Errors
    /// [`Missing`](StorageErrorKind::Missing) when its agent never existed.
    async fn purge_audit(&self, through: &ChainPosition, entry: &SealedEntry) -> Result<u64>;
}

/// The health check of the store.
#[async_trait]
pub trait HealthProbe: Send + Sync {
    /// Performs a small read. Succeeds if the store can serve reads and writes.
    async fn probe(&self) -> Result<()>;
}
