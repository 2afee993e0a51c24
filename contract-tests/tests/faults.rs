//! The conformance suite catches every planted fault on every engine.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use contract_tests::Backend;
use contract_tests::backend::{Store, wait};
use conversations::storage::ConversationStorage;
use testkit::conformance::{self, PlantedFault, missed_faults};

struct Engine(Store);

impl conformance::Backend for Engine {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(&self.0.storage)
    }

    fn reopen(&mut self) -> bool {
        false
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        wait(future);
    }
}

/// Plants every fault, or every `step`th for a shorter run.
fn plant(backend: Backend, step: usize) {
    let open = || {
        let store = backend.open();
        let moves = store.moves();
        (Engine(store), moves)
    };
    let faults: Vec<PlantedFault> = PlantedFault::ALL.iter().copied().step_by(step).collect();
    let missed = missed_faults(open, &faults);
    println!("{} of {} planted faults caught on {backend:?}", faults.len() - missed.len(), faults.len());
    assert!(missed.is_empty(), "missed on {backend:?}: {missed:?}");
}

#[test]
fn some_faults_are_caught_on_sqlite() {
    plant(Backend::Sqlite, 9);
}

#[test]
#[ignore = "a minute for each engine: `cargo run -p database-servers -- cargo test -p contract-tests --test faults -- --ignored`"]
fn every_fault_is_caught_on_sqlite() {
    plant(Backend::Sqlite, 1);
}

#[test]
#[ignore = "minutes"]
fn every_fault_is_caught_on_postgres() {
    plant(Backend::Postgres, 1);
}

#[test]
#[ignore = "minutes"]
fn every_fault_is_caught_on_mongo() {
    plant(Backend::Mongo, 1);
}
