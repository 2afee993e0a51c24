//! The backends that every test runs on.

use std::path::Path;
use std::sync::Arc;

use openapi_core::storage::Storage;
use openapi_core::storage::memory::MemoryStorage;
use storage_sqlite::{SqliteConfig, SqliteStorage};
use tempfile::TempDir;

/// An embedded backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The model behind a lock.
    Memory,
    /// One file.
    Sqlite,
}

/// A store, with the folder that it lies in and that goes away with it.
#[derive(Clone)]
pub struct Store {
    /// The store.
    pub storage: Arc<dyn Storage>,
    folder: Option<Arc<TempDir>>,
}

impl Backend {
    /// Every backend.
    pub const ALL: [Backend; 2] = [Backend::Memory, Backend::Sqlite];

    /// Opens an empty store.
    ///
    /// # Panics
    /// When no file can be made.
    #[must_use]
    pub fn open(self) -> Store {
        match self {
            Backend::Memory => Store { storage: Arc::new(MemoryStorage::new()), folder: None },
            Backend::Sqlite => {
                // Durability is another suite's subject: where there is a file system in memory, syncs cost nothing.
                let folder = match Path::new("/dev/shm") {
                    shared if shared.is_dir() => tempfile::tempdir_in(shared),
                    _ => tempfile::tempdir(),
                };
                let folder = folder.expect("a temporary folder");
                let config = SqliteConfig::new(folder.path().join("openapi.db"));
                let storage = SqliteStorage::open(config).expect("an empty file");
                Store { storage: Arc::new(storage), folder: Some(Arc::new(folder)) }
            }
        }
    }
}

impl Store {
    /// The same store seen through another one, for example [`crate::FaultyStorage`].
    #[must_use]
    pub fn through(&self, storage: Arc<dyn Storage>) -> Store {
        Store { storage, folder: self.folder.clone() }
    }
}

/// Makes a `#[test]` for each backend out of each named function, which takes the [`Backend`].
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
