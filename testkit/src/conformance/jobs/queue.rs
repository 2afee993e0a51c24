//! Cases for the order of a queue: claims, leases, turns, and what is due.

use super::*;

pub(in crate::conformance) fn jobs_are_claimed_by_turn(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn a_job_is_claimed_once(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn agents_take_turns(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn a_renewal_needs_the_owner(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn a_lost_lease_is_ready_again(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn a_settle_needs_its_version(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn of_equal_job_versions_one_wins(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn due_jobs_are_woken(backend: &mut dyn Backend) {
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
