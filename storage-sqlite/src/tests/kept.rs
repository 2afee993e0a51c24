//! Contacts in memory: never older than the file, whichever of the processes that share it changes something. Two stores
//! on one file are as two processes: they share nothing but the files.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::{Contact, ContactRef, SharedContact};
use openapi_core::json::RawObject;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, ContactStore};
use openapi_core::values::{AgentId, ContactStatus, TextValue};
use storage_common::transfer::TransferStore;

use super::support::{
    Folder, agent, agent_id, at, contact, contact_id, entry, insert, insert_agent, wait, write,
};
use crate::{SqliteConfig, SqliteStorage};
use testkit::SplitMix64;

fn get(store: &SqliteStorage, agent: &AgentId, reference: &ContactRef) -> Option<Contact> {
    wait(store.contact(agent, reference)).unwrap().map(SharedContact::into_contact)
}

fn external(text: &str) -> ContactRef {
    ContactRef::External(TextValue::parse(text).unwrap())
}

fn kept(store: &SqliteStorage) -> usize {
    store.kept.as_ref().unwrap().count()
}

/// A contact that is a little different in each version.
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

/// Two stores on one file, with an agent that has a contact, which both have read.
fn shared(folder: &Folder) -> (SqliteStorage, SqliteStorage, AgentId, ContactSchema) {
    let (one, other) = (folder.open(), folder.open());
    let id = agent_id("support");
    let schema = insert_agent(&one, &id);
    insert(&one, &version(&id, 1, 1), &schema);
    for store in [&one, &other] {
        for _ in 0..2 {
            for reference in [ContactRef::Id(contact_id(1)), external("crm-1")] {
                assert_eq!(get(store, &id, &reference), Some(version(&id, 1, 1)));
            }
        }
        assert_eq!(kept(store), 2, "by each of its ids");
    }
    (one, other, id, schema)
}

#[test]
fn what_is_kept_is_what_was_stored() {
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
    assert_eq!(kept(&store), 2);
    assert_eq!(get(&store, &agent_id("other"), &ContactRef::Id(contact_id(1))), None);
}

#[test]
fn a_change_by_any_store_is_seen_by_all_at_once() {
    let folder = Folder::new();
    let (one, other, id, schema) = shared(&folder);
    let by_id = ContactRef::Id(contact_id(1));
    for (next, writer) in (2_u64..).zip([&one, &other, &other, &one, &other, &one]) {
        update(writer, &version(&id, 1, next), &schema, next);
        for store in [&one, &other] {
            for reference in [by_id.clone(), external("crm-1"), by_id.clone()] {
                assert_eq!(get(store, &id, &reference).unwrap().version, next);
            }
        }
    }
    // Another external id: the old one is free, for another contact too.
    let renamed =
        Contact { external_reference_id: Some(TextValue::parse("new").unwrap()), ..version(&id, 1, 8) };
    update(&other, &renamed, &schema, 8);
    let heir =
        Contact { external_reference_id: Some(TextValue::parse("crm-1").unwrap()), ..version(&id, 2, 1) };
    for store in [&one, &other] {
        assert_eq!(get(store, &id, &external("crm-1")), None);
        assert_eq!(get(store, &id, &external("new")), Some(renamed.clone()));
    }
    insert(&one, &heir, &schema);
    for store in [&one, &other] {
        assert_eq!(get(store, &id, &external("crm-1")).unwrap().id, contact_id(2));
        assert_eq!(get(store, &id, &external("new")).unwrap().id, contact_id(1));
    }
    let audit = entry(&id, 99, AuditAction::ContactErase, &contact_id(1).to_string());
    wait(one.erase_contact(&id, contact_id(1), &audit)).unwrap();
    assert_eq!(kept(&one), 1, "the other contact; of the erased one nothing is in memory");
    for store in [&one, &other] {
        assert_eq!(get(store, &id, &by_id), None);
        assert_eq!(get(store, &id, &external("new")), None);
    }
}

#[test]
fn the_contacts_of_an_agent_end_with_it() {
    for ends_in_a_transfer in [false, true] {
        let folder = Folder::new();
        let (one, other, id, _) = shared(&folder);
        let deleted = openapi_core::agents::Agent { status: AgentStatus::Deleted, ..agent(&id) };
        let audit = entry(&id, 98, AuditAction::AgentDelete, id.as_str());
        if ends_in_a_transfer {
            wait(one.put_agent(&deleted)).unwrap();
        } else {
            wait(one.update_agent(&deleted, &audit)).unwrap();
        }
        for store in [&one, &other] {
            assert_eq!(get(store, &id, &external("crm-1")), None);
        }
        // What comes back by a transfer is there again.
        wait(other.put_agent(&agent(&id))).unwrap();
        for store in [&one, &other] {
            assert!(get(store, &id, &external("crm-1")).is_some());
        }
    }
}

#[test]
fn new_contacts_make_nothing_forgotten() {
    let folder = Folder::new();
    let (one, other, id, schema) = shared(&folder);
    for number in 2..50 {
        insert(&one, &version(&id, number, 1), &schema);
        assert!(get(&one, &id, &ContactRef::Id(contact_id(number))).is_some());
    }
    assert_eq!((kept(&one), kept(&other)), (50, 2));
    // A change makes what is kept of one contact unusable here, and everything there forgotten.
    update(&one, &version(&id, 7, 2), &schema, 1_000);
    assert!(get(&other, &id, &ContactRef::Id(contact_id(8))).is_some());
    assert!(get(&other, &id, &ContactRef::Id(contact_id(8))).is_some());
    assert_eq!((kept(&one), kept(&other)), (50, 1));
}

#[test]
fn memory_is_bounded_and_may_be_none() {
    let folder = Folder::new();
    let mut config = SqliteConfig::new(folder.database());
    config.contact_cache_kib = 96;
    let small = SqliteStorage::open(config.clone()).unwrap();
    config.contact_cache_kib = 0;
    let none = SqliteStorage::open(config).unwrap();
    let id = agent_id("support");
    let schema = insert_agent(&small, &id);
    for number in 0..1_000 {
        insert(&small, &version(&id, number, 1), &schema);
    }
    for _ in 0..2 {
        for number in 0..1_000 {
            for store in [&small, &none] {
                assert_eq!(
                    get(store, &id, &ContactRef::Id(contact_id(number))),
                    Some(version(&id, number, 1))
                );
            }
        }
    }
    let entries = kept(&small);
    assert!((50..600).contains(&entries), "{entries} contacts in 96 KiB");
    assert_eq!(kept(&none), 0);
    // One that keeps nothing tells the others all the same.
    update(&none, &version(&id, 999, 2), &schema, 9_000);
    assert_eq!(get(&small, &id, &external("crm-999")).unwrap().version, 2);
}

/// A read that was overtaken by a change does not put what it has read into memory.
#[test]
fn what_was_read_before_a_change_is_not_kept_behind_it() {
    for changed_by_the_other in [false, true] {
        let folder = Folder::new();
        let (one, other, id, schema) = shared(&folder);
        let (reference, kept) = (ContactRef::Id(contact_id(1)), one.kept.as_ref().unwrap());
        let number = kept.now().unwrap();
        one.readers
            .now(|db| {
                let sql = concat!("SELECT ", crate::contacts::columns!(), ", c.n FROM contact c");
                let mut statement = db.prepare(sql)?;
                let mut rows = statement.query(())?;
                let row = rows.next()?.unwrap();
                let n: i64 = row.get("n")?;
                update(if changed_by_the_other { &other } else { &one }, &version(&id, 1, 2), &schema, 2);
                assert_eq!(get(&one, &id, &reference).unwrap().version, 2);
                kept.keep(number, &id, &reference, n, crate::contacts::read(&id, row)?.into());
                Ok(())
            })
            .unwrap();
        assert_eq!(get(&one, &id, &reference).unwrap().version, 2);
    }
}

/// Whoever begins to read behind the end of a change reads what it has made, or something later.
#[test]
fn no_read_is_older_than_what_was_acknowledged_before_it_began() {
    const CONTACTS: u64 = 4;
    let folder = Folder::new();
    let (one, other) = (folder.open(), folder.open());
    let id = agent_id("support");
    let schema = insert_agent(&one, &id);
    let acknowledged: Vec<AtomicU64> = (0..CONTACTS).map(|_| AtomicU64::new(1)).collect();
    for number in 0..CONTACTS {
        insert(&one, &version(&id, number, 1), &schema);
    }
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = [&one, &other, &one, &other]
            .into_iter()
            .zip(0_u64..)
            .map(|(store, seed)| {
                let (id, acknowledged, ended) = (&id, &acknowledged, &ended);
                scope.spawn(move || {
                    let mut dice = SplitMix64(seed);
                    let mut reads = 0_u64;
                    while !ended.load(Ordering::Relaxed) {
                        let number = dice.below(CONTACTS);
                        let reference = if dice.one_in(2) {
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
        // Each writer has contacts of its own, so that it knows their versions.
        let writers: Vec<_> = [&one, &other]
            .into_iter()
            .zip(0_u64..)
            .map(|(store, mine)| {
                let (id, schema, acknowledged) = (&id, &schema, &acknowledged);
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
    // Nothing changes any more: from here on they are kept.
    for store in [&one, &other] {
        for number in 0..CONTACTS {
            assert_eq!(get(store, &id, &ContactRef::Id(contact_id(number))).unwrap().version, 149);
        }
        assert!(kept(store) >= CONTACTS as usize);
    }
}

/// Where others cannot be told, nothing is changed.
#[test]
fn a_change_that_cannot_be_told_is_not_made() {
    let folder = Folder::new();
    let mut config = SqliteConfig::new(folder.database());
    config.busy_timeout = std::time::Duration::from_millis(50);
    let store = SqliteStorage::open(config).unwrap();
    let id = agent_id("support");
    let schema = insert_agent(&store, &id);
    insert(&store, &version(&id, 1, 1), &schema);
    // A process that stopped in the middle of its commit.
    let stopped = crate::changes::Changes::open(&folder.database()).unwrap().unwrap();
    let change = stopped.begin(std::time::Duration::ZERO).unwrap();
    let changed = write(&version(&id, 1, 2), &schema, 2);
    let refused = wait(store.update_contact(&id, 1, &changed)).unwrap_err();
    assert_eq!(refused.kind, openapi_core::storage::StorageErrorKind::Unavailable);
    assert_eq!(get(&store, &id, &external("crm-1")).unwrap().version, 1);
    insert(&store, &version(&id, 2, 1), &schema);
    drop(change);
    wait(store.update_contact(&id, 1, &changed)).unwrap();
    assert_eq!(get(&store, &id, &external("crm-1")).unwrap().version, 2);
}
