//! Cases for what is written together with jobs: credits, documents, and the bounds of a queue.

use super::*;

fn too_many(limit: u64, actual: u64) -> StorageErrorKind {
    StorageErrorKind::QuotaExceeded(QuotaExcess { unit: QuotaUnit::Jobs, limit, actual })
}

pub(in crate::conformance) fn a_full_queue_refuses(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn credits_and_jobs_agree(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn documents_come_with_their_jobs(backend: &mut dyn Backend) {
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

pub(in crate::conformance) fn records_come_with_their_jobs(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let key = RecordKey::new(RecordKind::Correction, PlatformId::from_bytes([1; 12]));
        let record = |version: u64| StoredRecord {
            key: key.clone(),
            version,
            subject: None,
            unique: None,
            due_at: None,
            body: RawObject::from_text(format!(r#"{{"n":{version}}}"#)).expect("an object"),
        };
        let write = |records, documents: &[u8], max_bytes| JobsWrite {
            records,
            documents: documents
                .iter()
                .map(|number| DocumentWrite { document: document(*number, 10), max_bytes })
                .collect(),
            ..JobsWrite::new(at(1), Vec::new())
        };
        let saved = async |agent, write: &JobsWrite| world.storage.save_jobs(Some(agent), write).await;
        let stored = async |agent| world.storage.record(Some(agent), &key).await.expect("a record");
        let save_of = |version| vec![RecordChange::Save(record(version))];
        assert_fails(saved(&a, &write(save_of(2), &[1], None)).await, &StorageErrorKind::Stale);
        let excess = QuotaExcess { unit: QuotaUnit::Bytes, limit: 9, actual: 10 };
        let refused = saved(&a, &write(save_of(1), &[1], Some(9))).await;
        assert_fails(refused, &StorageErrorKind::QuotaExceeded(excess));
        assert_eq!((stored(&a).await, world.document(&a, 1).await), (None, None), "all or nothing");
        saved(&a, &write(save_of(1), &[1], None)).await.expect("both");
        assert_eq!((stored(&a).await, world.bytes(&a).await), (Some(record(1)), 10));
        saved(&a, &write(save_of(2), &[], None)).await.expect("the next version");
        assert_fails(saved(&a, &write(save_of(2), &[], None)).await, &StorageErrorKind::Stale);
        assert_eq!((stored(&a).await, stored(&b).await), (Some(record(2)), None));
        let remove = |version| vec![RecordChange::Remove { key: key.clone(), version }];
        assert_fails(saved(&b, &write(remove(2), &[], None)).await, &StorageErrorKind::Stale);
        let mut removal = write(remove(1), &[], None);
        removal.discard = vec![FileId::from_bytes([1; 12])];
        assert_fails(saved(&a, &removal).await, &StorageErrorKind::Stale);
        assert_eq!(world.bytes(&a).await, 10);
        removal.records = remove(2);
        saved(&a, &removal).await.expect("both go");
        assert_eq!((stored(&a).await, world.bytes(&a).await), (None, 0));
    });
}

pub(in crate::conformance) fn a_job_needs_the_contact_as_read(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 1).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        let add = async |agent, contact: ContactId, version| {
            let new = Job { subject: Some(Subject::Contact(contact)), ..job(1, 1) };
            let write =
                JobsWrite { contacts: vec![(contact, version)], ..JobsWrite::new(at(2), vec![save(&new)]) };
            world.storage.save_jobs(Some(agent), &write).await
        };
        assert_fails(add(&a, contact.id, 2).await, &StorageErrorKind::Stale);
        assert_fails(add(&a, ContactId::from_bytes([9; 12]), 1).await, &StorageErrorKind::Missing);
        assert_fails(add(&b, contact.id, 1).await, &StorageErrorKind::Missing);
        // Each of several counts, in turn.
        let both = async |first, second| {
            let contacts = vec![(contact.id, first), (second, 1)];
            let write = JobsWrite { contacts, ..JobsWrite::new(at(2), vec![save(&job(2, 1))]) };
            world.storage.save_jobs(Some(&a), &write).await
        };
        let gone = ContactId::from_bytes([9; 12]);
        assert_fails(both(1, gone).await, &StorageErrorKind::Missing);
        assert_fails(both(2, gone).await, &StorageErrorKind::Stale);
        assert_eq!((world.job_of(Some(&a), 1).await, world.job_of(Some(&a), 2).await), (None, None));
        both(1, other.id).await.expect("both as they were read");
        add(&a, contact.id, 1).await.expect("as it was read");
        world.storage.erase_contact(&a, contact.id, at(9), &Effects::default()).await.expect("erase");
        assert_fails(add(&a, contact.id, 1).await, &StorageErrorKind::Missing);
    });
}
