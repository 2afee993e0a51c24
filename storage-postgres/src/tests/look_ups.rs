//! An agent without statistics in PostgreSQL is nevertheless found by key: how many pages each look-up reads.

use openapi_core::values::ContactId;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use storage_common::transfer::{TransferKey, TransferKind};

use super::plans::{ROWS, id};
use super::support::{Database, runtime};
use crate::connect::single;
use crate::contacts::REMOVE;
use crate::contacts::cache::last_changes;
use crate::contacts::loader::{by_external_ids, by_ids};
use crate::migrate::MIGRATIONS;
use crate::rows::Statement;
use crate::transfer::read;
use storage_common::fixtures::agent_id;

/// By the statistics one agent has everything; then another one arrives with as much.
const ALONE: &str = "
CREATE TABLE of (agent text, n bigint);
INSERT INTO agent VALUES ('big', 0, 1, 'n', 0, 0), ('late', 0, 1, 'n', 0, 0);
INSERT INTO of SELECT 'big', n FROM generate_series(1, 12000) n;
";
const LATE: &str = "TRUNCATE of; INSERT INTO of SELECT 'late', n FROM generate_series(1, 12000) n";

/// As before the migration.
const COLLECTED: &str = "
DROP INDEX contact_by_created_at, contact_by_updated_at, contact_by_first_name, contact_by_last_name,
    contact_by_primary_email;
CREATE INDEX contact_by_created_at ON contact (agent, archived, status, created_at, id);
CREATE INDEX contact_by_updated_at ON contact (agent, archived, status, updated_at, id);
CREATE INDEX contact_by_first_name ON contact (agent, archived, status, first_name_key, id);
CREATE INDEX contact_by_last_name ON contact (agent, archived, status, last_name_key, id);
CREATE INDEX contact_by_primary_email ON contact (agent, archived, status, primary_email_key, id);
ALTER TABLE file ALTER COLUMN agent SET STATISTICS -1;
ALTER TABLE form_submission ALTER COLUMN agent SET STATISTICS -1;
ALTER TABLE form_template ALTER COLUMN agent SET STATISTICS -1;
ALTER TABLE audit ALTER COLUMN agent SET STATISTICS -1;
";

/// More pages than a descent of an index and a row take, including joined rows.
const FEW: i64 = 16;

/// How many pages a statement touches, by PostgreSQL's own account, and its plan. Its changes are rolled back.
async fn pages(db: &mut PgConnection, statement: Statement) -> (i64, String) {
    let sql = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {}", statement.sql);
    let mut transaction = db.begin().await.unwrap();
    sqlx::raw_sql("SET LOCAL plan_cache_mode = force_custom_plan").execute(&mut *transaction).await.unwrap();
    let query = sqlx::query_with(AssertSqlSafe(sql), statement.values).persistent(false);
    let row = query.fetch_one(&mut *transaction).await.unwrap();
    // The driver has no text for JSON.
    let account: String = row.try_get_unchecked(0).unwrap();
    let account: serde_json::Value = serde_json::from_str(&account).unwrap();
    transaction.rollback().await.unwrap();
    let plan = &account[0]["Plan"];
    let blocks = |name: &str| plan[name].as_i64().unwrap();
    (blocks("Shared Hit Blocks") + blocks("Shared Read Blocks"), format!("{plan:#}"))
}

/// The statements that look up rows of the agent by their key.
fn look_ups() -> Vec<Statement> {
    let agent = agent_id("late");
    let key = id(6_000);
    let by_key =
        |sql: &'static str| Statement::new(sql).bind(agent.as_str()).unwrap().bind(key.as_slice()).unwrap();
    let by_keys = |sql: &'static str| {
        Statement::new(sql).bind(vec![agent.as_str()]).unwrap().bind(vec![key.as_slice()]).unwrap()
    };
    let mut all = vec![
        by_ids(&[(agent.clone(), ContactId::from_bytes(key))]).unwrap(),
        by_external_ids(&[(agent.clone(), "x6000".parse().unwrap())]).unwrap(),
        by_key("SELECT version FROM contact WHERE agent = $1 AND id = $2"),
        by_key("SELECT version FROM form_submission WHERE agent = $1 AND id = $2"),
        by_key("SELECT size FROM file WHERE agent = $1 AND id = $2 AND deleted_at IS NULL"),
    ];
    all.push(last_changes(vec![agent.as_str()]).unwrap());
    all.extend(REMOVE.map(by_keys));
    let after = TransferKey(key.to_vec());
    for kind in [TransferKind::Contact, TransferKind::Submission, TransferKind::File] {
        all.push(read::after(&agent, kind, Some(&after), 1).unwrap());
        all.push(read::last(&agent, kind).unwrap());
    }
    all
}

#[test]
fn an_agent_next_to_a_dominant_one_is_found_by_key() {
    let database = Database::new();
    runtime().block_on(async {
        database.open().await.close().await;
        let mut filling = database.connect().await;
        let run = async |db: &mut PgConnection, sql: &'static str| {
            sqlx::raw_sql(sql).execute(db).await.unwrap();
        };
        for sql in ["SET search_path = openapi", ALONE, COLLECTED, ROWS, "VACUUM ANALYZE", LATE, ROWS] {
            run(&mut filling, sql).await;
        }
        // Without the migration the look-ups skip all rows of the agent, and the measure shows it.
        let mut db = single(&database.config()).await.unwrap().0;
        let mut astray = 0;
        for statement in look_ups() {
            astray += usize::from(pages(&mut db, statement).await.0 > 2 * FEW);
        }
        assert!(astray >= 2, "{astray}");
        // The migration fixes a database that was filled before it, whatever its statistics.
        run(&mut filling, MIGRATIONS[3].sql).await;
        for analyzed in [false, true] {
            if analyzed {
                run(&mut filling, "VACUUM ANALYZE").await;
            }
            for statement in look_ups() {
                let (read, plan) = pages(&mut db, statement.clone()).await;
                assert!(read <= FEW, "{read} pages, {}\n{plan}", statement.sql);
            }
        }
        let collected = "SELECT count(*) FROM pg_stats WHERE schemaname = 'openapi' AND attname = 'agent' \
                         AND tablename IN ('file', 'audit', 'form_submission', 'form_template')";
        let collected: i64 = sqlx::query(collected).fetch_one(&mut filling).await.unwrap().get(0);
        assert_eq!(collected, 0);
        db.close().await.unwrap();
        filling.close().await.unwrap();
    });
}
