//! The shipped implementation of the service and of the operator's port, over the storage ports.

mod admin;
mod audit;
mod cache;
mod contacts;
mod cursor;
mod documents;
mod errors;
mod extraction;
mod files;
mod forms;
mod idempotency;
mod keys;
mod paging;
mod widget;

pub use extraction::ExtractionSettings;
pub use files::{ContentCheck, ContentFault, FileSettings, MaintainError};
pub use widget::WidgetApi;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, Weak};

use async_trait::async_trait;

use crate::access::Caller;
use crate::admin::KnowledgeLimits;
use crate::api::{Api, Settings};
use crate::brand::Brand;
use crate::chat::{ChatResponder, Retriever};
use crate::contacts::{Contact, SharedContact};
use crate::files::ContactFile;
use crate::forms::{CompiledTemplate, Submission, TemplateSummary};
use crate::gate::Gate;
use crate::ports::{
    BlobStore, Clock, DocumentExtractor, FileScanner, IdSource, InPlace, NoBlobs, NoExtractor, NoScanner,
    NoTimer, Offload, Tasks, Timer, within,
};
use crate::reply::ApiError;
use crate::schema::{CompiledSchema, ContactSchema};
use crate::server_keys::ServerKeys;
use crate::service::{
    ArchiveContact, BatchResult, ContactTarget, CreateContact, Created, DeleteFile, DeletedFile,
    DownloadFile, ExtractDocument, Extracted, FileContent, FileTarget, LatestSubmission, ListContacts,
    ListFiles, ListSubmissions, ListTemplates, OpenApiService, Page, SignUrl, SignedUrl, SubmitForm,
    SubmitForms, UpdateContact, UpdateSubmission, Updated, UploadFile,
};
use crate::storage::{ReplayKey, Storage, StorageError};
use crate::values::{AgentId, Timestamp};
use crate::widget::live::LiveTurns;

/// How long the data store may take to answer the health check (contract 4.1).
const HEALTH_MILLIS: u64 = 1_000;

/// How often a write is tried again after losing a race.
const ATTEMPTS: usize = 16;

/// What the platform needs from the world around it, the store apart.
#[derive(Clone)]
pub struct Ports {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub ids: Arc<dyn IdSource>,
    /// The keys of the server.
    pub server_keys: ServerKeys,
    /// Where contents of files are kept; [`NoBlobs`] where none was given: uploads are then refused.
    pub blobs: Arc<dyn BlobStore>,
    /// Looks at uploads; [`NoScanner`] where none was given.
    pub scanner: Arc<dyn FileScanner>,
    /// Reads documents; [`NoExtractor`] where none was given: extractions are then refused.
    pub extractor: Arc<dyn DocumentExtractor>,
    /// Waiting; [`NoTimer`] where no deadline is to be enforced: the health check then waits for the store.
    pub timer: Arc<dyn Timer>,
    /// Hashes parts of uploads beside their arrival; [`InPlace`] where no thread is lent.
    pub offload: Arc<dyn Offload>,
    /// What answers visitors of the widget, chosen by name; none where no chat is wanted.
    pub responders: Vec<Arc<dyn ChatResponder>>,
    /// Finds the passages to answer from.
    pub retriever: Option<Arc<dyn Retriever>>,
    /// Runs answers beside the connections that asked for them; without it a lost connection ends its answer.
    pub tasks: Option<Arc<dyn Tasks>>,
}

impl Ports {
    /// Ports without deadlines, a store of file contents or a scanner.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>, server_keys: ServerKeys) -> Self {
        Ports {
            clock,
            ids,
            server_keys,
            blobs: Arc::new(NoBlobs),
            scanner: Arc::new(NoScanner),
            extractor: Arc::new(NoExtractor),
            timer: Arc::new(NoTimer),
            offload: Arc::new(InPlace),
            responders: Vec::new(),
            retriever: None,
            tasks: None,
        }
    }

    /// The machine's clock and randomness (feature `system`), without deadlines.
    #[cfg(feature = "system")]
    #[must_use]
    pub fn system(server_keys: ServerKeys) -> Self {
        use crate::ports::{SystemClock, SystemIds};
        Ports::new(Arc::new(SystemClock), Arc::new(SystemIds::default()), server_keys)
    }

    /// Sets the store of file contents.
    #[must_use]
    pub fn with_blobs(mut self, blobs: Arc<dyn BlobStore>) -> Self {
        self.blobs = blobs;
        self
    }

    /// Sets the scanner of uploads.
    #[must_use]
    pub fn with_scanner(mut self, scanner: Arc<dyn FileScanner>) -> Self {
        self.scanner = scanner;
        self
    }

    /// Sets what reads documents.
    #[must_use]
    pub fn with_extractor(mut self, extractor: Arc<dyn DocumentExtractor>) -> Self {
        self.extractor = extractor;
        self
    }

    /// Sets the timer.
    #[must_use]
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.timer = timer;
        self
    }

    /// Adds something that answers visitors of the widget.
    #[must_use]
    pub fn with_responder(mut self, responder: Arc<dyn ChatResponder>) -> Self {
        self.responders.push(responder);
        self
    }

    /// Sets what finds the passages to answer from.
    #[must_use]
    pub fn with_retriever(mut self, retriever: Arc<dyn Retriever>) -> Self {
        self.retriever = Some(retriever);
        self
    }

    /// Sets what runs answers beside the connections that asked for them.
    #[must_use]
    pub fn with_tasks(mut self, tasks: Arc<dyn Tasks>) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Sets who hashes beside the caller.
    #[must_use]
    pub fn with_offload(mut self, offload: Arc<dyn Offload>) -> Self {
        self.offload = offload;
        self
    }
}

/// The service over a store.
pub struct Platform {
    storage: Arc<dyn Storage>,
    ports: Ports,
    brand: Brand,
    files: FileSettings,
    sweeps: files::Sweeps,
    extraction: ExtractionSettings,
    knowledge: KnowledgeLimits,
    extractions: extraction::Extractions,
    gate: Arc<Gate>,
    schemas: cache::Cache<AgentId, CompiledSchema>,
    templates: forms::Templates,
    running: Mutex<HashSet<ReplayKey>>,
    /// Of the widget's sides over this platform: what ends with their agent.
    turns: Mutex<Vec<Weak<LiveTurns>>>,
}

impl Platform {
    /// A platform over a store.
    #[must_use]
    pub fn new(storage: Arc<dyn Storage>, ports: Ports, brand: Brand) -> Self {
        let access = Arc::clone(&storage);
        let gate =
            Gate::new(access, Arc::clone(&ports.clock), Arc::clone(&ports.ids), ports.server_keys.clone());
        Platform {
            storage,
            ports,
            brand,
            files: FileSettings::default(),
            sweeps: files::Sweeps::default(),
            extraction: ExtractionSettings::default(),
            knowledge: KnowledgeLimits::default(),
            extractions: extraction::Extractions::default(),
            gate: Arc::new(gate),
            schemas: cache::Cache::default(),
            templates: forms::Templates::default(),
            running: Mutex::default(),
            turns: Mutex::default(),
        }
    }

    /// Sets what an operator decides about files.
    #[must_use]
    pub fn with_file_settings(mut self, settings: FileSettings) -> Self {
        self.files = settings;
        self
    }

    /// Sets what an operator decides about extractions.
    #[must_use]
    pub fn with_extraction_settings(mut self, settings: ExtractionSettings) -> Self {
        self.extraction = settings;
        self
    }

    /// Sets how much an agent may answer from.
    #[must_use]
    pub fn with_knowledge_limits(mut self, limits: KnowledgeLimits) -> Self {
        self.knowledge = limits;
        self
    }

    /// How much an agent may answer from, for whoever reads the files.
    #[must_use]
    pub const fn knowledge_limits(&self) -> KnowledgeLimits {
        self.knowledge
    }

    /// The API over this platform, under the platform's own names: `settings.brand` is replaced by them.
    #[must_use]
    pub fn api(self: &Arc<Self>, mut settings: Settings) -> Api {
        let service: Arc<dyn OpenApiService> = Arc::clone(self) as _;
        settings.brand = self.brand.clone();
        Api::new(settings, service, self.gate())
    }

    /// The platform's gate, for a host that answers with a service of its own and leaves keys and limits to the
    /// platform: `Api::new(settings, service, platform.gate())`.
    #[must_use]
    pub fn gate(&self) -> Arc<Gate> {
        Arc::clone(&self.gate)
    }

    /// The names of the service.
    #[must_use]
    pub fn brand(&self) -> &Brand {
        &self.brand
    }

    /// Work that is due from time to time: saves last uses of keys, gives back leases that have ended and credits of
    /// extractions that were given up, sweeps expired answers, erases conversations whose time is over, removes contents of files that are due and, every six
    /// hours, those that no record knows of.
    /// Call it about every 20 s. Where it is never called, last uses are noted only at the end, and expired answers and
    /// contents stay, unseen.
    ///
    /// # Errors
    /// When the store fails; the next call goes on.
    pub async fn maintain(&self) -> Result<(), MaintainError> {
        self.gate.maintain().await?;
        let abandoned = self.settle_abandoned(extraction::Of::All).await;
        const BATCH: u32 = 500;
        while self.storage.sweep_replays(self.now(), BATCH).await? >= u64::from(BATCH) {}
        self.erase_expired_conversations().await?;
        self.maintain_contents().await?;
        Ok(abandoned?)
    }

    /// The orderly end: saves last uses and gives back what the rate limits had leased, and credits of extractions that
    /// were given up.
    ///
    /// # Errors
    /// When the store fails; leases then count as used.
    pub async fn drain(&self) -> Result<(), StorageError> {
        let abandoned = self.settle_abandoned(extraction::Of::All).await;
        self.gate.drain().await?;
        abandoned
    }

    fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }

    /// The agent's schema, ready to check requests; read anew when `fresh` or old.
    async fn schema(&self, agent: &AgentId, fresh: bool) -> Result<Arc<CompiledSchema>, ApiError> {
        let now = self.now();
        if !fresh && let Some(known) = self.schemas.fresh(agent, now) {
            return Ok(known);
        }
        let schema = self.storage.contact_schema(agent).await?.ok_or_else(errors::agent_gone)?;
        self.remember_schema(schema, now)
    }

    fn remember_schema(
        &self,
        schema: ContactSchema,
        now: Timestamp,
    ) -> Result<Arc<CompiledSchema>, ApiError> {
        let agent = schema.agent_id.clone();
        let same = schema.clone();
        let compile = || CompiledSchema::new(schema, &self.brand);
        self.schemas.keep(agent.clone(), now, |known| *known.schema() == same, compile).map_err(|error| {
            tracing::error!(%agent, %error, "a stored contact schema has a pattern that does not compile");
            ApiError::internal()
        })
    }
}

#[async_trait]
impl OpenApiService for Platform {
    async fn health(&self) -> Result<(), ApiError> {
        match within(&*self.ports.timer, HEALTH_MILLIS, self.storage.probe()).await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                tracing::warn!(%error, source = ?error.source, "the data store does not pass the health check");
                Err(ApiError::unavailable())
            }
            None => Err(ApiError::unavailable()),
        }
    }

    async fn contact_schema(&self, caller: &Caller) -> Result<ContactSchema, ApiError> {
        self.storage.contact_schema(&caller.agent_id).await?.ok_or_else(errors::agent_gone)
    }

    async fn create_contact(
        &self,
        caller: &Caller,
        request: CreateContact,
    ) -> Result<Created<Contact>, ApiError> {
        contacts::create(self, caller, request).await
    }

    async fn list_contacts(&self, caller: &Caller, request: ListContacts) -> Result<Page<Contact>, ApiError> {
        contacts::list(self, caller, request).await
    }

    async fn contact(&self, caller: &Caller, target: &ContactTarget) -> Result<SharedContact, ApiError> {
        contacts::find(self, &caller.agent_id, target).await
    }

    async fn update_contact(
        &self,
        caller: &Caller,
        request: UpdateContact,
    ) -> Result<Updated<Contact>, ApiError> {
        contacts::update(self, caller, request).await
    }

    async fn archive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError> {
        contacts::set_archived(self, caller, request, true).await
    }

    async fn unarchive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError> {
        contacts::set_archived(self, caller, request, false).await
    }

    async fn upload_file(
        &self,
        caller: &Caller,
        request: UploadFile,
    ) -> Result<Created<ContactFile>, ApiError> {
        files::upload(self, caller, request).await
    }

    async fn list_files(&self, caller: &Caller, request: ListFiles) -> Result<Page<ContactFile>, ApiError> {
        files::list(self, caller, request).await
    }

    async fn file(&self, caller: &Caller, target: &FileTarget) -> Result<ContactFile, ApiError> {
        files::find(self, caller, target).await
    }

    async fn sign_url(&self, caller: &Caller, request: SignUrl) -> Result<SignedUrl, ApiError> {
        files::sign_url(self, caller, request).await
    }

    async fn delete_file(&self, caller: &Caller, request: DeleteFile) -> Result<DeletedFile, ApiError> {
        files::delete(self, caller, request).await
    }

    async fn download_file(&self, request: DownloadFile) -> Result<FileContent, ApiError> {
        files::download(self, request).await
    }

    async fn submit_form(
        &self,
        caller: &Caller,
        request: SubmitForm,
    ) -> Result<Created<Submission>, ApiError> {
        forms::submit(self, caller, request).await
    }

    async fn submit_forms(
        &self,
        caller: &Caller,
        request: SubmitForms,
    ) -> Result<Created<BatchResult>, ApiError> {
        forms::submit_all(self, caller, request).await
    }

    async fn list_submissions(
        &self,
        caller: &Caller,
        request: ListSubmissions,
    ) -> Result<Page<Submission>, ApiError> {
        forms::list(self, caller, request).await
    }

    async fn submission(&self, caller: &Caller, id: &str) -> Result<Submission, ApiError> {
        forms::find(self, caller, id).await
    }

    async fn update_submission(
        &self,
        caller: &Caller,
        request: UpdateSubmission,
    ) -> Result<Submission, ApiError> {
        forms::update(self, caller, request).await
    }

    async fn latest_submission(
        &self,
        caller: &Caller,
        request: LatestSubmission,
    ) -> Result<Submission, ApiError> {
        forms::latest(self, caller, request).await
    }

    async fn list_templates(
        &self,
        caller: &Caller,
        request: ListTemplates,
    ) -> Result<Page<TemplateSummary>, ApiError> {
        forms::list_templates(self, caller, request).await
    }

    async fn template(&self, caller: &Caller, id: &str) -> Result<Arc<CompiledTemplate>, ApiError> {
        self.path_template(&caller.agent_id, id, true).await
    }

    async fn extract_document(
        &self,
        caller: &Caller,
        request: ExtractDocument,
    ) -> Result<Extracted, ApiError> {
        extraction::extract(self, caller, request).await
    }
}
