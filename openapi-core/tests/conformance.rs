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

/// The first case that a store fails, beginning with the one that `hint` counts to.
fn caught_by(hint: usize, storage: impl Fn() -> Faulty) -> Option<usize> {
    let fails = |index: &usize| {
        let mut backend = InMemory(Arc::new(storage()));
        catch_unwind(AssertUnwindSafe(|| (CASES[*index].run)(&mut backend))).is_err()
    };
    let is_quick = |index: &usize| !CASES[*index].name.starts_with("random");
    (hint..CASES.len()).chain(0..hint).filter(is_quick).find(fails)
}

#[test]
fn every_planted_fault_is_caught() {
    assert_eq!(caught_by(0, Faulty::sound), None, "the control has no fault");
    std::panic::set_hook(Box::new(|_| {}));
    // Faults that follow each other are caught by cases that stand near each other.
    let mut hint = 0;
    let mut missed = Vec::new();
    for fault in PlantedFault::ALL {
        match caught_by(hint, || Faulty::new(*fault)) {
            Some(case) => hint = case.saturating_sub(3),
            None => missed.push(fault),
        }
    }
    let _ = std::panic::take_hook();
    assert!(PlantedFault::ALL.len() >= 25);
    assert!(missed.is_empty(), "of {} planted faults the suite misses {missed:?}", PlantedFault::ALL.len());
}
