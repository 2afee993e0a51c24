//! Cases for jobs that go: by erasure, with their agent.

use super::*;

/// What is left of an erased job.
fn erased(agent: &AgentId, number: u8, turn: u64, millis: i64, reserved: JobCredits) -> ScopedJob {
    ScopedJob {
        scope: Some(agent.clone()),
        job: Job {
            state: JobState::Erased,
            version: 2,
            due_at: Some(at(millis)),
            body: RawObject::default(),
            reserved,
            ..job(number, turn)
        },
    }
}

pub(in crate::conformance) fn erasing_erases_jobs(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 1).await;
        let conversation = |number, contact_id| Conversation {
            contact_id,
            ..crate::conformance::chat::conversation(&a, number)
        };
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
        let reserved = JobCredits { plan: 1, top_up: 2 };
        let expected = [
            erased(&a, 1, 7, 10, reserved),
            erased(&a, 2, 7, 10, reserved),
            erased(&a, 3, 7, 9, reserved),
            erased(&a, 5, 8, 10, JobCredits::default()),
        ];
        assert_eq!(woken, Woken { erased: expected.to_vec(), ..Woken::default() });
        let removals = expected.iter().map(|it| JobChange::Remove { id: it.job.id, version: 2 }).collect();
        world.change_jobs(Some(&a), removals).await.expect("remove");
        assert_eq!(world.wake(100, 9).await, Woken::default());
    });
}

pub(in crate::conformance) fn jobs_belong_to_their_scope(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn jobs_of_deleted_agents_go(backend: &mut dyn Backend) {
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
