//! Every statement about jobs uses its index, as the other lists do (`plans`).

use mongodb::bson::{Document, doc};
use openapi_core::credits::JobCredits;
use openapi_core::json::RawObject;
use openapi_core::storage::{
    Job, JobChange, JobLease, JobQuery, JobState, JobsWrite, Queue, QueueStore, Window,
};
use openapi_core::values::{AgentId, JobId, PlatformId};

use super::plans::{Account, explain, refuse_detours};
use super::small;
use super::support::{agent_id, at, insert_agent, wait};
use crate::MongoStorage;
use crate::migrate::{collection, index};
use crate::shapes::jobs::{lease, read, unfinished};

const QUEUE: Queue = Queue::Extraction;

/// The number of the agent's jobs, of which each state has the seventh part.
const MANY: u64 = 210;

fn job(number: u64) -> Job {
    let mut id = [0; 12];
    id[4..].copy_from_slice(&number.to_be_bytes());
    let state = JobState::ALL[(number % 7) as usize];
    let is_running = state == JobState::Running;
    Job {
        id: JobId::from_bytes(id),
        queue: QUEUE,
        state,
        version: 1,
        turn: number,
        due_at: (!is_running && state != JobState::Ready).then_some(at(number as i64)),
        lease: is_running
            .then_some(JobLease { owner: PlatformId::from_bytes([1; 12]), until: at(number as i64) }),
        attempts: 0,
        lost: 0,
        batch: Some(format!("b{}", number / 14).into()),
        client_id: Some(format!("c{}", number / 14).into()),
        subject: None,
        reserved: JobCredits::default(),
        created_at: at(number as i64),
        started_at: None,
        body: RawObject::default(),
        result: None,
    }
}

async fn fill(store: &MongoStorage, agent: &AgentId, count: u64) {
    insert_agent(store, agent).await;
    let changes = (0..count).map(|number| JobChange::Save(Box::new(job(number)))).collect();
    store.save_jobs(Some(agent), &JobsWrite::new(at(1), changes)).await.unwrap();
}

/// Fails when a command reads more than `at_most` keys, or documents besides the index.
fn refuse_documents(account: &Account, hint: &str, at_most: i64) {
    assert!(account.stages.iter().all(|stage| stage != "COLLSCAN" && stage != "SORT"), "{account:?}");
    assert!(!account.indexes.is_empty() && account.indexes.iter().all(|index| index == hint), "{account:?}");
    assert!(account.keys <= at_most && account.documents == 0, "{account:?}");
}

fn aggregate(pipeline: Vec<Document>, hint: &str) -> Document {
    doc! { "aggregate": collection::JOBS, "pipeline": pipeline, "cursor": {}, "hint": hint }
}

#[test]
fn jobs_are_found_by_an_index() {
    let database = small();
    wait(async {
        let store = database.open().await;
        let (db, a) = (&store.handle.db, agent_id("a"));
        fill(&store, &a, MANY).await;
        fill(&store, &agent_id("b"), 14).await;
        let scope = Some(&a);
        let everything = JobQuery {
            queue: QUEUE,
            states: Vec::new(),
            batch: None,
            client_id: None,
            window: Window::Page { offset: 0, limit: 10 },
        };
        let mut finds = Vec::new();
        for window in [
            Window::Page { offset: 0, limit: 10 },
            Window::Page { offset: 20, limit: 10 },
            Window::After { position: (at(100), job(100).id), limit: 10 },
        ] {
            let find = read::find(scope, &JobQuery { window, ..everything.clone() });
            // Every seventh job is erased.
            finds.push((find.skip as i64 + 10 + 10, find));
        }
        for states in [vec![], vec![JobState::Ready, JobState::Failed]] {
            let batch = JobQuery { states, batch: Some("b7".into()), ..everything.clone() };
            let client_id = JobQuery { batch: None, client_id: Some("c7".into()), ..batch.clone() };
            finds.extend([(14 + 2, read::find(scope, &batch)), (14 + 2, read::find(scope, &client_id))]);
        }
        for state in [JobState::Ready, JobState::Running, JobState::Erased] {
            for descending in [false, true] {
                finds.push((10 + 2, read::by_turn(QUEUE, state, descending, 10)));
            }
            finds.push((2, read::last(QUEUE, scope, state)));
        }
        let ended = [JobState::Succeeded, JobState::Failed, JobState::Cancelled];
        finds.push((10 + 2, lease::due(QUEUE, &[JobState::Scheduled], at(900), 10)));
        finds.push((10 + 6, lease::due(QUEUE, &ended, at(900), 10)));
        // Every job that runs is looked at.
        finds.push((32 + 2, lease::lost(QUEUE, at(0), 10)));
        for (at_most, find) in finds {
            refuse_detours(db, collection::JOBS, &find, at_most).await;
        }
        let count = vec![doc! { "$match": unfinished(scope, QUEUE) }, doc! { "$count": "n" }];
        let account = explain(db, aggregate(count, index::JOBS_BY_STATE)).await;
        refuse_documents(&account, index::JOBS_BY_STATE, 90 + 2);
        let account = explain(db, aggregate(read::load_of(QUEUE), index::JOBS_BY_TURN)).await;
        refuse_documents(&account, index::JOBS_BY_TURN, 96 + 2);
        store.close().await;
    });
}
