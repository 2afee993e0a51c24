//! Planted faults: a store that violates one rule on purpose. The suite must fail for each of them.

mod access;
mod chat;
mod contacts;
mod extraction;
mod files;
mod forms;
mod jobs;
mod knowledge;
mod list;
mod missed;
mod records;
mod shapes;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use conversations::storage::{
    ConversationFilter, ConversationPage, ConversationQuery, ConversationWrite, KnowledgeWrite, MessageQuery,
    MessageSelector,
};
use conversations::{Conversation, KnowledgeDocument, Message, Passage};
use openapi_core::access::{ApiKey, KeyLookup, KeySelector, StoredKey};
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::{AuditEntry, ChainHead, ChainedEntry, SealedEntry};
use openapi_core::contacts::{Contact, ContactKeys, ContactRef, SharedContact, UniqueValue};
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::events::EventType;
use openapi_core::files::ContactFile;
use openapi_core::forms::{FormTemplate, Submission, SubmissionStatus, TemplateStatus, TemplateSummary};
use openapi_core::json::RawObject;
use openapi_core::ports::BlobKey;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    AuditQuery, ChainPosition, ChainQuery, ChangeNotifier, ContactPage, ContactQuery, ContactWrite,
    CreditWrite, DocumentWrite, Duplicate, Effects, FileBlob, FileDeletion, FilePage, FileQuery, FileSort,
    FileUsage, FileWrite, IdempotencyKey, IdempotencyRecord, LatestQuery, LedgerQuery, LogPage, Order,
    RecordChange, RecordId, RecordKey, RecordKind, RecordsWrite, Result, ServerKeyUses, SortKey,
    SortPosition, StorageErrorKind, StoredDocument, StoredRecord, SubmissionChange, SubmissionFilter,
    SubmissionPage, SubmissionPosition, SubmissionQuery, SubmissionsWrite, Supersession, TemplatePage,
    TemplatePosition, TemplateQuery, Window,
};
use openapi_core::values::{
    AgentId, ContactId, ConversationId, ExternalId, FileId, KeyId, KnowledgeId, PlatformId, SubmissionId,
    TemplateId, Timestamp,
};
use storage_common::transfer::{TransferKind, TransferRow, TransferStore};
use storage_memory::MemoryStorage;

use crate::delegate::Delegate;

pub use list::PlantedFault;
pub use missed::missed_faults;

/// A store with one planted fault.
pub struct Faulty {
    inner: Arc<dyn TransferStore>,
    fault: Option<PlantedFault>,
    agents: Mutex<Vec<AgentId>>,
    held: Mutex<Vec<(AgentId, ExternalId)>>,
    deleted_files: Mutex<Vec<ContactFile>>,
    submissions: Mutex<Vec<Submission>>,
    /// Audit entries returned in place of the stored ones.
    entries: Mutex<Vec<ChainedEntry>>,
    /// What is never notified.
    silence: ChangeNotifier,
    /// The agents whose log was swept, and whose write was rejected.
    swept: Mutex<Vec<AgentId>>,
    refused: Mutex<Vec<AgentId>>,
}

impl Delegate for Faulty {
    type Inner = dyn TransferStore;

    fn inner(&self) -> &Self::Inner {
        &*self.inner
    }
}

crate::delegate_storage!(Faulty);

impl Faulty {
    /// An empty in-memory store with a planted fault.
    #[must_use]
    pub fn new(fault: PlantedFault) -> Self {
        Faulty::over(Arc::new(MemoryStorage::new()), Some(fault))
    }

    /// An empty in-memory store without a fault: the control, which must pass.
    #[must_use]
    pub fn sound() -> Self {
        Faulty::over(Arc::new(MemoryStorage::new()), None)
    }

    /// Wraps an empty store, with or without a planted fault.
    #[must_use]
    pub fn over(inner: Arc<dyn TransferStore>, fault: Option<PlantedFault>) -> Self {
        Faulty {
            inner,
            fault,
            agents: Mutex::default(),
            held: Mutex::default(),
            deleted_files: Mutex::default(),
            submissions: Mutex::default(),
            entries: Mutex::default(),
            silence: ChangeNotifier::default(),
            swept: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<ChainedEntry>> {
        self.entries.lock().expect("lock")
    }

    /// Stores the audit entries of a write that was rejected.
    async fn note(&self, effects: &Effects) -> Result<()> {
        for entry in &effects.audit {
            self.inner.append_audit(entry).await?;
        }
        Ok(())
    }

    fn is(&self, fault: PlantedFault) -> bool {
        self.fault == Some(fault)
    }

    fn others(&self, agent: &AgentId) -> Vec<AgentId> {
        let agents = self.agents.lock().expect("lock");
        agents.iter().filter(|other| *other != agent).cloned().collect()
    }

    /// Every agent, beginning with `agent`.
    fn every_agent(&self, agent: &AgentId) -> Vec<AgentId> {
        std::iter::once(agent.clone()).chain(self.others(agent)).collect()
    }
}
