//! Through PgBouncer in transaction mode, where every transaction may have another session.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod support;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use database_servers::pooler::Pooler;
use openapi_core::storage::{AgentStore, StorageErrorKind};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use storage_common::fixtures::{agent_id, insert_agent};
use storage_postgres::{OpenError, PostgresConfig, PostgresStorage};
use support::{Database, runtime};
use testkit::conformance::Backend;
use tokio::runtime::Runtime;

/// A database, and a pooler in front of its server.
struct Pooled {
    store: Arc<PostgresStorage>,
    runtime: Runtime,
    url: String,
    _pooler: Pooler,
    _database: Database,
}

fn pooler(settings: &str) -> (Database, Pooler, String) {
    let database = Database::new();
    let pooler = Pooler::start(&database_servers::postgres::url(), settings);
    let direct: url::Url = database.url("").parse().unwrap();
    let url = pooler.url(direct.path().trim_start_matches('/'));
    (database, pooler, url)
}

fn open(runtime: &Runtime, url: &str) -> Result<PostgresStorage, OpenError> {
    runtime.block_on(PostgresStorage::open(PostgresConfig::from_url(url).unwrap()))
}

impl Pooled {
    fn new() -> Self {
        let (database, pooler, url) = pooler("");
        let (runtime, url) = (runtime(), format!("{url}?pooler=transaction"));
        let store = Arc::new(open(&runtime, &url).unwrap());
        Pooled { store, runtime, url, _pooler: pooler, _database: database }
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.runtime.block_on(self.store.close());
    }
}

impl Backend for Pooled {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(&self.store) as Arc<dyn ConversationStorage>
    }

    fn reopen(&mut self) -> bool {
        self.runtime.block_on(self.store.close());
        self.store = Arc::new(open(&self.runtime, &self.url).unwrap());
        true
    }

    fn histories(&self) -> u32 {
        4
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        self.runtime.block_on(future);
    }
}

testkit::conformance_suite!(Pooled::new);

#[test]
fn stores_share_sessions_with_each_other_and_with_other_programs() {
    let pooled = Pooled::new();
    let runtime = &pooled.runtime;
    let other = open(runtime, &pooled.url).unwrap();
    runtime.block_on(async {
        insert_agent(&*pooled.store, &agent_id("a")).await;
        // Another program leaves its own settings in the sessions.
        let options: PgConnectOptions = pooled.url.split('?').next().unwrap().parse().unwrap();
        let options = options.extra_float_digits(None);
        for _ in 0..3 {
            let mut program = PgConnection::connect_with(&options).await.unwrap();
            let own = "SET search_path = pg_catalog; SET statement_timeout = 1";
            sqlx::raw_sql(own).execute(&mut program).await.unwrap();
        }
        let mut reads = tokio::task::JoinSet::new();
        let other = Arc::new(other);
        for number in 0..200 {
            let store = if number % 2 == 0 { Arc::clone(&pooled.store) } else { Arc::clone(&other) };
            reads.spawn(async move { store.agent(&agent_id("a")).await.unwrap().is_some() });
        }
        while let Some(found) = reads.join_next().await {
            assert!(found.unwrap());
        }
        other.close().await;
    });
}

#[test]
fn a_pooler_is_detected_and_the_error_names_the_setting() {
    // As Debian configures it.
    let (_database, _pooler, url) = pooler("");
    let runtime = runtime();
    let error = open(&runtime, &url).unwrap_err();
    assert!(matches!(error, OpenError::Pooler { .. }), "{error}");
    assert!(error.to_string().contains("add the parameter pooler=transaction"), "{error}");

    // As clients of other drivers need it.
    let (_database, _pooler, url) = pooler("ignore_startup_parameters = extra_float_digits");
    let found = (0..50).find_map(|_| {
        let stores: Vec<_> = (0..2).map(|_| open(&runtime, &url)).collect();
        for store in stores {
            match store {
                Err(error) => return Some(error.to_string()),
                Ok(store) => {
                    let read = runtime.block_on(async {
                        let reads: Vec<_> =
                            (0..8).map(|_| async { store.agent(&agent_id("a")).await.map(drop) }).collect();
                        let mut failed = None;
                        for read in reads {
                            failed = failed.or(read.await.err());
                        }
                        store.close().await;
                        failed
                    });
                    if let Some(error) = read {
                        assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error}");
                        return Some(format!("{error:?}"));
                    }
                }
            }
        }
        None
    });
    let found = found.expect("a statement that another store has prepared is noticed");
    assert!(found.contains("pooler=transaction") || found.contains("prepared statement"), "{found}");
}
