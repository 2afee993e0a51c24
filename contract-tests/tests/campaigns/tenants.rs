//! An agent's responses do not depend on other agents: they are identical to the byte, headers and ids included.
//!
//! Two agents share a process and a store. Their requests come from the same small domain, so their external ids,
//! email addresses, idempotency keys and file names coincide, and each also uses the other's ids, cursors and tags.
//! Then the second agent's requests run again while the first agent does nothing. Each agent draws ids from its own
//! sequence, so the comparison covers everything. Two resources that agents share by design are separated: each agent
//! has its own address (limits per address), and neither uses the other's signed links, which grant access to anyone.
//!
//! `TENANT_OPERATIONS` sets the number of operations of both agents together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract_tests::sandbox::wait;
use contract_tests::traffic::{Deed, Known, Request, Step, definition, step};
use contract_tests::{Backend, Credentials, FaultyStorage, Reply, Sandbox, SplitMix64};
use openapi_core::access::RateLimits;
use openapi_core::ports::{IdGenerator, SequentialIds};
use storage_common::transfer;
use testkit::conformance::{Faulty, PlantedFault};

use crate::length;

/// Steps per history; each history has its own store, which stays small.
const STEPS: usize = 600;

/// The current agent, which [`Sequences`] uses.
const FIRST: usize = 1;
const SECOND: usize = 2;
/// Maintenance, which affects all agents.
const NOBODY: usize = 0;

/// A separate id sequence for each agent.
#[derive(Default)]
struct Sequences {
    turn: AtomicUsize,
    sequences: [SequentialIds; 3],
}

impl IdGenerator for Sequences {
    fn fill(&self, bytes: &mut [u8]) {
        let turn = self.turn.load(Ordering::SeqCst);
        self.sequences[turn].fill(bytes);
        // The sequences are disjoint.
        bytes.iter_mut().for_each(|byte| *byte ^= [0, 0x55, 0xaa][turn]);
    }
}

/// A planted defect.
#[derive(Clone, Copy, Debug)]
enum Planted {
    Nothing,
    /// A fault of the store.
    Fault(PlantedFault),
    /// The key of a cache of contact schemas lacks the agent.
    SharedSchemas,
    /// Ids come from one sequence.
    SharedIds,
    /// Both agents' requests count against one key.
    SharedLimits,
}

/// An agent and its credentials.
struct Tenant {
    cx: Sandbox,
    /// A key with low limits.
    tight: Credentials,
    address: &'static str,
    known: Known,
}

impl Tenant {
    fn new(cx: Sandbox, address: &'static str) -> Self {
        let limits = RateLimits { per_minute: 8, per_hour: 300 };
        let agent = cx.agent.clone();
        let tight = cx.issue(|key| (key.agent_id, key.limits) = (agent, limits));
        let templates = [("Feedback", "supersede", true), ("Éclair", "keepAll", false)];
        let templates =
            templates.map(|(name, policy, comment)| cx.template(&definition(name, policy, comment)));
        Tenant { cx, tight, address, known: Known::of(templates.to_vec()) }
    }

    fn ask(&self, request: &Request, is_tight: bool) -> Reply {
        let call = request.call(&self.cx).from(self.address);
        let has_key = !request.path.starts_with("//");
        wait(if is_tight && has_key { call.with(&self.tight) } else { call }.answer())
    }
}

/// Both agents in one process.
struct World {
    tenants: [Tenant; 2],
    ids: Arc<Sequences>,
    planted: Planted,
}

/// A step of the second agent, and its response.
enum Event {
    Wait(i64),
    Maintain,
    Asked(Request, bool, Box<Reply>),
    Performed(Deed, String),
}

impl World {
    fn new(planted: Planted) -> Self {
        let mut store = Backend::Memory.open();
        match planted {
            Planted::Fault(fault) => store = store.through(Arc::new(Faulty::new(fault))),
            Planted::SharedSchemas => {
                let shared = FaultyStorage::new(Arc::clone(&store.storage));
                shared.share_schemas();
                store = store.through(shared);
            }
            _ => {}
        }
        let cx = Sandbox::on(store, |_| {});
        let ids = Arc::new(Sequences::default());
        let mut ports = cx.ports();
        ports.ids = Arc::clone(&ids) as Arc<dyn IdGenerator>;
        let cx = cx.rebuilt(ports, |files| files.max_bytes_of_agent = Some(300));
        let other = cx.of_agent("second");
        let mut tenants = [Tenant::new(cx, "192.0.2.1"), Tenant::new(other, "192.0.2.2")];
        if matches!(planted, Planted::SharedLimits) {
            // Both agents use the same key.
            tenants[0].tight = tenants[1].tight.clone();
        }
        World { tenants, ids, planted }
    }

    fn turn(&self, whose: usize) {
        let turn = if matches!(self.planted, Planted::SharedIds) { NOBODY } else { whose };
        self.ids.turn.store(turn, Ordering::SeqCst);
    }

    fn wait(&self, millis: i64) {
        self.tenants[0].cx.advance(millis);
    }

    fn maintain(&self) {
        self.turn(NOBODY);
        let _ = Deed::Maintain.perform(&self.tenants[1].cx);
    }

    fn ask(&self, whose: usize, request: &Request, is_tight: bool) -> Reply {
        self.turn(whose);
        self.tenants[whose - 1].ask(request, is_tight)
    }

    fn perform(&self, whose: usize, deed: &Deed) -> String {
        self.turn(whose);
        deed.perform(&self.tenants[whose - 1].cx)
    }

    /// All stored data of the second agent.
    fn digest(&self) -> transfer::AgentDigest {
        let cx = &self.tenants[1].cx;
        wait(transfer::digest(&*cx.store.moves(), &cx.agent)).expect("a digest")
    }
}

/// Runs a history of both agents; returns what the second one saw, and the number of operations.
fn together(world: &mut World, seed: u64) -> (Vec<Event>, u64) {
    let mut random = SplitMix64(seed);
    let (mut events, mut operations) = (Vec::new(), 0);
    for _ in 0..STEPS {
        world.wait(400);
        events.push(Event::Wait(400));
        let whose = if random.one_in(2) { FIRST } else { SECOND };
        let tenant = if random.one_in(4) { 2 - whose } else { whose - 1 };
        let known = &world.tenants[tenant].known;
        let next = if tenant == whose - 1 {
            step(random.next_u64(), known)
        } else {
            step(random.next_u64(), &known.without_links())
        };
        let is_tight = random.one_in(5);
        match next {
            Step::Wait(millis) => {
                world.wait(millis);
                events.push(Event::Wait(millis));
            }
            Step::Operator(Deed::Maintain) => {
                world.maintain();
                events.push(Event::Maintain);
            }
            Step::Operator(deed) => {
                operations += 1;
                let result = world.perform(whose, &deed);
                if whose == SECOND {
                    events.push(Event::Performed(deed, result));
                }
            }
            Step::Request(request) => {
                operations += 1;
                let reply = world.ask(whose, &request, is_tight);
                world.tenants[whose - 1].known.learn(&request, &reply);
                if whose == SECOND {
                    events.push(Event::Asked(request, is_tight, Box::new(reply)));
                }
            }
        }
    }
    (events, operations)
}

/// Runs the second agent's part of a history alone; returns the number of equal responses, or the first difference.
fn alone(world: &World, events: &[Event]) -> Result<u64, String> {
    let mut answers = 0;
    for event in events {
        match event {
            Event::Wait(millis) => world.wait(*millis),
            Event::Maintain => world.maintain(),
            Event::Performed(deed, expected) => {
                answers += 1;
                let result = world.perform(SECOND, deed);
                if result != *expected {
                    return Err(format!("{deed:?}\ntogether: {expected}\nalone: {result}"));
                }
            }
            Event::Asked(request, is_tight, expected) => {
                answers += 1;
                let reply = world.ask(SECOND, request, *is_tight);
                if (reply.status, &reply.headers, &reply.bytes)
                    != (expected.status, &expected.headers, &expected.bytes)
                {
                    let shown =
                        |reply: &Reply| format!("{} {:?}\n{}", reply.status, reply.headers, reply.text);
                    return Err(format!(
                        "{request:?}\ntogether: {}\nalone: {}",
                        shown(expected),
                        shown(&reply)
                    ));
                }
            }
        }
    }
    Ok(answers)
}

/// Runs histories of two agents; returns the number of operations and of compared responses.
fn compare(planted: Planted, wanted: u64) -> Result<(u64, u64), String> {
    let (mut operations, mut answers) = (0, 0);
    for number in 0.. {
        if operations >= wanted {
            break;
        }
        let at = |message: String| format!("history {number}: {message}");
        let mut both = World::new(planted);
        let (events, count) = together(&mut both, number);
        let one = World::new(planted);
        answers += alone(&one, &events).map_err(at)?;
        operations += count;
        // Expired contents are removed by whichever operation comes first, such as a purge of the other agent.
        both.maintain();
        one.maintain();
        let different = both.digest().differences(&one.digest());
        if !different.is_empty() {
            return Err(at(format!("the store holds other records of the second agent: {different:?}")));
        }
    }
    Ok((operations, answers))
}

#[test]
fn responses_do_not_depend_on_another_agent() {
    let wanted = length("TENANT_OPERATIONS", 5_000);
    let (operations, answers) =
        compare(Planted::Nothing, wanted).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{operations} operations of two agents, {answers} answers compared, 0 differences");
    assert!(answers > operations / 3);
}

#[test]
fn planted_leaks_are_detected() {
    let faults = [
        PlantedFault::IdCrossesAgents,
        PlantedFault::ListCrossesAgents,
        PlantedFault::TemplateCrossesAgents,
        PlantedFault::SubmissionCrossesAgents,
        PlantedFault::CreditsCrossAgents,
    ];
    let faults = faults.map(Planted::Fault);
    let mut missed = Vec::new();
    for planted in
        faults.into_iter().chain([Planted::SharedSchemas, Planted::SharedIds, Planted::SharedLimits])
    {
        let seen = compare(planted, 12_000).is_err();
        println!("{planted:?}: {seen}");
        missed.extend((!seen).then_some(planted));
    }
    assert!(missed.is_empty(), "not seen: {missed:?}");
}
