//! Random histories of forms, compared step by step with the in-memory model.
//!
//! A history is a list of seeds, one for each step, so that one that fails can be cut down to the steps that matter.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;

use openapi_core::audit::AuditAction;
use openapi_core::forms::SubmissionStatus;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::memory::MemoryStorage;
use openapi_core::storage::{
    AuditQuery, AuditStore, ContactStore, FormStore, LatestQuery, ReplayKey, ReplayStore, StorageErrorKind,
    SubmissionFilter, SubmissionPosition, SubmissionQuery, TemplatePosition, TemplateQuery, Window,
};
use openapi_core::values::{AgentId, FileId, Timestamp};

use super::support::forms::{submission_id, template_id};
use super::support::{Dice, Folder, agent_id, at, contact_id, entry, insert_agent, wait};
use crate::SqliteStorage;

const CONTACTS: u64 = 5;
const TEMPLATES: u64 = 4;
const SUBMISSIONS: u64 = 90;
const FILES: u64 = 6;

/// How a history ends at the first difference.
type Outcome<T> = Result<T, String>;

struct Run {
    dice: Dice,
    sqlite: Option<SqliteStorage>,
    memory: MemoryStorage,
    folder: Folder,
    agent: AgentId,
    other: AgentId,
    agents: u64,
    schema: ContactSchema,
    clock: u64,
    /// Whether the file is checked now and then.
    is_checked: bool,
    /// Which method ended how.
    seen: RefCell<Seen>,
}

/// Both outcomes, told apart by kind.
fn same<T: PartialEq + Debug>(
    what: &str,
    sqlite: openapi_core::storage::Result<T>,
    memory: openapi_core::storage::Result<T>,
) -> Outcome<Option<T>> {
    if let Err(error) = &sqlite
        && matches!(error.kind, StorageErrorKind::Internal | StorageErrorKind::Unavailable)
    {
        return Err(format!("{what}: {error:?}"));
    }
    let (sqlite, memory) = (sqlite.map_err(|error| error.kind), memory.map_err(|error| error.kind));
    if sqlite == memory {
        return Ok(sqlite.ok());
    }
    let shown = |outcome: String| outcome.chars().take(3_000).collect::<String>();
    let (sqlite, memory) = (shown(format!("{sqlite:?}")), shown(format!("{memory:?}")));
    Err(format!("{what}:\n{sqlite}\nis not\n{memory}"))
}

/// Calls a method of both stores and compares what it returns.
macro_rules! both {
    ($run:ident, $method:ident ( $($argument:expr),* $(,)? )) => {
        same(
            concat!(stringify!($method), stringify!(($($argument),*))),
            wait($run.sqlite().$method($($argument),*)),
            $run.note(stringify!($method), wait($run.memory.$method($($argument),*))),
        )
    };
}

mod writes;

impl Run {
    fn new(folder: Folder) -> Self {
        let (sqlite, memory) = (folder.open(), MemoryStorage::new());
        let other = agent_id("other");
        insert_agent(&sqlite, &other);
        let schema = insert_agent(&memory, &other);
        let agent = other.clone();
        let mut run = Run {
            dice: Dice(0),
            sqlite: Some(sqlite),
            memory,
            folder,
            agent,
            other,
            agents: 0,
            schema,
            clock: 0,
            is_checked: true,
            seen: RefCell::default(),
        };
        run.next_agent();
        run
    }

    fn sqlite(&self) -> &SqliteStorage {
        self.sqlite.as_ref().unwrap()
    }

    fn note<T>(
        &self,
        method: &'static str,
        outcome: openapi_core::storage::Result<T>,
    ) -> openapi_core::storage::Result<T> {
        let word = outcome.as_ref().map_or_else(|error| format!("{:?}", error.kind), |_| "Ok".to_owned());
        self.seen.borrow_mut().insert((method, word));
        outcome
    }

    fn next_agent(&mut self) {
        self.agents += 1;
        self.agent = agent_id(&format!("agent-{}", self.agents));
        insert_agent(self.sqlite(), &self.agent);
        self.schema = insert_agent(&self.memory, &self.agent);
    }

    fn step(&mut self, seed: u64) -> Outcome<()> {
        self.dice = Dice(seed);
        self.clock += 1;
        match self.dice.below(40) {
            0..=4 => self.change_contact()?,
            5..=9 => self.change_template()?,
            10..=20 => self.submit()?,
            21..=31 => self.update()?,
            32..=33 => self.change_file()?,
            34 if self.dice.one_in(3) => {
                let id = contact_id(self.dice.below(CONTACTS));
                let audit = entry(&self.agent, self.clock, AuditAction::ContactErase, &id.to_string());
                both!(self, erase_contact(&self.agent, id, &audit))?;
            }
            35 if self.dice.one_in(10) => self.delete_agent()?,
            36 if self.dice.one_in(5) => {
                self.sqlite = None;
                self.sqlite = Some(self.folder.open());
            }
            37 if self.dice.one_in(5) => self.check()?,
            _ => {}
        }
        self.read()
    }

    fn check(&self) -> Outcome<()> {
        let findings = if self.is_checked { self.sqlite().check().unwrap() } else { Vec::new() };
        if findings.is_empty() { Ok(()) } else { Err(format!("{findings:?}")) }
    }

    /// An instant of few, so that ties occur.
    fn instant(&mut self) -> Timestamp {
        at(self.dice.below(6) as i64)
    }

    fn window<P>(&mut self, position: Option<P>) -> Window<P> {
        let limit = self.dice.below(8) as u32;
        match position {
            Some(position) if self.dice.one_in(2) => Window::After { position, limit },
            _ => Window::Page { offset: self.dice.below(6), limit },
        }
    }

    fn read(&mut self) -> Outcome<()> {
        let agent = if self.dice.one_in(12) { self.other.clone() } else { self.agent.clone() };
        let contact = contact_id(self.dice.below(CONTACTS));
        let template = template_id(self.dice.below(TEMPLATES));
        both!(self, submission(&agent, submission_id(self.dice.0 % SUBMISSIONS)))?;
        both!(self, template(&agent, template))?;
        both!(self, template_version(&agent, template, self.dice.0 % 6))?;
        both!(self, head_submission(&agent, contact, template))?;
        for include_drafts in [false, true] {
            both!(self, latest_submission(&agent, &LatestQuery { contact, template, include_drafts }))?;
        }
        let names = ["aufnahme", "intake", "zoe", "b"];
        let position = TemplatePosition { name_key: self.dice.pick(&names).to_owned(), id: template };
        let query = TemplateQuery { only_active: self.dice.one_in(2), window: self.window(Some(position)) };
        both!(self, templates(&agent, &query))?;
        for _ in 0..2 {
            let dice = &mut self.dice;
            let filter = SubmissionFilter {
                contact: (!dice.one_in(4)).then_some(contact),
                template: dice.one_in(3).then_some(template),
                status: dice.one_in(4).then(|| dice.pick(&SubmissionStatus::ALL)),
                include_superseded: dice.one_in(2),
                client_id: dice.one_in(5).then(|| dice.pick(&["x", "X y", "é", "none"]).to_owned()),
            };
            let position = SubmissionPosition {
                created_at: self.instant(),
                id: submission_id(self.dice.below(SUBMISSIONS)),
            };
            let query = SubmissionQuery { filter, window: self.window(Some(position)) };
            both!(self, submissions(&agent, &query))?;
        }
        let files = [self.dice.below(FILES), self.dice.below(FILES)];
        let files = files.map(|number| FileId::from_bytes([number as u8; 12]));
        both!(self, files_of_contact(&agent, contact, &files))?;
        let key = ReplayKey([self.dice.below(5) as u8; 32]);
        both!(self, replay(&agent, &key, at(self.clock as i64)))?;
        Ok(())
    }

    fn end(&self) -> Outcome<()> {
        let agents = (1..=self.agents).map(|number| agent_id(&format!("agent-{number}")));
        for agent in agents.chain([self.other.clone()]) {
            let query = AuditQuery { agent: Some(agent), after: None, newest_first: false, limit: 1_000_000 };
            both!(self, audit_entries(&query))?;
        }
        Ok(())
    }
}

type Seen = BTreeSet<(&'static str, String)>;

/// Runs a history; which methods ended how.
fn run(mut run: Run, steps: &[u64]) -> Outcome<Seen> {
    for step in steps {
        run.step(*step)?;
    }
    run.end()?;
    Ok(run.seen.into_inner())
}

/// Leaves out what a failing history does not need, half of it, a quarter and so on, in up to 400 attempts.
fn shrink(mut steps: Vec<u64>, mut failure: String) -> (Vec<u64>, String) {
    let (mut size, mut attempts) = (steps.len() / 2, 0);
    while size > 0 && attempts < 400 {
        let mut place = 0;
        while place < steps.len() && attempts < 400 {
            let mut fewer = steps.clone();
            fewer.drain(place..(place + size).min(steps.len()));
            attempts += 1;
            match run(Run::new(Folder::new()), &fewer) {
                Err(words) => (steps, failure) = (fewer, words),
                Ok(_) => place += size,
            }
        }
        size /= 2;
    }
    (steps, failure)
}

fn history(seed: u64, steps: usize) -> Vec<u64> {
    let mut dice = Dice(seed);
    (0..steps).map(|_| dice.next()).collect()
}

/// Runs a history in a folder whose statements the caller looks at: those of a check are not meant.
pub(super) fn run_in(folder: Folder, seed: u64, steps: usize) {
    let unchecked = Run { is_checked: false, ..Run::new(folder) };
    run(unchecked, &history(seed, steps)).expect("the history ends like the model");
}

/// Runs histories and, when one differs from the model, says so with the fewest steps that show it.
fn compare(first_seed: u64, histories: u64, steps: usize) {
    let mut seen = Seen::new();
    for seed in first_seed..first_seed + histories {
        let history = history(seed, steps);
        match run(Run::new(Folder::new()), &history) {
            Ok(methods) => seen.extend(methods),
            Err(failure) => {
                let (steps, failure) = shrink(history, failure);
                panic!("history {seed}, cut down to {} steps {steps:?}: {failure}", steps.len());
            }
        }
    }
    // Every answer of every write was compared.
    for (method, words) in [
        ("insert_template", "Ok AlreadyExists"),
        ("replace_template", "Ok Stale"),
        ("insert_submissions", "Ok Missing Stale ReplayExists AlreadyExists"),
        ("update_submission", "Ok Missing Stale"),
        ("erase_contact", "Ok Missing"),
        ("purge_agent", "Ok"),
    ] {
        for word in words.split(' ') {
            assert!(seen.contains(&(method, word.to_owned())), "no {method} ended with {word}: {seen:?}");
        }
    }
}

#[test]
fn random_histories_of_forms_end_like_the_model() {
    compare(0, 4, 1_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_hundred_thousand_steps_end_like_the_model() {
    compare(1_000, 100, 1_000);
}
