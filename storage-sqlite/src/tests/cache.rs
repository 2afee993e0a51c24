//! The cache of contacts: a read never returns a contact that is older than an acknowledged change.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::{Contact, ContactRef, SharedContact};
use openapi_core::json::RawObject;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, ContactStore, Effects};
use openapi_core::values::{AgentId, ContactStatus, TextValue};
use storage_common::transfer::TransferStore;
use storage_common::{contact_columns, records};

use testkit::SplitMix64;

use super::support::{
    Folder, agent, agent_id, at, contact, contact_id, entry, insert, insert_agent, wait, write,
};
use crate::{SqliteConfig, SqliteStorage};

fn get(store: &SqliteStorage, agent: &AgentId, reference: &ContactRef) -> Option<Contact> {
    wait(store.contact(agent, reference)).unwrap().map(SharedContact::into_contact)
}

fn external(text: &str) -> ContactRef {
    ContactRef::External(TextValue::parse(text).unwrap())
}

fn cached(store: &SqliteStorage) -> usize {
    store.cache.count()
}

/// A contact that differs slightly in each version.
fn version(agent: &AgentId, number: u64, version: u64) -> Contact {
    Contact {
        first_name: Some(TextValue::parse(&format!("Zoë {version}")).unwrap()),
        external_reference_id: Some(TextValue::parse(&format!("crm-{number}")).unwrap()),
        version,
        ..contact(agent, number)
    }
}

fn update(store: &SqliteStorage, contact: &Contact, schema: &ContactSchema, number: u64) {
    let write = write(contact, schema, number);
    wait(store.update_contact(&contact.agent_id, contact.version - 1, &write)).unwrap();
}

/// A store and an agent with a contact that was read by both of its ids.
fn warm(folder: &Folder) -> (SqliteStorage, AgentId, ContactSchema) {
    let store = folder.open();
    let id = agent_id("support");
    let schema = insert_agent(&store, &id);
    insert(&store, &version(&id, 1, 1), &schema);
    for _ in 0..2 {
        for reference in [ContactRef::Id(contact_id(1)), external("crm-1")] {
            assert_eq!(get(&store, &id, &reference), Some(version(&id, 1, 1)));
        }
    }
    assert_eq!(cached(&store), 2, "by each of its ids");
    (store, id, schema)
}

#[test]
fn a_cached_contact_is_the_stored_one() {
    let folder = Folder::new();
    let store = folder.open();
    let id = agent_id("support");
    let schema = insert_agent(&store, &id);
    let full = Contact {
        salutation: Some(TextValue::parse("Dr").unwrap()),
        full_address: Some(TextValue::parse("12 Mill Lane\nLeeds").unwrap()),
        tags: vec![TextValue::parse("vip").unwrap(), TextValue::parse("é 🦀").unwrap()],
        status: ContactStatus::Blocked,
        last_contacted_at: Some(at(-5)),
        custom_fields: RawObject::from_text(r#"{"plan":"gold","n":[1,2.50,null]}"#).unwrap(),
        archived_at: Some(at(9)),
        ..version(&id, 1, 1)
    };
    for contact in [full, contact(&id, 2)] {
        insert(&store, &contact, &schema);
        for _ in 0..3 {
            assert_eq!(get(&store, &id, &ContactRef::Id(contact.id)), Some(contact.clone()));
        }
    }
    assert_eq!(cached(&store), 2);
    assert_eq!(get(&store, &agent_id("other"), &ContactRef::Id(contact_id(1))), None);
}

#[test]
fn a_change_is_seen_at_once() {
    let folder = Folder::new();
    let (store, id, schema) = warm(&folder);
    let by_id = ContactRef::Id(contact_id(1));
    for next in 2..8 {
        update(&store, &version(&id, 1, next), &schema, next);
        for reference in [by_id.clone(), external("crm-1"), by_id.clone()] {
            assert_eq!(get(&store, &id, &reference).unwrap().version, next);
        }
    }
    // Another external id: the old one is free again, for another contact too.
    let renamed =
        Contact { external_reference_id: Some(TextValue::parse("new").unwrap()), ..version(&id, 1, 8) };
    update(&store, &renamed, &schema, 8);
    let heir =
        Contact { external_reference_id: Some(TextValue::parse("crm-1").unwrap()), ..version(&id, 2, 1) };
    assert_eq!(get(&store, &id, &external("crm-1")), None);
    assert_eq!(get(&store, &id, &external("new")), Some(renamed));
    insert(&store, &heir, &schema);
    assert_eq!(get(&store, &id, &external("crm-1")).unwrap().id, contact_id(2));
    assert_eq!(get(&store, &id, &external("new")).unwrap().id, contact_id(1));
    let audit = entry(&id, 99, AuditAction::ContactErase, &contact_id(1).to_string());
    wait(store.erase_contact(&id, contact_id(1), audit.at, &Effects::audited(audit))).unwrap();
    assert_eq!(cached(&store), 1, "the other contact; the erased one has left the memory");
    assert_eq!(get(&store, &id, &by_id), None);
    assert_eq!(get(&store, &id, &external("new")), None);
}

#[test]
fn the_contacts_of_an_agent_end_with_it() {
    for ends_in_a_transfer in [false, true] {
        let folder = Folder::new();
        let (store, id, _) = warm(&folder);
        let deleted = openapi_core::agents::Agent { status: AgentStatus::Deleted, ..agent(&id) };
        let audit = entry(&id, 98, AuditAction::AgentDelete, id.as_str());
        if ends_in_a_transfer {
            wait(store.put_agent(&deleted)).unwrap();
        } else {
            wait(store.update_agent(&deleted, &Effects::audited(audit))).unwrap();
        }
        assert_eq!(get(&store, &id, &external("crm-1")), None);
        // A transfer that restores the agent restores its contacts.
        wait(store.put_agent(&agent(&id))).unwrap();
        assert!(get(&store, &id, &external("crm-1")).is_some());
    }
}

#[test]
fn new_contacts_invalidate_nothing() {
    let folder = Folder::new();
    let (store, id, schema) = warm(&folder);
    for number in 2..50 {
        insert(&store, &version(&id, number, 1), &schema);
        assert!(get(&store, &id, &ContactRef::Id(contact_id(number))).is_some());
    }
    assert_eq!(cached(&store), 50);
}

#[test]
fn memory_is_bounded_and_may_be_none() {
    for (contact_cache_kib, expected) in [(96, 50..600), (0, 0..1)] {
        let folder = Folder::new();
        let store =
            SqliteStorage::open(SqliteConfig { contact_cache_kib, ..SqliteConfig::new(folder.database()) })
                .unwrap();
        let id = agent_id("support");
        let schema = insert_agent(&store, &id);
        for number in 0..1_000 {
            insert(&store, &version(&id, number, 1), &schema);
        }
        for _ in 0..2 {
            for number in 0..1_000 {
                let read = get(&store, &id, &ContactRef::Id(contact_id(number)));
                assert_eq!(read, Some(version(&id, number, 1)));
            }
        }
        let entries = cached(&store);
        assert!(expected.contains(&entries), "{entries} contacts in {contact_cache_kib} KiB");
        update(&store, &version(&id, 999, 2), &schema, 9_000);
        assert_eq!(get(&store, &id, &external("crm-999")).unwrap().version, 2);
    }
}

/// A read that a change has overtaken does not fill the cache.
#[test]
fn a_contact_that_was_read_before_a_change_is_not_cached_after_it() {
    let folder = Folder::new();
    let (store, id, schema) = warm(&folder);
    let (reference, epoch) = (ContactRef::Id(contact_id(1)), store.cache.epoch());
    store
        .readers
        .read_blocking(|db| {
            let sql = concat!("SELECT c.n, ", contact_columns!(), " FROM contact c");
            crate::rows::each(db, sql, (), |r| {
                update(&store, &version(&id, 1, 2), &schema, 2);
                assert_eq!(get(&store, &id, &reference).unwrap().version, 2);
                store.cache.insert(epoch, &id, &reference, r.integer()?, records::contact(&id, r)?.into());
                Ok(())
            })
        })
        .unwrap();
    assert_eq!(get(&store, &id, &reference).unwrap().version, 2);
}

/// A read that begins after a change was acknowledged returns that change or a later one.
#[test]
fn no_read_is_older_than_what_was_acknowledged_before_it_began() {
    const CONTACTS: u64 = 4;
    let folder = Folder::new();
    let store = folder.open();
    let id = agent_id("support");
    let schema = insert_agent(&store, &id);
    let acknowledged: Vec<AtomicU64> = (0..CONTACTS).map(|_| AtomicU64::new(1)).collect();
    for number in 0..CONTACTS {
        insert(&store, &version(&id, number, 1), &schema);
    }
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..4_u64)
            .map(|seed| {
                let (store, id, acknowledged, ended) = (&store, &id, &acknowledged, &ended);
                scope.spawn(move || {
                    let mut rng = SplitMix64(seed);
                    let mut reads = 0_u64;
                    while !ended.load(Ordering::Relaxed) {
                        let number = rng.below(CONTACTS);
                        let reference = if rng.one_in(2) {
                            ContactRef::Id(contact_id(number))
                        } else {
                            external(&format!("crm-{number}"))
                        };
                        let least = acknowledged[number as usize].load(Ordering::SeqCst);
                        let read = get(store, id, &reference).unwrap();
                        assert!(read.version >= least, "{} is older than {least}", read.version);
                        assert_eq!(read, version(id, number, read.version));
                        reads += 1;
                    }
                    reads
                })
            })
            .collect();
        // Each writer has its own contacts, so it knows their versions.
        let writers: Vec<_> = (0..2_u64)
            .map(|mine| {
                let (store, id, schema, acknowledged) = (&store, &id, &schema, &acknowledged);
                scope.spawn(move || {
                    for next in 2..150_u64 {
                        for number in (0..CONTACTS).filter(|number| number % 2 == mine) {
                            update(store, &version(id, number, next), schema, number * 1_000 + next);
                            acknowledged[number as usize].store(next, Ordering::SeqCst);
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        ended.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() > 100);
        }
    });
    // Changes have ended: reads fill the cache again.
    for number in 0..CONTACTS {
        assert_eq!(get(&store, &id, &ContactRef::Id(contact_id(number))).unwrap().version, 149);
    }
    assert!(cached(&store) >= CONTACTS as usize);
}
