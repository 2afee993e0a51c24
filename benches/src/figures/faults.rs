//! `faults`: the conformance suite catches every planted fault.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use openapi_core::conformance::{Backend, CASES, Case, Faulty, PlantedFault};
use openapi_core::storage::Storage;

use crate::report::{Measured, Reach, Report};

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

/// The first case that fails on a store.
fn first_failure(store: impl Fn() -> Faulty) -> Option<&'static str> {
    let fails = |case: &&Case| {
        let mut backend = InMemory(Arc::new(store()));
        catch_unwind(AssertUnwindSafe(|| (case.run)(&mut backend))).is_err()
    };
    // Random histories take longest.
    let (last, first): (Vec<_>, Vec<_>) = CASES.iter().partition(|case| case.name.starts_with("random"));
    first.into_iter().chain(last).find(fails).map(|case| case.name)
}

pub(super) fn run() -> Measured {
    if let Some(case) = first_failure(Faulty::sound) {
        return Err(
            format!("the case {case} fails on a store without a fault; the suite itself is broken").into()
        );
    }
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let (caught, missed): (Vec<PlantedFault>, Vec<PlantedFault>) =
        PlantedFault::ALL.iter().partition(|fault| first_failure(|| Faulty::new(**fault)).is_some());
    std::panic::set_hook(hook);
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
        caught.len() as f64,
        "",
        Reach::AtLeast(PlantedFault::ALL.len() as f64),
    );
    Ok(report)
}
