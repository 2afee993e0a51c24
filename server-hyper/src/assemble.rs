//! Assembles the server from its parts: the only module that names storage backends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conversations::admin::KnowledgeLimits;
use conversations::storage::ConversationStorage;
use conversations::{ChatPorts, ChatResponder, Conversations, Retriever};
use events::streams::EventHub;
use llm::EndpointConfig;
use openapi_core::extraction::{DocumentExtractor, NoExtractor};
use openapi_core::platform::{AuditSettings, ExtractionSettings, FileSettings, Platform, Ports};
use openapi_core::ports::BlobStore;
use openapi_core::service_info::ServiceInfo;
use responders::{KnowledgeResponder, LlmResponder};
use storage_blobs::{BlobsUrl, InvalidBlobsUrl};
use storage_common::transfer::TransferStore;
use storage_memory::MemoryStorage;
use storage_mongo::{MongoConfig, MongoStorage};
use storage_postgres::{PostgresConfig, PostgresStorage};
pub use storage_sqlite::Ownership;
use storage_sqlite::{SqliteConfig, SqliteStorage};

use crate::config::Config;
use crate::error::CliError;
use crate::ports::{SystemClock, SystemRandom, TokioSpawner, TokioThreads, TokioTimer};
use crate::search::Search;
use crate::server_keys::KeySource;

/// A store as an operator names it.
#[derive(Clone, Debug)]
pub enum StoreUrl {
    /// `memory:`: gone at the end of the process.
    Memory,
    /// `sqlite:PATH`: one file.
    Sqlite(SqliteConfig),
    /// `postgres://…`: a database of PostgreSQL, for any number of servers.
    Postgres(Box<PostgresConfig>),
    /// `mongodb://…`: a database of MongoDB, for any number of servers.
    Mongo(Box<MongoConfig>),
}

impl StoreUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// When this server knows no such store.
    pub fn parse(url: &str) -> Result<Self, CliError> {
        if matches!(url, "memory:" | "memory" | "memory://") {
            return Ok(StoreUrl::Memory);
        }
        if url.starts_with("sqlite:") {
            let config = SqliteConfig::from_url(url).map_err(|error| CliError::usage(error.to_string()))?;
            return Ok(StoreUrl::Sqlite(config));
        }
        if ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            let config = PostgresConfig::from_url(url).map_err(|error| CliError::usage(error.to_string()))?;
            return Ok(StoreUrl::Postgres(Box::new(config)));
        }
        if ["mongodb://", "mongodb+srv://"].iter().any(|scheme| url.starts_with(scheme)) {
            let config = MongoConfig::from_url(url).map_err(|error| CliError::usage(error.to_string()))?;
            return Ok(StoreUrl::Mongo(Box::new(config)));
        }
        let shown = crate::config::values::without_password(url);
        Err(CliError::usage(format!(
            "the store '{shown}' is not known; write sqlite:PATH, postgres://…, mongodb://… or memory:"
        )))
    }

    /// The same store with so many bytes for contacts that were read, where it keeps some in memory.
    #[must_use]
    pub fn with_contact_cache(mut self, bytes: u64) -> Self {
        match &mut self {
            StoreUrl::Sqlite(config) => {
                config.contact_cache_kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
            }
            StoreUrl::Postgres(config) => config.contact_cache = bytes,
            StoreUrl::Memory | StoreUrl::Mongo(_) => {}
        }
        self
    }

    /// Whether everything is gone at the end of the process.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        matches!(self, StoreUrl::Memory)
    }

    /// The folder in which the store lies; of one that lies in none the working directory.
    #[must_use]
    pub fn folder(&self) -> &Path {
        let folder = match self {
            StoreUrl::Memory | StoreUrl::Postgres(_) | StoreUrl::Mongo(_) => None,
            StoreUrl::Sqlite(config) => config.path.parent(),
        };
        folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// The file that one process owns; of other stores none.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            StoreUrl::Sqlite(config) => Some(&config.path),
            StoreUrl::Memory | StoreUrl::Postgres(_) | StoreUrl::Mongo(_) => None,
        }
    }

    /// The engine, as its makers call it.
    fn engine(&self) -> &'static str {
        match self {
            StoreUrl::Memory => "memory",
            StoreUrl::Sqlite(_) => "SQLite",
            StoreUrl::Postgres(_) => "PostgreSQL",
            StoreUrl::Mongo(_) => "MongoDB",
        }
    }

    fn is_backed_up_by_its_engine(&self) -> CliError {
        let tools = if matches!(self, StoreUrl::Mongo(_)) {
            "mongodump and mongorestore"
        } else {
            "pg_dump and pg_restore"
        };
        CliError::usage(format!("a store in {} is backed up and restored by {tools}", self.engine()))
    }

    /// Where the server keys of this store are.
    #[must_use]
    pub fn key_source(&self, config: &Config) -> KeySource {
        // A pipe can be read once only.
        if let Some(path) =
            config.value("server_key").file.as_deref().map(Path::new).filter(|it| it.is_file())
        {
            return KeySource::Named(path.to_owned());
        }
        match (config.text("server_key"), self) {
            // A pipe can be read once only.
            (Some(given), _) => KeySource::Given(given.to_owned()),
            (None, StoreUrl::Memory) => KeySource::Drawn,
            (None, StoreUrl::Sqlite(config)) => {
                let folder = config.path.parent().unwrap_or(Path::new(""));
                KeySource::File(folder.join("server-keys"))
            }
            // A file of each server's own would make servers that refuse each other's secrets.
            (None, StoreUrl::Postgres(_) | StoreUrl::Mongo(_)) => KeySource::Shared,
        }
    }
}

/// An open store. Clones share it.
#[derive(Clone)]
pub struct OpenStore {
    url: StoreUrl,
    storage: Arc<dyn TransferStore>,
    /// The same, where it is an SQLite file: what an operator does with the file.
    sqlite: Option<Arc<SqliteStorage>>,
}

impl OpenStore {
    /// How it is named.
    #[must_use]
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// What it holds.
    #[must_use]
    pub fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(&self.storage) as Arc<dyn ConversationStorage>
    }

    /// The same, to move it.
    #[must_use]
    pub fn transfer(&self) -> Arc<dyn TransferStore> {
        Arc::clone(&self.storage)
    }

    /// Whether it is in a file that cannot be written.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.sqlite.as_ref().is_some_and(|store| store.ownership().is_read_only())
    }

    /// The path of an SQLite file.
    #[must_use]
    pub fn database(&self) -> Option<&Path> {
        self.sqlite.as_ref().map(|store| store.ownership().database())
    }
}

/// What comes of wanting a store.
#[derive(Debug)]
pub enum Taken {
    /// This process may open it. Only an SQLite file has an owner.
    Free(Option<Ownership>),
    /// Another process owns it.
    Owned(OwnedStore),
}

/// An SQLite file that another process owns.
#[derive(Debug)]
pub struct OwnedStore {
    /// The canonical path of the database.
    pub database: PathBuf,
    /// Who owns it, and how to go on.
    pub text: String,
}

/// Takes the ownership of a store. `command` describes this process to others; `writes` says that it is useless without
/// writing.
///
/// # Errors
/// When its folder or file cannot be used.
pub fn take(url: &StoreUrl, command: &str, writes: bool) -> Result<Taken, CliError> {
    let StoreUrl::Sqlite(config) = url else { return Ok(Taken::Free(None)) };
    let take = if writes { Ownership::take } else { Ownership::take_for_reading };
    match take(&config.path, command) {
        Ok(ownership) => Ok(Taken::Free(Some(ownership))),
        Err(error) => match &error {
            storage_sqlite::OpenError::Owned { path, .. } => {
                Ok(Taken::Owned(OwnedStore { database: path.clone(), text: error.to_string() }))
            }
            _ => Err(error.into()),
        },
    }
}

/// Opens the store, and creates it when it does not exist. An SQLite file needs its ownership; without one it is taken.
///
/// # Errors
/// When it cannot be opened; the text says why.
pub async fn open(url: &StoreUrl, ownership: Option<Ownership>) -> Result<OpenStore, CliError> {
    let mut sqlite = None;
    let storage: Arc<dyn TransferStore> = match url {
        StoreUrl::Memory => Arc::new(MemoryStorage::new()),
        StoreUrl::Sqlite(config) => {
            let ownership = ownership.map_or_else(|| Ownership::take(&config.path, ""), Ok)?;
            let store = Arc::new(SqliteStorage::open_owned(config.clone(), ownership)?);
            sqlite = Some(Arc::clone(&store));
            store
        }
        StoreUrl::Postgres(config) => Arc::new(PostgresStorage::open((**config).clone()).await?),
        StoreUrl::Mongo(config) => Arc::new(MongoStorage::open((**config).clone()).await?),
    };
    Ok(OpenStore { url: url.clone(), storage, sqlite })
}

/// Opens the store of file contents: the configured one, or the one that goes with the store.
///
/// # Errors
/// When it cannot be opened.
pub fn open_blobs(config: &Config, store: &StoreUrl) -> Result<Arc<dyn BlobStore>, CliError> {
    open_contents(&blobs_url(config, store)?)
}

/// Where the contents of files are: the configured location, or the default of the store.
///
/// # Errors
/// When no location is configured and the store has no default, or the configured one is invalid.
pub fn blobs_url(config: &Config, store: &StoreUrl) -> Result<BlobsUrl, CliError> {
    contents_url(config.text("blobs"), store, || {
        "servers on one store share the contents of files as well; name their location with --blobs: s3://BUCKET/PREFIX, \
         gs://…, az://…, or file:PATH for a folder that all of them have"
            .to_owned()
    })
}

/// Where the contents of files of a store that is copied are, or are to be.
///
/// # Errors
/// When nobody says it; `flag` would.
pub fn blobs_to_move(given: Option<&str>, store: &StoreUrl, flag: &str) -> Result<BlobsUrl, CliError> {
    contents_url(given, store, || {
        format!(
            "where the contents of files are does not follow from a store in {}; name the location with {flag}, or \
             leave them where they are with --records-only",
            store.engine()
        )
    })
}

/// Opens a store of file contents.
///
/// # Errors
/// When it cannot be opened.
pub fn open_contents(url: &BlobsUrl) -> Result<Arc<dyn BlobStore>, CliError> {
    Ok(storage_blobs::open(url, environment())?)
}

/// The given location, or the default of the store.
fn contents_url(
    given: Option<&str>,
    store: &StoreUrl,
    nowhere: impl FnOnce() -> String,
) -> Result<BlobsUrl, CliError> {
    match (given, store) {
        (Some(url), _) => url.parse().map_err(|error: InvalidBlobsUrl| CliError::usage(error.to_string())),
        (None, StoreUrl::Memory) => Ok(BlobsUrl::Memory),
        (None, StoreUrl::Sqlite(config)) => {
            Ok(BlobsUrl::Folder(config.path.parent().unwrap_or(Path::new("")).join("blobs")))
        }
        (None, StoreUrl::Postgres(_) | StoreUrl::Mongo(_)) => Err(CliError::usage(nowhere())),
    }
}

/// The variables from which stores in a cloud take their credentials.
fn environment() -> Vec<(String, String)> {
    let variables = std::env::vars_os();
    variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// What a platform is built over.
#[derive(Clone)]
pub struct Stores {
    /// The records.
    pub storage: Arc<dyn ConversationStorage>,
    /// The contents of files; [`NoBlobs`](openapi_core::ports::NoBlobs) for a command that needs none.
    pub blobs: Arc<dyn BlobStore>,
}

/// Whether a command reads or removes contents of files. One that does not must work where they cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// They are left alone.
    Closed,
    /// They are opened.
    Open,
}

/// What a server decides beyond its stores and names; the default is for commands, which take no requests.
#[derive(Clone)]
pub struct Decisions {
    /// About files.
    pub files: FileSettings,
    /// About extractions.
    pub extraction: ExtractionSettings,
    /// About the audit log.
    pub audit: AuditSettings,
    /// How long events are retained, in milliseconds; the default where no maintenance runs.
    pub event_retention_millis: Option<u64>,
    /// What serves event streams.
    pub event_streams: EventHub,
    /// How much an agent may answer from.
    pub knowledge: KnowledgeLimits,
    /// How long a reply waits to be read before it is sent by e-mail, in milliseconds.
    pub mail_delay_millis: u32,
    /// What reads documents.
    pub extractor: Arc<dyn DocumentExtractor>,
    /// What answers visitors of the widget.
    pub responders: Vec<Arc<dyn ChatResponder>>,
    /// What finds the passages that they are answered from.
    pub search: Option<Search>,
}

impl Default for Decisions {
    fn default() -> Self {
        Decisions {
            files: FileSettings::default(),
            extraction: ExtractionSettings::default(),
            audit: AuditSettings::default(),
            event_retention_millis: None,
            event_streams: EventHub::default(),
            knowledge: KnowledgeLimits::default(),
            mail_delay_millis: 120_000,
            extractor: Arc::new(NoExtractor),
            responders: Vec::new(),
            search: None,
        }
    }
}

/// What answers visitors of the widget: the agents' documents, and models where there are endpoints.
///
/// # Errors
/// When an endpoint cannot be used.
pub fn responders(
    endpoints: &BTreeMap<String, EndpointConfig>,
    retriever: &Arc<dyn Retriever>,
) -> Result<Vec<Arc<dyn ChatResponder>>, CliError> {
    let mut responders: Vec<Arc<dyn ChatResponder>> = vec![Arc::new(KnowledgeResponder)];
    if !endpoints.is_empty() {
        let endpoints = endpoints.iter().map(|(name, endpoint)| (name.clone(), endpoint.clone()));
        let llm = LlmResponder::new(endpoints, Arc::new(SystemClock), Arc::new(SystemRandom));
        let failed = |(name, error)| CliError::usage(format!("llm.{name}: {error}"));
        responders.push(Arc::new(llm.map_err(failed)?.with_retriever(Arc::clone(retriever))));
    }
    Ok(responders)
}

/// Platform and chat over open stores.
///
/// # Errors
/// When the server keys cannot be had.
pub fn conversations_over(
    stores: &Stores,
    keys: &KeySource,
    service_info: ServiceInfo,
    decisions: Decisions,
) -> Result<Arc<Conversations>, CliError> {
    let server_keys = keys.load(&SystemClock, &SystemRandom)?;
    let ports = Ports::new(Arc::new(SystemClock), Arc::new(SystemRandom), server_keys)
        .with_blobs(Arc::clone(&stores.blobs))
        .with_extractor(decisions.extractor)
        .with_timer(Arc::new(TokioTimer))
        .with_blocking_executor(Arc::new(TokioThreads));
    let mut platform = Platform::new(Arc::clone(&stores.storage) as _, ports, service_info)
        .with_file_settings(decisions.files)
        .with_extraction_settings(decisions.extraction)
        .with_audit_settings(decisions.audit)
        .with_event_streams(Arc::new(decisions.event_streams));
    if let Some(millis) = decisions.event_retention_millis {
        platform = platform.with_event_retention(millis);
    }
    let chat = ChatPorts {
        responders: decisions.responders,
        retriever: decisions.search.as_ref().map(|search| Arc::clone(&search.retriever)),
        grouper: decisions.search.map(|search| search.grouper),
        tasks: Some(Arc::new(TokioSpawner)),
    };
    let conversations = Conversations::new(Arc::new(platform), Arc::clone(&stores.storage), chat);
    let conversations = conversations.with_mail_delay(decisions.mail_delay_millis);
    Ok(Arc::new(conversations.with_knowledge_limits(decisions.knowledge)))
}

/// What `migrate` would apply, in order.
///
/// # Errors
/// When the store cannot be read.
pub async fn pending_migrations(url: &StoreUrl) -> Result<Vec<String>, CliError> {
    match url {
        StoreUrl::Memory => Ok(Vec::new()),
        StoreUrl::Sqlite(config) => {
            let pending = SqliteStorage::pending_migrations(config)?;
            Ok(pending.iter().map(|step| format!("{:04} {}", step.version, step.name)).collect())
        }
        StoreUrl::Postgres(config) => {
            let pending = PostgresStorage::pending_migrations(config).await?;
            Ok(pending.iter().map(|step| format!("{:04} {}", step.version, step.name)).collect())
        }
        StoreUrl::Mongo(config) => {
            let pending = MongoStorage::pending_migrations(config).await?;
            Ok(pending.iter().map(|step| format!("{:04} {}", step.version, step.name)).collect())
        }
    }
}

/// The faults of a store's records; with `repair` those that are left after mending.
///
/// # Errors
/// When the store cannot be read.
pub async fn check(
    store: &OpenStore,
    repair: bool,
    note: &dyn Fn(&str),
    is_cancelled: impl FnMut() -> bool + Send + 'static,
) -> Result<Vec<String>, CliError> {
    match (&store.url, &store.sqlite) {
        (_, Some(store)) => {
            let mut faults = if repair { store.repair().await?.left } else { Vec::new() };
            faults.extend(store.check_until(is_cancelled)?.into_iter().map(|finding| finding.detail));
            Ok(faults)
        }
        (StoreUrl::Memory, _) => Err(in_memory("checked")),
        (url, _) => {
            note(&format!(
                "the records of {} are checked by its own tools; only files are compared here",
                url.engine()
            ));
            Ok(Vec::new())
        }
    }
}

/// Copies the records of a store into a new file, and opens the copy.
///
/// # Errors
/// When the file exists, or cannot be written.
pub fn backup(
    store: &OpenStore,
    to: &Path,
    note: &dyn Fn(&str),
) -> Result<Arc<dyn ConversationStorage>, CliError> {
    match (&store.url, &store.sqlite) {
        (_, Some(store)) => {
            store.backup(to, progress("copied", note))?;
            Ok(Arc::new(SqliteStorage::open(SqliteConfig::new(to))?))
        }
        (StoreUrl::Memory, _) => Err(in_memory("copied")),
        (url, _) => Err(url.is_backed_up_by_its_engine()),
    }
}

/// The records of a backup, by way of a copy at `scratch`.
///
/// # Errors
/// When the backup is not there or not sound.
pub fn open_backup(from: &Path, scratch: &Path) -> Result<Arc<dyn ConversationStorage>, CliError> {
    if !from.is_file() {
        return Err(CliError::new(format!(
            "there is no backup: {} is missing; name the folder that `openapi-server backup` made",
            from.display()
        )));
    }
    std::fs::copy(from, scratch)?;
    Ok(Arc::new(SqliteStorage::open(SqliteConfig::new(scratch))?))
}

/// Replaces the records of a store with those of a backup.
///
/// # Errors
/// When the backup is not sound, or the store is in use.
pub fn restore(
    url: &StoreUrl,
    ownership: Option<&Ownership>,
    from: &Path,
    note: &dyn Fn(&str),
) -> Result<(), CliError> {
    match (url, ownership) {
        (StoreUrl::Sqlite(_), Some(ownership)) => {
            Ok(SqliteStorage::restore(from, ownership, progress("restored", note))?)
        }
        (StoreUrl::Memory, _) => Err(in_memory("restored")),
        _ => Err(url.is_backed_up_by_its_engine()),
    }
}

/// Reports how far a copy has come, each tenth.
fn progress(done: &'static str, note: &dyn Fn(&str)) -> impl FnMut(u64, u64) {
    let mut reported = 0;
    move |bytes, of| {
        let tenths = bytes * 10 / of.max(1);
        if tenths > reported && of > 10_000 {
            reported = tenths;
            note(&format!("{tenths}0 % {done}"));
        }
    }
}

fn in_memory(done: &str) -> CliError {
    CliError::usage(format!("a store in memory cannot be {done}; give --store sqlite:PATH"))
}
