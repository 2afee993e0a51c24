//! Creating, changing and erasing contacts. Everything here runs inside the writer's transaction.

use openapi_core::contacts::{Contact, ContactKeys, UniqueValue};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{ContactWrite, Duplicate, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, ExternalId, Tag};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::row::{self, Columns};
use super::{keys, row_number};
use crate::effects;
use crate::error::{Result, corrupt};
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
    let mut statement = db.prepare_cached(
        "SELECT n, id, version, tags, external_reference_id FROM contact \
         WHERE n BETWEEN ?1 AND ?2 LIMIT ?3",
    )?;
    let mut rows = statement.query(params![low, high, at_most])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Stored::read(row)?);
    }
    for stored in &found {
        remove(db, agent, stored)?;
    }
    Ok(found.len() as u64)
}

/// Computes the keys of all contacts of an agent again. Refuses the first two, by id, that share a unique value.
pub(crate) fn rekey(db: &Connection, agent_id: &AgentId, agent: i64, schema: &ContactSchema) -> Result<()> {
    let (low, high) = row_number::range(agent);
    db.prepare_cached("DELETE FROM contact_unique WHERE agent = ?1")?.execute([agent])?;
    let mut statement = db.prepare_cached(concat!(
        "SELECT ",
        row::columns!(),
        ", c.n FROM contact c INDEXED BY contact_by_id WHERE c.agent = ?1 AND c.n BETWEEN ?2 AND ?3 ORDER BY c.id"
    ))?;
    let mut rows = statement.query([agent, low, high])?;
    while let Some(row) = rows.next()? {
        let contact = row::contact(agent_id, row)?;
        let n: i64 = row.get("n")?;
        let keys = ContactKeys::of(&contact, schema);
        if let Some(duplicate) = duplicate(db, agent, Some(contact.id), None, &keys.unique)? {
            return Err(duplicate.into());
        }
        let before = keys::StoredKeys::read(db, n)?;
        keys::update(db, agent, n, &before, &keys.tags, &contact, &keys)?;
    }
    Ok(())
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
    let holder = |field: &str, row: &Row<'_>| -> Result<Option<Duplicate>> {
        let mut columns = Columns::of(row);
        let existing = ContactId::from_bytes(columns.bytes()?);
        let archived = columns.optional_time()?.is_some();
        Ok((Some(existing) != except).then(|| Duplicate { field: field.to_owned(), existing, archived }))
    };
    if let Some(external) = external_reference_id {
        let mut statement = db.prepare_cached(
            "SELECT id, archived_at FROM contact WHERE agent = ?1 AND external_reference_id = ?2",
        )?;
        let mut rows = statement.query(params![agent, external.as_str()])?;
        if let Some(row) = rows.next()?
            && let Some(duplicate) = holder("externalReferenceId", row)?
        {
            return Ok(Some(duplicate));
        }
    }
    for UniqueValue { field, value } in unique {
        let mut statement = db.prepare_cached(
            "SELECT c.id, c.archived_at FROM contact_unique u CROSS JOIN contact c ON c.n = u.n \
             WHERE u.agent = ?1 AND u.field = ?2 AND u.value = ?3",
        )?;
        let mut rows = statement.query(params![agent, field, value])?;
        if let Some(row) = rows.next()?
            && let Some(duplicate) = holder(field, row)?
        {
            return Ok(Some(duplicate));
        }
    }
    Ok(None)
}

/// Refuses a change of a record of a contact unless the contact has the version that the caller read.
pub(crate) fn refuse_stale(db: &Connection, agent: i64, contact: ContactId, version: u64) -> Result<()> {
    let stored: Option<i64> = db
        .prepare_cached("SELECT version FROM contact WHERE agent = ?1 AND id = ?2")?
        .query_row(params![agent, contact.as_bytes()], |row| row.get(0))
        .optional()?;
    match stored {
        None => Err(StorageErrorKind::Missing.into()),
        Some(stored) if u64::try_from(stored) != Ok(version) => Err(StorageErrorKind::Stale.into()),
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
    fn read(row: &Row<'_>) -> Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Stored {
            n: columns.integer()?,
            id: ContactId::from_bytes(columns.bytes()?),
            version: columns.count()?,
            tags: columns
                .optional_str()?
                .map(|tags| tags.split('\n').map(Tag::fold).collect())
                .unwrap_or_default(),
            external_reference_id: columns.optional_str()?.map(str::to_owned),
        })
    }
}

pub(super) fn stored(db: &Connection, agent: i64, id: ContactId) -> Result<Option<Stored>> {
    let mut statement = db.prepare_cached(
        "SELECT n, id, version, tags, external_reference_id FROM contact WHERE agent = ?1 AND id = ?2",
    )?;
    let mut rows = statement.query(params![agent, id.as_bytes()])?;
    rows.next()?.map(Stored::read).transpose()
}

/// The row number after the last one of an agent.
fn next_number(db: &Connection, agent: i64) -> Result<i64> {
    let (low, high) = row_number::range(agent);
    let last: Option<i64> = db
        .prepare_cached("SELECT n FROM contact WHERE n BETWEEN ?1 AND ?2 ORDER BY n DESC LIMIT 1")?
        .query_row([low, high], |row| row.get(0))
        .optional()?;
    match last {
        None => Ok(low + 1),
        Some(last) if last < high => Ok(last + 1),
        Some(_) => Err(corrupt("the agent has used up its row numbers")),
    }
}

fn insert_record(db: &Connection, agent: i64, n: i64, contact: &Contact) -> Result<()> {
    let number = |number| ToSqlOutput::Borrowed(ValueRef::Integer(number));
    let values = [number(n), number(agent)].into_iter().chain(row::values(contact));
    db.prepare_cached(
        "INSERT INTO contact (n, agent, id, external_reference_id, salutation, first_name, middle_name, last_name, \
         dob, gender, primary_email, primary_phone, primary_phone_code, full_address, tags, status, source, \
         last_contacted_at, custom_fields, archived_at, created_at, updated_at, version) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(rusqlite::params_from_iter(values))?;
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
    db.prepare_cached(
        "UPDATE contact SET salutation = ?, first_name = ?, middle_name = ?, last_name = ?, dob = ?, gender = ?, \
         primary_email = ?, primary_phone = ?, primary_phone_code = ?, full_address = ?, tags = ?, status = ?, \
         source = ?, last_contacted_at = ?, custom_fields = ?, archived_at = ?, created_at = ?, updated_at = ?, \
         version = ? WHERE n = ?",
    )?
    .execute(rusqlite::params_from_iter(row::values(contact).skip(2).chain([n])))?;
    Ok(())
}
