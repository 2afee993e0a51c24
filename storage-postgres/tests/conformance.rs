//! The suite that every backend runs.

mod support;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use storage_postgres::PostgresStorage;
use support::{Database, runtime};
use testkit::conformance::Backend;
use tokio::runtime::Runtime;

struct Server {
    store: Arc<PostgresStorage>,
    runtime: Runtime,
    database: Database,
}

impl Server {
    fn new() -> Self {
        let (database, runtime) = (Database::new(), runtime());
        let store = Arc::new(runtime.block_on(database.open()));
        Server { store, runtime, database }
    }
}

impl Backend for Server {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(&self.store) as Arc<dyn ConversationStorage>
    }

    fn reopen(&mut self) -> bool {
        self.runtime.block_on(self.store.close());
        self.store = Arc::new(self.runtime.block_on(self.database.open()));
        true
    }

    fn histories(&self) -> u32 {
        20
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        self.runtime.block_on(future);
    }
}

testkit::conformance_suite!(Server::new);
