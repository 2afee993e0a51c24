//! A store that fails, stalls or loses races on demand, to test 503 responses without a server and without waiting.

mod chat;

use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use async_trait::async_trait;

use conversations::storage::ConversationStorage;
use openapi_core::access::{ApiKey, KeyGrant, KeySelector, StoredKey};
use openapi_core::agents::Agent;
use openapi_core::audit::AuditEntry;
use openapi_core::contacts::{ContactRef, SharedContact, UniqueValue};
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::files::ContactFile;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission};
use openapi_core::ports::{BlobEntry, BlobKey};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    AgentStore, AuditQuery, AuditStore, ContactPage, ContactQuery, ContactSchemaStore, ContactStore,
    ContactWrite, CreditStore, CreditWrite, DocumentStore, DocumentWrite, Duplicate, FileDeletion, FilePage,
    FileQuery, FileStore, FileTombstone, FileUsage, FileWrite, FormStore, HealthProbe, KeyStore, LatestQuery,
    LedgerQuery, RateWindow, RateWindowStore, Replay, ReplayKey, ReplayStore, Result, StorageErrorKind,
    StoredDocument, SubmissionChange, SubmissionPage, SubmissionQuery, SubmissionsWrite, TemplatePage,
    TemplateQuery,
};
use openapi_core::values::{
    AgentId, ContactId, ExternalId, FileId, KeyId, SubmissionId, TemplateId, Timestamp,
};

/// Wraps a store for tests of storage failures.
///
/// It behaves like the inner store until a test enables a failure. Authentication always works: agents, keys,
/// rate-limit windows and the audit log go to the inner store, so a request reaches the operation that fails.
pub struct FaultyStorage {
    inner: Arc<dyn ConversationStorage>,
    switches: Mutex<Switches>,
}

#[derive(Default)]
struct Switches {
    failure: Option<StorageErrorKind>,
    /// Writes that return [`StorageErrorKind::Stale`] before one succeeds.
    stale_writes: u32,
    stalled: bool,
    /// Tasks that wait for the end of the stall.
    waiting: Vec<Waker>,
    halting: bool,
    /// The number of credit writes that succeed first, and the number after them that are stored but report an error.
    lost_credits: (u32, u32),
    /// Whether every agent gets the contact schema that is read first, and that schema.
    shares_schemas: bool,
    shared_schema: Option<ContactSchema>,
}

impl FaultyStorage {
    /// A store that behaves like the inner one.
    #[must_use]
    pub fn new(inner: Arc<dyn ConversationStorage>) -> Arc<Self> {
        Arc::new(FaultyStorage { inner, switches: Mutex::default() })
    }

    fn switches(&self) -> MutexGuard<'_, Switches> {
        self.switches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes everything that requests read or write (contacts, files, forms, credits, the chat, idempotency records)
    /// and the health probe fail from now on, or with `None` succeed again. [`StorageErrorKind::Unavailable`] leads to
    /// 503, [`StorageErrorKind::Internal`] to 500.
    pub fn fail(&self, kind: Option<StorageErrorKind>) {
        self.switches().failure = kind;
    }

    /// Makes the next `count` writes lose their race against another server. The platform retries a few times, then
    /// responds with 409.
    pub fn lose_races(&self, count: u32) {
        self.switches().stale_writes = count;
    }

    /// Suspends or resumes writes and the health probe, for tests of requests that wait while the host shuts down or
    /// their client disconnects.
    pub fn stall(&self, stalled: bool) {
        let mut switches = self.switches();
        switches.stalled = stalled;
        if !stalled {
            switches.waiting.drain(..).for_each(Waker::wake);
        }
    }

    /// Makes every method suspend once before and after its work, so that a caller can be dropped there.
    pub fn halt(&self, halting: bool) {
        self.switches().halting = halting;
    }

    /// Lets `behind` more changes of credits succeed. The next `count` are stored but report
    /// [`StorageErrorKind::Unavailable`], like a connection that breaks between a commit and its acknowledgement.
    pub fn lose_answers_of_credits(&self, behind: u32, count: u32) {
        self.switches().lost_credits = (behind, count);
    }

    /// Gives every agent the contact schema that is read first, like a cache whose key lacks the agent.
    pub fn share_schemas(&self) {
        self.switches().shares_schemas = true;
    }

    async fn through<T>(&self, work: impl Future<Output = T> + Send) -> T {
        let halting = self.switches().halting;
        halt(halting).await;
        let done = work.await;
        halt(halting).await;
        done
    }

    fn ready(&self) -> Result<()> {
        self.switches().failure.clone().map_or(Ok(()), |kind| Err(kind.into()))
    }

    async fn unstalled(&self) {
        poll_fn(|cx| {
            let mut switches = self.switches();
            if !switches.stalled {
                return Poll::Ready(());
            }
            if !switches.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                switches.waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    async fn before_write(&self) -> Result<()> {
        self.unstalled().await;
        self.ready()?;
        let mut switches = self.switches();
        if switches.stale_writes > 0 {
            switches.stale_writes -= 1;
            return Err(StorageErrorKind::Stale.into());
        }
        Ok(())
    }
}

/// Suspends once if `halting`.
pub async fn halt(halting: bool) {
    let mut is_over = !halting;
    poll_fn(|cx| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[async_trait]
impl AgentStore for FaultyStorage {
    async fn insert_agent(&self, agent: &Agent, schema: &ContactSchema, audit: &AuditEntry) -> Result<()> {
        self.through(self.inner.insert_agent(agent, schema, audit)).await
    }

    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>> {
        self.through(self.inner.agent(id)).await
    }

    async fn agents(&self) -> Result<Vec<Agent>> {
        self.through(self.inner.agents()).await
    }

    async fn update_agent(&self, agent: &Agent, audit: &AuditEntry) -> Result<()> {
        self.through(self.inner.update_agent(agent, audit)).await
    }

    async fn purge_agent(&self, id: &AgentId, at_most: u32) -> Result<u64> {
        self.through(self.inner.purge_agent(id, at_most)).await
    }
}

#[async_trait]
impl KeyStore for FaultyStorage {
    async fn key_grant(&self, api_key: &ApiKey) -> Result<Option<KeyGrant>> {
        self.through(self.inner.key_grant(api_key)).await
    }

    async fn find_key(&self, selector: &KeySelector) -> Result<Option<StoredKey>> {
        self.through(self.inner.find_key(selector)).await
    }

    async fn keys(&self, agent: &AgentId) -> Result<Vec<StoredKey>> {
        self.through(self.inner.keys(agent)).await
    }

    async fn insert_key(&self, agent: &AgentId, key: &StoredKey, audit: &AuditEntry) -> Result<()> {
        self.through(self.inner.insert_key(agent, key, audit)).await
    }

    async fn update_key(
        &self,
        agent: &AgentId,
        expected_version: u64,
        key: &StoredKey,
        audit: &AuditEntry,
    ) -> Result<()> {
        self.through(self.inner.update_key(agent, expected_version, key, audit)).await
    }

    async fn record_key_use(
        &self,
        agent: &AgentId,
        key: KeyId,
        at: Timestamp,
        address: Option<IpAddr>,
    ) -> Result<()> {
        self.through(self.inner.record_key_use(agent, key, at, address)).await
    }
}

#[async_trait]
impl ContactSchemaStore for FaultyStorage {
    async fn contact_schema(&self, agent: &AgentId) -> Result<Option<ContactSchema>> {
        self.ready()?;
        let schema = self.through(self.inner.contact_schema(agent)).await?;
        let mut switches = self.switches();
        if !switches.shares_schemas {
            return Ok(schema);
        }
        let shared = switches.shared_schema.take().or(schema);
        switches.shared_schema.clone_from(&shared);
        Ok(shared)
    }

    async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>> {
        self.through(self.inner.contact_schema_history(agent)).await
    }

    async fn replace_contact_schema(
        &self,
        agent: &AgentId,
        schema: &ContactSchema,
        audit: &AuditEntry,
    ) -> Result<()> {
        self.through(self.inner.replace_contact_schema(agent, schema, audit)).await
    }
}

#[async_trait]
impl ContactStore for FaultyStorage {
    async fn contact(&self, agent: &AgentId, contact: &ContactRef) -> Result<Option<SharedContact>> {
        self.ready()?;
        self.through(self.inner.contact(agent, contact)).await
    }

    async fn contacts(&self, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage> {
        self.ready()?;
        self.through(self.inner.contacts(agent, query)).await
    }

    async fn duplicate_contact(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external_reference_id: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Result<Option<Duplicate>> {
        self.ready()?;
        self.through(self.inner.duplicate_contact(agent, except, external_reference_id, unique)).await
    }

    async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.insert_contact(agent, write)).await
    }

    async fn update_contact(
        &self,
        agent: &AgentId,
        expected_version: u64,
        write: &ContactWrite,
    ) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.update_contact(agent, expected_version, write)).await
    }

    async fn erase_contact(&self, agent: &AgentId, contact: ContactId, audit: &AuditEntry) -> Result<()> {
        self.through(self.inner.erase_contact(agent, contact, audit)).await
    }
}

#[async_trait]
impl FormStore for FaultyStorage {
    async fn template(&self, agent: &AgentId, template: TemplateId) -> Result<Option<FormTemplate>> {
        self.ready()?;
        self.through(self.inner.template(agent, template)).await
    }

    async fn template_version(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: u64,
    ) -> Result<Option<FormTemplate>> {
        self.ready()?;
        self.through(self.inner.template_version(agent, template, version)).await
    }

    async fn templates(&self, agent: &AgentId, query: &TemplateQuery) -> Result<TemplatePage> {
        self.ready()?;
        self.through(self.inner.templates(agent, query)).await
    }

    async fn insert_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        audit: &AuditEntry,
    ) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.insert_template(agent, template, audit)).await
    }

    async fn replace_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        audit: &AuditEntry,
    ) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.replace_template(agent, template, audit)).await
    }

    async fn submission(&self, agent: &AgentId, submission: SubmissionId) -> Result<Option<Submission>> {
        self.ready()?;
        self.through(self.inner.submission(agent, submission)).await
    }

    async fn submissions(&self, agent: &AgentId, query: &SubmissionQuery) -> Result<SubmissionPage> {
        self.ready()?;
        self.through(self.inner.submissions(agent, query)).await
    }

    async fn head_submission(
        &self,
        agent: &AgentId,
        contact: ContactId,
        template: TemplateId,
    ) -> Result<Option<Submission>> {
        self.ready()?;
        self.through(self.inner.head_submission(agent, contact, template)).await
    }

    async fn latest_submission(&self, agent: &AgentId, query: &LatestQuery) -> Result<Option<Submission>> {
        self.ready()?;
        self.through(self.inner.latest_submission(agent, query)).await
    }

    async fn files_of_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        files: &[FileId],
    ) -> Result<Vec<bool>> {
        self.ready()?;
        self.through(self.inner.files_of_contact(agent, contact, files)).await
    }

    async fn insert_submissions(&self, agent: &AgentId, write: &SubmissionsWrite) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.insert_submissions(agent, write)).await
    }

    async fn update_submission(&self, agent: &AgentId, change: &SubmissionChange) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.update_submission(agent, change)).await
    }

    async fn form_data_revisions(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Vec<FormDataRevision>> {
        self.ready()?;
        self.through(self.inner.form_data_revisions(agent, submission)).await
    }
}

#[async_trait]
impl FileStore for FaultyStorage {
    async fn file(&self, agent: &AgentId, file: FileId) -> Result<Option<ContactFile>> {
        self.ready()?;
        self.through(self.inner.file(agent, file)).await
    }

    async fn files(&self, agent: &AgentId, query: &FileQuery) -> Result<FilePage> {
        self.ready()?;
        self.through(self.inner.files(agent, query)).await
    }

    async fn file_usage(&self, agent: &AgentId, contact: ContactId) -> Result<FileUsage> {
        self.ready()?;
        self.through(self.inner.file_usage(agent, contact)).await
    }

    async fn insert_file(&self, agent: &AgentId, write: &FileWrite) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.insert_file(agent, write)).await
    }

    async fn delete_file(&self, agent: &AgentId, deletion: &FileDeletion) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.delete_file(agent, deletion)).await
    }

    async fn file_tombstone(&self, agent: &AgentId, file: FileId) -> Result<Option<FileTombstone>> {
        self.through(self.inner.file_tombstone(agent, file)).await
    }

    async fn hasten_purges(&self, agent: &AgentId, now: Timestamp, audit: &AuditEntry) -> Result<u64> {
        self.through(self.inner.hasten_purges(agent, now, audit)).await
    }

    async fn due_blobs(&self, now: Timestamp, at_most: u32) -> Result<Vec<BlobKey>> {
        self.through(self.inner.due_blobs(now, at_most)).await
    }

    async fn forget_blobs(&self, keys: &[BlobKey]) -> Result<()> {
        self.through(self.inner.forget_blobs(keys)).await
    }

    async fn known_blobs(&self, keys: &[BlobKey]) -> Result<Vec<bool>> {
        self.through(self.inner.known_blobs(keys)).await
    }

    async fn needed_blobs(&self, after: Option<&BlobKey>, at_most: u32) -> Result<Vec<BlobEntry>> {
        self.through(self.inner.needed_blobs(after, at_most)).await
    }
}

#[async_trait]
impl CreditStore for FaultyStorage {
    async fn credit_account(&self, agent: &AgentId) -> Result<Option<CreditAccount>> {
        self.ready()?;
        self.through(self.inner.credit_account(agent)).await
    }

    async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.save_credits(agent, write)).await?;
        let (behind, count) = &mut self.switches().lost_credits;
        if *behind > 0 {
            *behind -= 1;
            return Ok(());
        }
        if *count == 0 {
            return Ok(());
        }
        *count -= 1;
        Err(StorageErrorKind::Unavailable.into())
    }

    async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>> {
        self.through(self.inner.credit_entries(query)).await
    }
}

#[async_trait]
impl DocumentStore for FaultyStorage {
    async fn insert_document(&self, agent: &AgentId, write: &DocumentWrite) -> Result<()> {
        self.ready()?;
        self.through(self.inner.insert_document(agent, write)).await
    }

    async fn discard_document(&self, agent: &AgentId, document: FileId, now: Timestamp) -> Result<()> {
        self.ready()?;
        self.through(self.inner.discard_document(agent, document, now)).await
    }

    async fn document(&self, agent: &AgentId, document: FileId) -> Result<Option<StoredDocument>> {
        self.through(self.inner.document(agent, document)).await
    }

    async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        at_most: u32,
    ) -> Result<Vec<StoredDocument>> {
        self.through(self.inner.documents(agent, after, at_most)).await
    }
}

#[async_trait]
impl ReplayStore for FaultyStorage {
    async fn replay(&self, agent: &AgentId, key: &ReplayKey, now: Timestamp) -> Result<Option<Replay>> {
        self.ready()?;
        self.through(self.inner.replay(agent, key, now)).await
    }

    async fn sweep_replays(&self, now: Timestamp, at_most: u32) -> Result<u64> {
        self.through(self.inner.sweep_replays(now, at_most)).await
    }
}

#[async_trait]
impl RateWindowStore for FaultyStorage {
    async fn rate_window(&self, agent: &AgentId, key: KeyId) -> Result<Option<RateWindow>> {
        self.through(self.inner.rate_window(agent, key)).await
    }

    async fn save_rate_window(&self, agent: &AgentId, key: KeyId, window: &RateWindow) -> Result<()> {
        self.through(self.inner.save_rate_window(agent, key, window)).await
    }
}

#[async_trait]
impl AuditStore for FaultyStorage {
    async fn append_audit(&self, entry: &AuditEntry) -> Result<()> {
        self.through(self.inner.append_audit(entry)).await
    }

    async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>> {
        self.through(self.inner.audit_entries(query)).await
    }
}

#[async_trait]
impl HealthProbe for FaultyStorage {
    async fn probe(&self) -> Result<()> {
        self.unstalled().await;
        self.ready()?;
        self.through(self.inner.probe()).await
    }
}
