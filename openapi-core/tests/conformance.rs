//! The memory backend passes the suite, and the suite catches every planted fault.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use openapi_core::conformance::{Backend, CASES, Faulty, PlantedFault};
use openapi_core::storage::Storage;
use openapi_core::storage::memory::MemoryStorage;

struct InMemory(Arc<dyn Storage>);

impl Backend for InMemory {
    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.0)
    }

    fn reopen(&mut self) -> bool {
        false
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        pollster::block_on(future);
    }
}

openapi_core::conformance_suite!(|| InMemory(Arc::new(MemoryStorage::new())));

/// The first case that a store fails.
fn caught_by(storage: impl Fn() -> Faulty) -> Option<&'static str> {
    let fails = |case: &&openapi_core::conformance::Case| {
        let mut backend = InMemory(Arc::new(storage()));
        catch_unwind(AssertUnwindSafe(|| (case.run)(&mut backend))).is_err()
    };
    CASES.iter().filter(|case| !case.name.starts_with("random")).find(fails).map(|case| case.name)
}

#[test]
fn every_planted_fault_is_caught() {
    assert_eq!(caught_by(Faulty::sound), None, "the control has no fault");
    std::panic::set_hook(Box::new(|_| {}));
    let missed: Vec<_> =
        PlantedFault::ALL.iter().filter(|fault| caught_by(|| Faulty::new(**fault)).is_none()).collect();
    let _ = std::panic::take_hook();
    assert!(PlantedFault::ALL.len() >= 25);
    assert!(missed.is_empty(), "of {} planted faults the suite misses {missed:?}", PlantedFault::ALL.len());
}
