//! The in-memory store: the reference model behind a lock. It serves tests and sandboxes, and the conformance suite
//! compares every other store with it.

mod model;
mod shapes;

use std::net::IpAddr;
use std::ops::{Deref, DerefMut};

use async_trait::async_trait;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use conversations::storage::{
    ConversationPage, ConversationQuery, ConversationStore, ConversationWrite, KnowledgeStore,
    KnowledgeWrite, MessageQuery,
};
use conversations::{Conversation, KnowledgeDocument, Message, Passage};
use model::World;
use openapi_core::access::{ApiKey, KeyLookup, KeySelector, StoredKey};
use openapi_core::agents::Agent;
use openapi_core::audit::{ChainHead, ChainedEntry, SealedEntry};
use openapi_core::contacts::{ContactRef, SharedContact, UniqueValue};
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::files::ContactFile;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
use openapi_core::ports::BlobKey;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    AgentStore, AuditQuery, AuditStore, ChainPosition, ChainQuery, ChangeNotifier, ContactPage, ContactQuery,
    ContactSchemaStore, ContactStore, ContactWrite, CreditStore, CreditWrite, DocumentStore, DocumentWrite,
    Duplicate, Effects, ErasureState, FileBlob, FileDeletion, FilePage, FileQuery, FileStore, FileTombstone,
    FileUsage, FileWrite, FormStore, HealthProbe, IdempotencyKey, IdempotencyRecord, IdempotencyStore,
    KeyStore, LatestQuery, LedgerQuery, Result, ServerKeyUses, StoredDocument, SubmissionChange,
    SubmissionPage, SubmissionQuery, SubmissionsWrite, TemplatePage, TemplateQuery,
};
use openapi_core::values::{
    AgentId, ContactId, ConversationId, ExternalId, FileId, KeyId, KnowledgeId, SubmissionId, TemplateId,
    Timestamp,
};
use storage_common::transfer::{TransferKey, TransferKind, TransferRow, TransferStore};

/// An in-memory store; its data is lost when it is dropped.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    world: RwLock<World>,
    notifier: ChangeNotifier,
}

/// The data during a write, at whose end readers of event logs are woken.
struct Writing<'s> {
    world: RwLockWriteGuard<'s, World>,
    notifier: &'s ChangeNotifier,
}

impl Deref for Writing<'_> {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        for (agent, kinds) in self.world.take_changed() {
            self.notifier.count(kinds);
            self.notifier.notify(&agent);
        }
    }
}

impl MemoryStorage {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        MemoryStorage::default()
    }

    fn read(&self) -> RwLockReadGuard<'_, World> {
        self.world.read()
    }

    fn write(&self) -> Writing<'_> {
        Writing { world: self.world.write(), notifier: &self.notifier }
    }
}

#[async_trait]
impl AgentStore for MemoryStorage {
    async fn insert_agent(&self, agent: &Agent, schema: &ContactSchema, effects: &Effects) -> Result<()> {
        self.write().insert_agent(agent, schema, effects)
    }

    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>> {
        Ok(self.read().agent(id))
    }

    async fn agents(&self) -> Result<Vec<Agent>> {
        Ok(self.read().agents())
    }

    async fn update_agent(&self, agent: &Agent, effects: &Effects) -> Result<()> {
        self.write().update_agent(agent, effects)
    }

    async fn purge_agent(&self, id: &AgentId, at_most: u32) -> Result<u64> {
        Ok(self.write().purge_agent(id, at_most))
    }
}

#[async_trait]
impl KeyStore for MemoryStorage {
    async fn look_up_key(&self, api_key: &ApiKey) -> Result<Option<KeyLookup>> {
        Ok(self.read().look_up_key(api_key))
    }

    async fn find_key(&self, selector: &KeySelector) -> Result<Option<StoredKey>> {
        Ok(self.read().find_key(selector))
    }

    async fn keys(&self, agent: &AgentId) -> Result<Vec<StoredKey>> {
        Ok(self.read().keys(agent))
    }

    async fn server_key_uses(&self) -> Result<ServerKeyUses> {
        Ok(self.read().server_key_uses())
    }

    async fn insert_key(&self, agent: &AgentId, key: &StoredKey, effects: &Effects) -> Result<()> {
        self.write().insert_key(agent, key, effects)
    }

    async fn update_key(
        &self,
        agent: &AgentId,
        expected_version: u64,
        key: &StoredKey,
        effects: &Effects,
    ) -> Result<()> {
        self.write().update_key(agent, expected_version, key, effects)
    }

    async fn record_key_use(
        &self,
        agent: &AgentId,
        key: KeyId,
        at: Timestamp,
        address: Option<IpAddr>,
    ) -> Result<()> {
        self.write().record_key_use(agent, key, at, address);
        Ok(())
    }
}

#[async_trait]
impl ContactSchemaStore for MemoryStorage {
    async fn contact_schema(&self, agent: &AgentId) -> Result<Option<ContactSchema>> {
        Ok(self.read().contact_schema(agent))
    }

    async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>> {
        Ok(self.read().contact_schema_history(agent))
    }

    async fn replace_contact_schema(
        &self,
        agent: &AgentId,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<()> {
        self.write().replace_contact_schema(agent, schema, effects)
    }
}

#[async_trait]
impl ContactStore for MemoryStorage {
    async fn contact(&self, agent: &AgentId, contact: &ContactRef) -> Result<Option<SharedContact>> {
        Ok(self.read().contact(agent, contact).map(SharedContact::from))
    }

    async fn contacts(&self, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage> {
        Ok(self.read().contacts(agent, query))
    }

    async fn duplicate_contact(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external_reference_id: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Result<Option<Duplicate>> {
        Ok(self.read().duplicate_contact(agent, except, external_reference_id, unique))
    }

    async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<()> {
        self.write().insert_contact(agent, write)
    }

    async fn update_contact(
        &self,
        agent: &AgentId,
        expected_version: u64,
        write: &ContactWrite,
    ) -> Result<()> {
        self.write().update_contact(agent, expected_version, write)
    }

    async fn erase_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<()> {
        self.write().erase_contact(agent, contact, at, effects)
    }

    async fn complete_erasures(&self) -> Result<ErasureState> {
        Ok(ErasureState::Final)
    }
}

#[async_trait]
impl FileStore for MemoryStorage {
    async fn file(&self, agent: &AgentId, file: FileId) -> Result<Option<ContactFile>> {
        Ok(self.read().file(agent, file))
    }

    async fn files(&self, agent: &AgentId, query: &FileQuery) -> Result<FilePage> {
        Ok(self.read().files(agent, query))
    }

    async fn file_usage(&self, agent: &AgentId, contact: ContactId) -> Result<FileUsage> {
        Ok(self.read().file_usage(agent, contact))
    }

    async fn insert_file(&self, agent: &AgentId, write: &FileWrite) -> Result<()> {
        self.write().insert_file(agent, write)
    }

    async fn delete_file(&self, agent: &AgentId, deletion: &FileDeletion) -> Result<()> {
        self.write().delete_file(agent, deletion)
    }

    async fn file_tombstone(&self, agent: &AgentId, file: FileId) -> Result<Option<FileTombstone>> {
        Ok(self.read().file_tombstone(agent, file))
    }

    async fn expedite_purges(&self, agent: &AgentId, now: Timestamp, effects: &Effects) -> Result<u64> {
        self.write().expedite_purges(agent, now, effects)
    }

    async fn blobs_due_for_deletion(&self, now: Timestamp, at_most: u32) -> Result<Vec<BlobKey>> {
        Ok(self.read().blobs_due_for_deletion(now, at_most))
    }

    async fn remove_blob_records(&self, keys: &[BlobKey]) -> Result<()> {
        self.write().remove_blob_records(keys);
        Ok(())
    }

    async fn existing_blobs(&self, keys: &[BlobKey]) -> Result<Vec<bool>> {
        Ok(self.read().existing_blobs(keys))
    }

    async fn referenced_blobs(&self, after: Option<&BlobKey>, at_most: u32) -> Result<Vec<FileBlob>> {
        Ok(self.read().referenced_blobs(after, at_most))
    }

    async fn mark_sealed(&self, key: &BlobKey, server_key: &str) -> Result<()> {
        self.write().mark_sealed(key, server_key);
        Ok(())
    }
}

#[async_trait]
impl FormStore for MemoryStorage {
    async fn template(&self, agent: &AgentId, template: TemplateId) -> Result<Option<FormTemplate>> {
        Ok(self.read().template(agent, template))
    }

    async fn template_version(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: u64,
    ) -> Result<Option<FormTemplate>> {
        Ok(self.read().template_version(agent, template, version))
    }

    async fn templates(&self, agent: &AgentId, query: &TemplateQuery) -> Result<TemplatePage> {
        Ok(self.read().templates(agent, query))
    }

    async fn insert_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<()> {
        self.write().insert_template(agent, template, effects)
    }

    async fn replace_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<()> {
        self.write().replace_template(agent, template, effects)
    }

    async fn submission(&self, agent: &AgentId, submission: SubmissionId) -> Result<Option<Submission>> {
        Ok(self.read().submission(agent, submission))
    }

    async fn submissions(&self, agent: &AgentId, query: &SubmissionQuery) -> Result<SubmissionPage> {
        Ok(self.read().submissions(agent, query))
    }

    async fn head_submission(
        &self,
        agent: &AgentId,
        contact: ContactId,
        template: TemplateId,
    ) -> Result<Option<Submission>> {
        Ok(self.read().head_submission(agent, contact, template))
    }

    async fn latest_submission(&self, agent: &AgentId, query: &LatestQuery) -> Result<Option<Submission>> {
        Ok(self.read().latest_submission(agent, query))
    }

    async fn files_of_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        files: &[FileId],
    ) -> Result<Vec<bool>> {
        Ok(self.read().files_of_contact(agent, contact, files))
    }

    async fn insert_submissions(&self, agent: &AgentId, write: &SubmissionsWrite) -> Result<()> {
        self.write().insert_submissions(agent, write)
    }

    async fn update_submission(&self, agent: &AgentId, change: &SubmissionChange) -> Result<()> {
        self.write().update_submission(agent, change)
    }

    async fn form_data_revisions(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Vec<FormDataRevision>> {
        Ok(self.read().form_data_revisions(agent, submission))
    }
}

#[async_trait]
impl CreditStore for MemoryStorage {
    async fn credit_account(&self, agent: &AgentId) -> Result<Option<CreditAccount>> {
        Ok(self.read().credit_account(agent))
    }

    async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<()> {
        self.write().save_credits(agent, write)
    }

    async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>> {
        Ok(self.read().credit_entries(query))
    }
}

#[async_trait]
impl DocumentStore for MemoryStorage {
    async fn insert_document(&self, agent: &AgentId, write: &DocumentWrite) -> Result<()> {
        self.write().insert_document(agent, write)
    }

    async fn discard_document(&self, agent: &AgentId, document: FileId, now: Timestamp) -> Result<()> {
        self.write().discard_document(agent, document, now);
        Ok(())
    }

    async fn document(&self, agent: &AgentId, document: FileId) -> Result<Option<StoredDocument>> {
        Ok(self.read().document(agent, document))
    }

    async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        at_most: u32,
    ) -> Result<Vec<StoredDocument>> {
        Ok(self.read().documents(agent, after, at_most))
    }
}

#[async_trait]
impl ConversationStore for MemoryStorage {
    async fn conversation(&self, agent: &AgentId, id: ConversationId) -> Result<Option<Conversation>> {
        Ok(self.read().conversation(agent, id))
    }

    async fn conversations(&self, agent: &AgentId, query: &ConversationQuery) -> Result<ConversationPage> {
        Ok(self.read().conversations(agent, query))
    }

    async fn messages(&self, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>> {
        Ok(self.read().messages(agent, query))
    }

    async fn save_conversation(&self, agent: &AgentId, write: &ConversationWrite) -> Result<()> {
        self.write().save_conversation(agent, write)
    }

    async fn erase_conversation(
        &self,
        agent: &AgentId,
        id: ConversationId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<()> {
        self.write().erase_conversation(agent, id, at, effects)
    }

    async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>> {
        Ok(self.read().expired_conversations(now, at_most))
    }
}

#[async_trait]
impl KnowledgeStore for MemoryStorage {
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>> {
        Ok(self.read().knowledge(agent))
    }

    async fn passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Result<Vec<(KnowledgeId, Passage)>> {
        Ok(self.read().passages(agent, after, at_most))
    }

    async fn change_knowledge(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<()> {
        self.write().change_knowledge(agent, write)
    }
}

#[async_trait]
impl IdempotencyStore for MemoryStorage {
    async fn replay(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>> {
        Ok(self.read().replay(agent, key, now))
    }

    async fn sweep_idempotency_records(&self, now: Timestamp, at_most: u32) -> Result<u64> {
        Ok(self.write().sweep_idempotency_records(now, at_most))
    }
}

#[async_trait]
impl AuditStore for MemoryStorage {
    async fn append_audit(&self, entry: &SealedEntry) -> Result<()> {
        self.write().append_audit(entry)
    }

    async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<ChainedEntry>> {
        Ok(self.read().audit_entries(query))
    }

    async fn audit_chain(&self, query: &ChainQuery) -> Result<Vec<ChainedEntry>> {
        Ok(self.read().audit_chain(query))
    }

    async fn audit_head(&self, chain: Option<&AgentId>) -> Result<ChainHead> {
        Ok(self.read().audit_head(chain))
    }

    async fn audit_heads(&self) -> Result<Vec<(Option<AgentId>, ChainHead)>> {
        Ok(self.read().audit_heads())
    }

    async fn purge_audit(&self, through: &ChainPosition, entry: &SealedEntry) -> Result<u64> {
        self.write().purge_audit(through, entry)
    }
}

#[async_trait]
impl HealthProbe for MemoryStorage {
    async fn probe(&self) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl TransferStore for MemoryStorage {
    async fn agents_after(&self, after: Option<&AgentId>, at_most: u32) -> Result<Vec<Agent>> {
        Ok(self.read().agents_after(after, at_most))
    }

    async fn records(
        &self,
        agent: &AgentId,
        kind: TransferKind,
        after: Option<&TransferKey>,
        at_most: u32,
    ) -> Result<Vec<TransferRow>> {
        Ok(self.read().records(agent, kind, after, at_most))
    }

    async fn last_record(&self, agent: &AgentId, kind: TransferKind) -> Result<Option<TransferKey>> {
        Ok(self.read().last_record(agent, kind))
    }

    async fn put_agent(&self, agent: &Agent) -> Result<()> {
        self.write().put_agent(agent);
        Ok(())
    }

    async fn put_records(&self, agent: &AgentId, records: &[TransferRow]) -> Result<()> {
        self.write().put_records(agent, records)
    }

    async fn put_chain_without_agent(&self, entries: &[ChainedEntry]) -> Result<()> {
        self.write().put_chain_without_agent(entries)
    }
}
