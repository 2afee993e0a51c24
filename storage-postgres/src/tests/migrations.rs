//! Migrations: from nothing, one after another, by several servers at once, and what they refuse.

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::support::{Database, runtime};
use crate::migrate::{KNOWN, MIGRATIONS};
use crate::{OpenError, PostgresConfig, PostgresStorage};
use openapi_core::audit::{AuditAction, ChainProblem, ChainVerifier};
use openapi_core::json::RawObject;
use openapi_core::storage::{
    AgentStore, AuditStore, ChainQuery, ContactStore, Effects, LogPage, LogStore, RecordKey, RecordKind,
    RecordStore, RecordsWrite, StoredRecord,
};
use openapi_core::values::KeyId;
use storage_common::fixtures::{agent_id, contact, entry, insert_agent, server_keys, write};

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

async fn verify(store: &PostgresStorage) -> Result<u64, ChainProblem> {
    let keys = server_keys();
    let mut verifier = ChainVerifier::new(&keys, Some(agent_id("a")), None, []);
    let query = ChainQuery { chain: Some(agent_id("a")), after: None, limit: 1_000 };
    for entry in store.audit_chain(&query).await.unwrap() {
        verifier.push(&entry).map_err(|broken| broken.problem)?;
    }
    let (entries, head) = (verifier.entries(), store.audit_head(Some(&agent_id("a"))).await.unwrap());
    verifier.finish(head).map(|_| entries).map_err(|broken| broken.problem)
}

/// The chain begins after the entries of former releases and covers them; a change by SQL is found.
#[test]
fn the_audit_chain_covers_older_entries() {
    let database = Database::new();
    runtime().block_on(async {
        let store = database.open().await;
        let agent = agent_id("a");
        let mut db = database.connect().await;
        let run = async |db: &mut PgConnection, sql: &'static str| {
            sqlx::raw_sql(sql).execute(db).await.unwrap().rows_affected()
        };
        run(&mut db, "SET search_path = openapi").await;
        insert_agent(&store, &agent).await;
        // As a former release has left them.
        run(&mut db, "UPDATE audit SET sequence = 0, server_key = NULL, salt = NULL, digest = NULL, mac = NULL").await;
        run(&mut db, "UPDATE agent SET audit_sequence = 0, audit_mac = decode(repeat('00', 32), 'hex')").await;
        crate::audit::begin_chains(&mut db).await.unwrap();
        for number in 1..5 {
            store.append_audit(&entry(&agent, number, AuditAction::KeyEdit, "key")).await.unwrap();
        }
        assert_eq!(verify(&store).await, Ok(5));
        for (sql, back, problem) in [
            (
                "UPDATE audit SET resource = 'x' WHERE sequence = 0",
                "UPDATE audit SET resource = 'a' WHERE sequence = 0",
                ChainProblem::EarlierChanged,
            ),
            (
                "UPDATE audit SET resource = 'x' WHERE sequence = 2",
                "UPDATE audit SET resource = 'key' WHERE sequence = 2",
                ChainProblem::Changed,
            ),
            (
                "INSERT INTO audit SELECT agent, at + 90, id, contact, subject, resource, action, actor, address, \
                 request_id, details, sequence, server_key, salt, digest, mac FROM audit WHERE sequence = 3",
                "DELETE FROM audit WHERE at = (SELECT max(at) FROM audit)",
                ChainProblem::Inserted,
            ),
            ("DELETE FROM audit WHERE sequence = 3", "SELECT 1", ChainProblem::Missing),
        ] {
            assert!(run(&mut db, sql).await > 0, "{sql}");
            assert_eq!(verify(&store).await, Err(problem), "{sql}");
            run(&mut db, back).await;
        }
        db.close().await.unwrap();
        store.close().await;
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

/// Creates a table of a former version.
async fn create(db: &mut PgConnection, table: &str) {
    let begin = format!("CREATE TABLE {table} (");
    let (_, rest) = MIGRATIONS.iter().find_map(|migration| migration.sql.split_once(&begin)).unwrap();
    let (columns, _) = rest.split_once("\n)").unwrap();
    let sql = format!("SET search_path = openapi; {begin}{columns})");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(db).await.unwrap();
}

/// Small records and rate-limit windows of the version before become records, with their versions and texts.
#[test]
fn what_records_absorb_stays_as_it_was() {
    let database = Database::new();
    runtime().block_on(async {
        let (agent, key) = (agent_id("a"), KeyId::from_bytes([7; 12]));
        let store = database.open().await;
        insert_agent(&store, &agent).await;
        store.close().await;
        let mut db = database.connect().await;
        create(&mut db, "agent_record").await;
        create(&mut db, "rate_window").await;
        let shares = r#"[{"server":"000000000000000000000000","counted":[],"leased":5,"leaseEnds":"1970-01-01T00:00:00Z"}]"#;
        let former = format!(
            "DROP TABLE record, log, log_erased, job; DELETE FROM migration WHERE version >= 11; \
             INSERT INTO agent_record VALUES ('a', 1, 7, '{{\"b\":1.50,\"a\":\"\u{e9}\"}}'), ('a', 3, 9, NULL); \
             INSERT INTO rate_window VALUES ('a', '\\x070707070707070707070707', 4, '{shares}')"
        );
        sqlx::raw_sql(AssertSqlSafe(former)).execute(&mut db).await.unwrap();
        let store = database.open().await;
        let window = format!(r#"{{"shares":{shares}}}"#);
        for (key, version, body) in [
            (RecordKind::Settings.into(), 7, "{\"b\":1.50,\"a\":\"\u{e9}\"}"),
            (RecordKind::Knowledge.into(), 9, "{}"),
            (RecordKey::new(RecordKind::RateLimitWindow, key), 4, &*window),
        ] {
            let expected = StoredRecord {
                key,
                ..StoredRecord::single(RecordKind::Settings, version, RawObject::from_text(body).unwrap())
            };
            assert_eq!(store.record(Some(&agent), &expected.key).await.unwrap().as_ref(), Some(&expected));
            // They can be changed, and the log begins with the first event.
            let changed = StoredRecord { version: version + 1, ..expected };
            let write = RecordsWrite::save(changed, Effects::default());
            store.save_records(Some(&agent), &write).await.unwrap();
        }
        assert_eq!(store.log(&agent, 0, 9).await.unwrap(), LogPage::default());
        let left = sqlx::query("SELECT count(*) FROM pg_tables WHERE tablename IN ('agent_record', 'rate_window')");
        assert_eq!(left.fetch_one(&mut db).await.unwrap().get::<i64, _>(0), 0);
        db.close().await.unwrap();
        store.close().await;
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
             openapi.message, openapi.knowledge, openapi.passage, openapi.record, openapi.log, openapi.log_erased, openapi.job, \
             openapi.contact_change, openapi.key_version; \
             ALTER TABLE openapi.file DROP COLUMN server_key; \
             ALTER TABLE openapi.audit DROP COLUMN sequence, DROP COLUMN server_key, DROP COLUMN salt, \
             DROP COLUMN digest, DROP COLUMN mac; \
             ALTER TABLE openapi.agent DROP COLUMN audit_sequence, DROP COLUMN audit_mac; \
             DELETE FROM openapi.agent WHERE id = ''",
        )
        .execute(&mut db)
        .await
        .unwrap();
        create(&mut db, "rate_window").await;
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
