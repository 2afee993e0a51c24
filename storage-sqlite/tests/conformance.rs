//! The suite that every backend runs.

mod support;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use openapi_core::conformance::Backend;
use openapi_core::storage::Storage;
use storage_sqlite::SqliteStorage;
use support::{Folder, wait};

struct File {
    store: Option<Arc<SqliteStorage>>,
    folder: Folder,
}

impl File {
    fn new() -> Self {
        let folder = Folder::new();
        File { store: Some(Arc::new(folder.open())), folder }
    }
}

impl Backend for File {
    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.store.as_ref().expect("the store is open")) as Arc<dyn Storage>
    }

    fn reopen(&mut self) -> bool {
        self.store = None;
        self.store = Some(Arc::new(self.folder.open()));
        true
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        wait(future);
    }
}

openapi_core::conformance_suite!(File::new);
