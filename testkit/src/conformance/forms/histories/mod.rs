//! Random histories of forms, compared with the in-memory model after each step.
//!
//! A history is a list of seeds, one for each step, so a failing history can be reduced to the relevant steps.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;

use super::super::Backend;
use super::super::fixture::{World, agent_id, at};
use crate::SplitMix64;
use conversations::storage::ConversationStorage;
use openapi_core::audit::AuditAction;
use openapi_core::forms::SubmissionStatus;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    self, AgentStore, AuditQuery, AuditStore, ContactStore, Effects, FormStore, IdempotencyKey,
    IdempotencyStore, LatestQuery, StorageErrorKind, SubmissionFilter, SubmissionPosition, SubmissionQuery,
    TemplatePosition, TemplateQuery, Window,
};
use openapi_core::values::{AgentId, ContactId, FileId, SubmissionId, TemplateId, Timestamp};
use parking_lot::Mutex;
use storage_memory::MemoryStorage;

const CONTACTS: u64 = 5;
const TEMPLATES: u64 = 4;
const SUBMISSIONS: u64 = 90;
const FILES: u64 = 6;

/// The first difference, as a panic payload.
type Outcome<T> = Result<T, String>;

struct Run<'b> {
    random: SplitMix64,
    backend: &'b mut dyn Backend,
    storage: Option<Arc<dyn ConversationStorage>>,
    memory: MemoryStorage,
    /// A number that makes the ids of this history unique.
    world: &'b World,
    /// The ids of this history's agents.
    prefix: String,
    agent: AgentId,
    other: AgentId,
    agents: u64,
    schema: ContactSchema,
    clock: i64,
    /// The outcomes seen of each method.
    seen: RefCell<Seen>,
}

/// The ids that a history draws from.
trait Draw {
    fn contact(&mut self) -> ContactId;
    fn template(&mut self) -> TemplateId;
    fn submission(&mut self) -> SubmissionId;
    fn file(&mut self) -> FileId;
}

impl Draw for SplitMix64 {
    fn contact(&mut self) -> ContactId {
        ContactId::from_bytes([self.below(CONTACTS) as u8; 12])
    }

    fn template(&mut self) -> TemplateId {
        TemplateId::from_bytes([self.below(TEMPLATES) as u8; 12])
    }

    fn submission(&mut self) -> SubmissionId {
        SubmissionId::from_bytes([self.below(SUBMISSIONS) as u8; 12])
    }

    fn file(&mut self) -> FileId {
        FileId::from_bytes([self.below(FILES) as u8; 12])
    }
}

/// Compares outcomes by error kind.
fn same<T: PartialEq + Debug>(
    what: &str,
    ours: storage::Result<T>,
    model: storage::Result<T>,
) -> Outcome<Option<T>> {
    if let Err(error) = &ours
        && matches!(error.kind, StorageErrorKind::Internal | StorageErrorKind::Unavailable)
    {
        return Err(format!("{what}: {error:?}"));
    }
    let (ours, model) = (ours.map_err(|error| error.kind), model.map_err(|error| error.kind));
    if ours == model {
        return Ok(ours.ok());
    }
    let shown = |outcome: String| outcome.chars().take(3_000).collect::<String>();
    let (ours, model) = (shown(format!("{ours:?}")), shown(format!("{model:?}")));
    Err(format!("{what}:\n{ours}\nis not\n{model}"))
}

/// Calls a method on both stores and compares the results.
macro_rules! both {
    ($run:ident, $method:ident ( $($argument:expr),* $(,)? )) => {
        same(
            concat!(stringify!($method), stringify!(($($argument),*))),
            $run.wait($run.storage().$method($($argument),*)),
            $run.note(stringify!($method), $run.wait($run.memory.$method($($argument),*))),
        )
    };
}

mod writes;

impl<'b> Run<'b> {
    fn new(backend: &'b mut dyn Backend, world: &'b World, prefix: String) -> Self {
        let other = agent_id(&format!("{prefix}-other"));
        let mut run = Run {
            random: SplitMix64(0),
            storage: Some(backend.storage()),
            backend,
            memory: MemoryStorage::new(),
            world,
            agent: other.clone(),
            schema: ContactSchema::builtin(other.clone(), at(0)),
            other,
            agents: 0,
            prefix,
            clock: 0,
            seen: RefCell::default(),
        };
        run.add_agent();
        run.next_agent();
        run
    }

    /// Runs a future to completion on the backend's runtime.
    fn wait<T: Send>(&self, future: impl Future<Output = T> + Send) -> T {
        let result = Mutex::new(None);
        self.backend.block_on(Box::pin(async {
            let done = future.await;
            *result.lock() = Some(done);
        }));
        let done = result.into_inner();
        done.unwrap_or_else(|| panic!("the backend does not run futures to their end"))
    }

    fn storage(&self) -> &dyn ConversationStorage {
        self.storage.as_deref().unwrap_or_else(|| panic!("the store is open"))
    }

    /// Reads from the model what the next step starts from.
    fn known<T: Send>(&self, read: impl Future<Output = storage::Result<T>> + Send) -> T {
        self.wait(read).unwrap_or_else(|error| panic!("the model: {error}"))
    }

    fn effects(&self, action: AuditAction, resource: &str) -> Effects {
        self.world.effects(Some(&self.agent), action, resource, self.clock)
    }

    fn note<T>(&self, method: &'static str, outcome: storage::Result<T>) -> storage::Result<T> {
        let word = outcome.as_ref().map_or_else(|error| format!("{:?}", error.kind), |_| "Ok".to_owned());
        self.seen.borrow_mut().insert((method, word));
        outcome
    }

    fn add_agent(&mut self) {
        self.schema = ContactSchema::builtin(self.agent.clone(), at(0));
        let agent = super::super::fixture::agent(&self.agent, 0);
        let effects = self.effects(AuditAction::AgentCreate, self.agent.as_str());
        let added = both!(self, insert_agent(&agent, &self.schema, &effects));
        added.unwrap_or_else(|difference| panic!("{difference}"));
    }

    fn next_agent(&mut self) {
        self.agents += 1;
        self.agent = agent_id(&format!("{}-{}", self.prefix, self.agents));
        self.add_agent();
    }

    fn step(&mut self, seed: u64) -> Outcome<()> {
        self.random = SplitMix64(seed);
        self.clock += 1;
        match self.random.below(40) {
            0..=4 => self.change_contact()?,
            5..=9 => self.change_template()?,
            10..=20 => self.submit()?,
            21..=31 => self.update()?,
            32..=33 => self.change_file()?,
            34 if self.random.one_in(3) => {
                let id = self.random.contact();
                let effects = self.effects(AuditAction::ContactErase, &id.to_string());
                both!(self, erase_contact(&self.agent, id, at(self.clock), &effects))?;
            }
            35 if self.random.one_in(10) => self.delete_agent()?,
            36 if self.random.one_in(5) => {
                self.storage = None;
                self.backend.reopen();
                self.storage = Some(self.backend.storage());
            }
            37 if self.random.one_in(5) => self.check()?,
            _ => {}
        }
        self.read()
    }

    /// Inconsistencies that the store finds in itself, if it can check.
    fn check(&self) -> Outcome<()> {
        let faults = self.backend.faults();
        if faults.is_empty() { Ok(()) } else { Err(format!("{faults:?}")) }
    }

    /// One of a few instants, so that ties occur.
    fn instant(&mut self) -> Timestamp {
        at(self.random.below(6) as i64)
    }

    fn window<P>(&mut self, position: Option<P>) -> Window<P> {
        let limit = self.random.below(8) as u32;
        match position {
            Some(position) if self.random.one_in(2) => Window::After { position, limit },
            _ => Window::Page { offset: self.random.below(6), limit },
        }
    }

    fn read(&mut self) -> Outcome<()> {
        let agent = if self.random.one_in(12) { self.other.clone() } else { self.agent.clone() };
        let (contact, template, submission) =
            (self.random.contact(), self.random.template(), self.random.submission());
        both!(self, submission(&agent, submission))?;
        both!(self, template(&agent, template))?;
        both!(self, template_version(&agent, template, self.random.0 % 6))?;
        both!(self, head_submission(&agent, contact, template))?;
        for include_drafts in [false, true] {
            both!(self, latest_submission(&agent, &LatestQuery { contact, template, include_drafts }))?;
        }
        let names = ["aufnahme", "intake", "zoe", "b"];
        let position = TemplatePosition { name_key: self.random.pick(&names).to_owned(), id: template };
        let query = TemplateQuery { only_active: self.random.one_in(2), window: self.window(Some(position)) };
        both!(self, templates(&agent, &query))?;
        for _ in 0..2 {
            let random = &mut self.random;
            let filter = SubmissionFilter {
                contact: (!random.one_in(4)).then_some(contact),
                template: random.one_in(3).then_some(template),
                status: random.one_in(4).then(|| random.pick(&SubmissionStatus::ALL)),
                include_superseded: random.one_in(2),
                client_id: random.one_in(5).then(|| random.pick(&["x", "X y", "é", "none"]).to_owned()),
            };
            let position = SubmissionPosition { created_at: self.instant(), id: self.random.submission() };
            let query = SubmissionQuery { filter, window: self.window(Some(position)) };
            both!(self, submissions(&agent, &query))?;
        }
        let files = [self.random.file(), self.random.file()];
        both!(self, files_of_contact(&agent, contact, &files))?;
        let key = IdempotencyKey([self.random.below(5) as u8; 32]);
        both!(self, replay(&agent, &key, at(self.clock)))?;
        Ok(())
    }

    fn end(&self) -> Outcome<()> {
        let agents = (1..=self.agents).map(|number| agent_id(&format!("{}-{number}", self.prefix)));
        for agent in agents.chain([self.other.clone()]) {
            let query = AuditQuery { agent: Some(agent), after: None, newest_first: false, limit: 1_000_000 };
            both!(self, audit_entries(&query))?;
        }
        Ok(())
    }
}

type Seen = BTreeSet<(&'static str, String)>;

/// Runs a history; returns the outcomes of each method.
fn run(mut run: Run<'_>, steps: &[u64]) -> Outcome<Seen> {
    for step in steps {
        run.step(*step)?;
    }
    run.end()?;
    Ok(run.seen.into_inner())
}

/// Runs histories on one store, each with its own agents.
struct Runs<'b> {
    backend: &'b mut dyn Backend,
    world: World,
    count: u64,
}

impl Runs<'_> {
    fn run(&mut self, steps: &[u64]) -> Outcome<Seen> {
        self.count += 1;
        run(Run::new(self.backend, &self.world, format!("forms-{}", self.count)), steps)
    }

    /// Shrinks a failing history by halves, quarters and so on, in at most 400 attempts.
    fn shrink(&mut self, mut steps: Vec<u64>, mut failure: String) -> (Vec<u64>, String) {
        let (mut size, mut attempts) = (steps.len() / 2, 0);
        while size > 0 && attempts < 400 {
            let mut location = 0;
            while location < steps.len() && attempts < 400 {
                let mut fewer = steps.clone();
                fewer.drain(location..(location + size).min(steps.len()));
                attempts += 1;
                match self.run(&fewer) {
                    Err(words) => (steps, failure) = (fewer, words),
                    Ok(_) => location += size,
                }
            }
            size /= 2;
        }
        (steps, failure)
    }
}

/// Runs random histories of forms, `steps` steps each, on a store and on the model, and compares every result.
///
/// # Panics
/// If a result differs, with the shortest history found, or if a write never reached one of its outcomes.
pub fn compare_forms(backend: &mut dyn Backend, first_seed: u64, histories: u64, steps: usize) {
    // It makes records only. Held open by it, the store could not be closed and opened again.
    let world = World::new(Arc::new(MemoryStorage::new()));
    let mut runs = Runs { backend, world, count: 0 };
    let mut seen = Seen::new();
    for seed in first_seed..first_seed + histories {
        let mut random = SplitMix64(seed);
        let history: Vec<u64> = (0..steps).map(|_| random.next_u64()).collect();
        match runs.run(&history) {
            Ok(methods) => seen.extend(methods),
            Err(failure) => {
                let (steps, failure) = runs.shrink(history, failure);
                panic!("history {seed}, cut down to {} steps {steps:?}: {failure}", steps.len());
            }
        }
    }
    // Every result of every write was compared.
    for (method, words) in [
        ("insert_template", "Ok AlreadyExists"),
        ("replace_template", "Ok Stale"),
        ("insert_submissions", "Ok Missing Stale ReplayExists AlreadyExists"),
        ("update_submission", "Ok Missing Stale"),
        ("erase_contact", "Ok"),
        ("purge_agent", "Ok"),
    ] {
        for word in words.split(' ') {
            assert!(seen.contains(&(method, word.to_owned())), "no {method} ended with {word}: {seen:?}");
        }
    }
}

pub(in crate::conformance) fn random_histories_of_forms_agree_with_the_model(backend: &mut dyn Backend) {
    let histories = if backend.histories() < 64 { 1 } else { 2 };
    compare_forms(backend, 0, histories, 400);
}
