//! Computing the keys of everything again after an upgrade: all of them, in short transactions, also after an
//! interruption.

use mongodb::bson::{Bson, doc};
use openapi_core::values::AgentId;
use storage_common::fixtures::{contact_id, found, insert_folded};

use super::small;
use super::support::{agent_id, wait};
use crate::document::binary;
use crate::migrate::collection;
use crate::store::MongoStorage;

/// Gives all contacts and the version the keys of an older release.
async fn age(store: &MongoStorage, agent: &str, contact: Bson) {
    let handle = &store.handle;
    let keys = doc! { "keys.search": "łukasz", "keys.digits": "4402079460958", "keys.grams": ["łuk"], "keys.firstName": "łukasz" };
    let contacts = handle.collection(collection::CONTACTS);
    contacts.update_many(doc! { "keys": { "$exists": true } }, doc! { "$set": keys }).await.unwrap();
    let state = doc! { "$set": { "version": 1_i64, "agent": agent, "contact": contact } };
    handle.collection(collection::MIGRATIONS).update_one(doc! { "_id": "keys" }, state).await.unwrap();
}

#[test]
fn all_keys_are_computed_again() {
    let database = small();
    wait(async {
        let agents: Vec<AgentId> = ["a", "b", "c"].into_iter().map(agent_id).collect();
        let store = database.open().await;
        for (agent, count) in agents.iter().zip([7, 2, 1]) {
            insert_folded(&store, agent, count).await;
        }
        age(&store, "", Bson::Null).await;
        store.close().await;
        let store = database.open().await;
        for (agent, count) in agents.iter().zip([7, 2, 1]) {
            assert_eq!(found(&store, agent, "lukasz +442079460958").await, count);
        }
        store.close().await;
    });
}

#[test]
fn an_interrupted_run_continues_where_it_stopped() {
    let database = small();
    wait(async {
        let agents: Vec<AgentId> = ["a", "b", "c"].into_iter().map(agent_id).collect();
        let store = database.open().await;
        for agent in &agents {
            insert_folded(&store, agent, 5).await;
        }
        // Here the keys before the position are old as well, so that the test sees where the work continues.
        age(&store, "b", Bson::Binary(binary(contact_id(3).as_bytes()))).await;
        store.close().await;
        let store = database.open().await;
        for (agent, count) in agents.iter().zip([0, 2, 5]) {
            assert_eq!(found(&store, agent, "lukasz").await, count, "{agent}");
        }
        store.close().await;
    });
}
