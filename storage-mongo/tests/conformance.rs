//! The suite that every backend runs.

mod support;

use std::pin::Pin;
use std::sync::Arc;

use openapi_core::conformance::Backend;
use openapi_core::storage::Storage;
use storage_mongo::MongoStorage;
use support::{Database, wait};

struct Server {
    store: Arc<MongoStorage>,
    database: Database,
}

impl Server {
    fn new() -> Self {
        let database = Database::new();
        Server { store: Arc::new(wait(database.open())), database }
    }
}

impl Backend for Server {
    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.store) as Arc<dyn Storage>
    }

    fn reopen(&mut self) -> bool {
        wait(self.store.close());
        self.store = Arc::new(wait(self.database.open()));
        true
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        wait(future);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        wait(self.store.close());
    }
}

openapi_core::conformance_suite!(Server::new);
