//! A sandbox: the platform with a manual clock, sequential ids, one agent and a key with every permission.

use std::sync::Arc;

use conversations::{ChatPorts, Conversations};
use events::streams::{EventHub, StreamLimits};
use events::{WebhookSettings, Webhooks};
use openapi_core::access::{Actor, KeySelector, Permissions, RateLimits};
use openapi_core::admin::{Admin, AdminError, NewAgent, NewKey};
use openapi_core::api::{Api, Settings};
use openapi_core::json::{Json, Object};
use openapi_core::platform::{ExtractionSettings, FileSettings, Platform, Ports};
use openapi_core::ports::{Clock, FixedClock, MemoryBlobs, SequentialIds};
use openapi_core::schema::ContactSchema;
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::values::{AgentId, Timestamp};
use serde_json::Value;

pub use crate::backend::wait;

use crate::backend::Store;
use crate::document::service_info;
use crate::{Backend, Call, Credentials, FaultyStorage, Reply, Script, ScriptedOutbound};

/// The agent of the examples.
pub const AGENT: &str = "695b6f80de7378c4412112d3";

/// The start of a sandbox's clock: the creation time of the contact in the examples.
pub const START: &str = "2026-01-31T09:15:02.123Z";

/// The platform and its environment.
pub struct Sandbox {
    /// The clock.
    pub clock: Arc<FixedClock>,
    /// The store.
    pub store: Store,
    /// The contents of files.
    pub blobs: MemoryBlobs,
    /// The platform, including the operator's port.
    pub platform: Arc<Platform>,
    /// The API.
    pub api: Api,
    /// The webhooks of the platform.
    pub webhooks: Webhooks,
    /// What webhooks were sent.
    pub outbound: ScriptedOutbound,
    /// The agent, [`AGENT`] by default.
    pub agent: AgentId,
    /// A key of the agent with every permission and the highest limits.
    pub credentials: Credentials,
    settings: Settings,
    ports: Ports,
}

fn webhooks(platform: &Arc<Platform>, outbound: &ScriptedOutbound) -> Webhooks {
    Webhooks::new(Arc::clone(platform), Arc::new(outbound.clone()), WebhookSettings::default())
}

/// The operator's name in the audit log.
#[must_use]
pub fn operator() -> Actor {
    Actor::Operator("tester".to_owned())
}

/// Event streams that end after their first page, so that a reply can be read to its end.
fn short_streams() -> Arc<EventHub> {
    Arc::new(EventHub::new(StreamLimits { length_millis: 0, ..StreamLimits::default() }))
}

/// Parses an RFC 3339 timestamp.
///
/// # Panics
/// If the text is not one.
#[must_use]
pub fn instant(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|_| panic!("{text} is no timestamp"))
}

/// Converts JSON into the core's representation.
///
/// # Panics
/// If the value is not an object.
#[must_use]
pub fn object(value: &Value) -> Object {
    match Json::from(value) {
        Json::Object(members) => members,
        other => panic!("{other:?} is no object"),
    }
}

impl Sandbox {
    /// A sandbox on an empty store of this kind.
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        Sandbox::with_settings(backend, |_| {})
    }

    /// A sandbox with custom settings.
    #[must_use]
    pub fn with_settings(backend: Backend, change: impl FnOnce(&mut Settings)) -> Self {
        Sandbox::on(backend.open(), change)
    }

    /// A sandbox whose store fails on demand.
    #[must_use]
    pub fn faulty(backend: Backend) -> (Self, Arc<FaultyStorage>) {
        let store = backend.open();
        let faulty = FaultyStorage::new(Arc::clone(&store.storage));
        (Sandbox::on(store.through(faulty.clone()), |_| {}), faulty)
    }

    /// A sandbox on a given store without an agent [`AGENT`].
    ///
    /// # Panics
    /// If the store rejects the agent or its key.
    #[must_use]
    pub fn on(store: Store, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::new(service_info());
        change(&mut settings);
        let clock = Arc::new(FixedClock::at(instant(START)));
        let server_keys = ServerKeys::new(ServerKey::new(&[7; 32]), Vec::new());
        let blobs = MemoryBlobs::new();
        let ports =
            Ports::new(Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(SequentialIds::default()), server_keys)
                .with_blobs(Arc::new(blobs.clone()))
                .with_extractor(Arc::new(Script::default()));
        let platform =
            Platform::new(Arc::clone(&store.storage) as _, ports.clone(), settings.service_info.clone());
        let platform = Arc::new(platform.with_event_streams(short_streams()));
        let outbound = ScriptedOutbound::default();
        let webhooks = webhooks(&platform, &outbound);
        let mut sandbox = Sandbox {
            api: webhooks.api(settings.clone()),
            webhooks,
            outbound,
            clock,
            store,
            blobs,
            platform,
            agent: AGENT.parse().expect("an agent id"),
            credentials: Credentials { key: String::new(), secret: String::new() },
            settings,
            ports,
        };
        sandbox.agent = sandbox.new_agent(AGENT);
        sandbox.credentials = sandbox.issue(|_| {});
        sandbox
    }

    /// Another process over the same store, clock and keys, without draining the first, as after a crash.
    #[must_use]
    pub fn restarted(&self) -> Self {
        self.rebuilt(self.ports.clone(), |_| {})
    }

    /// The same clock, keys and contents over another store, into which everything was copied.
    #[must_use]
    pub fn moved_to(&self, store: Store) -> Self {
        self.store.copy_to(&store);
        self.over(store, self.ports.clone(), FileSettings::default(), ExtractionSettings::default())
    }

    /// The same store, clock and keys with other ports and another file policy.
    #[must_use]
    pub fn rebuilt(&self, ports: Ports, change: impl FnOnce(&mut FileSettings)) -> Self {
        let mut files = FileSettings::default();
        change(&mut files);
        self.over(self.store.clone(), ports, files, ExtractionSettings::default())
    }

    /// The same store, clock and keys with other ports and other policies for files and extractions.
    #[must_use]
    pub fn deciding(&self, ports: Ports, files: FileSettings, extraction: ExtractionSettings) -> Self {
        self.over(self.store.clone(), ports, files, extraction)
    }

    /// The same process seen by another, newly created agent with its own key.
    #[must_use]
    pub fn of_agent(&self, id: &str) -> Self {
        let agent = self.new_agent(id);
        let credentials = self.issue(|key| key.agent_id = agent.clone());
        Sandbox {
            clock: Arc::clone(&self.clock),
            store: self.store.clone(),
            blobs: self.blobs.clone(),
            platform: Arc::clone(&self.platform),
            api: self.api.clone(),
            webhooks: self.webhooks.clone(),
            outbound: self.outbound.clone(),
            agent,
            credentials,
            settings: self.settings.clone(),
            ports: self.ports.clone(),
        }
    }

    fn over(&self, store: Store, ports: Ports, files: FileSettings, extraction: ExtractionSettings) -> Self {
        let platform =
            Platform::new(Arc::clone(&store.storage) as _, ports.clone(), self.settings.service_info.clone());
        let platform = platform.with_file_settings(files).with_extraction_settings(extraction);
        let platform = Arc::new(platform.with_event_streams(short_streams()));
        Sandbox {
            blobs: self.blobs.clone(),
            clock: Arc::clone(&self.clock),
            store,
            api: webhooks(&platform, &self.outbound).api(self.settings.clone()),
            webhooks: webhooks(&platform, &self.outbound),
            outbound: self.outbound.clone(),
            platform,
            agent: self.agent.clone(),
            credentials: self.credentials.clone(),
            settings: self.settings.clone(),
            ports,
        }
    }

    /// The chat over this platform.
    #[must_use]
    pub fn chat(&self, ports: ChatPorts) -> Arc<Conversations> {
        let storage = Arc::clone(&self.store.storage);
        Arc::new(Conversations::new(Arc::clone(&self.platform), storage, ports))
    }

    /// The ports of the platform.
    #[must_use]
    pub fn ports(&self) -> Ports {
        self.ports.clone()
    }

    /// The settings of the API.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Creates an agent.
    ///
    /// # Panics
    /// If the id is taken or invalid.
    #[must_use]
    pub fn new_agent(&self, id: &str) -> AgentId {
        let id: AgentId = id.parse().expect("an agent id");
        let new = NewAgent { id: Some(id.clone()), name: "Test".parse().expect("a name") };
        wait(self.platform.create_agent(&operator(), new)).expect("the agent is created");
        id
    }

    /// A new key of the sandbox's agent with every permission and the highest limits.
    ///
    /// # Panics
    /// Never: the values are valid.
    #[must_use]
    pub fn new_key(&self) -> NewKey {
        NewKey {
            agent_id: self.agent.clone(),
            name: "Test".parse().expect("a name"),
            description: None,
            permissions: Permissions::all(),
            limits: RateLimits { per_minute: 1_000, per_hour: 10_000 },
            allowed_addresses: Vec::new(),
            expires_at: None,
        }
    }

    /// Creates a key that differs from [`Sandbox::new_key`] by `change`.
    ///
    /// # Panics
    /// If the key is rejected.
    #[must_use]
    pub fn issue(&self, change: impl FnOnce(&mut NewKey)) -> Credentials {
        let mut key = self.new_key();
        change(&mut key);
        let issued = wait(self.platform.create_key(&operator(), key)).expect("the key is created");
        Credentials { key: issued.key.api_key.to_string(), secret: issued.secret.expose().to_owned() }
    }

    /// A key with only these permissions, for example `contacts:read,create`.
    ///
    /// # Panics
    /// If the text is not a permission.
    #[must_use]
    pub fn key_that_may(&self, permissions: &str) -> Credentials {
        let permissions = permissions.parse().expect("permissions");
        self.issue(|key| key.permissions = permissions)
    }

    /// Replaces the agent's contact schema.
    ///
    /// # Errors
    /// Returns the operator's error.
    pub fn redefine(&self, definition: &Value) -> Result<ContactSchema, AdminError> {
        wait(self.platform.replace_contact_schema(&operator(), &self.agent, &object(definition)))
    }

    /// Replaces the agent's contact schema; it must be accepted.
    ///
    /// # Panics
    /// If it is rejected.
    #[track_caller]
    pub fn define(&self, definition: &Value) -> ContactSchema {
        self.redefine(definition).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Advances the clock.
    pub fn advance(&self, millis: i64) {
        self.clock.advance_millis(millis);
    }

    /// A request to a path below {base_url}, with the sandbox's key; `<A>` is replaced by the agent.
    #[must_use]
    pub fn call(&self, method: &str, path: &str) -> Call<'_> {
        self.at(method, &format!("{}{path}", openapi_core::reply::BASE_PATH))
    }

    /// A request to a path below {origin}, with the sandbox's key; `<A>` is replaced by the agent.
    ///
    /// # Panics
    /// If the method is invalid.
    #[must_use]
    pub fn at(&self, method: &str, path: &str) -> Call<'_> {
        Call::new(
            &self.api,
            &self.settings,
            &self.credentials,
            method,
            &path.replace("<A>", self.agent.as_str()),
        )
    }

    /// `GET`
    #[must_use]
    pub fn get(&self, path: &str) -> Reply {
        self.call("GET", path).send()
    }

    /// `POST` with a JSON body.
    #[must_use]
    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.call("POST", path).json(body).send()
    }

    /// `PUT` with a JSON body.
    #[must_use]
    pub fn put(&self, path: &str, body: &Value) -> Reply {
        self.call("PUT", path).json(body).send()
    }

    /// `PATCH` without a body.
    #[must_use]
    pub fn patch(&self, path: &str) -> Reply {
        self.call("PATCH", path).send()
    }

    /// A request to create a contact.
    #[must_use]
    pub fn try_create(&self, body: &Value) -> Reply {
        self.post("/contacts/chatbots/<A>", body)
    }

    /// Creates a contact.
    ///
    /// # Panics
    /// If it is rejected.
    #[track_caller]
    pub fn create(&self, body: &Value) -> Reply {
        self.try_create(body).expect(201)
    }

    /// A request to update a contact by its platform id.
    #[must_use]
    pub fn try_update(&self, id: &str, body: &Value) -> Reply {
        self.put(&format!("/contacts/platformid/{id}/chatbots/<A>"), body)
    }

    /// Updates a contact by its platform id.
    ///
    /// # Panics
    /// If it is rejected.
    #[track_caller]
    pub fn update(&self, id: &str, body: &Value) -> Reply {
        self.try_update(id, body).expect(200)
    }

    /// Reads a contact by its platform id.
    ///
    /// # Panics
    /// If it does not exist.
    #[track_caller]
    pub fn read(&self, id: &str) -> Reply {
        self.get(&format!("/contacts/platformid/{id}/chatbots/<A>")).expect(200)
    }

    /// The selector of a key.
    ///
    /// # Panics
    /// If the text is not a key.
    #[must_use]
    pub fn selector(credentials: &Credentials) -> KeySelector {
        credentials.key.parse().expect("a key")
    }
}
