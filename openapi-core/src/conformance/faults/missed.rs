//! Running the suite against planted faults.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use super::{Faulty, PlantedFault};
use crate::conformance::{Backend, CASES, Case};
use crate::storage::{Storage, TransferStore};

/// A backend seen through a fault. What outlives a restart is another matter: faults are not written down.
struct Seen<'b> {
    backend: &'b dyn Backend,
    store: Arc<Faulty>,
}

impl Backend for Seen<'_> {
    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.store) as Arc<dyn Storage>
    }

    fn reopen(&mut self) -> bool {
        false
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        self.backend.block_on(future);
    }
}

/// The faults that the suite does not catch when they are planted into a backend; of `open`, which makes one with an
/// empty store, and that store.
///
/// # Panics
/// When a case fails without a fault: the backend, or the suite itself, is broken.
pub fn missed_faults<B: Backend>(
    open: impl Fn() -> (B, Arc<dyn TransferStore>),
    faults: &[PlantedFault],
) -> Vec<PlantedFault> {
    let run = |case: &Case, fault: Option<PlantedFault>| {
        let (backend, store) = open();
        let mut seen = Seen { backend: &backend, store: Arc::new(Faulty::over(store, fault)) };
        (case.run)(&mut seen);
    };
    // Random histories take longest, and find nothing that a case does not.
    let cases: Vec<&Case> = CASES.iter().filter(|case| !case.name.starts_with("random")).collect();
    cases.iter().for_each(|case| run(case, None));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    // Faults that follow each other are caught by cases that stand near each other.
    let mut near = 0;
    let mut missed = Vec::new();
    for fault in faults {
        let fails =
            |index: &usize| catch_unwind(AssertUnwindSafe(|| run(cases[*index], Some(*fault)))).is_err();
        match (near..cases.len()).chain(0..near).find(fails) {
            Some(index) => near = index.saturating_sub(3),
            None => missed.push(*fault),
        }
    }
    std::panic::set_hook(hook);
    missed
}
