//! Records, as JSON under kind and id.

use async_trait::async_trait;
use openapi_core::storage::{
    RecordChange, RecordId, RecordKey, RecordKind, RecordStore, RecordsWrite, StorageError, StorageErrorKind,
    StoredRecord, Subject,
};
use openapi_core::values::{AgentId, Timestamp};
use rusqlite::{Connection, params};
use storage_common::{record_columns, records};

use super::scope::{INSTALLATION, number_of};
use crate::error::Result;
use crate::rows::{self, RowReader, signed};
use crate::store::SqliteStorage;
use crate::{audit_chain, effects, tenant};

/// The number of the scope `?1`; `NULL` for an absent or deleted agent, so that no row matches.
macro_rules! scope {
    () => {
        "CASE WHEN ?1 IS NULL THEN 0 ELSE (SELECT n FROM agent WHERE id = ?1 AND status <> 2) END"
    };
}

/// The rows of records with the agents of their scopes; those of deleted agents are left out.
macro_rules! with_agent {
    ($index:literal) => {
        concat!(
            "SELECT a.id, ",
            record_columns!(),
            " FROM record r",
            $index,
            " LEFT JOIN agent a ON a.n = r.agent WHERE (r.agent = 0 OR a.status <> 2) AND "
        )
    };
}

type OfScope = (Option<AgentId>, StoredRecord);

fn of_scope(r: &mut RowReader<'_>) -> Result<OfScope> {
    Ok((r.optional_text()?, records::stored_record(r)?))
}

/// The stored version of a record; 0 stands for none.
fn version(db: &Connection, scope: i64, key: &RecordKey) -> Result<u64> {
    let sql = "SELECT version FROM record WHERE agent = ?1 AND kind = ?2 AND id = ?3";
    let version = rows::number(db, sql, params![scope, key.kind.number(), key.id.as_bytes()])?;
    Ok(version.unwrap_or(0))
}

/// Fails unless the stored version is the one that a change expects.
pub(crate) fn refuse_stale(db: &Connection, scope: i64, change: &RecordChange) -> Result<()> {
    match change.expected() {
        Some(expected) if version(db, scope, change.key())? == expected => Ok(()),
        _ => Err(StorageErrorKind::Stale.into()),
    }
}

fn remove(db: &Connection, scope: i64, key: &RecordKey) -> Result<()> {
    let sql = "DELETE FROM record WHERE agent = ?1 AND kind = ?2 AND id = ?3";
    db.prepare_cached(sql)?.execute(params![scope, key.kind.number(), key.id.as_bytes()])?;
    Ok(())
}

/// Stores a record that is not there.
pub(crate) fn put_new(db: &Connection, scope: i64, record: &StoredRecord) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO record (agent, kind, id, version, subject, unique_value, due_at, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        scope,
        record.key.kind.number(),
        record.key.id.as_bytes(),
        signed(record.version)?,
        record.subject.map(Subject::to_bytes),
        record.unique,
        record.due_at.map(Timestamp::millis),
        record.body.as_str(),
    ])?;
    Ok(())
}

/// Replaces a record, whatever its version.
pub(crate) fn put(db: &Connection, scope: i64, record: &StoredRecord) -> Result<()> {
    if let Some(unique) = &record.unique {
        let sql = "SELECT 1 FROM record WHERE agent = ?1 AND kind = ?2 AND unique_value = ?3 AND id <> ?4";
        if rows::exists(db, sql, params![scope, record.key.kind.number(), unique, record.key.id.as_bytes()])?
        {
            return Err(StorageErrorKind::DuplicateRecord.into());
        }
    }
    if record.version > 1 {
        remove(db, scope, &record.key)?;
    }
    put_new(db, scope, record)
}

/// Removes the records of an erased contact or conversation.
pub(crate) fn erase_of(db: &Connection, agent: i64, subject: Subject) -> Result<()> {
    let sql = "DELETE FROM record WHERE agent = ?1 AND subject = ?2";
    db.prepare_cached(sql)?.execute(params![agent, subject.to_bytes()])?;
    Ok(())
}

/// Changes records of a scope: removals first.
pub(crate) fn change(db: &Connection, scope: i64, changes: &[RecordChange]) -> Result<()> {
    changes.iter().try_for_each(|change| refuse_stale(db, scope, change))?;
    for change in changes {
        if let RecordChange::Remove { key, .. } = change {
            remove(db, scope, key)?;
        }
    }
    for change in changes {
        if let RecordChange::Save(record) = change {
            put(db, scope, record)?;
        }
    }
    Ok(())
}

/// As [`RecordStore::save_records`], inside the writer's transaction.
fn save(db: &Connection, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<()> {
    let number = number_of(db, scope)?.ok_or(StorageErrorKind::Missing)?;
    change(db, number, &write.changes)?;
    match scope {
        Some(_) => effects::apply(db, number, &write.effects),
        None => write.effects.audit.iter().try_for_each(|entry| audit_chain::append(db, entry)),
    }
}

#[async_trait]
impl RecordStore for SqliteStorage {
    async fn record(
        &self,
        scope: Option<&AgentId>,
        key: &RecordKey,
    ) -> Result<Option<StoredRecord>, StorageError> {
        const SQL: &str = concat!(
            "SELECT ",
            record_columns!(),
            " FROM record r WHERE r.agent = ",
            scope!(),
            " AND r.kind = ?2 AND r.id = ?3"
        );
        let values = params![scope.map(AgentId::as_str), key.kind.number(), key.id.as_bytes()];
        self.readers.read_blocking(|db| rows::first(db, SQL, values, |r| records::stored_record(r)))
    }

    async fn record_by_unique(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        unique: &[u8; 32],
    ) -> Result<Option<StoredRecord>, StorageError> {
        const SQL: &str = concat!(
            "SELECT ",
            record_columns!(),
            " FROM record r WHERE r.agent = ",
            scope!(),
            " AND r.kind = ?2 AND r.unique_value = ?3"
        );
        let values = params![scope.map(AgentId::as_str), kind.number(), unique];
        self.readers.read_blocking(|db| rows::first(db, SQL, values, |r| records::stored_record(r)))
    }

    async fn records_of(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        after: Option<&RecordId>,
        at_most: u32,
    ) -> Result<Vec<StoredRecord>, StorageError> {
        const SQL: &str = concat!(
            "SELECT ",
            record_columns!(),
            " FROM record r WHERE r.agent = ",
            scope!(),
            " AND r.kind = ?2 AND (?3 IS NULL OR r.id > ?3) ORDER BY r.id LIMIT ?4"
        );
        let (scope, after) = (scope.cloned(), after.cloned());
        self.readers
            .read(move |db, _| {
                let after = after.as_ref().map(RecordId::as_bytes);
                let values = params![scope.as_ref().map(AgentId::as_str), kind.number(), after, at_most];
                rows::all(db, SQL, values, |r| records::stored_record(r))
            })
            .await
    }

    async fn all_records(
        &self,
        kind: RecordKind,
        after: Option<&(Option<AgentId>, RecordId)>,
        at_most: u32,
    ) -> Result<Vec<OfScope>, StorageError> {
        let after = after.cloned();
        self.readers
            .read(move |db, _| {
                let (agent, id) = match &after {
                    None => (-1, &[] as &[u8]),
                    Some((None, id)) => (INSTALLATION, id.as_bytes()),
                    Some((Some(agent), id)) => {
                        (tenant::number(db, agent)?.ok_or(StorageErrorKind::Missing)?, id.as_bytes())
                    }
                };
                // The kind is a literal, so that the index of those that are listed often serves.
                let sql = format!(
                    concat!(
                        with_agent!(""),
                        "r.kind = {} AND (r.agent, r.id) > (?1, ?2) ORDER BY r.agent, r.id LIMIT ?3"
                    ),
                    kind.number()
                );
                rows::all(db, &sql, params![agent, id, at_most], of_scope)
            })
            .await
    }

    async fn due_records(
        &self,
        kind: RecordKind,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<OfScope>, StorageError> {
        const SQL: &str = concat!(
            with_agent!(" INDEXED BY record_by_due"),
            "r.kind = ?1 AND r.due_at <= ?2 ORDER BY r.due_at, r.agent, r.id LIMIT ?3"
        );
        let values = params![kind.number(), now.millis(), at_most];
        self.readers.read_blocking(|db| rows::all(db, SQL, values, of_scope))
    }

    async fn save_records(&self, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<(), StorageError> {
        let (scope, write) = (scope.cloned(), write.clone());
        self.writer.write(move |db| save(db, scope.as_ref(), &write)).await
    }
}
