//! The platform: its state, and its caches of compiled schemas and templates.

use std::collections::HashSet;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Weak};

use super::audit_settings::{AuditSettings, Retention};
use super::cache::Cache;
use super::errors::agent_gone;
use super::event_settings::{EventSettings, EventSource, EventStreams};
use super::extraction::{ExtractionSettings, Extractions};
use super::files::{DownloadLog, FileSettings, Sweeps};
use super::ports::Ports;
use crate::api::{Api, Settings};
use crate::auth::Authenticator;
use crate::forms::CompiledTemplate;
use crate::reply::ApiError;
use crate::schema::{CompiledSchema, ContactSchema};
use crate::service::OpenApiService;
use crate::service_info::ServiceInfo;
use crate::storage::{IdempotencyKey, Storage};
use crate::values::{AgentId, TemplateId, Timestamp};
use parking_lot::Mutex;

/// Templates ready for use, by agent, id and version; without a version the one in force.
type Templates = Cache<(AgentId, TemplateId, Option<u64>), CompiledTemplate>;

/// Learns when an agent is deleted in this process, for example to stop replies that are being written.
pub trait AgentObserver: Send + Sync {
    /// An agent was deleted.
    fn agent_deleted(&self, agent: &AgentId);
}

/// The service over a store.
pub struct Platform {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) ports: Ports,
    pub(super) service_info: ServiceInfo,
    pub(super) audit: AuditSettings,
    pub(super) retention: Retention,
    pub(super) events: EventSettings,
    pub(super) files: FileSettings,
    pub(super) sweeps: Sweeps,
    pub(super) downloads: DownloadLog,
    pub(super) extraction: ExtractionSettings,
    pub(super) extractions: Extractions,
    pub(super) authenticator: Arc<Authenticator>,
    pub(super) schemas: Cache<AgentId, CompiledSchema>,
    pub(super) templates: Templates,
    pub(super) running: Mutex<HashSet<IdempotencyKey>>,
    /// When the store last passed the health check, in milliseconds.
    pub(super) healthy_at: AtomicI64,
    observers: Mutex<Vec<Weak<dyn AgentObserver>>>,
}

impl Platform {
    /// A platform over a store.
    #[must_use]
    pub fn new(storage: Arc<dyn Storage>, ports: Ports, service_info: ServiceInfo) -> Self {
        let access = Arc::clone(&storage);
        let authenticator = Authenticator::new(
            access,
            Arc::clone(&ports.clock),
            Arc::clone(&ports.ids),
            ports.server_keys.clone(),
        );
        Platform {
            storage,
            ports,
            service_info,
            audit: AuditSettings::default(),
            retention: Retention::default(),
            events: EventSettings::default(),
            files: FileSettings::default(),
            sweeps: Sweeps::default(),
            downloads: DownloadLog::default(),
            extraction: ExtractionSettings::default(),
            extractions: Extractions::default(),
            authenticator: Arc::new(authenticator),
            schemas: Cache::default(),
            templates: Templates::default(),
            running: Mutex::default(),
            healthy_at: AtomicI64::new(i64::MIN),
            observers: Mutex::default(),
        }
    }

    /// Sets the operator's settings of the audit log.
    #[must_use]
    pub fn with_audit_settings(mut self, settings: AuditSettings) -> Self {
        self.audit = settings;
        self
    }

    /// Sets how long events are retained.
    #[must_use]
    pub fn with_event_retention(mut self, millis: u64) -> Self {
        self.events.retention_millis = i64::try_from(millis).unwrap_or(i64::MAX);
        self
    }

    /// How long events are retained, in milliseconds; none if no events are written.
    #[must_use]
    pub fn event_retention(&self) -> Option<i64> {
        self.events.is_on.then_some(self.events.retention_millis)
    }

    /// Sets what serves event streams; without it they are EVENTS_UNAVAILABLE.
    #[must_use]
    pub fn with_event_streams(mut self, streams: Arc<dyn EventStreams>) -> Self {
        self.events.streams = Some(streams);
        self
    }

    /// What streams of this platform's events read.
    #[must_use]
    pub fn event_source(&self) -> EventSource {
        EventSource {
            storage: Arc::clone(&self.storage),
            clock: Arc::clone(&self.ports.clock),
            timer: Arc::clone(&self.ports.timer),
            authenticator: self.authenticator(),
        }
    }

    /// Writes no events, to measure what they cost.
    #[must_use]
    pub fn without_events(mut self) -> Self {
        self.events.is_on = false;
        self
    }

    /// Sets the operator's settings of files.
    #[must_use]
    pub fn with_file_settings(mut self, settings: FileSettings) -> Self {
        self.files = settings;
        self
    }

    /// Sets the operator's settings of extractions.
    #[must_use]
    pub fn with_extraction_settings(mut self, settings: ExtractionSettings) -> Self {
        self.extraction = settings;
        self
    }

    /// The API over this platform. The platform's names replace `settings.service_info`.
    #[must_use]
    pub fn api(self: &Arc<Self>, mut settings: Settings) -> Api {
        let service: Arc<dyn OpenApiService> = Arc::clone(self) as _;
        settings.service_info = self.service_info.clone();
        Api::new(settings, service, self.authenticator())
    }

    /// The platform's authenticator, for a host that implements the service itself and leaves keys and limits to
    /// the platform: `Api::new(settings, service, platform.authenticator())`.
    #[must_use]
    pub fn authenticator(&self) -> Arc<Authenticator> {
        Arc::clone(&self.authenticator)
    }

    /// The names of the service.
    #[must_use]
    pub fn service_info(&self) -> &ServiceInfo {
        &self.service_info
    }

    /// The store.
    #[must_use]
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// The ports.
    #[must_use]
    pub const fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Registers an observer of deleted agents, for as long as it lives.
    pub fn observe_agents(&self, observer: Weak<dyn AgentObserver>) {
        let mut observers = self.observers.lock();
        observers.retain(|known| known.strong_count() > 0);
        observers.push(observer);
    }

    /// Notifies the observers of a deleted agent.
    pub(super) fn announce_deletion(&self, agent: &AgentId) {
        let observers = self.observers.lock().clone();
        observers.iter().filter_map(Weak::upgrade).for_each(|observer| observer.agent_deleted(agent));
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }

    /// The contact schema of an agent, ready to check requests; read again when `fresh` or old.
    ///
    /// # Errors
    /// If the agent does not exist or the store fails.
    pub async fn schema(&self, agent: &AgentId, fresh: bool) -> Result<Arc<CompiledSchema>, ApiError> {
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
        let compile = || CompiledSchema::new(schema, &self.service_info);
        self.schemas.keep(agent.clone(), now, |known| *known.schema() == same, compile).map_err(|error| {
            tracing::error!(%agent, %error, "a stored contact schema has a pattern that does not compile");
            ApiError::internal()
        })
    }
}
