//! Records and event logs: their statements find their rows by an index, as the others do (`plans`); a scrub empties the
//! tables.

use openapi_core::events::{EventActor, EventData, NewEvent};
use openapi_core::storage::{
    ContactStore, Effects, JobClaim, JobQuery, JobState, LogStore, Queue, RecordId, RecordKey, RecordKind,
    RecordStore, RecordsWrite, Subject, Window,
};
use openapi_core::values::{AgentId, ContactId, JobId, PlatformId, Timestamp};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::plans::{big, filled, hold, id};
use super::support::{Database, runtime};
use crate::shapes::{jobs, log, records};
use crate::store::PostgresStorage;
use storage_common::fixtures::{agent_id, at, contact, contact_id, insert_agent, write};

const KIND: RecordKind = RecordKind::RateLimitWindow;

fn record_id(number: u64) -> RecordId {
    PlatformId::from_bytes(id(number)).into()
}

#[test]
fn records_are_found_by_an_index() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        let digest = sqlx::query("SELECT sha256('4711')").fetch_one(&mut db).await.unwrap();
        let unique: [u8; 32] = digest.get::<&[u8], _>(0).try_into().unwrap();
        for agent in [big(), agent_id("late")] {
            let scope = Some(&agent);
            for key in [RecordKind::ChatUsage.into(), RecordKey::new(KIND, record_id(4_711))] {
                assert_eq!(hold(&mut db, &records::one(scope, &key).unwrap(), 6).await, 1);
            }
            assert_eq!(hold(&mut db, &records::by_unique(scope, KIND, &unique).unwrap(), 6).await, 1);
            for after in [None, Some(record_id(3_000))] {
                let statement = records::of_kind(scope, KIND, after.as_ref(), 20).unwrap();
                assert_eq!(hold(&mut db, &statement, 20 * 2 + 6).await, 20);
                // Each with its tenant.
                let after = after.map(|id| (Some(agent.clone()), id));
                let statement = records::of_all(KIND, after.as_ref(), 20).unwrap();
                assert_eq!(hold(&mut db, &statement, 20 * 4 + 6).await, 20);
            }
            // 100, 600, 1,100 and so on; each again by its position.
            let erasure = records::erasure(&agent, &[Subject::Contact(ContactId::from_bytes(id(100)))]);
            assert_eq!(hold(&mut db, &erasure.unwrap(), 2 * 12 + 6).await, 0);
        }
        let due = records::due(KIND, Timestamp::from_millis(100), 20).unwrap();
        assert_eq!(hold(&mut db, &due, 20 * 4 + 6).await, 20);
        db.close().await.unwrap();
    });
}

#[test]
fn logs_are_read_from_their_ends() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        for agent in [big(), agent_id("late")] {
            for (after, rows) in [(0, 20), (3_000, 20), (u64::MAX, 1)] {
                // Each with the note of its erased contact, and both ends.
                let statement = log::page(&agent, after, 20).unwrap();
                assert_eq!(hold(&mut db, &statement, 20 * 4 + 8).await, rows);
            }
            let swept = log::swept(&agent, Timestamp::from_millis(3_000), 20).unwrap();
            assert_eq!(hold(&mut db, &swept, 20 * 2 + 8).await, 1);
        }
        let heads = log::heads(&[big(), agent_id("late"), agent_id("agent-7"), agent_id("nobody")]).unwrap();
        assert_eq!(hold(&mut db, &heads, 4 * 6).await, 4);
        db.close().await.unwrap();
    });
}

const QUEUE: Queue = Queue::Extraction;

/// Of 100 jobs of a tenant 29 are ready, 10 scheduled, one is running and one erased.
#[test]
fn jobs_are_found_by_an_index() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        let everything = JobQuery {
            queue: QUEUE,
            states: Vec::new(),
            batch: None,
            client_id: None,
            window: Window::Page { offset: 0, limit: 20 },
        };
        for agent in [big(), agent_id("late")] {
            let scope = Some(&agent);
            let one = jobs::read::one(scope, JobId::from_bytes(id(4_711))).unwrap();
            assert_eq!(hold(&mut db, &one, 6).await, 1);
            let position = (Timestamp::from_millis(3_000), JobId::from_bytes(id(3_000)));
            let after = Window::After { position, limit: 20 };
            for window in
                [Window::Page { offset: 0, limit: 20 }, Window::Page { offset: 60, limit: 20 }, after]
            {
                // All 5,940 jobs are counted.
                let query = JobQuery { window, ..everything.clone() };
                let statement = jobs::read::page(scope, &query).unwrap();
                assert_eq!(hold(&mut db, &statement, 6_000 + 60 + 20 * 4).await, 20);
            }
            for states in [vec![], vec![JobState::Ready, JobState::Running]] {
                let batch = JobQuery { states, batch: Some("b40".into()), ..everything.clone() };
                let statement = jobs::read::page(scope, &batch).unwrap();
                hold(&mut db, &statement, 20 * 6 + 10).await;
                let client_id = JobQuery { batch: None, client_id: Some("c40".into()), ..batch };
                hold(&mut db, &jobs::read::page(scope, &client_id).unwrap(), 20 * 6 + 10).await;
            }
            hold(&mut db, &jobs::read::counts(scope, QUEUE, "b40").unwrap(), 20 * 2 + 6).await;
            // 2,400 jobs, by the index alone.
            hold(&mut db, &jobs::unfinished(scope, 1).unwrap(), 2_400 + 6).await;
            let erasure = jobs::erasure(&agent, &[Subject::Contact(ContactId::from_bytes(id(100)))], at(1));
            hold(&mut db, &erasure.unwrap(), 2 * 12 + 12).await;
            hold(&mut db, &jobs::read::front(QUEUE, scope).unwrap(), 12).await;
        }
        db.close().await.unwrap();
    });
}

#[test]
fn queues_are_walked_by_an_index() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        let claim = JobClaim {
            queue: QUEUE,
            owner: PlatformId::from_bytes([1; 12]),
            now: at(9_000),
            until: at(9_060),
            at_most: 20,
        };
        // Each with its tenant, twice, and its index entries.
        assert_eq!(hold(&mut db, &jobs::lease::claim(&claim).unwrap(), 20 * 8 + 20).await, 20);
        let running = (0..20).map(|n| (Some(big()), JobId::from_bytes(id(100 * n + 1))));
        let renewal =
            jobs::lease::renewal(PlatformId::from_bytes([1; 12]), &running.collect::<Vec<_>>(), at(9));
        hold(&mut db, &renewal.unwrap(), 20 * 8 + 20).await;
        let [scheduled, lost, ended] = jobs::lease::wake_ups(QUEUE, at(9_000), 20).unwrap();
        hold(&mut db, &scheduled, 20 * 8 + 20).await;
        // All 520 running jobs are looked at.
        hold(&mut db, &lost, 520 * 3 + 20 * 8 + 20).await;
        hold(&mut db, &ended, 20 * 8 + 20).await;
        hold(&mut db, &jobs::read::due(QUEUE, at(0)).unwrap(), 520 * 3 + 40).await;
        assert_eq!(hold(&mut db, &jobs::read::erased(QUEUE, 20).unwrap(), 20 * 4 + 20).await, 20);
        // Every job that waits or runs, and each tenant once a state.
        hold(&mut db, &jobs::read::load(QUEUE).unwrap(), 3 * 6_600 + 3 * 2 * 410).await;
        db.close().await.unwrap();
    });
}

fn event(contact: ContactId, number: u64) -> NewEvent {
    NewEvent {
        id: PlatformId::from_bytes(id(number)),
        at: at(number as i64),
        actor: EventActor::Operator,
        contact: Some(contact),
        data: EventData::ContactCreated { contact_id: contact },
    }
}

async fn append(store: &PostgresStorage, agent: &AgentId, events: Vec<NewEvent>) {
    let effects = Effects { events, ..Effects::default() };
    let write = RecordsWrite { changes: Vec::new(), effects };
    store.save_records(Some(agent), &write).await.unwrap();
}

async fn numbers(db: &mut PgConnection, condition: &str) -> Vec<i64> {
    let sql = format!("SELECT seq FROM openapi.log WHERE {condition} ORDER BY seq");
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(db).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
fn a_scrub_empties_the_table() {
    const EMPTY: &str = "contact IS NULL AND body IS NULL";
    let database = Database::new();
    runtime().block_on(async {
        let (agent, store) = (agent_id("a"), database.open().await);
        let mut db = database.connect().await;
        let schema = insert_agent(&store, &agent).await;
        for number in 1..=3 {
            store.insert_contact(&agent, &write(&contact(&agent, number), &schema, number)).await.unwrap();
        }
        // Events of three contacts in turns.
        append(&store, &agent, (0..12).map(|number| event(contact_id(number % 3 + 1), number)).collect())
            .await;
        let erase = async |number| {
            let erased = event(contact_id(number), 100 + number);
            let effects = Effects::default().with_event(erased);
            store.erase_contact(&agent, contact_id(number), at(50), &effects).await.unwrap();
        };
        let scrub = async |at_most| store.scrub_logs(at_most).await.unwrap();
        erase(1).await;
        assert_eq!(numbers(&mut db, EMPTY).await, [] as [i64; 0]);
        assert_eq!((scrub(0).await, numbers(&mut db, EMPTY).await.len()), (1, 0), "nothing is looked at");
        assert_eq!(scrub(5).await, 1);
        assert_eq!(numbers(&mut db, EMPTY).await, [1, 4]);
        // Another erasure does not make the first one begin again.
        erase(2).await;
        assert_eq!(scrub(5).await, 2);
        assert_eq!(scrub(2).await, 1, "the first one is complete");
        assert_eq!(numbers(&mut db, EMPTY).await, [1, 4, 7, 8, 10, 11]);
        assert_eq!(scrub(5).await, 1);
        assert_eq!(scrub(100).await, 0);
        assert_eq!(numbers(&mut db, EMPTY).await, [1, 2, 4, 5, 7, 8, 10, 11]);
        assert_eq!(numbers(&mut db, "contact IS NOT NULL AND body IS NOT NULL").await, [3, 6, 9, 12, 13, 14]);
        db.close().await.unwrap();
        store.close().await;
    });
}
