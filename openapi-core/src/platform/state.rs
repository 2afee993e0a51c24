//! The platform: what it holds, and what of it is ready to use.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, Weak};

use super::cache::Cache;
use super::errors::agent_gone;
use super::extraction::{ExtractionSettings, Extractions};
use super::files::{FileSettings, Sweeps};
use super::ports::Ports;
use crate::admin::KnowledgeLimits;
use crate::api::{Api, Settings};
use crate::brand::Brand;
use crate::forms::CompiledTemplate;
use crate::gate::Gate;
use crate::reply::ApiError;
use crate::schema::{CompiledSchema, ContactSchema};
use crate::service::OpenApiService;
use crate::storage::{ReplayKey, Storage};
use crate::values::{AgentId, TemplateId, Timestamp};
use crate::widget::live::LiveTurns;

/// How often a write is tried again after losing a race.
pub(super) const ATTEMPTS: usize = 16;

/// Templates ready for use, by agent, id and version; without a version the one in force.
type Templates = Cache<(AgentId, TemplateId, Option<u64>), CompiledTemplate>;

/// The service over a store.
pub struct Platform {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) ports: Ports,
    pub(super) brand: Brand,
    pub(super) files: FileSettings,
    pub(super) sweeps: Sweeps,
    pub(super) extraction: ExtractionSettings,
    pub(super) knowledge: KnowledgeLimits,
    pub(super) extractions: Extractions,
    pub(super) gate: Arc<Gate>,
    pub(super) schemas: Cache<AgentId, CompiledSchema>,
    pub(super) templates: Templates,
    pub(super) running: Mutex<HashSet<ReplayKey>>,
    /// Of the widget's sides over this platform: what ends with their agent.
    pub(super) turns: Mutex<Vec<Weak<LiveTurns>>>,
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
            sweeps: Sweeps::default(),
            extraction: ExtractionSettings::default(),
            knowledge: KnowledgeLimits::default(),
            extractions: Extractions::default(),
            gate: Arc::new(gate),
            schemas: Cache::default(),
            templates: Templates::default(),
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

    pub(super) fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }

    /// The agent's schema, ready to check requests; read anew when `fresh` or old.
    pub(super) async fn schema(&self, agent: &AgentId, fresh: bool) -> Result<Arc<CompiledSchema>, ApiError> {
        let now = self.now();
        if !fresh && let Some(known) = self.schemas.fresh(agent, now) {
            return Ok(known);
        }
        let schema = self.storage.contact_schema(agent).await?.ok_or_else(agent_gone)?;
        self.remember_schema(schema, now)
    }

    pub(super) fn remember_schema(
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
