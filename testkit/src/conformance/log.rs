//! Cases for event logs.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use super::fixture::{World, agent_id, assert_fails, at, parsed};
use super::races::{WRITERS, race};
use super::{Backend, on};
use openapi_core::agents::AgentStatus;
use openapi_core::contacts::Contact;
use openapi_core::events::{EventActor, EventData, NewEvent};
use openapi_core::ports::IdGenerator;
use openapi_core::storage::{
    ContactWrite, Effects, LogEntry, LogPage, RecordsWrite, StorageErrorKind, Subscription,
};
use openapi_core::values::{AgentId, ContactId, KeyId};

impl World {
    /// An event of a contact.
    pub(super) fn event(&self, contact: ContactId, millis: i64) -> NewEvent {
        let data = EventData::ContactCreated { contact_id: contact };
        NewEvent { contact: Some(contact), data, ..self.key_event(0, millis) }
    }

    /// An event without a contact; events of different numbers differ.
    pub(super) fn key_event(&self, number: u8, millis: i64) -> NewEvent {
        NewEvent {
            id: self.ids.platform_id(at(millis)),
            at: at(millis),
            actor: EventActor::Operator,
            contact: None,
            data: EventData::KeyCreated { key_id: KeyId::from_bytes([number; 12]) },
        }
    }

    /// Appends events with a change of nothing.
    pub(super) async fn append(&self, agent: &AgentId, events: Vec<NewEvent>) {
        let effects = Effects { events, ..Effects::default() };
        let write = RecordsWrite { changes: Vec::new(), effects };
        self.storage
            .save_records(Some(agent), &write)
            .await
            .unwrap_or_else(|error| panic!("append: {error}"));
    }

    pub(super) async fn log_page(&self, agent: &AgentId, after: u64, at_most: u32) -> LogPage {
        self.storage.log(agent, after, at_most).await.unwrap_or_else(|error| panic!("log: {error}"))
    }

    /// The whole log, whose numbers have no gap.
    pub(super) async fn log_of(&self, agent: &AgentId) -> Vec<LogEntry> {
        let LogPage { entries, oldest, head } = self.log_page(agent, 0, 100_000).await;
        let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
        let expected: Vec<u64> = if head == 0 { Vec::new() } else { (oldest..=head).collect() };
        assert_eq!(numbers, expected, "oldest {oldest}, head {head}");
        assert_eq!(self.storage.log_heads(std::slice::from_ref(agent)).await.expect("heads"), [head]);
        entries
    }

    /// A write of a new contact with an event.
    async fn created(&self, agent: &AgentId, email: &str, millis: i64) -> (Contact, ContactWrite) {
        let contact = self.contact(agent, &format!(r#"{{"primaryEmail":"{email}"}}"#), millis).await;
        let write = self.write(&contact, millis).await;
        let effects = write.effects.clone().with_event(self.event(contact.id, millis));
        (contact, ContactWrite { effects, ..write })
    }
}

/// Events as entries with consecutive numbers.
pub(super) fn numbered(first: u64, events: &[NewEvent]) -> Vec<LogEntry> {
    events.iter().zip(first..).map(|(event, seq)| event.to_entry(seq)).collect()
}

pub(super) fn events_come_with_their_change(backend: &mut dyn Backend) {
    let expected = Mutex::new(Vec::new());
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        assert_eq!(world.log_page(&a, 0, 9).await, LogPage::default());
        let (contact, write) = world.created(&a, "a@example.com", 9).await;
        let mut events = write.effects.events.clone();
        world.storage.insert_contact(&a, &write).await.expect("insert");
        let changed = World::changed(&contact, 3, |contact| contact.first_name = Some(parsed("x")));
        let mut write = world.write(&changed, 3).await;
        // Later in the log, and earlier in time.
        write.effects.events = vec![world.event(contact.id, 3), world.key_event(7, 2), world.key_event(8, 2)];
        events.extend(write.effects.events.clone());
        world.storage.update_contact(&a, 1, &write).await.expect("update");
        world.append(&a, vec![world.key_event(9, 4)]).await;
        let last = world.log_of(&a).await.pop().expect("an event");
        assert_eq!((last.seq, last.at), (5, at(4)));
        let log = world.log_of(&a).await;
        assert_eq!(log[..4], numbered(1, &events), "in the order of the writes, with all that was written");
        assert_eq!(world.log_of(&b).await, []);
        *expected.lock().expect("lock") = log;
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let (world, a) = (World::new(storage), agent_id("agent-a"));
            assert_eq!(world.log_of(&a).await, *expected.lock().expect("lock"), "a log outlives a restart");
            world.append(&a, vec![world.key_event(1, 5)]).await;
            assert_eq!(world.log_of(&a).await.len(), 6, "and goes on");
        });
    }
}

pub(super) fn a_refused_write_has_no_event(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let (contact, write) = world.created(&a, "a@example.com", 1).await;
        world.storage.insert_contact(&a, &write).await.expect("insert");
        assert_fails(world.storage.insert_contact(&a, &write).await, &StorageErrorKind::AlreadyExists);
        assert_fails(world.storage.update_contact(&a, 2, &write).await, &StorageErrorKind::Stale);
        let stale = ContactWrite { schema_version: 9, ..write.clone() };
        assert_fails(world.storage.update_contact(&a, 1, &stale).await, &StorageErrorKind::Stale);
        let record = super::records::record(&[1], 2);
        let refused = RecordsWrite::save(record, write.effects.clone());
        assert_fails(world.storage.save_records(Some(&a), &refused).await, &StorageErrorKind::Stale);
        assert_eq!(world.log_of(&a).await, numbered(1, &write.effects.events));
        // The numbers go on without a gap.
        world.append(&a, vec![world.event(contact.id, 2)]).await;
        assert_eq!(world.log_of(&a).await.len(), 2);
    });
}

pub(super) fn logs_are_read_in_pages(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let events: Vec<NewEvent> = (1..=5).map(|number| world.key_event(number, 9)).collect();
        world.append(&a, events.clone()).await;
        let log = numbered(1, &events);
        for (after, at_most, expected) in [
            (0, 2, &log[..2]),
            (2, 2, &log[2..4]),
            (4, 9, &log[4..]),
            (5, 9, &[]),
            (u64::MAX, 9, &[]),
            (0, 0, &[]),
        ] {
            let page = world.log_page(&a, after, at_most).await;
            assert_eq!(
                page,
                LogPage { entries: expected.to_vec(), oldest: 1, head: 5 },
                "{at_most} after {after}"
            );
        }
        world.append(&b, vec![world.key_event(1, 1)]).await;
        let heads = world.storage.log_heads(&[b.clone(), agent_id("nobody"), a.clone(), a]).await;
        assert_eq!(heads.expect("heads"), [1, 0, 5, 5]);
        assert!(world.storage.log_heads(&[]).await.expect("heads").is_empty());
    });
}

pub(super) fn logs_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let nobody = agent_id("nobody");
        let (ours, theirs) =
            (vec![world.key_event(1, 1)], vec![world.key_event(2, 1), world.key_event(3, 2)]);
        world.append(&a, ours.clone()).await;
        assert_eq!(world.log_of(&b).await, []);
        world.append(&b, theirs.clone()).await;
        assert_eq!(world.log_of(&a).await, numbered(1, &ours));
        assert_eq!(world.log_of(&b).await, numbered(1, &theirs));
        assert_eq!(world.log_page(&nobody, 0, 9).await, LogPage::default());
        assert_eq!(world.storage.sweep_log(&nobody, at(9), 9).await.expect("sweep"), 0);
        assert_eq!(world.storage.sweep_log(&b, at(9), 9).await.expect("sweep"), 1);
        assert_eq!(world.log_of(&a).await.len(), 1);
        world.set_status(&a, AgentStatus::Deleted, 3).await.expect("delete");
        assert_eq!(world.log_page(&a, 0, 9).await, LogPage::default(), "nothing of a deleted agent");
        let payloads = world.audit_of(Some(&a)).await.len() as u64;
        let mut removed = 0;
        loop {
            let step = world.storage.purge_agent(&a, 2).await.expect("purge");
            removed += step;
            if step == 0 {
                break;
            }
        }
        assert_eq!(removed, 1 + 1 + payloads, "the schema, the event, and audit payloads");
        assert_eq!(world.log_of(&b).await.len(), 1);
    });
}

pub(super) fn seq_has_no_gap_under_races(backend: &mut dyn Backend) {
    const EACH: usize = 4;
    let prepared: Arc<Mutex<Vec<Vec<ContactWrite>>>> = Arc::default();
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let mut writes = Vec::new();
        for writer in 0..WRITERS {
            let mut own = Vec::new();
            for number in 0..EACH {
                let agent = if writer % 2 == 0 { &a } else { &b };
                // One of four is refused: its address is another's.
                let email = if number == 2 {
                    "taken@example.com".to_owned()
                } else {
                    format!("{writer}-{number}@example.com")
                };
                own.push(world.created(agent, &email, 10).await.1);
            }
            writes.push(own);
        }
        *prepared.lock().expect("lock") = writes;
    });
    let storage = backend.storage();
    race(backend, &|writer| {
        let (storage, own) = (Arc::clone(&storage), prepared.lock().expect("lock")[writer].clone());
        Box::pin(async move {
            for write in own {
                let _ = storage.insert_contact(&write.contact.agent_id, &write).await;
            }
        })
    });
    on(backend, async |storage| {
        let world = World::new(storage);
        for agent in ["agent-a", "agent-b"].map(agent_id) {
            let log = world.log_of(&agent).await;
            let (contacts, total) = world.list(&agent, &super::fixture::everything()).await;
            let mut reported: Vec<ContactId> = log.iter().filter_map(|entry| entry.contact).collect();
            let mut stored: Vec<ContactId> = contacts.iter().map(|contact| contact.id).collect();
            reported.sort();
            stored.sort();
            assert_eq!((reported, log.len() as u64), (stored, total), "one event for each contact");
            // What a writer did first comes first.
            for own in prepared.lock().expect("lock").iter() {
                let positions: Vec<usize> = own
                    .iter()
                    .filter_map(|write| log.iter().position(|entry| entry.contact == Some(write.contact.id)))
                    .collect();
                assert!(positions.is_sorted(), "{positions:?}");
            }
        }
    });
}

pub(super) fn the_newest_event_is_not_swept(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert_eq!(world.storage.sweep_log(&a, at(1_000), 100).await.expect("sweep"), 0);
        let events: Vec<NewEvent> = (1..=3).map(|number| world.key_event(number, 1)).collect();
        world.append(&a, events.clone()).await;
        assert_eq!(world.storage.sweep_log(&a, at(1_000), 100).await.expect("sweep"), 2);
        assert_eq!(world.log_of(&a).await, numbered(1, &events)[2..]);
        assert_eq!(world.storage.sweep_log(&a, at(1_000), 100).await.expect("sweep"), 0);
        world.append(&a, vec![world.key_event(4, 2)]).await;
        assert_eq!(world.log_of(&a).await.last().map(|entry| entry.seq), Some(4));
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let (world, a) = (World::new(storage), agent_id("agent-a"));
            world.storage.sweep_log(&a, at(1_000), 100).await.expect("sweep");
            world.append(&a, vec![world.key_event(5, 3)]).await;
            assert_eq!(world.log_of(&a).await.last().map(|entry| entry.seq), Some(5));
        });
    }
}

pub(super) fn a_sweep_leaves_the_suffix(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        // A clock went back: the third event ends what an earlier sweep removes.
        let events: Vec<NewEvent> =
            [10, 20, 50, 15, 60].into_iter().map(|millis| world.key_event(1, millis)).collect();
        world.append(&a, events.clone()).await;
        let log = numbered(1, &events);
        let sweep =
            async |before, at_most| world.storage.sweep_log(&a, at(before), at_most).await.expect("sweep");
        assert_eq!((sweep(10, 9).await, sweep(50, 0).await), (0, 0), "an event of that time stays");
        assert_eq!(sweep(50, 1).await, 1);
        assert_eq!(world.log_of(&a).await, log[1..]);
        assert_eq!(sweep(50, 9).await, 1);
        assert_eq!(sweep(50, 9).await, 0);
        assert_eq!(world.log_of(&a).await, log[2..]);
        let page = world.log_page(&a, 1, 1).await;
        assert_eq!((page.entries, page.oldest, page.head), (log[2..3].to_vec(), 3, 5));
        assert_eq!(sweep(51, 9).await, 2);
        assert_eq!(world.log_of(&a).await, log[4..]);
    });
}

/// Scrubs the logs to the end, few events at a time.
async fn scrub(world: &World) {
    for _ in 0..1_000 {
        if world.storage.scrub_logs(2).await.expect("scrub") == 0 {
            return;
        }
    }
    panic!("a scrub does not end");
}

pub(super) fn an_erased_contact_is_in_no_read(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let mut contacts = Vec::new();
        for email in ["a@example.com", "b@example.com", "c@example.com"] {
            contacts.push(world.insert(&a, &format!(r#"{{"primaryEmail":"{email}"}}"#), 1).await);
        }
        let [gone, too, stays] = [0, 1, 2].map(|position| contacts[position].id);
        let of = [gone, too, stays, gone];
        let mut events: Vec<NewEvent> = of.into_iter().map(|contact| world.event(contact, 2)).collect();
        events.insert(2, world.key_event(1, 2));
        for agent in [&a, &b] {
            world.append(agent, events.clone()).await;
        }
        for contact in [gone, too] {
            let data = EventData::ContactErased { contact_id: contact };
            let event = NewEvent { data, ..world.event(contact, 3) };
            events.push(event.clone());
            let effects = Effects::default().with_event(event);
            world.storage.erase_contact(&a, contact, at(3), &effects).await.expect("erase");
        }
        let mut expected = numbered(1, &events);
        for position in [0, 1, 4] {
            expected[position] = LogEntry { contact: None, body: None, ..expected[position].clone() };
        }
        assert_eq!(
            world.log_of(&a).await,
            expected,
            "number, id, time and type stay, and the erasure itself"
        );
        // What comes later is not erased with it.
        world.append(&a, vec![world.event(gone, 4)]).await;
        expected.extend(numbered(8, &[world.event(gone, 4)]));
        let log = world.log_of(&a).await;
        assert_eq!((&log[..7], log[7].contact), (&expected[..7], Some(gone)));
        scrub(&world).await;
        assert_eq!(world.log_of(&a).await, log, "a scrub shows nothing new");
        assert_eq!(world.log_of(&b).await, numbered(1, &events)[..5], "another agent's are its own");
        assert_eq!(world.storage.scrub_logs(9).await.expect("scrub"), 0);
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}

fn is_ready(subscription: &mut Subscription<'_>) -> bool {
    pin!(subscription.changed()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

pub(super) fn a_commit_notifies(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let notifier = world.storage.notifier();
        let (mut ours, mut theirs) = (notifier.subscribe(&a), notifier.subscribe(&b));
        assert!(!is_ready(&mut ours));
        let (_, write) = world.created(&a, "a@example.com", 1).await;
        world.storage.insert_contact(&a, &write).await.expect("insert");
        assert!(is_ready(&mut ours) && !is_ready(&mut ours));
        world.append(&a, vec![world.key_event(1, 1)]).await;
        assert!(is_ready(&mut ours));
        world.append(&a, Vec::new()).await;
        assert!(!is_ready(&mut ours) && !is_ready(&mut theirs), "nothing of the log has changed");
        world.append(&b, vec![world.key_event(1, 1)]).await;
        assert!(is_ready(&mut theirs) && !is_ready(&mut ours));
        let counts: Vec<(&str, u64)> = notifier
            .counts()
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| (kind.as_str(), count))
            .collect();
        assert_eq!(counts, [("contact.created", 1), ("key.created", 2)], "what was committed is counted");
    });
}
