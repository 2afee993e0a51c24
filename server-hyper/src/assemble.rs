//! Puts the parts together: the only place that names storage backends.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use openapi_core::access::Actor;
use openapi_core::brand::Brand;
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::Timer;
use openapi_core::storage::Storage;
use openapi_core::storage::memory::MemoryStorage;
use storage_sqlite::{SqliteConfig, SqliteStorage};

use crate::config::Config;
use crate::failure::Failure;
use crate::ports::{SystemClock, SystemRandom};
use crate::server_keys::KeySource;

/// A store as an operator names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory:`: gone at the end of the process.
    Memory,
    /// `sqlite:PATH`: one file.
    Sqlite(SqliteConfig),
}

impl StoreUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// When this server knows no such store.
    pub fn parse(url: &str) -> Result<Self, Failure> {
        if matches!(url, "memory:" | "memory" | "memory://") {
            return Ok(StoreUrl::Memory);
        }
        if url.starts_with("sqlite:") {
            let config = SqliteConfig::from_url(url).map_err(|error| Failure::usage(error.to_string()))?;
            return Ok(StoreUrl::Sqlite(config));
        }
        let shown = crate::config::values::without_password(url);
        Err(Failure::usage(format!("the store '{shown}' is not known; write sqlite:PATH or memory:")))
    }

    /// Where the server keys of this store are.
    #[must_use]
    pub fn key_source(&self, config: &Config) -> KeySource {
        match (config.text("server_key"), self) {
            (Some(given), _) => KeySource::Given(given.to_owned()),
            (None, StoreUrl::Memory) => KeySource::Drawn,
            (None, StoreUrl::Sqlite(config)) => {
                let folder = config.path.parent().unwrap_or(Path::new(""));
                KeySource::File(folder.join("server-keys"))
            }
        }
    }
}

/// Opens the store, or makes it when it is not there.
///
/// # Errors
/// When it cannot be opened; the words say why.
pub async fn open(url: &StoreUrl) -> Result<Arc<dyn Storage>, Failure> {
    match url {
        StoreUrl::Memory => Ok(Arc::new(MemoryStorage::new())),
        StoreUrl::Sqlite(config) => Ok(Arc::new(SqliteStorage::open(config.clone())?)),
    }
}

/// The platform over the configured store.
///
/// # Errors
/// When the store or its server keys cannot be opened.
pub async fn platform(config: &Config, brand: Brand) -> Result<Arc<Platform>, Failure> {
    let url = StoreUrl::parse(config.store())?;
    let storage = open(&url).await?;
    platform_over(storage, &url.key_source(config), brand)
}

/// The platform over an open store.
///
/// # Errors
/// When the server keys cannot be had.
pub fn platform_over(
    storage: Arc<dyn Storage>,
    keys: &KeySource,
    brand: Brand,
) -> Result<Arc<Platform>, Failure> {
    let server_keys = keys.load(&SystemClock, &SystemRandom)?;
    let ports = Ports::new(Arc::new(SystemClock), Arc::new(SystemRandom), server_keys)
        .with_timer(Arc::new(TokioTimer));
    Ok(Arc::new(Platform::new(storage, ports, brand)))
}

/// What `migrate` would apply, in order.
///
/// # Errors
/// When the store cannot be read.
pub async fn pending_migrations(url: &StoreUrl) -> Result<Vec<String>, Failure> {
    match url {
        StoreUrl::Memory => Ok(Vec::new()),
        StoreUrl::Sqlite(config) => {
            let pending = SqliteStorage::pending_migrations(config)?;
            Ok(pending.iter().map(|step| format!("{:04} {}", step.version, step.name)).collect())
        }
    }
}

/// The faults of a store; with `repair` those that are left after mending.
///
/// # Errors
/// When the store cannot be read.
pub async fn check(url: &StoreUrl, repair: bool) -> Result<Vec<String>, Failure> {
    match url {
        StoreUrl::Memory => Err(in_memory("checked")),
        StoreUrl::Sqlite(config) => {
            let store = SqliteStorage::open(config.clone())?;
            let mut faults = if repair { store.repair().await?.left } else { Vec::new() };
            faults.extend(store.check()?.into_iter().map(|finding| finding.detail));
            Ok(faults)
        }
    }
}

/// Copies a store into a new file.
///
/// # Errors
/// When the file exists, or cannot be written.
pub async fn backup(url: &StoreUrl, to: &Path) -> Result<(), Failure> {
    match url {
        StoreUrl::Memory => Err(in_memory("copied")),
        StoreUrl::Sqlite(config) => {
            SqliteStorage::open(config.clone())?.backup(to, progress("copied"))?;
            Ok(())
        }
    }
}

/// Puts a backup in the place of a store.
///
/// # Errors
/// When the backup is not sound, or the store is in use.
pub async fn restore(url: &StoreUrl, from: &Path) -> Result<(), Failure> {
    match url {
        StoreUrl::Memory => Err(in_memory("restored")),
        StoreUrl::Sqlite(config) => Ok(SqliteStorage::restore(from, config, progress("restored"))?),
    }
}

/// Tells how far a copy has come, each tenth, on standard error.
fn progress(done: &'static str) -> impl FnMut(u64, u64) {
    let mut told = 0;
    move |pages, of| {
        let tenths = pages * 10 / of.max(1);
        if tenths > told && of > 10_000 {
            told = tenths;
            eprintln!("{tenths}0 % {done}");
        }
    }
}

fn in_memory(done: &str) -> Failure {
    Failure::usage(format!("a store in memory cannot be {done}; give --store sqlite:PATH"))
}

/// The operator, as the audit log names whoever runs a command.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the name of the user is no setting")]
pub fn operator() -> Actor {
    let name = std::env::var("SUDO_USER").or_else(|_| std::env::var("USER")).unwrap_or_default();
    Actor::Operator(if name.is_empty() { "operator".to_owned() } else { name })
}

/// Deadlines by the runtime's clock.
#[derive(Clone, Copy, Debug)]
struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(std::time::Duration::from_millis(millis)))
    }
}
