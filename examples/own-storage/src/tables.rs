//! The tables, and what the methods of several ports look at.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use conversations::{Conversation, KnowledgeDocument, Message, Passage};
use openapi_core::access::StoredKey;
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::AuditEntry;
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::files::ContactFile;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
use openapi_core::ports::BlobKey;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    FileTombstone, IdempotencyKey, IdempotencyRecord, RateLimitWindow, RecordKind, Result, StorageErrorKind,
    StoredDocument, StoredRecord, Window,
};
use openapi_core::values::{
    AgentId, AuditId, ContactId, ConversationId, FileId, KeyId, KnowledgeId, PlatformId, SubmissionId,
    TemplateId, Timestamp,
};

/// A table: the rows of each agent by their key. No row is reached without saying whose.
#[derive(Debug)]
pub struct Rows<K, V>(BTreeMap<AgentId, BTreeMap<K, V>>);

impl<K, V> Default for Rows<K, V> {
    fn default() -> Self {
        Rows(BTreeMap::new())
    }
}

impl<K: Ord, V> Rows<K, V> {
    /// The rows of an agent, by key.
    pub fn of(&self, agent: &AgentId) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.0.get(agent).into_iter().flatten()
    }

    /// The same, to be changed.
    pub fn of_mut(&mut self, agent: &AgentId) -> impl Iterator<Item = (&K, &mut V)> {
        self.0.get_mut(agent).into_iter().flatten()
    }

    /// The rows of all agents: for the operator's own methods.
    pub fn all(&self) -> impl Iterator<Item = (&AgentId, &K, &V)> {
        self.0.iter().flat_map(|(agent, rows)| rows.iter().map(move |(key, row)| (agent, key, row)))
    }

    pub fn row(&self, agent: &AgentId, key: &K) -> Option<&V> {
        self.0.get(agent)?.get(key)
    }

    pub fn row_mut(&mut self, agent: &AgentId, key: &K) -> Option<&mut V> {
        self.0.get_mut(agent)?.get_mut(key)
    }

    /// Stores a row and returns the one that was there.
    pub fn put(&mut self, agent: &AgentId, key: K, row: V) -> Option<V> {
        self.0.entry(agent.clone()).or_default().insert(key, row)
    }

    pub fn remove(&mut self, agent: &AgentId, key: &K) -> Option<V> {
        self.0.get_mut(agent)?.remove(key)
    }

    /// Removes the rows of an agent that `stays` refuses, and returns their keys.
    pub fn sift(&mut self, agent: &AgentId, stays: impl Fn(&K, &V) -> bool) -> Vec<K> {
        let Some(rows) = self.0.get_mut(agent) else { return Vec::new() };
        rows.extract_if(.., |key, row| !stays(key, row)).map(|(key, _)| key).collect()
    }

    /// Removes up to `left` rows of an agent, counts them off, and returns their keys.
    pub fn purge(&mut self, agent: &AgentId, left: &mut u32) -> Vec<K> {
        let rows = self.0.get_mut(agent);
        let removed: Vec<K> = rows
            .into_iter()
            .flat_map(|rows| std::iter::from_fn(|| rows.pop_first()))
            .map(|(key, _)| key)
            .take(*left as usize)
            .collect();
        *left -= removed.len() as u32;
        removed
    }
}

/// A file and, once it is deleted, its tombstone.
#[derive(Debug)]
pub struct FileRow {
    pub file: ContactFile,
    pub tombstone: Option<FileTombstone>,
}

/// A template, and what it was at each of its versions.
#[derive(Debug)]
pub struct TemplateRow {
    pub current: FormTemplate,
    pub versions: BTreeMap<u64, FormTemplate>,
}

/// A submission, and what its data was before each change.
#[derive(Debug)]
pub struct SubmissionRow {
    pub submission: Submission,
    pub revisions: Vec<FormDataRevision>,
}

/// Everything that is stored.
#[derive(Debug, Default)]
pub struct Tables {
    /// Deleted ones stay: an id is never given twice.
    pub agents: BTreeMap<AgentId, Agent>,
    /// By version.
    pub schemas: Rows<u64, ContactSchema>,
    pub keys: Rows<KeyId, StoredKey>,
    pub windows: Rows<KeyId, RateLimitWindow>,
    pub contacts: Rows<ContactId, (Contact, ContactKeys)>,
    pub files: Rows<FileId, FileRow>,
    pub documents: Rows<FileId, StoredDocument>,
    pub templates: Rows<TemplateId, TemplateRow>,
    pub submissions: Rows<SubmissionId, SubmissionRow>,
    pub credits: Rows<(), CreditAccount>,
    pub ledger: Rows<(Timestamp, PlatformId), CreditEntry>,
    pub conversations: Rows<ConversationId, Conversation>,
    /// By conversation and number.
    pub messages: Rows<(ConversationId, u64), Message>,
    pub knowledge: Rows<KnowledgeId, KnowledgeDocument>,
    /// By document and position.
    pub passages: Rows<(KnowledgeId, u32), Passage>,
    pub records: Rows<RecordKind, StoredRecord>,
    pub replays: Rows<IdempotencyKey, IdempotencyRecord>,
    /// Of all agents and of none: the operator's own.
    pub audit: BTreeMap<(Timestamp, AuditId), AuditEntry>,
    /// Contents that are to be removed, and from when on.
    pub purges: BTreeMap<BlobKey, Timestamp>,
}

impl Tables {
    /// Whether an agent is there and not deleted.
    pub fn is_living(&self, agent: &AgentId) -> bool {
        self.agents.get(agent).is_some_and(|agent| agent.status != AgentStatus::Deleted)
    }

    /// Adds an entry to the audit log.
    pub fn note(&mut self, entry: &AuditEntry) {
        self.audit.insert((entry.at, entry.id), entry.clone());
    }

    /// Keeps the answer of an idempotent request.
    pub fn keep_answer(&mut self, agent: &AgentId, replay: Option<&IdempotencyRecord>) {
        if let Some(replay) = replay {
            self.replays.put(agent, replay.key, replay.clone());
        }
    }

    /// Refuses a write whose idempotency key has an answer already.
    pub fn refuse_answered(
        &self,
        agent: &AgentId,
        replay: Option<&IdempotencyRecord>,
        at: Timestamp,
    ) -> Result<()> {
        let stored = replay.and_then(|replay| self.replays.row(agent, &replay.key));
        match stored {
            Some(stored) if stored.expires_at > at => Err(StorageErrorKind::ReplayExists.into()),
            _ => Ok(()),
        }
    }

    /// Refuses a write that has seen another version of its contact.
    pub fn refuse_other_contact(&self, agent: &AgentId, contact: ContactId, version: u64) -> Result<()> {
        let (stored, _) = self.contacts.row(agent, &contact).ok_or(StorageErrorKind::Missing)?;
        if stored.version == version { Ok(()) } else { Err(StorageErrorKind::Stale.into()) }
    }
}

/// Refuses a version that does not come right behind the stored one; none stored counts as 0.
pub fn refuse_stale(stored: Option<u64>, version: u64) -> Result<()> {
    if stored.unwrap_or(0).checked_add(1) == Some(version) {
        Ok(())
    } else {
        Err(StorageErrorKind::Stale.into())
    }
}

/// The part of a list that a window shows, in the order of `compare`.
pub fn page<P, T>(
    mut found: Vec<(P, T)>,
    window: &Window<P>,
    compare: impl Fn(&P, &P) -> Ordering,
) -> Vec<T> {
    found.sort_by(|(a, _), (b, _)| compare(a, b));
    let (first, limit) = match window {
        Window::Page { offset, limit } => (usize::try_from(*offset).unwrap_or(usize::MAX), *limit),
        Window::After { position, limit } => {
            (found.partition_point(|(place, _)| compare(place, position).is_le()), *limit)
        }
    };
    found.into_iter().skip(first).take(limit as usize).map(|(_, item)| item).collect()
}
