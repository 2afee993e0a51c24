//! Cases for jobs: what a queue stores, claims, leases and releases.

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
    Queue, QueueFront, QueueLoad, QuotaExcess, QuotaUnit, Result, ScopedJob, StorageErrorKind, Subject,
    Window, Woken,
};
use openapi_core::values::{AgentId, ContactId, ConversationId, FileId, JobId, PlatformId};

const QUEUE: Queue = Queue::Extraction;
const BODY: &str = r#"{"primaryEmail":"a@example.com"}"#;

pub(super) fn job_id(number: u8) -> JobId {
    JobId::from_bytes([number; 12])
}

pub(super) fn server(number: u8) -> PlatformId {
    PlatformId::from_bytes([number; 12])
}

/// A new job that is ready at a turn.
pub(super) fn job(number: u8, turn: u64) -> Job {
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

pub(super) fn save(job: &Job) -> JobChange {
    JobChange::Save(Box::new(job.clone()))
}

/// The job with a version more.
pub(super) fn next(job: &Job) -> Job {
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
    pub(super) async fn change_jobs(&self, scope: Option<&AgentId>, changes: Vec<JobChange>) -> Result<()> {
        self.storage.save_jobs(scope, &JobsWrite::new(at(1), changes)).await
    }

    async fn put_job(&self, scope: Option<&AgentId>, job: &Job) {
        let saved = self.change_jobs(scope, vec![save(job)]).await;
        saved.unwrap_or_else(|error| panic!("save {job:?}: {error}"));
    }

    pub(super) async fn job_of(&self, scope: Option<&AgentId>, number: u8) -> Option<Job> {
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

fn too_many(limit: u64, actual: u64) -> StorageErrorKind {
    StorageErrorKind::QuotaExceeded(QuotaExcess { unit: QuotaUnit::Jobs, limit, actual })
}

pub(super) fn jobs_come_back_as_saved(backend: &mut dyn Backend) {
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

pub(super) fn jobs_compare_versions(backend: &mut dyn Backend) {
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

pub(super) fn jobs_are_changed_as_a_whole(backend: &mut dyn Backend) {
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

pub(super) fn job_lists_filter_and_page(backend: &mut dyn Backend) {
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

pub(super) fn jobs_are_claimed_by_turn(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        assert_eq!(world.claim(1, 10, 9).await, []);
        for (scope, number, turn) in
            [(Some(&a), 1, 40), (Some(&b), 2, 9), (None, 3, 300), (Some(&a), 4, 9), (Some(&b), 5, 9)]
        {
            world.put_job(scope, &job(number, turn)).await;
        }
        world.put_job(Some(&a), &Job { queue: Queue::Reminder, ..job(6, 1) }).await;
        assert_eq!(world.claim(1, 10, 0).await, []);
        let first = world.claim(1, 10, 2).await;
        assert_eq!(claimed(&first), [(Some(b.clone()), 2), (Some(a.clone()), 4)]);
        let expected = Job {
            state: JobState::Running,
            version: 2,
            attempts: 1,
            lease: Some(JobLease { owner: server(1), until: at(70) }),
            started_at: Some(at(10)),
            ..job(2, 9)
        };
        assert_eq!(first[0].job, expected);
        assert_eq!(world.job_of(Some(&b), 2).await, Some(expected.clone()), "stored as it was given");
        let rest = world.claim(2, 11, 9).await;
        assert_eq!(claimed(&rest), [(Some(b.clone()), 5), (Some(a.clone()), 1), (None, 3)]);
        assert_eq!(world.claim(3, 12, 9).await, [], "each job once");
        // One that is ready again begins with the same turn, and began when it first did.
        let back = Job { state: JobState::Ready, lease: None, ..next(&expected) };
        world.put_job(Some(&b), &back).await;
        let again = world.claim(3, 50, 9).await;
        let lease = Some(JobLease { owner: server(3), until: at(110) });
        let expected = Job { state: JobState::Running, version: 4, attempts: 2, lease, ..expected };
        assert_eq!(again, [ScopedJob { scope: Some(b), job: expected }]);
    });
}

/// The ids of claimed jobs, by claim.
type Claims = Arc<Mutex<Vec<JobId>>>;

pub(super) fn a_job_is_claimed_once(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for number in 1..=40 {
            let scope = [&a, &b][usize::from(number % 2)];
            world.put_job(Some(scope), &job(number, u64::from(number))).await;
        }
    });
    let (storage, found) = (backend.storage(), Claims::default());
    race(backend, &|n| {
        let (storage, found) = (Arc::clone(&storage), Arc::clone(&found));
        Box::pin(async move {
            for _ in 0..8 {
                let claimed = storage.claim_jobs(&claim_of(n as u8, 5, 3)).await.expect("claim");
                assert!(claimed.len() <= 3, "{claimed:?}");
                found.lock().expect("lock").extend(claimed.iter().map(|it| it.job.id));
            }
        })
    });
    let mut found = std::mem::take(&mut *found.lock().expect("lock"));
    found.sort();
    let expected: Vec<JobId> = (1..=40).map(job_id).collect();
    assert_eq!(found, expected, "every job, and each once");
}

pub(super) fn agents_take_turns(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        assert_eq!(world.front(Some(&a)).await, QueueFront::default());
        let enqueue = async |scope, number, cost| {
            let turn = world.front(scope).await.turn(cost);
            world.put_job(scope, &job(number, turn)).await;
            turn
        };
        // The first agent fills the queue, then the second one comes.
        for number in 1..=4 {
            assert_eq!(enqueue(Some(&a), number, 10).await, u64::from(number) * 10);
        }
        assert_eq!(world.front(Some(&b)).await, QueueFront { head: 10, last: 0 });
        assert_eq!(world.front(Some(&a)).await, QueueFront { head: 10, last: 40 });
        enqueue(Some(&b), 11, 10).await;
        enqueue(Some(&b), 12, 30).await;
        let order = async || claimed(&world.claim(1, 5, 1).await)[0].1;
        assert_eq!([order().await, order().await, order().await], [1, 11, 2]);
        // Running, scheduled and ready jobs count for an agent; those that have ended do not.
        assert_eq!(world.front(Some(&b)).await, QueueFront { head: 30, last: 40 });
        let scheduled = Job { state: JobState::Scheduled, due_at: Some(at(9)), ..job(13, 90) };
        world.put_job(Some(&b), &scheduled).await;
        let failed = Job { state: JobState::Failed, due_at: Some(at(9)), ..job(14, 900) };
        world.put_job(Some(&b), &failed).await;
        assert_eq!(world.front(Some(&b)).await, QueueFront { head: 30, last: 90 });
        assert_eq!(world.front(None).await, QueueFront { head: 30, last: 0 });
        while !world.claim(1, 5, 9).await.is_empty() {}
        assert_eq!(world.front(None).await, QueueFront { head: 40, last: 0 }, "the greatest that runs");
        let of_reminders = world.storage.queue_front(Queue::Reminder, Some(&a)).await.expect("front");
        assert_eq!(of_reminders, QueueFront::default());
    });
}

pub(super) fn a_renewal_needs_the_owner(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for (scope, number) in [(Some(&a), 1), (Some(&b), 2), (None, 3), (Some(&a), 4)] {
            world.put_job(scope, &job(number, u64::from(number))).await;
        }
        world.claim(1, 10, 1).await;
        world.claim(2, 10, 2).await;
        let keys =
            [(Some(a.clone()), 1), (Some(b.clone()), 2), (None, 3), (Some(a.clone()), 4), (Some(b), 1)];
        let keys = keys.map(|(scope, number)| (scope, job_id(number)));
        let renew = async |owner, until| {
            world.storage.renew_jobs(server(owner), &keys, at(until)).await.expect("renew")
        };
        assert_eq!(renew(1, 500).await, [true, false, false, false, false]);
        assert_eq!(renew(2, 400).await, [false, true, true, false, false]);
        let first = world.job_of(Some(&a), 1).await.expect("a job");
        let lease = JobLease { owner: server(1), until: at(500) };
        assert_eq!((first.version, first.lease), (2, Some(lease)), "a renewal is no change");
        assert_eq!(world.wake(400, 9).await, Woken { lost: 2, ..Woken::default() });
        assert_eq!(renew(2, 900).await, [false; 5], "a lost lease cannot be renewed");
        assert_eq!(world.storage.renew_jobs(server(1), &[], at(1)).await.expect("renew"), [] as [bool; 0]);
    });
}

pub(super) fn a_lost_lease_is_ready_again(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for (scope, number) in [(Some(&a), 1), (Some(&a), 2), (None, 3)] {
            world.put_job(scope, &job(number, u64::from(number))).await;
        }
        world.claim(1, 10, 3).await;
        assert_eq!(world.wake(69, 9).await, Woken::default(), "the leases last");
        assert_eq!(world.wake(70, 2).await.lost, 2, "as many as were asked for");
        assert_eq!(world.wake(70, 2).await.lost, 1);
        let ready = world.job_of(Some(&a), 1).await;
        let expected = Job { version: 3, attempts: 1, lost: 1, started_at: Some(at(10)), ..job(1, 1) };
        assert_eq!(ready, Some(expected.clone()));
        let again = world.claim(2, 80, 1).await;
        let lease = Some(JobLease { owner: server(2), until: at(140) });
        let expected = Job { state: JobState::Running, version: 4, attempts: 2, lease, ..expected };
        assert_eq!(again, [ScopedJob { scope: Some(a), job: expected }]);
    });
}

pub(super) fn a_settle_needs_its_version(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        world.put_job(Some(&a), &job(1, 1)).await;
        let slow = world.claim(1, 10, 1).await[0].job.clone();
        world.wake(70, 9).await;
        let done =
            |job: &Job| Job { state: JobState::Succeeded, lease: None, due_at: Some(at(900)), ..next(job) };
        let settle = async |job: &Job| world.change_jobs(Some(&a), vec![save(&done(job))]).await;
        assert_fails(settle(&slow).await, &StorageErrorKind::Stale);
        let fast = world.claim(2, 80, 1).await[0].job.clone();
        assert_fails(settle(&slow).await, &StorageErrorKind::Stale);
        settle(&fast).await.expect("the holder of the lease");
        assert_fails(settle(&fast).await, &StorageErrorKind::Stale);
        assert_eq!(world.job_of(Some(&a), 1).await, Some(done(&fast)));
        assert_eq!(world.claim(3, 90, 9).await, [], "what has ended is not claimed");
    });
}

fn settle(storage: Arc<dyn ConversationStorage>, job: Job) -> Written {
    let write = JobsWrite::new(at(1), vec![save(&job)]);
    Box::pin(async move { storage.save_jobs(Some(&agent_id("agent-a")), &write).await })
}

pub(super) fn of_equal_job_versions_one_wins(backend: &mut dyn Backend) {
    on(backend, async |storage| drop(World::with_agents(storage).await));
    for version in 1..=3 {
        let writes = (0..WRITERS).map(|n| Job { version, turn: n as u64, ..job(1, 1) });
        let results = outcomes(backend, writes.collect(), settle);
        let won = results.iter().filter(|result| result.is_ok()).count();
        let stale =
            results.iter().filter(|result| matches!(result, Err(it) if it.kind == StorageErrorKind::Stale));
        assert_eq!((won, stale.count()), (1, WRITERS - 1), "{results:?}");
    }
}

pub(super) fn due_jobs_are_woken(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let scheduled = |number, millis| Job {
            state: JobState::Scheduled,
            due_at: Some(at(millis)),
            ..job(number, u64::from(number))
        };
        world.put_job(Some(&a), &scheduled(1, 100)).await;
        world.put_job(None, &scheduled(2, 200)).await;
        for (number, state) in [(3, JobState::Succeeded), (4, JobState::Failed), (5, JobState::Cancelled)] {
            world.put_job(Some(&b), &Job { state, ..scheduled(number, 150) }).await;
        }
        let reminder = Job { queue: Queue::Reminder, ..scheduled(6, 1) };
        world.put_job(Some(&a), &reminder).await;
        assert_eq!(world.load().await, QueueLoad { scheduled: 2, ..QueueLoad::default() });
        assert_eq!(world.wake(99, 9).await, Woken::default());
        assert_eq!(world.claim(1, 99, 9).await, []);
        assert_eq!(world.wake(100, 9).await, Woken { ready: 1, ..Woken::default() });
        assert_eq!(world.job_of(Some(&a), 1).await, Some(next(&job(1, 1))));
        assert_eq!(world.job_of(Some(&a), 6).await, Some(reminder), "another queue");
        let oldest = Some(at(1));
        assert_eq!(world.load().await, QueueLoad { ready: 1, scheduled: 1, oldest, running: 0 });
        assert_eq!(world.wake(300, 2).await, Woken { ready: 1, removed: 2, ..Woken::default() });
        assert_eq!(world.wake(300, 2).await, Woken { removed: 1, ..Woken::default() });
        assert_eq!(world.list_jobs(Some(&b), &everything()).await, JobPage::default());
        assert_eq!(claimed(&world.claim(1, 300, 9).await), [(Some(a.clone()), 1), (None, 2)]);
        assert_eq!(world.load().await, QueueLoad { running: 2, ..QueueLoad::default() });
    });
}

pub(super) fn a_full_queue_refuses(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let add = async |scope, changes: Vec<JobChange>, limit| {
            let write = JobsWrite { max_unfinished: Some((QUEUE, limit)), ..JobsWrite::new(at(1), changes) };
            world.storage.save_jobs(scope, &write).await
        };
        for scope in [Some(&a), None] {
            let new = |number| save(&job(number, 1));
            add(scope, vec![new(1), new(2)], 2).await.expect("as many as may be");
            assert_fails(add(scope, vec![new(3)], 2).await, &too_many(2, 3));
            assert_fails(add(scope, vec![new(3), new(4)], 3).await, &too_many(3, 4));
            assert_eq!(world.job_of(scope, 3).await, None);
            add(scope, vec![save(&next(&job(1, 1)))], 2).await.expect("one that is there");
            let scheduled = Job { state: JobState::Scheduled, due_at: Some(at(5)), ..next(&job(2, 1)) };
            add(scope, vec![save(&scheduled)], 2).await.expect("one that is there");
            assert_fails(add(scope, vec![new(3)], 2).await, &too_many(2, 3));
            let failed = Job { state: JobState::Failed, due_at: Some(at(5)), ..next(&scheduled) };
            add(scope, vec![save(&failed), new(3)], 2).await.expect("one takes the place of another");
            let other = Job { queue: Queue::Reminder, ..job(5, 1) };
            add(scope, vec![save(&other)], 2).await.expect("jobs of another queue do not count");
            world.put_job(scope, &job(6, 1)).await;
            let removed = JobChange::Remove { id: job_id(6), version: 1 };
            add(scope, vec![removed, new(7)], 3).await.expect("nor does one that is removed");
            world.claim(1, 5, 9).await;
            assert_fails(add(scope, vec![new(8)], 3).await, &too_many(3, 4));
        }
        add(Some(&b), vec![save(&job(1, 1))], 1).await.expect("another agent's jobs do not count");
    });
}

/// A charge in a ledger.
fn entry(number: u8, millis: i64) -> CreditEntry {
    CreditEntry {
        id: PlatformId::from_bytes([number; 12]),
        at: at(millis),
        kind: CreditEntryKind::Charge,
        plan: -i64::from(number),
        top_up: 0,
        available: 5,
        actor: Actor::Operator("suite".to_owned()),
        request_id: None,
        note: None,
    }
}

pub(super) fn credits_and_jobs_agree(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let mut account = CreditAccount { version: 1, ..CreditAccount::default() };
        account.set(CreditPool::Plan, 10);
        account.set(CreditPool::TopUp, 10);
        let reserved = account.reserve_for_job(12).expect("enough");
        assert_eq!((reserved, account.in_jobs), (JobCredits { plan: 10, top_up: 2 }, reserved));
        let queued = Job { reserved, ..job(1, 1) };
        let mut write =
            JobsWrite { account: Some(account.clone()), ..JobsWrite::new(at(1), vec![save(&queued)]) };
        write.entries = vec![entry(7, 4)];
        world.storage.save_jobs(Some(&a), &write).await.expect("enqueue");
        assert_eq!(world.credits(&a).await, Some(account.clone()));

        let running = world.claim(1, 5, 1).await[0].job.clone();
        assert_eq!(running.reserved, reserved);
        assert_eq!(account.settle_job(reserved, 11), JobCredits { plan: 10, top_up: 1 });
        assert_eq!((account.plan, account.top_up, account.in_jobs), (0, 9, JobCredits::default()));
        let done = Job {
            state: JobState::Succeeded,
            lease: None,
            due_at: Some(at(900)),
            reserved: JobCredits::default(),
            ..next(&running)
        };
        let mut write = JobsWrite::new(at(6), vec![save(&done)]);
        write.account = Some(account.clone());
        write.entries = vec![entry(1, 6), entry(2, 6)];
        assert_fails(world.storage.save_jobs(Some(&a), &write).await, &StorageErrorKind::Stale);
        account.version = 2;
        write.account = Some(account.clone());
        write.entries.push(entry(7, 4));
        assert_fails(world.storage.save_jobs(Some(&a), &write).await, &StorageErrorKind::AlreadyExists);
        *write.entries.last_mut().expect("an entry") = entry(1, 6);
        assert_fails(world.storage.save_jobs(Some(&a), &write).await, &StorageErrorKind::AlreadyExists);
        assert_eq!(world.job_of(Some(&a), 1).await, Some(running), "nothing of it is stored");
        assert_eq!(world.credits(&a).await.map(|account| account.version), Some(1));
        write.entries.pop();
        world.storage.save_jobs(Some(&a), &write).await.expect("settle");
        assert_eq!(world.credits(&a).await, Some(account));
        assert_eq!(world.ledger(&a, None, 9).await, [entry(2, 6), entry(1, 6), entry(7, 4)]);
        assert_fails(world.storage.save_jobs(Some(&a), &write).await, &StorageErrorKind::Stale);
    });
}

pub(super) fn documents_come_with_their_jobs(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let write = |number, documents: &[(u8, u64)], max_bytes| JobsWrite {
            documents: documents
                .iter()
                .map(|(number, size)| DocumentWrite { document: document(*number, *size), max_bytes })
                .collect(),
            ..JobsWrite::new(at(1), vec![save(&job(number, 1))])
        };
        let saved = async |write: &JobsWrite| world.storage.save_jobs(Some(&a), write).await;
        let excess = |limit, actual| {
            StorageErrorKind::QuotaExceeded(QuotaExcess { unit: QuotaUnit::Bytes, limit, actual })
        };
        assert_fails(saved(&write(1, &[(1, 10), (2, 10)], Some(19))).await, &excess(19, 20));
        assert_fails(saved(&write(1, &[(1, 10), (1, 10)], None)).await, &StorageErrorKind::AlreadyExists);
        assert_eq!((world.job_of(Some(&a), 1).await, world.bytes(&a).await), (None, 0));
        saved(&write(1, &[(1, 10), (2, 10)], Some(20))).await.expect("as many as may be");
        assert_eq!(world.document(&a, 1).await, Some(document(1, 10)));
        assert_fails(saved(&write(2, &[(3, 1)], Some(20))).await, &excess(20, 21));
        assert_fails(saved(&write(2, &[(2, 1)], None)).await, &StorageErrorKind::AlreadyExists);
        assert_eq!(world.due(150, 9).await, [key(&a, 1)], "at the end of its time");
        let mut swapped = write(2, &[(3, 10)], Some(20));
        swapped.discard = vec![FileId::from_bytes([2; 12]), FileId::from_bytes([99; 12])];
        saved(&swapped).await.expect("one goes, another comes");
        assert_eq!((world.document(&a, 2).await, world.bytes(&a).await), (None, 20));
        let mut due = world.due(2, 9).await;
        assert_eq!(due.pop(), Some(key(&a, 2)), "at once");
        let theirs =
            JobsWrite { discard: vec![FileId::from_bytes([1; 12])], ..JobsWrite::new(at(1), Vec::new()) };
        world.storage.save_jobs(Some(&b), &theirs).await.expect("another agent's");
        assert_eq!(world.document(&a, 1).await, Some(document(1, 10)));
    });
}

pub(super) fn a_job_needs_the_contact_as_read(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 1).await;
        let add = async |agent, contact: ContactId, version| {
            let new = Job { subject: Some(Subject::Contact(contact)), ..job(1, 1) };
            let write =
                JobsWrite { contact: Some((contact, version)), ..JobsWrite::new(at(2), vec![save(&new)]) };
            world.storage.save_jobs(Some(agent), &write).await
        };
        assert_fails(add(&a, contact.id, 2).await, &StorageErrorKind::Stale);
        assert_fails(add(&a, ContactId::from_bytes([9; 12]), 1).await, &StorageErrorKind::Missing);
        assert_fails(add(&b, contact.id, 1).await, &StorageErrorKind::Missing);
        assert_eq!(world.job_of(Some(&a), 1).await, None);
        add(&a, contact.id, 1).await.expect("as it was read");
        world.storage.erase_contact(&a, contact.id, at(9), &Effects::default()).await.expect("erase");
        assert_fails(add(&a, contact.id, 1).await, &StorageErrorKind::Missing);
    });
}

pub(super) fn erasing_erases_jobs(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 1).await;
        let conversation =
            |number, contact_id| Conversation { contact_id, ..super::chat::conversation(&a, number) };
        let (linked, unlinked) = (conversation(1, Some(contact.id)), conversation(2, None));
        for conversation in [&linked, &unlinked] {
            world.put_conversation(conversation, Vec::new()).await;
        }
        let subjects = [
            Subject::Contact(contact.id),
            Subject::Conversation(linked.id),
            Subject::Conversation(unlinked.id),
            Subject::Contact(ContactId::from_bytes([9; 12])),
        ];
        for (number, subject) in (1..).zip(subjects) {
            for scope in [Some(&a), Some(&b), None] {
                let job = Job {
                    state: JobState::Succeeded,
                    due_at: Some(at(999)),
                    batch: Some("batch".into()),
                    client_id: Some("client".into()),
                    subject: Some(subject),
                    reserved: JobCredits { plan: 1, top_up: 2 },
                    result: Some(RawObject::new(&object(r#"{"name":"Anna"}"#))),
                    ..job(number, 7)
                };
                world.put_job(scope, &job).await;
            }
        }
        let running = Job {
            state: JobState::Running,
            lease: Some(JobLease { owner: server(1), until: at(900) }),
            subject: Some(subjects[0]),
            ..job(5, 8)
        };
        world.put_job(Some(&a), &running).await;
        world.storage.erase_conversation(&a, unlinked.id, at(9), &Effects::default()).await.expect("erase");
        let listed = async |scope| numbers(&world.list_jobs(scope, &everything()).await.jobs);
        assert_eq!(listed(Some(&a)).await, [5, 4, 2, 1]);
        world.storage.erase_contact(&a, contact.id, at(10), &Effects::default()).await.expect("erase");
        assert_eq!(listed(Some(&a)).await, [4]);
        assert_eq!(world.job_of(Some(&a), 1).await, None);
        let counted = world.storage.count_jobs(Some(&a), QUEUE, "batch").await.expect("count");
        assert_eq!(counted, [(JobState::Succeeded, 1)]);
        for scope in [Some(&b), None] {
            assert_eq!(listed(scope).await, [4, 3, 2, 1], "another scope");
        }
        assert_fails(
            world.change_jobs(Some(&a), vec![save(&next(&running))]).await,
            &StorageErrorKind::Stale,
        );
        let keys = [(Some(a.clone()), running.id)];
        assert_eq!(world.storage.renew_jobs(server(1), &keys, at(950)).await.expect("renew"), [false]);
        assert_eq!(world.wake(1, 2).await.erased.len(), 2, "as many as were asked for");
        let mut woken = world.wake(100, 9).await;
        woken.erased.sort_by_key(|erased| erased.job.id);
        let erased = |number, turn, millis, reserved| ScopedJob {
            scope: Some(a.clone()),
            job: Job {
                state: JobState::Erased,
                version: 2,
                due_at: Some(at(millis)),
                body: RawObject::default(),
                reserved,
                ..job(number, turn)
            },
        };
        let reserved = JobCredits { plan: 1, top_up: 2 };
        let expected = [
            erased(1, 7, 10, reserved),
            erased(2, 7, 10, reserved),
            erased(3, 7, 9, reserved),
            erased(5, 8, 10, JobCredits::default()),
        ];
        assert_eq!(woken, Woken { erased: expected.to_vec(), ..Woken::default() });
        let removals = expected.iter().map(|it| JobChange::Remove { id: it.job.id, version: 2 }).collect();
        world.change_jobs(Some(&a), removals).await.expect("remove");
        assert_eq!(world.wake(100, 9).await, Woken::default());
    });
}

pub(super) fn jobs_belong_to_their_scope(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for (scope, turn) in [(Some(&a), 1), (None, 2)] {
            world.put_job(scope, &Job { batch: Some("batch".into()), ..job(1, turn) }).await;
        }
        assert_eq!(world.job_of(Some(&b), 1).await, None);
        assert_eq!(world.list_jobs(Some(&b), &everything()).await, JobPage::default());
        assert_eq!(world.storage.count_jobs(Some(&b), QUEUE, "batch").await.expect("count"), []);
        assert_fails(
            world.change_jobs(Some(&b), vec![JobChange::Remove { id: job_id(1), version: 1 }]).await,
            &StorageErrorKind::Stale,
        );
        world.put_job(Some(&b), &job(1, 3)).await;
        let turns = [Some(&a), Some(&b), None];
        for (scope, turn) in turns.into_iter().zip([1, 3, 2]) {
            assert_eq!(world.job_of(scope, 1).await.map(|job| job.turn), Some(turn));
        }
        assert_eq!(world.claim(1, 5, 9).await.len(), 3, "each of the same id");
    });
}

pub(super) fn jobs_of_deleted_agents_go(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for agent in [&a, &b] {
            world.put_job(Some(agent), &job(1, 1)).await;
            let leased = JobLease { owner: server(1), until: at(20) };
            world
                .put_job(Some(agent), &Job { state: JobState::Running, lease: Some(leased), ..job(2, 1) })
                .await;
            let over = Job { state: JobState::Failed, due_at: Some(at(20)), ..job(3, 1) };
            world.put_job(Some(agent), &over).await;
        }
        world.set_status(&a, AgentStatus::Disabled, 5).await.expect("disable");
        assert_eq!(world.load().await.ready, 2, "a disabled agent's data stays");
        world.set_status(&a, AgentStatus::Deleted, 6).await.expect("delete");
        assert_eq!(world.job_of(Some(&a), 1).await, None);
        assert_eq!(world.list_jobs(Some(&a), &everything()).await, JobPage::default());
        assert_fails(world.change_jobs(Some(&a), vec![save(&job(9, 1))]).await, &StorageErrorKind::Missing);
        assert_eq!(world.front(Some(&a)).await.last, 0);
        let oldest = Some(at(1));
        assert_eq!(world.load().await, QueueLoad { ready: 1, running: 1, oldest, scheduled: 0 });
        assert_eq!(world.wake(100, 9).await, Woken { lost: 1, removed: 1, ..Woken::default() });
        let claimed = claimed(&world.claim(1, 100, 9).await);
        assert_eq!(claimed, [(Some(b.clone()), 1), (Some(b.clone()), 2)]);
        let keys = [(Some(a.clone()), job_id(2))];
        assert_eq!(world.storage.renew_jobs(server(1), &keys, at(900)).await.expect("renew"), [false]);
        let payloads = world.audit_of(Some(&a)).await.len() as u64;
        let mut removed = 0;
        loop {
            let step = world.storage.purge_agent(&a, 2).await.expect("purge");
            assert!(step <= 2, "a step removed {step} rows of at most 2");
            if step == 0 {
                break;
            }
            removed += step;
        }
        assert_eq!(removed, 1 + 3 + payloads, "the schema, the jobs, and the payloads of audit entries");
        assert_eq!(world.list_jobs(Some(&b), &everything()).await.total, 2);
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}
