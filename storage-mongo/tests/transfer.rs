//! Transfers of agents from and to a store in MongoDB.

mod support;
// What every store must pass that agents can be moved to; it knows none.
#[path = "../../storage-postgres/tests/support/chain.rs"]
mod chain;
#[path = "../../storage-postgres/tests/support/moving.rs"]
mod moving;

use std::pin::Pin;
use std::sync::Arc;

use moving::Target;
use storage_common::transfer::TransferStore;
use storage_mongo::MongoStorage;
use support::{Database, wait};

struct Server {
    store: Arc<MongoStorage>,
    _database: Database,
}

impl Server {
    fn new() -> Self {
        let database = Database::new();
        Server { store: Arc::new(wait(database.open())), _database: database }
    }
}

impl Target for Server {
    fn store(&self) -> Arc<dyn TransferStore> {
        Arc::clone(&self.store) as Arc<dyn TransferStore>
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
