//! Sends the same random requests to every store and requires responses identical to the model's, to the byte.
//!
//! All stores share clock and ids, so the comparison covers whole responses. A history is a list of seeds, one for
//! each step; a failing history is reduced to the relevant steps.
//!
//! `DIFFERENTIAL_REQUESTS` sets the number of requests for each store, `HOSTILE_REQUESTS` that of those with hostile
//! strings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contract_tests::backend::Store;
use contract_tests::sandbox::wait;
use contract_tests::table::endpoints;
use contract_tests::traffic::{Known, Request, Step, definition, hostile_step, step};
use contract_tests::{Backend, Reply, Sandbox, SplitMix64};
use openapi_core::admin::Admin;
use openapi_core::ports::Clock as _;
use openapi_core::reply::ErrorCode;
use openapi_core::storage::{AuditQuery, ChainQuery, LogEntry};
use testkit::conformance::{Faulty, PlantedFault, chat_deeds};

/// Steps per history; each history has its own store, which stays small, and failing histories stay short.
const STEPS: usize = 500;

/// A store under comparison, and the model.
struct Both {
    known: Known,
    model: Sandbox,
    ours: Sandbox,
    /// What the replies were.
    outcomes: Outcomes,
    /// Chooses the next step.
    next: Next,
}

/// Chooses a step by a seed.
type Next = fn(u64, &Known) -> Step;

/// What replies were.
#[derive(Default)]
struct Outcomes {
    /// The number of replies by method and status.
    statuses: Statuses,
    /// The operations that replied.
    operations: BTreeSet<&'static str>,
}

fn sandbox(store: Store) -> (Sandbox, Vec<String>) {
    let cx = Sandbox::on(store, |settings| settings.address_limits.download = 0);
    let templates =
        [("Feedback", "supersede", true), ("Éclair", "keepAll", false), ("aufnahme", "supersede", true)];
    let templates = templates.map(|(name, policy, comment)| cx.template(&definition(name, policy, comment)));
    (cx, templates.to_vec())
}

fn answer(cx: &Sandbox, request: &Request) -> Reply {
    wait(request.call(cx).answer())
}

impl Both {
    fn new(store: Store, next: Next) -> Self {
        let ((model, templates), (ours, same)) = (sandbox(Backend::Memory.open()), sandbox(store));
        assert_eq!(templates, same, "the ids are the same for all");
        Both { known: Known::of(templates), model, ours, outcomes: Outcomes::default(), next }
    }

    fn step(&mut self, seed: u64) -> Result<(), String> {
        // Far below a key's limits.
        for cx in [&self.model, &self.ours] {
            cx.advance(400);
        }
        match (self.next)(seed, &self.known) {
            Step::Wait(millis) => [&self.model, &self.ours].into_iter().for_each(|cx| cx.advance(millis)),
            Step::Operator(deed) => {
                let (expected, found) = (deed.perform(&self.model), deed.perform(&self.ours));
                if expected != found {
                    return Err(format!("{deed:?}\n{found}\nis not\n{expected}"));
                }
            }
            Step::Request(request) => {
                let (expected, found) = (answer(&self.model, &request), answer(&self.ours, &request));
                if (expected.status, &expected.headers, &expected.bytes)
                    != (found.status, &found.headers, &found.bytes)
                {
                    let shown =
                        |reply: &Reply| format!("{} {:?}\n{}", reply.status, reply.headers, reply.text);
                    return Err(format!("{request:?}\n{}\nis not\n{}", shown(&found), shown(&expected)));
                }
                // An extractor script fails as its documents request.
                let extracts = endpoints().any(|endpoint| {
                    Some(endpoint.meta.id) == found.operation
                        && endpoint.meta.errors.contains(&ErrorCode::ExtractionUnavailable)
                });
                if found.status >= 500 && !extracts {
                    return Err(format!("{request:?}\n{} {}", found.status, found.text));
                }
                *self.outcomes.statuses.entry((request.method, found.status)).or_default() += 1;
                self.outcomes.operations.extend(found.operation);
                self.known.learn(&request, &expected);
            }
        }
        Ok(())
    }

    /// Runs random chat steps directly on the stores, some of which read all data.
    fn chat(&mut self, seed: u64) -> Result<(), String> {
        let result = |cx: &Sandbox| {
            let storage = Arc::clone(&cx.store.storage);
            wait(chat_deeds(storage, &cx.agent, seed, cx.clock.now()))
        };
        let (expected, found) = (result(&self.model), result(&self.ours));
        [&self.model, &self.ours].into_iter().for_each(|cx| cx.advance(1_000));
        match expected.iter().zip(&found).find(|(expected, found)| expected != found) {
            Some((expected, found)) => Err(format!("the chat:\n{found}\nis not\n{expected}")),
            None => Ok(()),
        }
    }

    fn run(&mut self, steps: &[u64]) -> Result<(), String> {
        steps.iter().try_for_each(|seed| self.step(*seed))?;
        let query = AuditQuery { limit: 1_000_000, ..AuditQuery::default() };
        let (expected, found) =
            (wait(self.model.platform.audit(&query)), wait(self.ours.platform.audit(&query)));
        let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
        if expected != found {
            return Err(format!("the audit log:\n{found}\nis not\n{expected}"));
        }
        let (expected, found) = (events_of(&self.model)?, events_of(&self.ours)?);
        if expected == found { Ok(()) } else { Err(format!("the events:\n{found:?}\nare not\n{expected:?}")) }
    }
}

/// The events of the sandbox's agent. Each entry of its audit log about a change has exactly one, in the same order, and
/// no other event of those topics is there.
fn events_of(cx: &Sandbox) -> Result<Vec<LogEntry>, String> {
    let log = wait(cx.store.storage.log(&cx.agent, 0, 1_000_000)).map_err(|error| error.to_string())?;
    let numbers: Vec<u64> = log.entries.iter().map(|entry| entry.seq).collect();
    if numbers != (1..=log.head).collect::<Vec<_>>() {
        return Err(format!("the events have the numbers {numbers:?} up to {}", log.head));
    }
    let query = ChainQuery { chain: Some(cx.agent.clone()), after: None, limit: 1_000_000 };
    let entries = wait(cx.store.storage.audit_chain(&query)).map_err(|error| error.to_string())?;
    let expected: Vec<&'static [&'static str]> = entries
        .iter()
        .map(|entry| event_of(entry.action.as_str()))
        .filter(|types| !types.is_empty())
        .collect();
    let found = log.entries.iter().map(|entry| entry.kind.as_str());
    // Balances and jobs have events without an entry of their own.
    let has_entry = |name: &&str| !["credits.", "extraction."].iter().any(|topic| name.starts_with(topic));
    let found: Vec<&str> = found.filter(has_entry).collect();
    let agrees = expected.len() == found.len()
        && expected.iter().zip(&found).all(|(types, found)| types.contains(found));
    if agrees { Ok(log.entries) } else { Err(format!("changes {expected:?}\nhave events {found:?}")) }
}

/// The types of events that a change may have, by the action of the audit log.
fn event_of(action: &str) -> &'static [&'static str] {
    match action {
        "contact.create" => &["contact.created"],
        "contact.update" => &["contact.updated"],
        "contact.archive" => &["contact.archived"],
        "contact.unarchive" => &["contact.unarchived"],
        "contact.erase" => &["contact.erased"],
        "file.upload" => &["file.uploaded"],
        "file.delete" => &["file.deleted"],
        "submission.create" => &["submission.created"],
        "submission.update" => &["submission.updated", "submission.status_changed"],
        "template.create" => &["template.created"],
        "template.edit" => &["template.edited"],
        "template.activate" => &["template.activated"],
        "template.archive" => &["template.archived"],
        "contactSchema.replace" => &["contact_schema.replaced"],
        "agent.disable" => &["agent.disabled"],
        "agent.enable" => &["agent.enabled"],
        "key.create" => &["key.created"],
        "key.edit" => &["key.edited"],
        "key.rotate" => &["key.rotated"],
        "key.disable" => &["key.disabled"],
        "key.enable" => &["key.enabled"],
        "key.revoke" => &["key.revoked"],
        _ => &[],
    }
}

/// Shrinks a failing history by halves, quarters and so on.
fn shrink(
    open: &dyn Fn() -> Store,
    next: Next,
    mut steps: Vec<u64>,
    mut failure: String,
) -> (Vec<u64>, String) {
    let (mut size, mut attempts) = (steps.len() / 2, 0);
    while size > 0 && attempts < 150 {
        let mut position = 0;
        while position < steps.len() && attempts < 150 {
            let mut fewer = steps.clone();
            fewer.drain(position..(position + size).min(steps.len()));
            attempts += 1;
            match Both::new(open(), next).run(&fewer) {
                Err(message) => (steps, failure) = (fewer, message),
                Ok(()) => position += size,
            }
        }
        size /= 2;
    }
    (steps, failure)
}

type Statuses = BTreeMap<(&'static str, u16), u32>;

/// How many requests a long run compares between two lines of progress.
const PROGRESS: usize = 10_000;

/// Compares this many requests; returns their outcomes. A long run prints its progress.
fn compare(open: &dyn Fn() -> Store, next: Next, requests: usize, shrinks: bool) -> Result<Outcomes, String> {
    let mut outcomes = Outcomes::default();
    let mut sent = 0;
    for number in 0.. {
        if sent >= requests {
            break;
        }
        let mut random = SplitMix64(number);
        let steps: Vec<u64> = (0..STEPS).map(|_| random.next_u64()).collect();
        let mut both = Both::new(open(), next);
        if let Err(failure) = both.run(&steps) {
            if !shrinks {
                return Err(failure);
            }
            let (steps, failure) = shrink(open, next, steps, failure);
            return Err(format!("history {number}, cut down to {} steps {steps:?}:\n{failure}", steps.len()));
        }
        let before = sent;
        for (status, count) in both.outcomes.statuses {
            sent += count as usize;
            *outcomes.statuses.entry(status).or_default() += count;
        }
        if sent / PROGRESS > before / PROGRESS {
            println!("{sent} of {requests} requests in {} histories, no difference", number + 1);
        }
        outcomes.operations.extend(both.outcomes.operations);
    }
    Ok(outcomes)
}

/// Fails if a backend's response differs from the model's.
fn agree(backend: Backend, requests: usize) {
    let outcomes = compare(&|| backend.open(), step, requests, true);
    let Outcomes { statuses, .. } = outcomes.unwrap_or_else(|failure| panic!("{failure}"));
    println!("{} requests, 0 differences: {statuses:?}", statuses.values().sum::<u32>());
    // The comparison means something only if requests reach all kinds of outcomes.
    for status in [
        ("GET", 200),
        ("GET", 304),
        ("GET", 404),
        ("POST", 201),
        ("POST", 200),
        ("POST", 409),
        ("POST", 400),
        ("PUT", 200),
        ("PUT", 201),
        ("PUT", 412),
        ("PATCH", 200),
        ("DELETE", 200),
    ] {
        assert!(statuses.contains_key(&status), "no {status:?} among {statuses:?}");
    }
}

/// Fails if a backend's response to hostile strings differs from the model's, or is a server error.
fn agree_on_hostile_strings(backend: Backend, default: usize) {
    let outcomes = compare(&|| backend.open(), hostile_step, length("HOSTILE_REQUESTS", default), true);
    let Outcomes { statuses, operations } = outcomes.unwrap_or_else(|failure| panic!("{failure}"));
    println!("{} requests, 0 differences: {statuses:?}", statuses.values().sum::<u32>());
    // Strings of every operation: path, query, headers and bodies. Streams do not end; they read what lists read.
    for endpoint in endpoints().filter(|endpoint| endpoint.meta.id != "streamEvents") {
        assert!(operations.contains(endpoint.meta.id), "no {} among {operations:?}", endpoint.meta.id);
    }
    for status in
        [("GET", 200), ("GET", 400), ("GET", 404), ("POST", 201), ("POST", 400), ("PUT", 200), ("PUT", 400)]
    {
        assert!(statuses.contains_key(&status), "no {status:?} among {statuses:?}");
    }
}

fn requests(default: usize) -> usize {
    length("DIFFERENTIAL_REQUESTS", default)
}

/// The number of compared requests: `default` unless the environment overrides it.
#[expect(clippy::disallowed_methods, reason = "the length of a campaign comes from the environment")]
fn length(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn sqlite_answers_like_the_model() {
    agree(Backend::Sqlite, requests(4_000));
}

#[test]
fn postgres_answers_like_the_model() {
    agree(Backend::Postgres, requests(2_000));
}

#[test]
fn mongo_answers_like_the_model() {
    agree(Backend::Mongo, requests(2_000));
}

#[test]
fn sqlite_answers_hostile_strings_like_the_model() {
    agree_on_hostile_strings(Backend::Sqlite, 4_000);
}

#[test]
fn postgres_answers_hostile_strings_like_the_model() {
    agree_on_hostile_strings(Backend::Postgres, 3_000);
}

#[test]
fn mongo_answers_hostile_strings_like_the_model() {
    agree_on_hostile_strings(Backend::Mongo, 3_000);
}

/// Data moved between engines still yields the model's responses.
fn move_through(backends: &[Backend], histories: u64) {
    for number in 0..histories {
        let mut random = SplitMix64(number ^ 0x6d6f_7665);
        let mut both = Both::new(backends[0].open(), hostile_step);
        for (position, backend) in backends.iter().enumerate() {
            if position > 0 {
                (both.model, both.ours) = (both.model.restarted(), both.ours.moved_to(backend.open()));
            }
            let steps: Vec<u64> = (0..STEPS / 2).map(|_| random.next_u64()).collect();
            both.run(&steps).and_then(|()| both.chat(random.next_u64())).unwrap_or_else(|failure| {
                panic!("history {number}, after {:?}: {failure}", &backends[..=position])
            });
        }
    }
}

#[test]
fn moved_data_answers_like_the_model() {
    use Backend::{Memory, Mongo, Postgres, Sqlite};
    move_through(&[Sqlite, Postgres, Mongo, Postgres, Sqlite, Mongo, Memory, Sqlite], 1);
}

#[test]
fn data_moved_between_files_answers_like_the_model() {
    move_through(&[Backend::Memory, Backend::Sqlite, Backend::Sqlite], 4);
}

/// Faults that must be visible in a response: those that a single agent without races and restarts can notice.
const SEEN: &[PlantedFault] = &[
    PlantedFault::CreatedSinceExclusive,
    PlantedFault::TagMatchesPrefix,
    PlantedFault::AnswersNeverExpire,
    PlantedFault::FileNamesSortByCase,
    PlantedFault::ClientIdIgnoresCase,
    PlantedFault::SubmissionPositionInclusive,
    PlantedFault::LatestIsDraft,
];

#[test]
fn planted_faults_are_detected() {
    let open = |fault| Backend::Memory.open().through(Arc::new(fault));
    let control = compare(&|| open(Faulty::sound()), step, 1_000, false);
    assert!(control.is_ok(), "{:?}", control.err());
    for fault in SEEN {
        let outcome = compare(&|| open(Faulty::new(*fault)), step, 20_000, false);
        assert!(outcome.is_err(), "{fault:?} is not seen");
        println!("{fault:?}");
    }
}
