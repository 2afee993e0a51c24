//! `engine-gets`, `postgres-creates`, `engine-lists`: the service on PostgreSQL and MongoDB against the engines
//! themselves.

mod creates;
mod gets;
mod lists;

use std::path::Path;
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use database_servers::{mongo, postgres};
use storage_common::transfer;
use storage_common::transfer::{Step, TransferKind, TransferStore};
use storage_mongo::{MongoConfig, MongoStorage};
use storage_postgres::{PostgresConfig, PostgresStorage};
use storage_sqlite::{SqliteConfig, SqliteStorage};

pub(super) use creates::creates;
pub(super) use gets::gets;
pub(super) use lists::lists;

use crate::data;
use crate::report::Failure;
use crate::servers::Server;
use crate::world::{Credentials, Host, SERVER_KEY_HEX};

/// Contacts copied between two progress messages.
const REPORT_INTERVAL: u64 = 50_000;

/// Requests per key, below the 1,000 allowed in a minute.
const REQUESTS_OF_A_KEY: u32 = 960;

/// An opened store: for the service, and for transfers.
pub(super) struct Opened {
    pub(super) storage: Arc<dyn ConversationStorage>,
    moves: Arc<dyn TransferStore>,
}

impl Opened {
    fn of<S: TransferStore + 'static>(store: S) -> Self {
        let store = Arc::new(store);
        Opened { storage: store.clone(), moves: store }
    }

    pub(super) async fn postgres(url: &str) -> Result<Self, Failure> {
        Ok(Opened::of(PostgresStorage::open(PostgresConfig::from_url(url)?).await?))
    }

    pub(super) async fn mongo(url: &str) -> Result<Self, Failure> {
        Ok(Opened::of(MongoStorage::open(MongoConfig::from_url(url)?).await?))
    }

    fn host(&self) -> Result<Host, Failure> {
        Host::new(Arc::clone(&self.storage))
    }

    /// Copies the benchmark agent with this many contacts.
    async fn fill(&self, contacts: u64) -> Result<(), Failure> {
        eprintln!("copying {contacts} contacts");
        // The builder has its own runtime.
        let file = tokio::task::spawn_blocking(move || data::with_contacts(contacts)).await??;
        let source = SqliteStorage::open(SqliteConfig::new(file))?;
        let agents = source.agents_after(None, 2).await?;
        let [agent] = agents.as_slice() else {
            return Err("a database of the benchmarks has one agent".into());
        };
        let mut copied = 0;
        let mut tell = |step| match step {
            Step::Records(TransferKind::Contact, records) => {
                let before = copied;
                copied += records;
                if copied / REPORT_INTERVAL > before / REPORT_INTERVAL {
                    eprintln!("  {copied} of {contacts} contacts");
                }
            }
            Step::Comparing => eprintln!("  comparing"),
            _ => {}
        };
        transfer::copy_agent(&source, &*self.moves, agent, None, &mut tell).await?;
        Ok(())
    }

    async fn keys(&self, count: usize) -> Result<Vec<Credentials>, Failure> {
        let host = Arc::new(self.host()?);
        host.keys(&data::agent()?, count).await
    }
}

/// A PostgreSQL server with durable commits, unlike test servers.
pub(super) fn durable_postgres() -> postgres::Server {
    postgres::Server::with_settings(&["fsync=on", "synchronous_commit=on", "full_page_writes=on"])
}

/// A MongoDB server, and the URL of a database on it.
pub(super) fn single_mongo() -> (mongo::ReplicaSet, String) {
    let server = mongo::ReplicaSet::with_cache(1, "1");
    let url = server.url().replace("/?", "/openapi?");
    (server, url)
}

/// The service on a store.
fn serve(binary: &Path, store: &str) -> Result<Server, Failure> {
    let settings =
        [("OPENAPI_STORE", store), ("OPENAPI_SERVER_KEY", SERVER_KEY_HEX), ("OPENAPI_BLOBS", "memory:")];
    Server::with_settings(binary, &settings)
}
