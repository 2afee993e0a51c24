//! Shared by the tests: a separate database on the tests' server.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use conversations::storage::ConversationStorage;
use mongodb::Client;
#[allow(unused_imports, reason = "each test file uses its part")]
pub use storage_common::fixtures::*;
use storage_mongo::{MongoConfig, MongoStorage};
use testkit::conformance::Backend;
use tokio::runtime::Runtime;

/// The runtime of all tests of a process.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime can be made")
    })
}

/// Runs a future to its end.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

/// The URL of a database on a server.
pub fn url_of(server: &str, database: &str) -> String {
    match server.split_once("/?") {
        Some((hosts, options)) => format!("{hosts}/{database}?{options}"),
        None => format!("{}/{database}", server.trim_end_matches('/')),
    }
}

/// A separate database, which is dropped with the value.
pub struct Database {
    pub config: MongoConfig,
    name: String,
}

impl Database {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("openapi_test_{}_{count}", std::process::id());
        let config = MongoConfig::from_url(&url_of(&database_servers::mongo::url(), &name));
        Database { config: config.expect("a URL of a database"), name }
    }

    pub async fn open(&self) -> MongoStorage {
        MongoStorage::open(self.config.clone()).await.expect("the store opens")
    }

    /// The database as the driver sees it.
    pub async fn client(&self) -> (Client, mongodb::Database) {
        let client = Client::with_uri_str(&self.config.url).await.expect("a client");
        let database = client.database(&self.name);
        (client, database)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let url = self.config.url.clone();
        let name = self.name.clone();
        // The caller may be inside a runtime, where nothing may block.
        let dropped = std::thread::spawn(move || {
            wait(async move {
                let client = Client::with_uri_str(&url).await?;
                let dropped = client.database(&name).drop().await;
                client.shutdown().await;
                dropped
            })
        });
        if let Ok(Err(error)) = dropped.join() {
            eprintln!("cannot drop the test's database: {error}");
        }
    }
}

/// A store on a separate database, for the conformance suite.
pub struct Server {
    store: Arc<MongoStorage>,
    database: Database,
}

impl Server {
    pub fn new() -> Self {
        Server::on(Database::new())
    }

    pub fn on(database: Database) -> Self {
        Server { store: Arc::new(wait(database.open())), database }
    }
}

impl Backend for Server {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(&self.store) as Arc<dyn ConversationStorage>
    }

    fn reopen(&mut self) -> bool {
        wait(self.store.close());
        self.store = Arc::new(wait(self.database.open()));
        true
    }

    fn histories(&self) -> u32 {
        20
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
