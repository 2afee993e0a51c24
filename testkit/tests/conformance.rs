//! The in-memory store passes the suite, and the suite catches every planted fault.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use storage_common::transfer::TransferStore;
use storage_memory::MemoryStorage;
use testkit::conformance::{Backend, PlantedFault, missed_faults};

struct InMemory(Arc<dyn ConversationStorage>);

impl Backend for InMemory {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(&self.0)
    }

    fn reopen(&mut self) -> bool {
        false
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        pollster::block_on(future);
    }
}

testkit::conformance_suite!(|| InMemory(Arc::new(MemoryStorage::new())));

#[test]
fn every_planted_fault_is_caught() {
    let open = || {
        let store = Arc::new(MemoryStorage::new());
        (InMemory(Arc::clone(&store) as Arc<dyn ConversationStorage>), store as Arc<dyn TransferStore>)
    };
    let missed = missed_faults(open, PlantedFault::ALL);
    assert!(missed.is_empty(), "of {} planted faults the suite misses {missed:?}", PlantedFault::ALL.len());
}
