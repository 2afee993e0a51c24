//! Cases for jobs: what a queue stores, claims, leases and releases.

pub(super) mod endings;
pub(super) mod queue;
pub(super) mod writes;

use std::sync::{Arc, Mutex};

use super::documents::{document, key};
use super::fixture::{World, agent_id, assert_fails, at, object, replay, unsealed};
use super::races::{WRITERS, Written, outcomes, race};
use super::{Backend, on};
use ::conversations::Conversation;
use ::conversations::storage::ConversationStorage;
use openapi_core::access::Actor;
use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::credits::{CreditAccount, CreditEntry, CreditEntryKind, CreditPool, JobCredits};
use openapi_core::json::RawObject;
use openapi_core::storage::{
    DocumentWrite, Effects, Job, JobChange, JobClaim, JobLease, JobPage, JobQuery, JobState, JobsWrite,
    Queue, QueueFront, QueueLoad, QuotaExcess, QuotaUnit, RecordChange, RecordKey, RecordKind, Result,
    ScopedJob, StorageErrorKind, StoredRecord, Subject, Window, Woken,
};
use openapi_core::values::{AgentId, ContactId, ConversationId, FileId, JobId, PlatformId};

const QUEUE: Queue = Queue::Extraction;
const BODY: &str = r#"{"primaryEmail":"a@example.com"}"#;

pub(in crate::conformance) fn job_id(number: u8) -> JobId {
    JobId::from_bytes([number; 12])
}

pub(in crate::conformance) fn server(number: u8) -> PlatformId {
    PlatformId::from_bytes([number; 12])
}

/// A new job that is ready at a turn.
pub(in crate::conformance) fn job(number: u8, turn: u64) -> Job {
    Job {
        id: job_id(number),
        queue: QUEUE,
        state: JobState::Ready,
        version: 1,
        turn,
        due_at: None,
        lease: None,
        attempts: 0,
        lost: 0,
        batch: None,
        client_id: None,
        subject: None,
        reserved: JobCredits::default(),
        created_at: at(i64::from(number)),
        started_at: None,
        body: RawObject::new(&object(&format!(r#"{{"zeta":"é\u0001","of":{number},"alpha":[1.50,null]}}"#))),
        result: None,
    }
}

/// A job in each state, with every member that the state has.
fn in_each_state() -> Vec<Job> {
    let plain = |number, state| Job { state, ..job(number, u64::from(number) * 1_000_000_000_000) };
    vec![
        plain(1, JobState::Ready),
        Job {
            due_at: Some(at(100)),
            batch: Some("Ünïque \"batch\"".into()),
            subject: Some(Subject::Contact(ContactId::from_bytes([3; 12]))),
            reserved: JobCredits { plan: 3, top_up: 5_000_000_000 },
            ..plain(2, JobState::Scheduled)
        },
        Job {
            lease: Some(JobLease { owner: server(9), until: at(200) }),
            attempts: 4,
            lost: 2,
            client_id: Some("client".into()),
            subject: Some(Subject::Conversation(ConversationId::from_bytes([255; 12]))),
            started_at: Some(at(7)),
            ..plain(3, JobState::Running)
        },
        Job {
            due_at: Some(at(300)),
            result: Some(RawObject::new(&object(r#"{"found":[1.50,"ä"]}"#))),
            body: RawObject::default(),
            ..plain(4, JobState::Succeeded)
        },
        Job { due_at: Some(at(-5)), queue: Queue::Reminder, ..plain(5, JobState::Failed) },
        Job { due_at: Some(at(300)), ..plain(6, JobState::Cancelled) },
    ]
}

pub(in crate::conformance) fn save(job: &Job) -> JobChange {
    JobChange::Save(Box::new(job.clone()))
}

/// The job with a version more.
pub(in crate::conformance) fn next(job: &Job) -> Job {
    Job { version: job.version + 1, ..job.clone() }
}

fn claim_of(owner: u8, now: i64, at_most: u32) -> JobClaim {
    JobClaim { queue: QUEUE, owner: server(owner), now: at(now), until: at(now + 60), at_most }
}

fn everything() -> JobQuery {
    JobQuery {
        queue: QUEUE,
        states: Vec::new(),
        batch: None,
        client_id: None,
        window: Window::Page { offset: 0, limit: 1_000 },
    }
}

impl World {
    pub(in crate::conformance) async fn change_jobs(
        &self,
        scope: Option<&AgentId>,
        changes: Vec<JobChange>,
    ) -> Result<()> {
        self.storage.save_jobs(scope, &JobsWrite::new(at(1), changes)).await
    }

    async fn put_job(&self, scope: Option<&AgentId>, job: &Job) {
        let saved = self.change_jobs(scope, vec![save(job)]).await;
        saved.unwrap_or_else(|error| panic!("save {job:?}: {error}"));
    }

    pub(in crate::conformance) async fn job_of(&self, scope: Option<&AgentId>, number: u8) -> Option<Job> {
        self.storage.job(scope, job_id(number)).await.unwrap_or_else(|error| panic!("job: {error}"))
    }

    async fn list_jobs(&self, scope: Option<&AgentId>, query: &JobQuery) -> JobPage {
        self.storage.jobs(scope, query).await.unwrap_or_else(|error| panic!("{query:?}: {error}"))
    }

    async fn claim(&self, owner: u8, now: i64, at_most: u32) -> Vec<ScopedJob> {
        let claim = claim_of(owner, now, at_most);
        self.storage.claim_jobs(&claim).await.unwrap_or_else(|error| panic!("claim: {error}"))
    }

    async fn wake(&self, now: i64, at_most: u32) -> Woken {
        let woken = self.storage.wake_jobs(QUEUE, at(now), at_most).await;
        woken.unwrap_or_else(|error| panic!("wake: {error}"))
    }

    async fn front(&self, scope: Option<&AgentId>) -> QueueFront {
        self.storage.queue_front(QUEUE, scope).await.unwrap_or_else(|error| panic!("front: {error}"))
    }

    async fn load(&self) -> QueueLoad {
        self.storage.queue_load(QUEUE).await.unwrap_or_else(|error| panic!("load: {error}"))
    }
}

fn numbers(jobs: &[Job]) -> Vec<u8> {
    jobs.iter().map(|job| job.id.as_bytes()[0]).collect()
}

fn claimed(jobs: &[ScopedJob]) -> Vec<(Option<AgentId>, u8)> {
    jobs.iter().map(|it| (it.scope.clone(), it.job.id.as_bytes()[0])).collect()
}

pub(in crate::conformance) fn jobs_come_back_as_saved(backend: &mut dyn Backend) {
    let same = async |world: &World, scope: Option<&AgentId>| {
        for expected in in_each_state() {
            assert_eq!(world.job_of(scope, expected.id.as_bytes()[0]).await, Some(expected));
        }
        let page = world.list_jobs(scope, &everything()).await;
        let mut expected = in_each_state();
        expected.retain(|job| job.queue == QUEUE);
        expected.reverse();
        expected.iter_mut().for_each(|job| job.result = None);
        assert_eq!(page, JobPage { total: expected.len() as u64, jobs: expected });
    };
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert_eq!(world.job_of(Some(&a), 1).await, None);
        for scope in [Some(&a), None] {
            for job in in_each_state() {
                world.put_job(scope, &job).await;
            }
            same(&world, scope).await;
        }
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let (world, a) = (World::new(storage), agent_id("agent-a"));
            same(&world, Some(&a)).await;
            same(&world, None).await;
        });
    }
}

pub(in crate::conformance) fn jobs_compare_versions(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let change = async |scope, change| world.change_jobs(scope, vec![change]).await;
        let remove = |version| JobChange::Remove { id: job_id(1), version };
        for scope in [Some(&a), None] {
            let of = |version| save(&Job { version, ..job(1, 5) });
            for version in [0, 2, 3, u64::MAX] {
                assert_fails(change(scope, of(version)).await, &StorageErrorKind::Stale);
            }
            for version in [0, 1] {
                assert_fails(change(scope, remove(version)).await, &StorageErrorKind::Stale);
            }
            change(scope, of(1)).await.expect("the first version");
            change(scope, of(2)).await.expect("the next version");
            for version in [0, 1, 2, 4, u64::MAX] {
                assert_fails(change(scope, of(version)).await, &StorageErrorKind::Stale);
            }
            for version in [0, 1, 3, u64::MAX] {
                assert_fails(change(scope, remove(version)).await, &StorageErrorKind::Stale);
            }
            assert_eq!(world.job_of(scope, 1).await.map(|job| job.version), Some(2));
            change(scope, remove(2)).await.expect("the stored version");
            assert_eq!(world.job_of(scope, 1).await, None);
        }
        assert_fails(
            world.change_jobs(Some(&agent_id("nobody")), vec![save(&job(1, 5))]).await,
            &StorageErrorKind::Missing,
        );
    });
}

pub(in crate::conformance) fn jobs_are_changed_as_a_whole(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let effects = |millis| {
            let effects = world.effects(Some(&a), AuditAction::DocumentExtract, "job", millis);
            Effects { replay: Some(replay(1, None, 900)), ..effects }.with_event(world.key_event(1, millis))
        };
        let (noted, log) = (world.audit_of(Some(&a)).await, world.log_of(&a).await);
        world.put_job(Some(&a), &job(1, 5)).await;
        let mut write = JobsWrite::new(at(1), vec![save(&job(2, 6)), save(&job(1, 7))]);
        write.effects = effects(3);
        assert_fails(world.storage.save_jobs(Some(&a), &write).await, &StorageErrorKind::Stale);
        assert_eq!(world.job_of(Some(&a), 2).await, None, "nothing of a rejected write is stored");
        assert_eq!((world.audit_of(Some(&a)).await, world.log_of(&a).await), (noted.clone(), log));
        let stored = world.storage.replay(&a, &replay(1, None, 0).key, at(1)).await.expect("replay");
        assert_eq!(stored, None);

        write.changes = vec![
            save(&job(2, 6)),
            save(&next(&job(1, 7))),
            save(&job(3, 8)),
            JobChange::Remove { id: job_id(4), version: 1 },
        ];
        world.put_job(Some(&a), &job(4, 9)).await;
        world.storage.save_jobs(Some(&a), &write).await.expect("save");
        assert_eq!(numbers(&world.list_jobs(Some(&a), &everything()).await.jobs), [3, 2, 1]);
        let mut expected = noted;
        expected.extend(unsealed(&write.effects.audit));
        assert_eq!(world.audit_of(Some(&a)).await, expected);
        assert_eq!(world.log_of(&a).await.len(), 1);
        let stored = world.storage.replay(&a, &replay(1, None, 0).key, at(1)).await.expect("replay");
        assert_eq!(stored, Some(replay(1, None, 900)));

        // An answer that is stored comes before stale jobs.
        assert_fails(world.storage.save_jobs(Some(&a), &write).await, &StorageErrorKind::ReplayExists);
        let later = JobsWrite { at: at(900), ..write };
        assert_fails(world.storage.save_jobs(Some(&a), &later).await, &StorageErrorKind::Stale);
    });
}

pub(in crate::conformance) fn job_lists_filter_and_page(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let batch = |text: &str| Some(Box::from(text));
        for (number, state, name, client) in [
            (1, JobState::Ready, batch("one"), None),
            (2, JobState::Scheduled, batch("one"), batch("x")),
            (3, JobState::Running, batch("ONE"), None),
            (4, JobState::Succeeded, batch("one"), None),
            (5, JobState::Failed, None, batch("x")),
            (6, JobState::Cancelled, None, batch("X")),
        ] {
            // All but the first came in one instant.
            let created_at = at(i64::from(number > 1));
            let lease = JobLease { owner: server(1), until: at(99) };
            let lease = (state == JobState::Running).then_some(lease);
            let due_at = (!matches!(state, JobState::Ready | JobState::Running)).then_some(at(99));
            let job =
                Job { state, lease, due_at, created_at, batch: name, client_id: client, ..job(number, 1) };
            world.put_job(Some(&a), &job).await;
        }
        world.put_job(Some(&a), &Job { queue: Queue::Reminder, batch: batch("one"), ..job(7, 1) }).await;
        let list = async |query: JobQuery| {
            let page = world.list_jobs(Some(&a), &query).await;
            (numbers(&page.jobs), page.total)
        };
        assert_eq!(list(everything()).await, (vec![6, 5, 4, 3, 2, 1], 6));
        let states = vec![JobState::Ready, JobState::Scheduled];
        assert_eq!(list(JobQuery { states, ..everything() }).await, (vec![2, 1], 2));
        assert_eq!(list(JobQuery { batch: batch("one"), ..everything() }).await, (vec![4, 2, 1], 3));
        assert_eq!(list(JobQuery { client_id: batch("x"), ..everything() }).await, (vec![5, 2], 2));
        let both = JobQuery { batch: batch("one"), client_id: batch("x"), ..everything() };
        assert_eq!(list(JobQuery { states: vec![JobState::Failed], ..both.clone() }).await, (vec![], 0));
        assert_eq!(list(both).await, (vec![2], 1));
        let part = |window| JobQuery { window, ..everything() };
        assert_eq!(list(part(Window::Page { offset: 1, limit: 2 })).await, (vec![5, 4], 6));
        assert_eq!(list(part(Window::Page { offset: 9, limit: 2 })).await, (vec![], 6));
        let after = |position, limit| part(Window::After { position, limit });
        assert_eq!(list(after((at(1), job_id(4)), 2)).await, (vec![3, 2], 6));
        assert_eq!(list(after((at(0), job_id(255)), 9)).await, (vec![1], 6));

        let counted = async |name| world.storage.count_jobs(Some(&a), QUEUE, name).await.expect("count");
        let expected = [(JobState::Ready, 1), (JobState::Scheduled, 1), (JobState::Succeeded, 1)];
        assert_eq!(counted("one").await, expected);
        assert_eq!(counted("none").await, []);
    });
}
