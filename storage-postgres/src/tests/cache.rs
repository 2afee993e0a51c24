//! The contact cache: never older than the database, whichever of the servers that share the database changes
//! something. Two stores on one database stand for two servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::AuditAction;
use openapi_core::contacts::{Contact, ContactRef, SharedContact};
use openapi_core::json::RawObject;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, ContactStore, Effects};
use openapi_core::values::{AgentId, ContactStatus, TextValue};
use storage_common::transfer::TransferStore;

use super::support::{Database, runtime};
use crate::store::PostgresStorage;
use storage_common::fixtures::{agent_id, at, contact, contact_id, entry, insert_agent, write};
use testkit::SplitMix64;

async fn get(store: &PostgresStorage, agent: &AgentId, reference: &ContactRef) -> Option<Contact> {
    store.contact(agent, reference).await.unwrap().map(SharedContact::into_contact)
}

fn external(text: &str) -> ContactRef {
    ContactRef::External(TextValue::parse(text).unwrap())
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

async fn insert(store: &PostgresStorage, contact: &Contact, schema: &ContactSchema, number: u64) {
    let write = write(contact, schema, 10_000 + number);
    store.insert_contact(&contact.agent_id, &write).await.unwrap();
}

async fn update(store: &PostgresStorage, contact: &Contact, schema: &ContactSchema, number: u64) {
    let write = write(contact, schema, number);
    store.update_contact(&contact.agent_id, contact.version - 1, &write).await.unwrap();
}

/// Two stores on one database, and an agent with a contact that both have read.
async fn shared(database: &Database) -> (PostgresStorage, PostgresStorage, AgentId, ContactSchema) {
    let (one, other) = (database.open().await, database.open().await);
    let id = agent_id("support");
    let schema = insert_agent(&one, &id).await;
    insert(&one, &version(&id, 1, 1), &schema, 1).await;
    for store in [&one, &other] {
        for _ in 0..2 {
            for reference in [ContactRef::Id(contact_id(1)), external("crm-1")] {
                assert_eq!(get(store, &id, &reference).await, Some(version(&id, 1, 1)));
            }
        }
        assert_eq!(store.loader.cached_entries(), 2, "by each of its ids");
    }
    (one, other, id, schema)
}

#[test]
fn cached_contacts_equal_stored_ones() {
    let database = Database::new();
    runtime().block_on(async {
        let store = database.open().await;
        let id = agent_id("support");
        let schema = insert_agent(&store, &id).await;
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
        for (number, contact) in [(1, full), (2, contact(&id, 2))] {
            insert(&store, &contact, &schema, number).await;
            for _ in 0..3 {
                assert_eq!(get(&store, &id, &ContactRef::Id(contact.id)).await, Some(contact.clone()));
            }
        }
        assert_eq!(store.loader.cached_entries(), 2);
        assert_eq!(get(&store, &agent_id("other"), &ContactRef::Id(contact_id(1))).await, None);
        // The cache answers: a change by plain SQL, which does not invalidate it, is not seen.
        let mut db = database.connect().await;
        let change = sqlx::raw_sql("UPDATE openapi.contact SET version = 7");
        change.execute(&mut db).await.unwrap();
        assert_eq!(get(&store, &id, &ContactRef::Id(contact_id(2))).await.unwrap().version, 1);
        sqlx::Connection::close(db).await.unwrap();
    });
}

#[test]
fn a_change_by_any_store_is_seen_by_all_at_once() {
    let database = Database::new();
    runtime().block_on(async {
        let (one, other, id, schema) = shared(&database).await;
        let by_id = ContactRef::Id(contact_id(1));
        for (next, writer) in (2_u64..).zip([&one, &other, &other, &one, &other, &one]) {
            update(writer, &version(&id, 1, next), &schema, next).await;
            for store in [&one, &other] {
                for reference in [by_id.clone(), external("crm-1"), by_id.clone()] {
                    assert_eq!(get(store, &id, &reference).await.unwrap().version, next);
                }
            }
        }
        // Another external id: the old one is free again, for another contact too.
        let renamed =
            Contact { external_reference_id: Some(TextValue::parse("new").unwrap()), ..version(&id, 1, 8) };
        update(&other, &renamed, &schema, 8).await;
        let heir =
            Contact { external_reference_id: Some(TextValue::parse("crm-1").unwrap()), ..version(&id, 2, 1) };
        for store in [&one, &other] {
            assert_eq!(get(store, &id, &external("crm-1")).await, None);
            assert_eq!(get(store, &id, &external("new")).await, Some(renamed.clone()));
        }
        insert(&one, &heir, &schema, 9).await;
        for store in [&one, &other] {
            assert_eq!(get(store, &id, &external("crm-1")).await.unwrap().id, contact_id(2));
            assert_eq!(get(store, &id, &external("new")).await.unwrap().id, contact_id(1));
        }
        let audit = entry(&id, 99, AuditAction::ContactErase, &contact_id(1).to_string());
        one.erase_contact(&id, contact_id(1), audit.at, &Effects::audited(audit)).await.unwrap();
        assert_eq!(
            one.loader.cached_entries(),
            1,
            "the other contact; of the erased one nothing is in memory"
        );
        for store in [&one, &other] {
            assert_eq!(get(store, &id, &by_id).await, None);
            assert_eq!(get(store, &id, &external("new")).await, None);
        }
    });
}

#[test]
fn the_contacts_of_an_agent_end_with_it() {
    let database = Database::new();
    runtime().block_on(async {
        let (one, other, id, _) = shared(&database).await;
        let agent = one.agent(&id).await.unwrap().unwrap();
        let deleted = Agent { status: AgentStatus::Deleted, ..agent.clone() };
        let audit = entry(&id, 98, AuditAction::AgentDelete, id.as_str());
        one.update_agent(&deleted, &Effects::audited(audit)).await.unwrap();
        for store in [&one, &other] {
            assert_eq!(get(store, &id, &external("crm-1")).await, None);
        }
        // A transfer restores the agent, with its contacts as long as nothing has removed them.
        other.put_agent(&agent).await.unwrap();
        for store in [&one, &other] {
            assert!(get(store, &id, &external("crm-1")).await.is_some());
        }
        one.put_agent(&deleted).await.unwrap();
        while one.purge_agent(&id, 100).await.unwrap() > 0 {}
        other.put_agent(&agent).await.unwrap();
        for store in [&one, &other] {
            assert_eq!(get(store, &id, &external("crm-1")).await, None);
        }
    });
}

#[test]
fn memory_is_bounded_and_may_be_none() {
    let database = Database::new();
    runtime().block_on(async {
        let open = async |bytes| {
            let mut config = database.config();
            config.contact_cache = bytes;
            PostgresStorage::open(config).await.unwrap()
        };
        let (small, none) = (open(96 << 10).await, open(0).await);
        let id = agent_id("support");
        let schema = insert_agent(&small, &id).await;
        for number in 0..600 {
            insert(&small, &version(&id, number, 1), &schema, number).await;
        }
        for _ in 0..2 {
            for number in 0..600 {
                for store in [&small, &none] {
                    let found = get(store, &id, &ContactRef::Id(contact_id(number))).await;
                    assert_eq!(found, Some(version(&id, number, 1)));
                }
            }
        }
        let entries = small.loader.cached_entries();
        assert!((50..500).contains(&entries), "{entries} contacts in 96 KiB");
        assert_eq!(none.loader.cached_entries(), 0);
    });
}

/// A read that begins after the end of a change returns its result, or a later one.
#[test]
fn no_read_is_older_than_what_was_acknowledged_before_it_began() {
    const CONTACTS: u64 = 4;
    const CHANGES: u64 = 150;
    let database = Database::new();
    runtime().block_on(async {
        let stores = [Arc::new(database.open().await), Arc::new(database.open().await)];
        let id = agent_id("support");
        let schema = insert_agent(&*stores[0], &id).await;
        let acknowledged: Arc<Vec<AtomicU64>> = Arc::new((0..CONTACTS).map(|_| AtomicU64::new(1)).collect());
        for number in 0..CONTACTS {
            insert(&stores[0], &version(&id, number, 1), &schema, number).await;
        }
        let done = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..8)
            .map(|reader| {
                let store = Arc::clone(&stores[reader as usize % 2]);
                let (id, done, acknowledged) = (id.clone(), Arc::clone(&done), Arc::clone(&acknowledged));
                tokio::spawn(async move {
                    let mut rng = SplitMix64(reader);
                    let mut reads = 0_u64;
                    while !done.load(Ordering::Acquire) {
                        let number = rng.below(CONTACTS);
                        let reference = match rng.below(2) {
                            0 => ContactRef::Id(contact_id(number)),
                            _ => external(&format!("crm-{number}")),
                        };
                        let before = acknowledged[number as usize].load(Ordering::Acquire);
                        let found = get(&store, &id, &reference).await.unwrap();
                        assert!(found.version >= before, "{} is older than {before}", found.version);
                        assert_eq!(found, version(&id, number, found.version));
                        reads += 1;
                    }
                    reads
                })
            })
            .collect();
        let mut rng = SplitMix64(99);
        for change in 0..CHANGES {
            let number = rng.below(CONTACTS);
            let next = acknowledged[number as usize].load(Ordering::Acquire) + 1;
            let store = &stores[rng.below(2) as usize];
            update(store, &version(&id, number, next), &schema, 1_000 + change).await;
            acknowledged[number as usize].store(next, Ordering::Release);
        }
        done.store(true, Ordering::Release);
        let mut reads = 0;
        for reader in readers {
            reads += reader.await.unwrap();
        }
        assert!(reads > CHANGES, "{reads} reads");
    });
}
