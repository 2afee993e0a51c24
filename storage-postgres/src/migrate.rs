//! The tables: numbered, append-only migrations, each applied in a transaction of its own.

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use storage_common::migrations;
pub use storage_common::migrations::Migration;

use crate::config::PostgresConfig;
use crate::connect;
use crate::error::{OpenError, code};

/// Every migration, in order; `version` is the position in the list, counted from 1.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration::new(1, "contacts", include_str!("migrations/0001_contacts.sql")),
    Migration::new(2, "files", include_str!("migrations/0002_files.sql")),
    Migration::new(3, "forms", include_str!("migrations/0003_forms.sql")),
    Migration::new(4, "look-ups", include_str!("migrations/0004_look_ups.sql")),
    Migration::new(5, "extraction", include_str!("migrations/0005_extraction.sql")),
    Migration::new(6, "chat", include_str!("migrations/0006_chat.sql")),
    Migration::new(7, "contact changes", include_str!("migrations/0007_contact_changes.sql")),
    Migration::new(8, "audit chain", include_str!("migrations/0008_audit_chain.sql")),
    Migration::new(9, "key version", include_str!("migrations/0009_key_version.sql")),
    Migration::new(10, "sealed contents", include_str!("migrations/0010_sealed_contents.sql")),
    Migration::new(11, "shapes", include_str!("migrations/0011_shapes.sql")),
    Migration::new(12, "queue", include_str!("migrations/0012_queue.sql")),
];

/// The migration that begins the chains of the audit log.
const AUDIT_CHAIN: i64 = 8;

/// The version of this release.
pub(crate) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// The oldest supported server, as `server_version_num`: the first on which the owner of a database may create the
/// extensions.
const OLDEST: i64 = 130_000;

/// What the search index needs: `pg_trgm` splits the text, and `btree_gin` lets the index start with the tenant.
const EXTENSIONS: [&str; 2] = ["pg_trgm", "btree_gin"];

/// Checks that the server and the database meet the requirements of the store.
pub(crate) async fn check_server(db: &mut PgConnection, config: &PostgresConfig) -> Result<(), OpenError> {
    let of = |error| OpenError::of(config, error);
    let server = || config.server();
    let version = connect::setting(db, "server_version_num").await.map_err(of)?;
    if version.parse::<i64>().is_ok_and(|version| version < OLDEST) {
        let found = connect::setting(db, "server_version").await.map_err(of)?;
        return Err(OpenError::TooOld { server: server(), found });
    }
    let found = connect::setting(db, "server_encoding").await.map_err(of)?;
    if found != "UTF8" {
        return Err(OpenError::Encoding { server: server(), found });
    }
    if connect::setting(db, "transaction_read_only").await.map_err(of)? == "on" {
        return Err(OpenError::ReadOnly { server: server() });
    }
    Ok(())
}

/// The version of the tables, 0 when there are none.
///
/// # Errors
/// When the schema belongs to something else or to a newer release.
pub(crate) async fn version(db: &mut PgConnection, config: &PostgresConfig) -> Result<i64, OpenError> {
    let of = |error| OpenError::of(config, error);
    let tables = sqlx::query(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm')",
    )
    .persistent(false)
    .bind(&config.schema)
    .fetch_all(&mut *db)
    .await
    .map_err(of)?;
    let is_ours =
        tables.iter().any(|table| table.try_get::<&str, _>(0).is_ok_and(|name| name == "migration"));
    if !is_ours {
        return if tables.is_empty() {
            Ok(0)
        } else {
            Err(OpenError::Foreign { server: config.server(), schema: config.schema.clone() })
        };
    }
    let row =
        sqlx::query("SELECT coalesce(max(version), 0) FROM migration").persistent(false).fetch_one(db).await;
    let found: i64 = row.and_then(|row| row.try_get(0)).map_err(of)?;
    if found > KNOWN {
        return Err(OpenError::Newer { server: config.server(), found, known: KNOWN });
    }
    Ok(found)
}

/// The migrations that tables of `version` lack.
pub(crate) fn pending(version: i64) -> &'static [Migration] {
    migrations::pending(MIGRATIONS, version)
}

/// Migrates the tables to the version of this release. When several servers start at once, one migrates and the others
/// wait.
pub(crate) async fn migrate(db: &mut PgConnection, config: &PostgresConfig) -> Result<(), OpenError> {
    let of = |error| OpenError::of(config, error);
    while let Some(next) = pending(version(db, config).await?).first() {
        let mut step = db.begin().await.map_err(of)?;
        // Creating an index takes as long as it does, and another server may be creating one.
        for sql in ["SET LOCAL statement_timeout = 0", "SET LOCAL lock_timeout = 0"] {
            sqlx::query(sql).persistent(false).execute(&mut *step).await.map_err(of)?;
        }
        sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('migrations of ' || $1, 0))")
            .persistent(false)
            .bind(&config.schema)
            .execute(&mut *step)
            .await
            .map_err(of)?;
        // Another server may have applied it in the meantime.
        if version(&mut step, config).await? + 1 != next.version {
            continue;
        }
        if next.version == 1 {
            prepare(&mut step, config).await?;
        }
        sqlx::raw_sql(next.sql).execute(&mut *step).await.map_err(of)?;
        if next.version == AUDIT_CHAIN {
            let begun = crate::audit::begin_chains(&mut step).await;
            begun.map_err(|error| OpenError::of_migration(config, error))?;
        }
        sqlx::query("INSERT INTO migration (version, name) VALUES ($1, $2)")
            .persistent(false)
            .bind(next.version)
            .bind(next.name)
            .execute(&mut *step)
            .await
            .map_err(of)?;
        step.commit().await.map_err(of)?;
        tracing::info!(version = next.version, name = next.name, "migrated the database");
    }
    Ok(())
}

/// Creates the PostgreSQL schema and the extensions if they are absent.
async fn prepare(step: &mut PgConnection, config: &PostgresConfig) -> Result<(), OpenError> {
    let of = |error| OpenError::of(config, error);
    let schema = &config.schema;
    let exists = sqlx::query("SELECT 1 FROM pg_namespace WHERE nspname = $1")
        .persistent(false)
        .bind(schema)
        .fetch_optional(&mut *step)
        .await
        .map_err(of)?;
    if exists.is_none() {
        // The settings allow only lower-case letters, digits and `_` in the name.
        sqlx::query(AssertSqlSafe(format!("CREATE SCHEMA \"{schema}\"")))
            .persistent(false)
            .execute(&mut *step)
            .await
            .map_err(of)?;
    }
    for name in EXTENSIONS {
        let created =
            sqlx::query(AssertSqlSafe(format!("CREATE EXTENSION IF NOT EXISTS {name} SCHEMA \"{schema}\"")))
                .persistent(false)
                .execute(&mut *step)
                .await;
        if let Err(error) = created {
            if code(&error).is_none() {
                return Err(of(error));
            }
            let detail =
                error.as_database_error().map_or_else(String::new, |error| error.message().to_owned());
            return Err(OpenError::Extension { server: config.server(), name, detail });
        }
    }
    // An existing extension may be in another schema; the search path must include it to find its operator classes.
    let extended = sqlx::query(
        "SELECT set_config('search_path', quote_ident($1) || ', ' || string_agg(DISTINCT quote_ident(n.nspname), ', '), \
         true) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = ANY($2)",
    )
    .persistent(false)
    .bind(schema)
    .bind(EXTENSIONS.as_slice())
    .execute(step)
    .await;
    extended.map(drop).map_err(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_count_from_one() {
        migrations::assert_numbered(MIGRATIONS);
    }
}
