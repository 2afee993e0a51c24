//! Random histories of queues, compared with the model after each step. Failing histories shrink.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::Backend;
use super::fixture::{World, at};
use super::jobs::{job, job_id, next, save, server};
use ::conversations::storage::ConversationStorage;
use openapi_core::agents::AgentStatus;
use openapi_core::storage::{
    Effects, Job, JobChange, JobClaim, JobLease, JobPage, JobQuery, JobState, JobsWrite, Queue, QueueFront,
    QueueLoad, Result as StorageResult, ScopedJob, StorageErrorKind, Subject, Window, Woken,
};
use openapi_core::values::{AgentId, ContactId, JobId};
use storage_memory::MemoryStorage;

const QUEUES: [Queue; 2] = [Queue::Extraction, Queue::Reminder];

/// One step of a history, over two agents, two queues, three servers and a handful of ids.
#[derive(Clone, Debug)]
enum Step {
    /// Adds jobs, and changes or removes those that are there.
    Save { agent: usize, changes: Vec<Change>, max_unfinished: Option<u64> },
    /// Claims jobs.
    Claim { queue: usize, server: u8, at_most: u32 },
    /// Renews leases.
    Renew { server: u8, ids: Vec<u8> },
    /// Wakes what is due, or only looks for erased jobs.
    Wake { queue: usize, at_most: u32 },
    /// Erases a contact.
    EraseContact { agent: usize, contact: u8 },
    /// Reads a page of a list.
    List { agent: usize, queue: usize, states: Vec<JobState>, after: Option<u8>, limit: u32 },
}

/// A change of a job.
#[derive(Clone, Debug)]
struct Change {
    id: u8,
    queue: usize,
    state: JobState,
    removes: bool,
    stale: bool,
    turn: u64,
    due: i64,
    contact: Option<u8>,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let states = proptest::sample::select(&JobState::ALL[..6]);
    let change = (
        (0..6_u8, 0..2_usize, states, proptest::bool::weighted(0.15), proptest::bool::weighted(0.05)),
        (0..4_u64, 0..40_i64, proptest::option::of(0..3_u8)),
    );
    let change = change.prop_map(|((id, queue, state, removes, stale), (turn, due, contact))| Change {
        id,
        queue,
        state,
        removes,
        stale,
        turn,
        due,
        contact,
    });
    proptest::collection::vec(change, 0..4).prop_map(|mut changes| {
        // No two changes of a write are of the same job.
        let mut seen = Vec::new();
        changes.retain(|change| {
            let is_new = !seen.contains(&change.id);
            seen.push(change.id);
            is_new
        });
        changes
    })
}

fn history(steps: usize) -> impl Strategy<Value = Vec<Step>> {
    use proptest::collection::vec;
    use proptest::option::{of, weighted};
    let step = prop_oneof![
        10 => (0..2_usize, changes(), weighted(0.3, 0..4_u64))
            .prop_map(|(agent, changes, max_unfinished)| Step::Save { agent, changes, max_unfinished }),
        5 => (0..2_usize, 0..3_u8, 0..3_u32)
            .prop_map(|(queue, server, at_most)| Step::Claim { queue, server, at_most }),
        3 => (0..3_u8, vec(0..6_u8, 0..4)).prop_map(|(server, ids)| Step::Renew { server, ids }),
        // Which of several are woken is not defined.
        3 => (0..2_usize, proptest::sample::select(vec![0_u32, 1_000]))
            .prop_map(|(queue, at_most)| Step::Wake { queue, at_most }),
        1 => (0..2_usize, 0..3_u8).prop_map(|(agent, contact)| Step::EraseContact { agent, contact }),
        4 => (0..2_usize, 0..2_usize, vec(proptest::sample::select(JobState::ALL), 0..3), of(0..6_u8), 0..4_u32)
            .prop_map(|(agent, queue, states, after, limit)| Step::List { agent, queue, states, after, limit }),
    ];
    vec(step, 1..=steps)
}

/// The id of a job: agents have no id in common, so turns and ids order all jobs.
const fn number(agent: usize, id: u8) -> u8 {
    id * 2 + agent as u8
}

fn contact_id(number: u8) -> ContactId {
    ContactId::from_bytes([number; 12])
}

/// The job as a change makes it. The queue, the subject and the time of a stored job stay.
async fn changed(world: &World, agent: &AgentId, number: u8, change: &Change, millis: i64) -> JobChange {
    let stored = world.job_of(Some(agent), number).await;
    let version = stored.as_ref().map_or(0, |stored| stored.version) + u64::from(change.stale);
    if change.removes {
        return JobChange::Remove { id: job_id(number), version };
    }
    let new = Job {
        queue: QUEUES[change.queue],
        subject: change.contact.map(|number| Subject::Contact(contact_id(number))),
        created_at: at(millis),
        ..job(number, 0)
    };
    let base = Job { version, ..stored.unwrap_or(new) };
    let (state, is_running) = (change.state, change.state == JobState::Running);
    let lease = JobLease { owner: server(change.id % 3), until: at(1_000 + change.due) };
    let has_due_time = !matches!(state, JobState::Ready | JobState::Running);
    save(&Job {
        state,
        turn: change.turn,
        lease: is_running.then_some(lease),
        due_at: has_due_time.then_some(at(1_000 + change.due)),
        ..next(&base)
    })
}

/// The outcome of a step in a comparable form.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Failed(StorageErrorKind),
    Claimed(Vec<ScopedJob>),
    Renewed(Vec<bool>),
    Woken(Woken),
    Listed(JobPage),
}

fn outcome(result: StorageResult<()>) -> Outcome {
    result.map_or_else(|error| Outcome::Failed(error.kind), |()| Outcome::Done)
}

/// Runs a step `millis` milliseconds after the start.
async fn apply(world: &World, agents: &[AgentId; 2], step: &Step, millis: i64) -> Outcome {
    let storage = &world.storage;
    match step {
        Step::Save { agent, changes, max_unfinished } => {
            let (of, agent) = (*agent, &agents[*agent]);
            let mut write = JobsWrite::new(at(millis), Vec::new());
            for change in changes {
                write.changes.push(changed(world, agent, number(of, change.id), change, millis).await);
            }
            write.max_unfinished = max_unfinished.map(|limit| (Queue::Extraction, limit));
            outcome(storage.save_jobs(Some(agent), &write).await)
        }
        Step::Claim { queue, server: owner, at_most } => {
            let (owner, until) = (server(*owner), at(millis + 10));
            let claim = JobClaim { queue: QUEUES[*queue], owner, now: at(millis), until, at_most: *at_most };
            Outcome::Claimed(storage.claim_jobs(&claim).await.expect("claim"))
        }
        Step::Renew { server: owner, ids } => {
            let key = |id: &u8| {
                let of = usize::from(id % 2);
                (Some(agents[of].clone()), job_id(number(of, *id)))
            };
            let keys: Vec<(Option<AgentId>, JobId)> = ids.iter().map(key).collect();
            let renewed = storage.renew_jobs(server(*owner), &keys, at(millis + 10)).await;
            Outcome::Renewed(renewed.expect("renew"))
        }
        Step::Wake { queue, at_most } => {
            let woken = storage.wake_jobs(QUEUES[*queue], at(millis), *at_most).await;
            let mut woken = woken.expect("wake");
            woken.erased.sort_by(|a, b| (&a.scope, a.job.id).cmp(&(&b.scope, b.job.id)));
            Outcome::Woken(woken)
        }
        Step::EraseContact { agent, contact } => {
            let agent = &agents[*agent];
            let mut made = world.contact(agent, r#"{"primaryEmail":"a@example.com"}"#, millis).await;
            made.id = contact_id(*contact);
            world.try_insert(&made).await.expect("insert");
            outcome(storage.erase_contact(agent, made.id, at(millis), &Effects::default()).await)
        }
        Step::List { agent, queue, states, after, limit } => {
            let after = match after {
                Some(id) => world
                    .job_of(Some(&agents[*agent]), number(*agent, *id))
                    .await
                    .map(|job| (job.created_at, job.id)),
                None => None,
            };
            let window = match after {
                Some(position) => Window::After { position, limit: *limit },
                None => Window::Page { offset: u64::from(*limit / 2), limit: *limit },
            };
            let (queue, states) = (QUEUES[*queue], states.clone());
            let query = JobQuery { queue, states, batch: None, client_id: None, window };
            Outcome::Listed(storage.jobs(Some(&agents[*agent]), &query).await.expect("list"))
        }
    }
}

/// All that the queues show.
async fn everything(
    world: &World,
    agents: &[AgentId; 2],
) -> (Vec<Option<Job>>, Vec<(QueueFront, QueueFront, QueueLoad)>) {
    let (mut jobs, mut queues) = (Vec::new(), Vec::new());
    for (of, agent) in agents.iter().enumerate() {
        for id in 0..6 {
            jobs.push(world.job_of(Some(agent), number(of, id)).await);
        }
    }
    for queue in QUEUES {
        let first = world.storage.queue_front(queue, Some(&agents[0])).await.expect("front");
        let second = world.storage.queue_front(queue, Some(&agents[1])).await.expect("front");
        queues.push((first, second, world.storage.queue_load(queue).await.expect("load")));
    }
    (jobs, queues)
}

/// Applies a history to a store and to the model.
async fn replay_history(
    storage: Arc<dyn ConversationStorage>,
    prefix: String,
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let (ours, model) = (World::new(storage), World::new(Arc::new(MemoryStorage::new())));
    let mut agents = Vec::new();
    for name in ["a", "b"] {
        let name = format!("{prefix}-{name}");
        ours.agent(&name, 0).await;
        agents.push(model.agent(&name, 0).await);
    }
    let Ok(agents) = <[AgentId; 2]>::try_from(agents) else { unreachable!("two agents") };
    let mut verdict = Ok(());
    for (n, step) in steps.iter().enumerate() {
        let millis = 1_000 + n as i64;
        let found = apply(&ours, &agents, step, millis).await;
        let expected = apply(&model, &agents, step, millis).await;
        if found != expected {
            let text = format!("step {n}: {step:?}\n found {found:?}\n instead of {expected:?}");
            verdict = Err(TestCaseError::fail(text));
            break;
        }
        let (found, expected) = (everything(&ours, &agents).await, everything(&model, &agents).await);
        if found != expected {
            let text = format!("after step {n}: {step:?}\n found {found:?}\n instead of {expected:?}");
            verdict = Err(TestCaseError::fail(text));
            break;
        }
    }
    // Claims take jobs of every agent, so none may remain for the next history.
    for agent in &agents {
        ours.set_status(agent, AgentStatus::Deleted, 9_000).await.expect("delete");
    }
    verdict
}

pub(super) fn random_histories_of_queues_agree_with_the_model(backend: &mut dyn Backend) {
    let given = std::option_env!("CONFORMANCE_HISTORIES").and_then(|text| text.parse().ok());
    let cases = given.unwrap_or_else(|| backend.histories());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let storage = backend.storage();
    let run = std::cell::Cell::new(0_u32);
    let result = runner.run(&history(40), |steps| {
        run.set(run.get() + 1);
        let prefix = format!("queues{:06}", run.get());
        let verdict = std::sync::Mutex::new(Ok(()));
        backend.block_on(Box::pin(async {
            let outcome = replay_history(Arc::clone(&storage), prefix, &steps).await;
            *verdict.lock().expect("lock") = outcome;
        }));
        verdict.into_inner().expect("lock")
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert_eq!(backend.faults(), [] as [String; 0]);
}
