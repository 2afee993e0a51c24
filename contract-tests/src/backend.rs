//! The backends that tests run on.

use std::sync::Arc;

use conversations::storage::ConversationStorage;
use storage_common::transfer;
use storage_common::transfer::TransferStore;
use storage_memory::MemoryStorage;

/// Waits for a future; those of stores that speak to a server find their runtime.
pub fn wait<F: Future>(future: F) -> F::Output {
    #[cfg(feature = "stores")]
    let _guard = stores::RUNTIME.enter();
    pollster::block_on(future)
}

/// A backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The model behind a lock.
    Memory,
    /// One file.
    #[cfg(feature = "stores")]
    Sqlite,
    /// A database of its own on the PostgreSQL server of the tests.
    #[cfg(feature = "stores")]
    Postgres,
    /// A database of its own on the MongoDB server of the tests.
    #[cfg(feature = "stores")]
    Mongo,
}

/// A store, with the folder that it lies in and that goes away with it.
#[derive(Clone)]
pub struct Store {
    /// The store.
    pub storage: Arc<dyn ConversationStorage>,
    /// The same, to move what it holds; not seen through another one.
    moves: Arc<dyn TransferStore>,
    /// Where it lies: a folder or a database, which goes away with the last store there.
    place: Option<Arc<dyn Send + Sync>>,
}

impl Backend {
    /// Opens an empty store.
    ///
    /// # Panics
    /// When no file or database can be made; where the server of the tests is missing, with the line that starts one.
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
    fn of<S: TransferStore + 'static>(storage: Arc<S>, place: Option<Arc<dyn Send + Sync>>) -> Store {
        let moves: Arc<dyn TransferStore> = storage.clone();
        Store { storage, moves, place }
    }

    /// The store, to move what it holds.
    #[must_use]
    pub fn moves(&self) -> Arc<dyn TransferStore> {
        Arc::clone(&self.moves)
    }

    /// Copies everything into an empty store, and compares both.
    ///
    /// # Panics
    /// When they then differ.
    pub fn copy_to(&self, other: &Store) {
        wait(async {
            for agent in self.moves.agents_after(None, 1_000).await.expect("agents") {
                let copied =
                    transfer::copy_agent(&*self.moves, &*other.moves, &agent, None, &mut |_| {}).await;
                if let Err(error) = copied {
                    panic!("{}: {error}", agent.id);
                }
            }
        });
    }

    /// The same store seen through another one, for example [`crate::FaultyStorage`].
    #[must_use]
    pub fn through(&self, storage: Arc<dyn ConversationStorage>) -> Store {
        Store { storage, moves: Arc::clone(&self.moves), place: self.place.clone() }
    }
}

/// The stores beside memory.
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

    /// The runtime of the stores that speak to a server.
    pub(super) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(2).enable_all().build().expect("a runtime")
    });

    pub(super) fn sqlite() -> Store {
        // Durability is another suite's subject: where there is a file system in memory, syncs cost nothing.
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

/// Makes a `#[test]` for each embedded backend out of each named function, which takes the [`Backend`].
///
/// A function that is left out of the list is dead code and fails the lint.
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
