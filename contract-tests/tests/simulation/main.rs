//! A simulation of the whole service in one process: servers on one store, clients of the Open API, visitors and an
//! operator, with lost messages, crashes, outages of the store and acknowledgements that get lost. One seed decides
//! everything, so a seed that fails can be run again:
//!
//! `SIMULATION_FIRST=17 SIMULATION_SEEDS=1 cargo test -p contract-tests --test simulation every_seed`

#![expect(clippy::expect_used, clippy::panic, reason = "a test ends at the first surprise")]

mod checks;
mod clients;
mod disk;
mod executor;
mod files;
mod keys;
mod operator;
mod planted;
mod responder;
mod service;
mod tenant;
mod visitors;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(feature = "stores")]
use contract_tests::Backend;
use contract_tests::sandbox::{START, instant};
use conversations::storage::ConversationStorage;
use openapi_core::values::Timestamp;
use parking_lot::Mutex;
use storage_memory::MemoryStorage;

use executor::{OUTSIDE, Simulation};
use service::Service;
use tenant::Tenant;
use visitors::{Seen, Visitor};

/// When crashes and faults end, in milliseconds after the start.
pub const QUIET_FROM: i64 = 90_000;

/// How long the simulation goes on after the last client, in milliseconds. Credits of a crashed process stay reserved for
/// a day after its turn has expired.
const AFTERMATH: i64 = 2 * 86_400_000;

const TENANTS: usize = 2;
const CLIENTS: usize = 2;
const VISITORS: usize = 3;

/// The start of the simulated clock.
pub fn start() -> Timestamp {
    instant(START)
}

/// Runs one seed and returns its transcript.
///
/// # Panics
/// When an invariant does not hold.
fn run(seed: u64, storage: Arc<dyn ConversationStorage>, servers: usize) -> Vec<String> {
    let simulation = Simulation::new(seed, start());
    let outcome = catch_unwind(AssertUnwindSafe(|| simulate(&simulation, storage, servers)));
    let transcript = simulation.transcript();
    if let Err(panic) = outcome {
        let last = transcript.len().saturating_sub(25);
        eprintln!("seed {seed} fails after:\n{}", transcript[last..].join("\n"));
        std::panic::resume_unwind(panic);
    }
    transcript
}

fn simulate(simulation: &Simulation, storage: Arc<dyn ConversationStorage>, servers: usize) {
    let service = Service::new(simulation, storage, servers);
    let tenants = tenants(&service);
    let (until, left) = (start().millis() + QUIET_FROM + 30_000, Arc::new(AtomicUsize::new(0)));
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let begin = |task: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| {
        left.fetch_add(1, Ordering::Relaxed);
        let left = Arc::clone(&left);
        simulation.start(OUTSIDE, async move {
            task.await;
            left.fetch_sub(1, Ordering::Relaxed);
        });
    };
    for (tenant_number, tenant) in tenants.iter().enumerate() {
        for number in 0..CLIENTS {
            let (service, tenant) = (Arc::clone(&service), Arc::clone(tenant));
            let other = Arc::clone(&tenants[(tenant_number + 1) % TENANTS]);
            begin(Box::pin(
                clients::Client { service, tenant, other, number, own: Vec::new(), creations: Vec::new() }
                    .run(until),
            ));
        }
        for number in 0..VISITORS {
            let (service, tenant, seen) = (Arc::clone(&service), Arc::clone(tenant), Arc::clone(&seen));
            begin(Box::pin(Visitor { service, tenant, tenant_number, number, seen }.run()));
        }
        let (service, tenant) = (Arc::clone(&service), Arc::clone(tenant));
        begin(Box::pin(operator::Operator { service, tenant }.run(start().millis() + QUIET_FROM)));
    }
    begin(Box::pin(service::chaos(Arc::clone(&service), start().millis() + QUIET_FROM)));
    simulation.run_until(|| left.load(Ordering::Relaxed) == 0);
    // Leases and reservations of crashed processes expire.
    let end = simulation.now() + AFTERMATH;
    let clock = simulation.clone();
    simulation.start(OUTSIDE, async move { clock.sleep(AFTERMATH as u64).await });
    simulation.run_until(|| simulation.now() >= end);
    check(&service, &tenants, &seen.lock());
}

fn tenants(service: &Arc<Service>) -> Vec<Arc<Tenant>> {
    let made: Arc<Mutex<Vec<Arc<Tenant>>>> = Arc::default();
    for number in 0..TENANTS {
        let (service, into) = (Arc::clone(service), Arc::clone(&made));
        service.simulation.clone().start(OUTSIDE, async move {
            let tenant = service.on_server(|server| Tenant::create(server, number, CLIENTS)).await;
            into.lock().push(tenant.expect("nothing fails yet"));
        });
    }
    service.simulation.run_until(|| made.lock().len() == TENANTS);
    let mut tenants = made.lock().clone();
    tenants.sort_by(|one, other| one.agent.cmp(&other.agent));
    tenants
}

fn check(service: &Arc<Service>, tenants: &[Arc<Tenant>], seen: &[Seen]) {
    let done = Arc::new(AtomicUsize::new(0));
    let server = service.running().expect("a server runs");
    for tenant in tenants {
        checks::limits(tenant);
    }
    let of_checks = Arc::clone(service);
    let (tenants, seen, used) = (tenants.to_vec(), seen.to_vec(), Arc::clone(&service.used));
    let of_task = Arc::clone(&done);
    service.simulation.start(OUTSIDE, async move {
        for tenant in &tenants {
            checks::contacts(Arc::clone(&server), tenant).await;
            checks::counter(Arc::clone(&server), tenant).await;
            checks::audit(Arc::clone(&server), tenant).await;
            let used = used.lock().get(&tenant.agent).copied().unwrap_or(0);
            checks::credits(Arc::clone(&server), tenant, used).await;
        }
        for seen in &seen {
            checks::conversation(Arc::clone(&server), &tenants[seen.tenant], seen).await;
            let other = &tenants[(seen.tenant + 1) % TENANTS];
            checks::foreign_conversation(Arc::clone(&server), other, seen).await;
        }
        checks::chains(server).await;
        checks::exact_limits(of_checks, &tenants).await;
        of_task.store(1, Ordering::Relaxed);
    });
    service.simulation.run_until(|| done.load(Ordering::Relaxed) == 1);
}

#[expect(clippy::disallowed_methods, reason = "seeds of a campaign")]
fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

fn in_memory() -> Arc<dyn ConversationStorage> {
    Arc::new(MemoryStorage::new())
}

#[test]
fn every_seed_keeps_the_invariants() {
    let first = number("SIMULATION_FIRST", 1);
    for seed in first..first + number("SIMULATION_SEEDS", 200) {
        run(seed, in_memory(), 2);
    }
}

#[test]
fn a_seed_has_one_transcript() {
    for seed in 1..=5 {
        let transcript = run(seed, in_memory(), 2);
        assert!(transcript.len() > 100, "{}", transcript.len());
        let again = run(seed, in_memory(), 2);
        let differs = transcript.iter().zip(&again).position(|(one, other)| one != other);
        if let Some(at) = differs {
            let from = at.saturating_sub(10);
            panic!(
                "seed {seed}:\n{}\nagain:\n{}",
                transcript[from..=at].join("\n"),
                again[from..=at].join("\n")
            );
        }
        assert_eq!(transcript.len(), again.len());
    }
    assert_ne!(run(1, in_memory(), 2), run(2, in_memory(), 2));
}

#[cfg(feature = "stores")]
#[test]
fn every_seed_keeps_the_invariants_on_sqlite() {
    let first = number("SIMULATION_FIRST", 1);
    for seed in first..first + number("SIMULATION_SEEDS", 20).min(1_000) {
        let store = Backend::Sqlite.open();
        run(seed, Arc::clone(&store.storage), 1);
    }
}
