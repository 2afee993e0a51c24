//! Transfers of agents from and to a store in PostgreSQL.

#[path = "support/chain.rs"]
mod chain;
#[path = "support/moving.rs"]
mod moving;
mod support;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use moving::Target;
use storage_common::transfer::TransferStore;
use storage_postgres::PostgresStorage;
use support::{Database, runtime};
use tokio::runtime::Runtime;

struct Server {
    store: Arc<PostgresStorage>,
    runtime: Runtime,
    _database: Database,
}

impl Server {
    fn new() -> Self {
        let (database, runtime) = (Database::new(), runtime());
        let store = Arc::new(runtime.block_on(database.open()));
        Server { store, runtime, _database: database }
    }
}

impl Target for Server {
    fn store(&self) -> Arc<dyn TransferStore> {
        Arc::clone(&self.store) as Arc<dyn TransferStore>
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        self.runtime.block_on(future);
    }
}

#[test]
fn agents_move_there_and_back() {
    moving::moves_there_and_back(&Server::new());
}

#[test]
fn interrupted_copies_go_on() {
    moving::interrupted_copies_go_on(&Server::new());
}

#[test]
fn the_chain_without_an_agent_moves() {
    let server = Server::new();
    chain::the_chain_without_an_agent_moves(&*server.store, &|work| server.block_on(work));
}

#[test]
fn what_is_in_use_is_refused() {
    moving::what_is_in_use_is_refused(&Server::new());
}

#[test]
fn large_documents_are_stored_whole() {
    moving::chat::large_documents_are_stored_whole(&Server::new());
}

/// `cargo test --release --test transfer -- --ignored --nocapture speed`
#[test]
#[ignore = "a measurement"]
fn speed() {
    moving::speed(&Server::new(), 100_000);
}
