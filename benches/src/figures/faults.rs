//! `faults`: the conformance suite catches every planted fault.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use storage_common::transfer::TransferStore;
use storage_memory::MemoryStorage;
use testkit::conformance::{Backend, CASES, PlantedFault, missed_faults};

use crate::report::{Measured, Reach, Report};

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

pub(super) fn run() -> Measured {
    let open = || {
        let store = Arc::new(MemoryStorage::new());
        (InMemory(Arc::clone(&store) as Arc<dyn ConversationStorage>), store as Arc<dyn TransferStore>)
    };
    let missed = missed_faults(open, PlantedFault::ALL);
    let caught = PlantedFault::ALL.len() - missed.len();
    let mut report = Report::new("faults");
    report.condition(format!(
        "{} cases against the in-memory backend with one planted fault at a time",
        CASES.len()
    ));
    for fault in &missed {
        report.condition(format!("missed: {fault:?}"));
    }
    report.detail("planted faults", PlantedFault::ALL.len() as f64, "");
    report.figure(
        format!("planted faults caught, of {}", PlantedFault::ALL.len()),
        caught as f64,
        "",
        Reach::AtLeast(PlantedFault::ALL.len() as f64),
    );
    Ok(report)
}
