//! The backends that tests run on.

use std::sync::Arc;

use conversations::storage::ConversationStorage;
use storage_common::transfer;
use storage_common::transfer::TransferStore;
use storage_memory::MemoryStorage;

/// Waits for a future, inside the runtime that server-backed stores need.
pub fn wait<F: Future>(future: F) -> F::Output {
    #[cfg(feature = "stores")]
    let _guard = stores::RUNTIME.enter();
    pollster::block_on(future)
}

/// A backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The in-memory reference model.
    Memory,
    /// A single file.
    #[cfg(feature = "stores")]
    Sqlite,
    /// A separate database on the shared PostgreSQL server.
    #[cfg(feature = "stores")]
    Postgres,
    /// A separate database on the shared MongoDB server.
    #[cfg(feature = "stores")]
    Mongo,
}

/// A store, with its folder, which is removed with it.
#[derive(Clone)]
pub struct Store {
    /// The store.
    pub storage: Arc<dyn ConversationStorage>,
    /// The same store, for transfers; never wrapped.
    moves: Arc<dyn TransferStore>,
    /// Its folder or database, removed with the last store that uses it.
    guard: Option<Arc<dyn Send + Sync>>,
}

impl Backend {
    /// Opens an empty store.
    ///
    /// # Panics
    /// If no file or database can be created. If the test server is missing, the message contains the command that
    /// starts one.
    #[must_use]
    pub fn open(self) -> Store {
        match self {
            Backend::Memory => Store::of(Arc::new(MemoryStorage::new()), None),
            #[cfg(feature = "stores")]
            Backend::Sqlite => stores::sqlite(),
            #[cfg(feature = "stores")]
            Backend::Postgres => stores::postgres(),
            #[cfg(feature = "stores")]
            Backend::Mongo => stores::mongo(),
        }
    }
}

impl Store {
    fn of<S: TransferStore + 'static>(storage: Arc<S>, guard: Option<Arc<dyn Send + Sync>>) -> Store {
        let moves: Arc<dyn TransferStore> = storage.clone();
        Store { storage, moves, guard }
    }

    /// The store, for transfers.
    #[must_use]
    pub fn moves(&self) -> Arc<dyn TransferStore> {
        Arc::clone(&self.moves)
    }

    /// Copies everything into an empty store and compares both.
    ///
    /// # Panics
    /// If they differ afterwards.
    pub fn copy_to(&self, other: &Store) {
        wait(async {
            let copied = transfer::copy_chain_without_agent(&*self.moves, &*other.moves, &mut |_| {}).await;
            copied.expect("a chain");
            for agent in self.moves.agents_after(None, 1_000).await.expect("agents") {
                let copied =
                    transfer::copy_agent(&*self.moves, &*other.moves, &agent, None, &mut |_| {}).await;
                if let Err(error) = copied {
                    panic!("{}: {error}", agent.id);
                }
            }
        });
    }

    /// The same store, wrapped by another one, for example [`crate::FaultyStorage`].
    #[must_use]
    pub fn through(&self, storage: Arc<dyn ConversationStorage>) -> Store {
        Store { storage, moves: Arc::clone(&self.moves), guard: self.guard.clone() }
    }
}

/// Every store other than the in-memory one.
#[cfg(feature = "stores")]
mod stores {
    use std::path::Path;
    use std::sync::{Arc, LazyLock};

    use database_servers::{mongo, postgres};
    use storage_mongo::{MongoConfig, MongoStorage};
    use storage_postgres::{PostgresConfig, PostgresStorage};
    use storage_sqlite::{SqliteConfig, SqliteStorage};
    use tokio::runtime::Runtime;

    use super::{Store, wait};

    /// The runtime of the server-backed stores.
    pub(super) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(2).enable_all().build().expect("a runtime")
    });

    pub(super) fn sqlite() -> Store {
        // Durability has its own suite, so files go to a RAM-backed file system where one exists: syncs are free
        // there.
        let folder = match Path::new("/dev/shm") {
            shared if shared.is_dir() => tempfile::tempdir_in(shared),
            _ => tempfile::tempdir(),
        };
        let folder = folder.expect("a temporary folder");
        let config = SqliteConfig::new(folder.path().join("openapi.db"));
        let storage = SqliteStorage::open(config).expect("an empty file");
        Store::of(Arc::new(storage), Some(Arc::new(folder)))
    }

    pub(super) fn postgres() -> Store {
        let database = postgres::Database::create();
        let config = PostgresConfig::from_url(&database.url()).expect("a URL");
        let storage = wait(PostgresStorage::open(config)).expect("an empty database");
        Store::of(Arc::new(storage), Some(Arc::new(database)))
    }

    pub(super) fn mongo() -> Store {
        let database = mongo::Database::create();
        let config = MongoConfig::from_url(&database.url()).expect("a URL");
        let storage = wait(MongoStorage::open(config)).expect("an empty database");
        Store::of(Arc::new(storage), Some(Arc::new(database)))
    }
}

/// Expands each named function, which takes the [`Backend`], to a `#[test]` for each embedded backend.
///
/// A function missing from the list is dead code and fails the lint.
#[macro_export]
macro_rules! on_every_backend {
    ($($test:ident),* $(,)?) => {$(
        mod $test {
            #[test]
            fn memory() {
                super::$test($crate::Backend::Memory);
            }

            #[test]
            fn sqlite() {
                super::$test($crate::Backend::Sqlite);
            }
        }
    )*};
}
