//! Creating, changing and erasing contacts. Everything here runs inside the writer's transaction.

use openapi_core::contacts::{Contact, ContactKeys, UniqueValue};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{ContactWrite, Duplicate, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, ExternalId};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params};
use storage_common::{contact_columns, records};

use super::{keys, row, row_number};
use crate::effects;
use crate::error::{Result, corrupt};
use crate::rows::{self, RowReader};
use crate::tenant::{self, Living};

/// As [`openapi_core::storage::ContactStore::insert_contact`].
pub(super) fn insert(db: &Connection, agent_id: &AgentId, write: &ContactWrite) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?;
    check(db, &agent, write)?;
    let contact = &write.contact;
    if stored(db, agent.number, contact.id)?.is_some() {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put_new(db, agent.number, contact, &write.keys)?;
    effects::apply(db, agent.number, &write.effects)
}

/// Stores a new contact with its derived values.
pub(crate) fn put_new(db: &Connection, agent: i64, contact: &Contact, keys: &ContactKeys) -> Result<()> {
    let n = next_number(db, agent)?;
    insert_record(db, agent, n, contact)?;
    keys::insert(db, agent, n, contact, keys)
}

/// As [`openapi_core::storage::ContactStore::update_contact`].
pub(super) fn update(
    db: &Connection,
    agent_id: &AgentId,
    expected_version: u64,
    write: &ContactWrite,
) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?;
    let contact = &write.contact;
    let stored = stored(db, agent.number, contact.id)?.ok_or(StorageErrorKind::Missing)?;
    if stored.version != expected_version {
        return Err(StorageErrorKind::Stale.into());
    }
    check(db, &agent, write)?;
    let before = keys::StoredKeys::read(db, stored.n)?;
    update_record(db, &stored, contact)?;
    keys::update(db, agent.number, stored.n, &before, &stored.tags, contact, &write.keys)?;
    effects::apply(db, agent.number, &write.effects)
}

/// Removes a contact from its agent's lists, counters and search index.
pub(super) fn remove(db: &Connection, agent: i64, stored: &Stored) -> Result<()> {
    keys::remove(db, agent, stored.n, stored.id.as_bytes(), &stored.tags)?;
    db.prepare_cached("DELETE FROM contact WHERE n = ?1")?.execute([stored.n])?;
    Ok(())
}

/// Removes up to `at_most` contacts of an agent and returns how many.
pub(crate) fn purge(db: &Connection, agent: i64, at_most: u32) -> Result<u64> {
    let (low, high) = row_number::range(agent);
    let found = rows::all(
        db,
        "SELECT n, id, version, tags, external_reference_id FROM contact WHERE n BETWEEN ?1 AND ?2 LIMIT ?3",
        params![low, high, at_most],
        Stored::read,
    )?;
    for stored in &found {
        remove(db, agent, stored)?;
    }
    Ok(found.len() as u64)
}

/// Computes the keys of all contacts of an agent again. Refuses the first two, by id, that share a unique value.
pub(crate) fn rekey(db: &Connection, agent_id: &AgentId, agent: i64, schema: &ContactSchema) -> Result<()> {
    let (low, high) = row_number::range(agent);
    db.prepare_cached("DELETE FROM contact_unique WHERE agent = ?1")?.execute([agent])?;
    let sql = concat!(
        "SELECT c.n, ",
        contact_columns!(),
        " FROM contact c INDEXED BY contact_by_id WHERE c.agent = ?1 AND c.n BETWEEN ?2 AND ?3 ORDER BY c.id"
    );
    rows::each(db, sql, [agent, low, high], |r| {
        let n = r.integer()?;
        let contact = records::contact(agent_id, r)?;
        let keys = ContactKeys::of(&contact, schema);
        if let Some(duplicate) = duplicate(db, agent, Some(contact.id), None, &keys.unique)? {
            return Err(duplicate.into());
        }
        let before = keys::StoredKeys::read(db, n)?;
        keys::update(db, agent, n, &before, &keys.tags, &contact, &keys)
    })
}

/// The checks that inserts and updates share.
fn check(db: &Connection, agent: &Living, write: &ContactWrite) -> Result<()> {
    if agent.schema_version != write.schema_version {
        return Err(StorageErrorKind::Stale.into());
    }
    effects::refuse_replayed(db, agent.number, &write.effects, write.at)?;
    let contact = &write.contact;
    let external = contact.external_reference_id.as_ref();
    match duplicate(db, agent.number, Some(contact.id), external, &write.keys.unique)? {
        Some(duplicate) => Err(duplicate.into()),
        None => Ok(()),
    }
}

/// As [`openapi_core::storage::ContactStore::duplicate_contact`].
pub(crate) fn duplicate(
    db: &Connection,
    agent: i64,
    except: Option<ContactId>,
    external_reference_id: Option<&ExternalId>,
    unique: &[UniqueValue],
) -> Result<Option<Duplicate>> {
    let holder = |field: &str, sql: &str, values: &[&dyn ToSql]| -> Result<Option<Duplicate>> {
        let found = rows::first(db, sql, values, |r| {
            let existing = ContactId::from_bytes(r.bytes()?);
            Ok(Duplicate { field: field.to_owned(), existing, archived: r.optional_time()?.is_some() })
        })?;
        Ok(found.filter(|duplicate| Some(duplicate.existing) != except))
    };
    if let Some(external) = external_reference_id {
        let sql = "SELECT id, archived_at FROM contact WHERE agent = ?1 AND external_reference_id = ?2";
        if let Some(duplicate) = holder("externalReferenceId", sql, params![agent, external.as_str()])? {
            return Ok(Some(duplicate));
        }
    }
    for UniqueValue { field, value } in unique {
        let sql = "SELECT c.id, c.archived_at FROM contact_unique u CROSS JOIN contact c ON c.n = u.n \
                   WHERE u.agent = ?1 AND u.field = ?2 AND u.value = ?3";
        if let Some(duplicate) = holder(field, sql, params![agent, field, value])? {
            return Ok(Some(duplicate));
        }
    }
    Ok(None)
}

/// Refuses a change of a record of a contact unless the contact has the version that the caller read.
pub(crate) fn refuse_stale(db: &Connection, agent: i64, contact: ContactId, version: u64) -> Result<()> {
    let sql = "SELECT version FROM contact WHERE agent = ?1 AND id = ?2";
    match rows::number(db, sql, params![agent, contact.as_bytes()])? {
        None => Err(StorageErrorKind::Missing.into()),
        Some(stored) if stored != version => Err(StorageErrorKind::Stale.into()),
        Some(_) => Ok(()),
    }
}

/// The values of a stored contact that a change needs.
pub(super) struct Stored {
    n: i64,
    id: ContactId,
    version: u64,
    tags: Vec<String>,
    external_reference_id: Option<String>,
}

impl Stored {
    fn read(r: &mut RowReader<'_>) -> Result<Self> {
        Ok(Stored {
            n: r.integer()?,
            id: ContactId::from_bytes(r.bytes()?),
            version: r.count()?,
            tags: records::folded_tags(r)?,
            external_reference_id: r.optional_string()?,
        })
    }
}

pub(super) fn stored(db: &Connection, agent: i64, id: ContactId) -> Result<Option<Stored>> {
    let sql = "SELECT n, id, version, tags, external_reference_id FROM contact WHERE agent = ?1 AND id = ?2";
    rows::first(db, sql, params![agent, id.as_bytes()], Stored::read)
}

/// The row number after the last one of an agent.
fn next_number(db: &Connection, agent: i64) -> Result<i64> {
    let (low, high) = row_number::range(agent);
    let sql = "SELECT n FROM contact WHERE n BETWEEN ?1 AND ?2 ORDER BY n DESC LIMIT 1";
    match rows::first(db, sql, [low, high], |r| r.integer())? {
        None => Ok(low + 1),
        Some(last) if last < high => Ok(last + 1),
        Some(_) => Err(corrupt("the agent has used up its row numbers")),
    }
}

fn insert_record(db: &Connection, agent: i64, n: i64, contact: &Contact) -> Result<()> {
    let number = |number| ToSqlOutput::Borrowed(ValueRef::Integer(number));
    let values = [number(n), number(agent)].into_iter().chain(row::values(contact));
    db.prepare_cached(&row::INSERT)?.execute(rusqlite::params_from_iter(values))?;
    Ok(())
}

fn update_record(db: &Connection, stored: &Stored, contact: &Contact) -> Result<()> {
    let external = contact.external_reference_id.as_ref().map(|id| id.as_str());
    // A separate statement for this column, so that its index is updated only when it changes.
    if stored.external_reference_id.as_deref() != external {
        db.prepare_cached("UPDATE contact SET external_reference_id = ?1 WHERE n = ?2")?
            .execute(params![external, stored.n])?;
    }
    let n = ToSqlOutput::Borrowed(ValueRef::Integer(stored.n));
    let values = row::values(contact).skip(2).chain([n]);
    db.prepare_cached(&row::UPDATE)?.execute(rusqlite::params_from_iter(values))?;
    Ok(())
}
