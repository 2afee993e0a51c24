//! Opening: what the store creates, what it refuses, and the error texts.

mod support;

use std::time::Duration;

use mongodb::bson::{Document, doc};
use openapi_core::storage::{AgentStore, HealthProbe, RecordKind, RecordStore};
use storage_mongo::{MongoConfig, MongoStorage, OpenError};
use support::{Database, agent_id, insert_agent, url_of, wait};

async fn migrations(database: &Database) -> (mongodb::Client, mongodb::Collection<Document>) {
    let (client, db) = database.client().await;
    (client, db.collection("migrations"))
}

#[test]
fn a_new_database_is_migrated_once_by_one_of_many() {
    let database = Database::new();
    wait(async {
        let pending = MongoStorage::pending_migrations(&database.config).await.unwrap();
        assert!(!pending.is_empty() && pending[0].version == 1);
        let (client, db) = database.client().await;
        assert!(db.list_collection_names().await.unwrap().is_empty(), "asking changes nothing");
        let mut opening = tokio::task::JoinSet::new();
        for _ in 0..4 {
            opening.spawn(MongoStorage::open(database.config.clone()));
        }
        let mut stores = Vec::new();
        while let Some(opened) = opening.join_next().await {
            stores.push(opened.unwrap().unwrap());
        }
        insert_agent(&stores[0], &agent_id("a")).await;
        assert!(stores[3].agent(&agent_id("a")).await.unwrap().is_some());
        stores[1].probe().await.unwrap();
        assert_eq!(MongoStorage::pending_migrations(&database.config).await.unwrap(), []);
        for store in stores {
            store.close().await;
        }
        client.shutdown().await;
    });
}

#[test]
fn an_interrupted_migration_is_completed() {
    let database = Database::new();
    wait(async {
        database.open().await.close().await;
        let (client, db) = database.client().await;
        let contacts = db.collection::<Document>("contacts");
        let indexes = contacts.list_index_names().await.unwrap();
        assert!(indexes.len() > 5, "{indexes:?}");
        contacts.drop_index("byUnique").await.unwrap();
        db.collection::<Document>("tags").drop().await.unwrap();
        let schema = db.collection::<Document>("migrations");
        schema.delete_one(doc! { "_id": "schema" }).await.unwrap();
        // The lock of a server that died in the meantime.
        let (lock, soon) = (doc! { "_id": "lock" }, doc! { "$add": ["$$NOW", 1_000] });
        let held = vec![doc! { "$set": { "holder": { "id": "another" }, "until": soon } }];
        schema.update_one(lock, held).upsert(true).await.unwrap();
        let begun = tokio::time::Instant::now();
        let store = database.open().await;
        assert!(begun.elapsed() >= Duration::from_millis(900), "the lock was held");
        let completed = contacts.list_index_names().await.unwrap();
        assert_eq!(completed.len(), indexes.len());
        insert_agent(&store, &agent_id("a")).await;
        store.close().await;
        client.shutdown().await;
    });
}

#[test]
fn small_records_and_windows_of_a_former_release_become_records() {
    let database = Database::new();
    wait(async {
        let store = database.open().await;
        let agents = [agent_id("a"), agent_id("b")];
        for agent in &agents {
            insert_agent(&store, agent).await;
        }
        store.close().await;
        let (client, db) = database.client().await;
        db.collection::<Document>("records").drop().await.unwrap();
        let key = |number: u8| mongodb::bson::Binary {
            subtype: mongodb::bson::spec::BinarySubtype::Generic,
            bytes: vec![number; 12],
        };
        let settings = |agent: &str| {
            doc! { "_id": { "agent": agent, "kind": 1_i64 }, "version": 3_i64, "body": r#"{"name":"Zoë"}"# }
        };
        let without_body = doc! { "_id": { "agent": "a", "kind": 3_i64 }, "version": 9_i64 };
        let old = db.collection::<Document>("agentRecords");
        old.insert_many([settings("a"), settings("b"), without_body]).await.unwrap();
        let window = |agent: &str, number: u8| {
            doc! { "_id": { "agent": agent, "id": key(number) }, "version": 2_i64, "shares": "[1,2]" }
        };
        let windows = db.collection::<Document>("rateWindows");
        windows.insert_many([window("a", 1), window("a", 2), window("b", 1)]).await.unwrap();
        let back = doc! { "$set": { "version": 5_i64 } };
        db.collection::<Document>("migrations").update_one(doc! { "_id": "schema" }, back).await.unwrap();

        let store = database.open().await;
        for agent in &agents {
            let found = store.record(Some(agent), &RecordKind::Settings.into()).await.unwrap().unwrap();
            assert_eq!((found.version, found.body.as_str()), (3, r#"{"name":"Zoë"}"#));
        }
        let knowledge = store.record(Some(&agents[0]), &RecordKind::Knowledge.into()).await.unwrap().unwrap();
        assert_eq!((knowledge.version, knowledge.body.as_str()), (9, "{}"));
        let moved = store.records_of(Some(&agents[0]), RecordKind::RateLimitWindow, None, 9).await.unwrap();
        let moved: Vec<_> =
            moved.iter().map(|it| (it.key.id.as_bytes()[0], it.version, it.body.as_str())).collect();
        assert_eq!(moved, [(1, 2, r#"{"shares":[1,2]}"#), (2, 2, r#"{"shares":[1,2]}"#)]);
        let left = db.list_collection_names().await.unwrap();
        assert!(!left.iter().any(|name| name == "agentRecords" || name == "rateWindows"), "{left:?}");
        store.close().await;
        client.shutdown().await;
    });
}

#[test]
fn a_newer_schema_is_refused() {
    let database = Database::new();
    wait(async {
        database.open().await.close().await;
        let (client, migrations) = migrations(&database).await;
        let newer = doc! { "$set": { "version": 99_i64 } };
        migrations.update_one(doc! { "_id": "schema" }, newer).await.unwrap();
        let error = MongoStorage::open(database.config.clone()).await.unwrap_err();
        assert!(matches!(error, OpenError::Newer { found: 99, .. }), "{error}");
        assert!(error.to_string().contains("start the release that wrote it"), "{error}");
        assert!(MongoStorage::pending_migrations(&database.config).await.is_err());
        client.shutdown().await;
    });
}

#[test]
fn collections_of_something_else_are_left_alone() {
    let database = Database::new();
    wait(async {
        let (client, db) = database.client().await;
        db.collection::<Document>("theirs").insert_one(doc! { "x": 1 }).await.unwrap();
        // Others keep their migrations under the same name.
        db.collection::<Document>("migrations").insert_one(doc! { "_id": "2024_users" }).await.unwrap();
        for refused in [
            MongoStorage::open(database.config.clone()).await.map(drop).unwrap_err(),
            MongoStorage::pending_migrations(&database.config).await.map(drop).unwrap_err(),
        ] {
            assert!(matches!(refused, OpenError::Foreign { .. }), "{refused}");
            assert!(refused.to_string().contains("name another one"), "{refused}");
        }
        let mut names = db.list_collection_names().await.unwrap();
        names.sort_unstable();
        assert_eq!(names, ["migrations", "theirs"]);
        client.shutdown().await;
    });
}

#[test]
fn what_cannot_be_reached_or_entered_is_said_without_the_password() {
    wait(async {
        let mut config =
            MongoConfig::from_url("mongodb://user:secret@127.0.0.1:1/openapi?replicaSet=rs0").unwrap();
        config.selection_timeout = Duration::from_millis(500);
        let error = MongoStorage::open(config).await.unwrap_err();
        assert!(matches!(error, OpenError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");

        let server = database_servers::mongo::url().replacen("://", "://nobody:secret@", 1);
        let config = MongoConfig::from_url(&url_of(&server, "openapi_test_entry")).unwrap();
        let error = MongoStorage::open(config).await.unwrap_err();
        assert!(matches!(error, OpenError::Refused { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");

        let invalid = MongoConfig::from_url("mongodb://user:secret@host/openapi?w=x&ssl=what").unwrap();
        let error = MongoStorage::open(invalid).await.unwrap_err();
        assert!(matches!(error, OpenError::Url(_)), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    });
}
