//! Migrations: from nothing, one after another, by several servers at once, and what they refuse.

use sqlx::{Connection, Row};

use super::support::{Database, runtime};
use crate::migrate::{KNOWN, MIGRATIONS};
use crate::{OpenError, PostgresConfig, PostgresStorage};
use openapi_core::storage::{AgentStore, ContactStore};
use storage_common::fixtures::{agent_id, contact, insert_agent, write};

#[test]
fn an_empty_database_is_migrated_once() {
    let database = Database::new();
    runtime().block_on(async {
        let config = database.config();
        assert_eq!(PostgresStorage::pending_migrations(&config).await.unwrap(), MIGRATIONS);
        let mut db = database.connect().await;
        let made =
            sqlx::query("SELECT 1 FROM pg_namespace WHERE nspname = 'openapi'").fetch_optional(&mut db).await;
        assert!(made.unwrap().is_none(), "asking what is pending changes nothing");
        for _ in 0..2 {
            database.open().await.close().await;
            assert_eq!(PostgresStorage::pending_migrations(&config).await.unwrap(), []);
        }
        let done = sqlx::query("SELECT version, name FROM openapi.migration ORDER BY version")
            .fetch_all(&mut db)
            .await;
        let done: Vec<(i64, String)> = done.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect();
        let all: Vec<(i64, String)> =
            MIGRATIONS.iter().map(|migration| (migration.version, migration.name.to_owned())).collect();
        assert_eq!(done, all);
        db.close().await.unwrap();
    });
}

#[test]
fn several_servers_may_start_at_once() {
    let database = Database::new();
    runtime().block_on(async {
        let starting: Vec<_> = (0..8)
            .map(|_| {
                let config = database.config();
                tokio::spawn(async move { PostgresStorage::open(config).await.unwrap() })
            })
            .collect();
        let mut stores = Vec::new();
        for store in starting {
            stores.push(store.await.unwrap());
        }
        let agent = agent_id("a");
        let schema = insert_agent(&stores[3], &agent).await;
        stores[5].insert_contact(&agent, &write(&contact(&agent, 1), &schema, 2)).await.unwrap();
        for store in &stores {
            assert!(store.agent(&agent).await.unwrap().is_some());
            store.close().await;
        }
    });
}

#[test]
fn a_newer_schema_is_refused() {
    let database = Database::new();
    runtime().block_on(async {
        database.open().await.close().await;
        let mut db = database.connect().await;
        sqlx::query("INSERT INTO openapi.migration VALUES (1000, 'later')").execute(&mut db).await.unwrap();
        let error = PostgresStorage::open(database.config()).await.unwrap_err();
        assert!(matches!(error, OpenError::Newer { found: 1000, known: KNOWN, .. }), "{error}");
        assert!(error.to_string().contains("schema version 1000"), "{error}");
        let error = PostgresStorage::pending_migrations(&database.config()).await.unwrap_err();
        assert!(matches!(error, OpenError::Newer { .. }), "{error}");
        db.close().await.unwrap();
    });
}

#[test]
fn tables_of_something_else_are_left_alone() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = database.connect().await;
        sqlx::raw_sql("CREATE SCHEMA openapi; CREATE TABLE openapi.theirs (x int)")
            .execute(&mut db)
            .await
            .unwrap();
        let error = PostgresStorage::open(database.config()).await.unwrap_err();
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
        let tables = sqlx::query("SELECT count(*) FROM pg_tables WHERE schemaname = 'openapi'")
            .fetch_one(&mut db)
            .await;
        assert_eq!(tables.unwrap().get::<i64, _>(0), 1);
        // Under another name the store can use the same database.
        let url = database.url("schema=crm");
        PostgresStorage::open(PostgresConfig::from_url(&url).unwrap()).await.unwrap().close().await;
        db.close().await.unwrap();
    });
}

#[test]
fn a_failed_migration_leaves_nothing() {
    let database = Database::new();
    runtime().block_on(async {
        database.open().await.close().await;
        let mut db = database.connect().await;
        // As after a migration that failed before its last step: the version before, and none of its tables.
        sqlx::raw_sql(
            "DELETE FROM openapi.migration WHERE version >= 3; \
             DROP TABLE openapi.form_template, openapi.form_template_version, openapi.form_submission, \
             openapi.document, openapi.credit_account, openapi.credit_entry, openapi.conversation, \
             openapi.message, openapi.knowledge, openapi.passage, openapi.agent_record, \
             openapi.contact_change, openapi.key_version",
        )
        .execute(&mut db)
        .await
        .unwrap();
        // The last table of the migration still exists, so the migration fails in the middle.
        assert!(PostgresStorage::open(database.config()).await.is_err());
        let made = sqlx::query("SELECT to_regclass('openapi.form_template') IS NULL")
            .fetch_one(&mut db)
            .await
            .unwrap();
        assert!(made.get::<bool, _>(0));
        sqlx::raw_sql("DROP TABLE openapi.form_data_revision").execute(&mut db).await.unwrap();
        assert_eq!(PostgresStorage::pending_migrations(&database.config()).await.unwrap(), &MIGRATIONS[2..]);
        database.open().await.close().await;
        db.close().await.unwrap();
    });
}
