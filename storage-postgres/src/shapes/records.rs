//! Records, as JSON under kind and id.

use async_trait::async_trait;
use openapi_core::storage::{
    Effects, RecordChange, RecordId, RecordKey, RecordKind, RecordStore, RecordsWrite, StorageError,
    StorageErrorKind, StoredRecord, Subject,
};
use openapi_core::values::{AgentId, Timestamp};
use sqlx::PgConnection;
use std::collections::HashMap;
use storage_common::{record_columns, records};

use crate::connect::{execute, fetch, fetch_one};
use crate::error::{Error, Result, code, corrupt};
use crate::rows::{RowReader, Statement, bounded, signed};
use crate::shapes::scope::{self, column, is_living};
use crate::store::PostgresStorage;

fn number(kind: RecordKind) -> Result<i16> {
    i16::try_from(kind.number()).map_err(corrupt)
}

/// The statement of one record.
pub(crate) fn one(scope: Option<&AgentId>, key: &RecordKey) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        record_columns!(),
        " FROM record r WHERE r.agent = $1 AND r.kind = $2 AND r.id = $3 AND ",
        is_living!("$1")
    ))
    .bind(column(scope))?
    .bind(number(key.kind)?)?
    .bind(key.id.as_bytes())
}

/// The statement of the record with a unique value.
pub(crate) fn by_unique(scope: Option<&AgentId>, kind: RecordKind, unique: &[u8; 32]) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        record_columns!(),
        " FROM record r WHERE r.agent = $1 AND r.kind = $2 AND r.unique_value = $3 AND ",
        is_living!("$1")
    ))
    .bind(column(scope))?
    .bind(number(kind)?)?
    .bind(unique.as_slice())
}

/// The comparison that begins a page, and the id that it names.
fn begin(after: Option<&RecordId>) -> (&'static str, &[u8]) {
    // An id may be empty, and then is the first.
    after.map_or((">=", &[]), |id| (">", id.as_bytes()))
}

/// The statement of some records of a kind.
pub(crate) fn of_kind(
    scope: Option<&AgentId>,
    kind: RecordKind,
    after: Option<&RecordId>,
    at_most: u32,
) -> Result<Statement> {
    let (beyond, id) = begin(after);
    Statement::new(format!(
        concat!(
            "SELECT ",
            record_columns!(),
            " FROM record r WHERE r.agent = $1 AND r.kind = $2 AND r.id {} $3 AND ",
            is_living!("$1"),
            " ORDER BY r.id LIMIT $4"
        ),
        beyond
    ))
    .bind(column(scope))?
    .bind(number(kind)?)?
    .bind(id)?
    .bind(i64::from(at_most))
}

/// The statement of some records of a kind, of all scopes.
pub(crate) fn of_all(
    kind: RecordKind,
    after: Option<&(Option<AgentId>, RecordId)>,
    at_most: u32,
) -> Result<Statement> {
    let (beyond, id) = begin(after.map(|(_, id)| id));
    Statement::new(format!(
        concat!(
            "SELECT r.agent, ",
            record_columns!(),
            " FROM record r WHERE r.kind = $1 AND (r.agent, r.id) {} ($2, $3) AND ",
            is_living!("r.agent"),
            " ORDER BY r.agent, r.id LIMIT $4"
        ),
        beyond
    ))
    .bind(number(kind)?)?
    .bind(column(after.and_then(|(scope, _)| scope.as_ref())))?
    .bind(id)?
    .bind(i64::from(at_most))
}

/// The statement of the records that are due, of all scopes.
pub(crate) fn due(kind: RecordKind, now: Timestamp, at_most: u32) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT r.agent, ",
        record_columns!(),
        " FROM record r WHERE r.kind = $1 AND r.due_at <= $2 AND ",
        is_living!("r.agent"),
        " ORDER BY r.due_at, r.agent, r.id LIMIT $3"
    ))
    .bind(number(kind)?)?
    .bind(now.millis())?
    .bind(i64::from(at_most))
}

type OfScope = (Option<AgentId>, StoredRecord);

fn of_scope(r: &mut RowReader<'_>) -> Result<OfScope> {
    Ok((scope::read(r)?, records::stored_record(r)?))
}

/// As [`RecordStore::save_records`], in a transaction of its own.
async fn save(db: &mut PgConnection, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<()> {
    if let [change] = &*write.changes
        && !has_unique(change)
        && write.effects == Effects::default()
    {
        return save_one(db, column(scope), change).await;
    }
    let locked = scope::lock(db, scope).await?;
    change(db, scope, &write.changes).await?;
    scope::apply(db, scope, &write.effects, locked.head).await
}

fn has_unique(change: &RecordChange) -> bool {
    matches!(change, RecordChange::Save(StoredRecord { unique: Some(_), .. }))
}

/// Changes a record in one statement, without the tenant's lock. Unique values are compared under the lock, so the record
/// has none afterwards.
async fn save_one(db: &mut PgConnection, scope: &str, change: &RecordChange) -> Result<()> {
    const LIVING: &str =
        "WITH living AS (SELECT id FROM agent WHERE id = $1 AND (status <> 2 OR id = '')), saved AS";
    const OUTCOME: &str = "SELECT EXISTS (SELECT FROM living), EXISTS (SELECT FROM saved)";
    let saved = match change {
        RecordChange::Remove { .. } => {
            "DELETE FROM record r USING living a WHERE r.agent = a.id AND r.kind = $2 AND r.id = $3 \
             AND r.version = $4 RETURNING 1"
        }
        RecordChange::Save(StoredRecord { version: 1, .. }) => {
            "INSERT INTO record (agent, kind, id, version, subject, due_at, body) \
             SELECT id, $2, $3, $4, $5, $6, $7 FROM living ON CONFLICT (agent, kind, id) DO NOTHING RETURNING 1"
        }
        RecordChange::Save(_) => {
            "UPDATE record r SET version = $4, subject = $5, unique_value = NULL, due_at = $6, body = $7 \
             FROM living a WHERE r.agent = a.id AND r.kind = $2 AND r.id = $3 AND r.version = $4 - 1 RETURNING 1"
        }
    };
    let key = change.key();
    let statement = Statement::new(format!("{LIVING} ({saved}) {OUTCOME}"))
        .bind(scope)?
        .bind(number(key.kind)?)?
        .bind(key.id.as_bytes())?;
    // No version is as great as the greatest one that can be bound.
    let statement = match change {
        RecordChange::Remove { version, .. } => statement.bind(bounded(*version))?,
        RecordChange::Save(record) => statement
            .bind(bounded(record.version))?
            .bind(record.subject.map(|subject| subject.to_bytes().to_vec()))?
            .bind(record.due_at.map(Timestamp::millis))?
            .bind(record.body.as_str())?,
    };
    let row = fetch_one(db, statement).await?.ok_or_else(|| corrupt("a statement without a row"))?;
    let mut columns = RowReader::new(&row);
    match (columns.bool()?, columns.bool()?) {
        (false, _) => Err(StorageErrorKind::Missing.into()),
        (true, false) => Err(StorageErrorKind::Stale.into()),
        (true, true) => Ok(()),
    }
}

/// Changes records of a scope that is locked: removals first.
pub(crate) async fn change(
    db: &mut PgConnection,
    scope: Option<&AgentId>,
    changes: &[RecordChange],
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    refuse_stale(db, scope, changes).await?;
    let (mut removed, mut saved) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            RecordChange::Remove { key, .. } => removed.push(key),
            RecordChange::Save(record) => saved.push(record),
        }
    }
    if !removed.is_empty() {
        let statement = Statement::new(
            "DELETE FROM record r USING unnest($1::text[], $2::smallint[], $3::bytea[]) AS u (agent, kind, id) \
             WHERE r.agent = u.agent AND r.kind = u.kind AND r.id = u.id",
        );
        execute(db, bind_keys(statement, scope, &removed)?).await?;
    }
    if saved.is_empty() {
        return Ok(());
    }
    // Each row meets the ones before it, as if they were saved one after another. A writer without the lock may have
    // inserted the record meanwhile.
    let sql = format!(
        "{INSERT} ON CONFLICT (agent, kind, id) DO UPDATE SET version = excluded.version, \
         subject = excluded.subject, unique_value = excluded.unique_value, due_at = excluded.due_at, \
         body = excluded.body WHERE record.version = excluded.version - 1"
    );
    let count = execute(db, bind(sql, scope, &saved)?).await.map_err(duplicate)?;
    if count == saved.len() as u64 { Ok(()) } else { Err(StorageErrorKind::Stale.into()) }
}

/// The primary key decides between insertion and change, so a violated constraint is that of a unique value.
fn duplicate(error: Error) -> Error {
    const UNIQUE_VIOLATION: &str = "23505";
    match &error {
        Error::Driver(error) if code(error) == Some(UNIQUE_VIOLATION) => {
            Error::Known(StorageErrorKind::DuplicateRecord)
        }
        _ => error,
    }
}

/// Refuses changes of records that have other versions, and locks the records against writers without the tenant's lock.
async fn refuse_stale(
    db: &mut PgConnection,
    scope: Option<&AgentId>,
    changes: &[RecordChange],
) -> Result<()> {
    let keys: Vec<&RecordKey> = changes.iter().map(RecordChange::key).collect();
    let statement = Statement::new(
        "SELECT u.n, r.version FROM unnest($1::text[], $2::smallint[], $3::bytea[]) WITH ORDINALITY AS u \
         (agent, kind, id, n) JOIN record r ON r.agent = u.agent AND r.kind = u.kind AND r.id = u.id \
         FOR NO KEY UPDATE OF r",
    );
    let mut stored = HashMap::new();
    for row in fetch(db, bind_keys(statement, scope, &keys)?).await? {
        let mut columns = RowReader::new(&row);
        stored.insert(columns.count()?, columns.count()?);
    }
    let is_expected = |(n, change): (u64, &RecordChange)| {
        change.expected() == Some(stored.get(&n).copied().unwrap_or_default())
    };
    if (1..).zip(changes).all(is_expected) { Ok(()) } else { Err(StorageErrorKind::Stale.into()) }
}

fn bind_keys(statement: Statement, scope: Option<&AgentId>, keys: &[&RecordKey]) -> Result<Statement> {
    statement
        .bind(vec![column(scope); keys.len()])?
        .bind(keys.iter().map(|key| number(key.kind)).collect::<Result<Vec<_>>>()?)?
        .bind(keys.iter().map(|key| key.id.as_bytes()).collect::<Vec<_>>())
}

const INSERT: &str = "INSERT INTO record (agent, kind, id, version, subject, unique_value, due_at, body) \
     SELECT * FROM unnest($1::text[], $2::smallint[], $3::bytea[], $4::bigint[], $5::bytea[], $6::bytea[], \
     $7::bigint[], $8::text[])";

fn bind(sql: String, scope: Option<&AgentId>, records: &[&StoredRecord]) -> Result<Statement> {
    let keys: Vec<&RecordKey> = records.iter().map(|record| &record.key).collect();
    bind_keys(Statement::new(sql), scope, &keys)?
        .bind(records.iter().map(|record| signed(record.version)).collect::<Result<Vec<_>>>()?)?
        .bind(
            records
                .iter()
                .map(|record| record.subject.map(|subject| subject.to_bytes().to_vec()))
                .collect::<Vec<_>>(),
        )?
        .bind(
            records.iter().map(|record| record.unique.as_ref().map(<[u8; 32]>::as_slice)).collect::<Vec<_>>(),
        )?
        .bind(records.iter().map(|record| record.due_at.map(Timestamp::millis)).collect::<Vec<_>>())?
        .bind(records.iter().map(|record| record.body.as_str()).collect::<Vec<_>>())
}

/// Stores records whose keys are free.
pub(crate) async fn insert(
    db: &mut PgConnection,
    scope: Option<&AgentId>,
    records: &[&StoredRecord],
) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    execute(db, bind(INSERT.to_owned(), scope, records)?).await.map(drop)
}

/// The statement that removes the records of erased contacts and conversations.
pub(crate) fn erasure(agent: &AgentId, subjects: &[Subject]) -> Result<Statement> {
    Statement::new(
        "DELETE FROM record r USING unnest($1::text[], $2::bytea[]) AS u (agent, subject) \
         WHERE r.agent = u.agent AND r.subject = u.subject AND r.subject IS NOT NULL",
    )
    .bind(vec![agent.as_str(); subjects.len()])?
    .bind(subjects.iter().map(|subject| subject.to_bytes().to_vec()).collect::<Vec<_>>())
}

/// Removes the records of erased contacts and conversations.
pub(crate) async fn erase_of(db: &mut PgConnection, agent: &AgentId, subjects: &[Subject]) -> Result<()> {
    execute(db, erasure(agent, subjects)?).await.map(drop)
}

#[async_trait]
impl RecordStore for PostgresStorage {
    async fn record(
        &self,
        scope: Option<&AgentId>,
        key: &RecordKey,
    ) -> Result<Option<StoredRecord>, StorageError> {
        self.db.read_one(one(scope, key)?, |r| records::stored_record(r)).await
    }

    async fn record_by_unique(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        unique: &[u8; 32],
    ) -> Result<Option<StoredRecord>, StorageError> {
        self.db.read_one(by_unique(scope, kind, unique)?, |r| records::stored_record(r)).await
    }

    async fn records_of(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        after: Option<&RecordId>,
        at_most: u32,
    ) -> Result<Vec<StoredRecord>, StorageError> {
        self.db.read_all(of_kind(scope, kind, after, at_most)?, |r| records::stored_record(r)).await
    }

    async fn all_records(
        &self,
        kind: RecordKind,
        after: Option<&(Option<AgentId>, RecordId)>,
        at_most: u32,
    ) -> Result<Vec<OfScope>, StorageError> {
        self.db.read_all(of_all(kind, after, at_most)?, of_scope).await
    }

    async fn due_records(
        &self,
        kind: RecordKind,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<OfScope>, StorageError> {
        self.db.read_all(due(kind, now, at_most)?, of_scope).await
    }

    async fn save_records(&self, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<(), StorageError> {
        let input = (scope.cloned(), write.clone());
        self.db.write(input, |db, (scope, write)| Box::pin(save(db, scope.as_ref(), write))).await
    }
}
