//! Several servers on one database.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod support;

use std::sync::Arc;

use openapi_core::events::{EventActor, EventData, NewEvent};
use openapi_core::storage::{ChangeSource, Effects, RecordStore, RecordsWrite, Subscription};
use openapi_core::values::{AgentId, PlatformId};
use storage_mongo::MongoStorage;
use support::{Database, agent_id, at, contact_id, insert_agent, wait};
use testkit::queue_race::QueueRace;

#[test]
fn a_queue_of_several_servers_does_each_job_once() {
    let database = Database::new();
    wait(async {
        let mut stores = Vec::new();
        for _ in 0..3 {
            stores.push(Arc::new(database.open().await));
        }
        let agents = ["a", "b"].map(agent_id);
        for agent in &agents {
            insert_agent(&*stores[0], agent).await;
        }
        let race = QueueRace::new(&agents, 3, 60);
        let serving: Vec<_> = stores
            .iter()
            .zip(1..)
            .map(|(store, server)| tokio::spawn(Arc::clone(&race).serve(Arc::clone(store) as _, server)))
            .collect();
        for server in serving {
            server.await.unwrap();
        }
        assert!(race.verify(&*stores[0]).await > 0, "no lease ended while its server still worked");
        for store in stores {
            store.close().await;
        }
    });
}

/// Appends an event to the log of an agent.
async fn append(store: &MongoStorage, agent: &AgentId, number: u64) {
    let contact = contact_id(number);
    let event = NewEvent {
        id: PlatformId::from_bytes(*contact.as_bytes()),
        at: at(1),
        actor: EventActor::Operator,
        contact: Some(contact),
        data: EventData::ContactCreated { contact_id: contact },
    };
    let effects = Effects::default().with_event(Some(event));
    store.save_records(Some(agent), &RecordsWrite { changes: Vec::new(), effects }).await.unwrap();
}

#[test]
fn readers_on_other_servers_are_woken() {
    let database = Database::new();
    wait(async {
        let (here, there) = (database.open().await, database.open().await);
        let (agent, other) = (agent_id("a"), agent_id("other"));
        for agent in [&agent, &other] {
            insert_agent(&here, agent).await;
        }
        let mut subscription = there.notifier().subscribe(&agent);
        let woken = async |subscription: &mut Subscription<'_>| {
            let limit = std::time::Duration::from_secs(20);
            tokio::time::timeout(limit, subscription.changed()).await.expect("woken");
        };
        // The first wake-up says that the log is watched.
        woken(&mut subscription).await;
        for number in 0..4 {
            append(&here, &agent, number).await;
            woken(&mut subscription).await;
        }
        append(&here, &other, 9).await;
        let quiet = tokio::time::timeout(std::time::Duration::from_millis(600), subscription.changed());
        assert!(quiet.await.is_err(), "another agent's event wakes nobody");
        drop(subscription);
        here.close().await;
        there.close().await;
    });
}
