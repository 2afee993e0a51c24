//! What an agent is answered does not depend on what another agent does: to the byte, headers and ids included.
//!
//! Two agents live in one process over one store, with requests of the same small world, so that their external ids,
//! e-mail addresses, idempotency keys and file names are the same ones, and each asks for the other's ids, cursors and
//! tags too. Then everything that the second one asked is asked again where the first one does nothing. Each agent's ids
//! come from a sequence of its own, so that nothing has to be left out of the comparison. What agents share by design is
//! kept apart: each has an address of its own (limits per address), and nobody uses the other's signed links, which let
//! in whoever has one.
//!
//! `TENANT_OPERATIONS` sets how many operations both agents do together.

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

/// How many steps a history has: a store of its own for each keeps one small.
const STEPS: usize = 600;

/// Whose turn it is, as [`Sequences`] count.
const FIRST: usize = 1;
const SECOND: usize = 2;
/// Maintenance, which is for all.
const NOBODY: usize = 0;

/// A sequence of ids for each agent.
#[derive(Default)]
struct Sequences {
    turn: AtomicUsize,
    sequences: [SequentialIds; 3],
}

impl IdGenerator for Sequences {
    fn fill(&self, bytes: &mut [u8]) {
        let turn = self.turn.load(Ordering::SeqCst);
        self.sequences[turn].fill(bytes);
        // No id of one sequence is one of another's.
        bytes.iter_mut().for_each(|byte| *byte ^= [0, 0x55, 0xaa][turn]);
    }
}

/// What is wrong on purpose.
#[derive(Clone, Copy, Debug)]
enum Planted {
    Nothing,
    /// A fault of the store.
    Fault(PlantedFault),
    /// The key of a cache of contact schemas lacks the agent.
    SharedSchemas,
    /// Ids are drawn from one sequence.
    SharedIds,
    /// Both agents' requests count for one key.
    SharedLimits,
}

/// One agent as it calls.
struct Tenant {
    cx: Sandbox,
    /// A key of low limits.
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

/// What happens to the second agent, and what it is told.
enum Event {
    Wait(i64),
    Maintain,
    Asked(Request, bool, Box<Reply>),
    Told(Deed, String),
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
            // The same key in both hands.
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
        let _ = Deed::Maintain.told(&self.tenants[1].cx);
    }

    fn ask(&self, whose: usize, request: &Request, is_tight: bool) -> Reply {
        self.turn(whose);
        self.tenants[whose - 1].ask(request, is_tight)
    }

    fn tell(&self, whose: usize, deed: &Deed) -> String {
        self.turn(whose);
        deed.told(&self.tenants[whose - 1].cx)
    }

    /// All that the second agent has in the store.
    fn digest(&self) -> transfer::AgentDigest {
        let cx = &self.tenants[1].cx;
        wait(transfer::digest(&*cx.store.moves(), &cx.agent)).expect("a digest")
    }
}

/// A history of both agents: what the second one saw, and how many operations there were.
fn together(world: &mut World, seed: u64) -> (Vec<Event>, u64) {
    let mut dice = SplitMix64(seed);
    let (mut events, mut operations) = (Vec::new(), 0);
    for _ in 0..STEPS {
        world.wait(400);
        events.push(Event::Wait(400));
        let whose = if dice.one_in(2) { FIRST } else { SECOND };
        let tenant = if dice.one_in(4) { 2 - whose } else { whose - 1 };
        let known = &world.tenants[tenant].known;
        let next = if tenant == whose - 1 {
            step(dice.next_u64(), known)
        } else {
            step(dice.next_u64(), &known.without_links())
        };
        let is_tight = dice.one_in(5);
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
                let told = world.tell(whose, &deed);
                if whose == SECOND {
                    events.push(Event::Told(deed, told));
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

/// The second agent's part of a history, alone: how many answers were the same, or the one that is not.
fn alone(world: &World, events: &[Event]) -> Result<u64, String> {
    let mut answers = 0;
    for event in events {
        match event {
            Event::Wait(millis) => world.wait(*millis),
            Event::Maintain => world.maintain(),
            Event::Told(deed, expected) => {
                answers += 1;
                let told = world.tell(SECOND, deed);
                if told != *expected {
                    return Err(format!("{deed:?}\ntogether: {expected}\nalone: {told}"));
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

/// So many operations of two agents: how many there were, and how many answers were compared.
fn compare(planted: Planted, wanted: u64) -> Result<(u64, u64), String> {
    let (mut operations, mut answers) = (0, 0);
    for number in 0.. {
        if operations >= wanted {
            break;
        }
        let at = |words: String| format!("history {number}: {words}");
        let mut both = World::new(planted);
        let (events, count) = together(&mut both, number);
        let one = World::new(planted);
        answers += alone(&one, &events).map_err(at)?;
        operations += count;
        // Contents whose time is over are removed by whatever comes first, such as a purge of the other agent's.
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
fn answers_do_not_depend_on_another_agent() {
    let wanted = length("TENANT_OPERATIONS", 5_000);
    let (operations, answers) =
        compare(Planted::Nothing, wanted).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{operations} operations of two agents, {answers} answers compared, 0 differences");
    assert!(answers > operations / 3);
}

#[test]
fn what_leaks_is_seen() {
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
