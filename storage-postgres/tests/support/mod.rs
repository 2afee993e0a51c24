//! Shared by the tests: a database that is dropped, and a runtime.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

pub mod proxy;

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use storage_postgres::{PostgresConfig, PostgresStorage};
use tokio::runtime::{Builder, Runtime};

/// A runtime as hosts have it.
pub fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("test support")
}

/// A database of one test.
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    /// A database on the shared server.
    pub fn new() -> Self {
        Database::on(&database_servers::postgres::url())
    }

    /// A database on a server.
    pub fn on(server: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let database =
            Database { server: server.to_owned(), name: format!("storage_{}_{number}", std::process::id()) };
        database.command(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", database.name));
        database.command(&format!("CREATE DATABASE {}", database.name));
        database
    }

    /// Its URL; `parameters` follow a question mark.
    pub fn url(&self, parameters: &str) -> String {
        let (base, _) = self.server.rsplit_once('/').expect("the server's URL names a database");
        format!("{base}/{}?{parameters}", self.name)
    }

    pub fn config(&self) -> PostgresConfig {
        PostgresConfig::from_url(&self.url("")).expect("test support")
    }

    pub async fn open(&self) -> PostgresStorage {
        PostgresStorage::open(self.config()).await.expect("test support")
    }

    /// A plain connection to it.
    pub async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url("")).await.expect("test support")
    }

    /// Runs a statement outside of it.
    fn command(&self, sql: &str) {
        let server = self.server.clone();
        let sql = sql.to_owned();
        // On a separate thread: a test may be inside a runtime when it ends.
        let done = std::thread::spawn(move || {
            apart(async {
                let mut db = PgConnection::connect(&server).await?;
                sqlx::query(AssertSqlSafe(sql)).execute(&mut db).await?;
                db.close().await
            })
        });
        done.join().expect("test support").expect("test support");
    }
}

/// Runs a future on a new runtime.
fn apart<T>(future: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().expect("test support").block_on(future)
}

impl Drop for Database {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.command(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}
