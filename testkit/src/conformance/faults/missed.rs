//! Running the suite against planted faults.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use super::{Faulty, PlantedFault};
use crate::conformance::{Backend, CASES, Case};
use conversations::storage::ConversationStorage;
use storage_common::transfer::TransferStore;
use storage_memory::MemoryStorage;

/// A store with a planted fault. It ignores restarts, because faults are not persistent.
struct Seen<'b> {
    backend: &'b dyn Backend,
    store: Arc<Faulty>,
}

impl Backend for Seen<'_> {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(&self.store) as Arc<dyn ConversationStorage>
    }

    fn reopen(&mut self) -> bool {
        false
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        self.backend.block_on(future);
    }
}

/// Returns the faults that the suite misses when they are planted into a store. `open` makes one with an empty store
/// and returns that store. A case catches a fault only if it passes without the fault.
///
/// The case that catches a fault in memory, where that is fast to find, runs first.
///
/// # Panics
/// If a case fails in memory without a fault: then the suite itself is broken.
pub fn missed_faults<B: Backend>(
    open: impl Fn() -> (B, Arc<dyn TransferStore>),
    faults: &[PlantedFault],
) -> Vec<PlantedFault> {
    // Random histories are the slowest and find nothing that a case does not.
    let cases: Vec<&Case> = CASES.iter().filter(|case| !case.name.starts_with("random")).collect();
    for case in &cases {
        let store = Arc::new(MemoryStorage::new());
        let in_memory = InMemory(Arc::clone(&store) as Arc<dyn ConversationStorage>);
        assert!(!fails(case, &in_memory, store, None), "{} fails without a fault", case.name);
    }
    // Neighbouring cases catch neighbouring faults.
    let mut near = 0;
    let mut missed = Vec::new();
    for fault in faults {
        let in_memory = |index: &usize| {
            let store = Arc::new(MemoryStorage::new());
            fails(
                cases[*index],
                &InMemory(Arc::clone(&store) as Arc<dyn ConversationStorage>),
                store,
                Some(*fault),
            )
        };
        let known = (near..cases.len()).chain(0..near).find(in_memory);
        near = known.map_or(near, |index| index.saturating_sub(3));
        let catches = |index: &usize| {
            let with = |fault| {
                let (backend, store) = open();
                fails(cases[*index], &backend, store, fault)
            };
            with(Some(*fault)) && !with(None)
        };
        if known.into_iter().chain(0..cases.len()).find(catches).is_none() {
            missed.push(*fault);
        }
    }
    missed
}

/// Whether a case fails. Its panics are silenced; panics outside of it, such as in `open`, are reported.
#[expect(
    clippy::disallowed_methods,
    reason = "a suite is run by a test, whose panics are what is looked for"
)]
fn fails(
    case: &Case,
    backend: &dyn Backend,
    store: Arc<dyn TransferStore>,
    fault: Option<PlantedFault>,
) -> bool {
    let mut seen = Seen { backend, store: Arc::new(Faulty::over(store, fault)) };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let failed = catch_unwind(AssertUnwindSafe(|| (case.run)(&mut seen))).is_err();
    std::panic::set_hook(hook);
    failed
}

struct InMemory(Arc<dyn ConversationStorage>);

impl Backend for InMemory {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(&self.0)
    }

    fn reopen(&mut self) -> bool {
        false
    }

    fn block_on<'a>(&self, mut future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        // The in-memory store waits only for its own locks, so it is ready when polled again.
        let mut context = Context::from_waker(Waker::noop());
        while future.as_mut().poll(&mut context).is_pending() {
            std::thread::yield_now();
        }
    }
}
