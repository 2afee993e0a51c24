//! The values that are derived from a contact and written with it: keys, tags, unique values, counters.

use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::values::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql, params};

use super::grams::Searched;
use super::index;
use crate::error::{Result, corrupt};
use crate::rows::{self, code};

/// The columns of a contact that counters and tags share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CounterKey {
    pub(super) archived: i64,
    pub(super) status: i64,
    pub(super) created_at: Timestamp,
}

impl CounterKey {
    pub(super) fn of(contact: &Contact) -> Self {
        CounterKey {
            archived: i64::from(contact.is_archived()),
            status: code(contact.status),
            created_at: contact.created_at,
        }
    }
}

/// The keys of a stored contact, as stored.
#[derive(Debug, PartialEq)]
pub(super) struct StoredKeys {
    pub(super) counter_key: CounterKey,
    updated_at: Timestamp,
    first_name: Option<String>,
    last_name: Option<String>,
    primary_email: String,
    email: Option<String>,
    search: String,
    digits: String,
}

impl StoredKeys {
    pub(super) fn read(db: &Connection, n: i64) -> Result<Self> {
        let sql = "SELECT archived, status, created_at, updated_at, first_name, last_name, primary_email, email, \
                   search, digits FROM contact_key WHERE n = ?1";
        let keys = rows::first(db, sql, [n], |r| {
            Ok(StoredKeys {
                counter_key: CounterKey {
                    archived: r.integer()?,
                    status: r.integer()?,
                    created_at: r.time()?,
                },
                updated_at: r.time()?,
                first_name: r.optional_string()?,
                last_name: r.optional_string()?,
                primary_email: r.str()?.to_owned(),
                email: r.optional_string()?,
                search: r.str()?.to_owned(),
                digits: r.str()?.to_owned(),
            })
        })?;
        keys.ok_or_else(|| corrupt(format_args!("contact {n} has no keys")))
    }

    pub(super) fn searched(&self) -> Searched<'_> {
        Searched { search: &self.search, digits: &self.digits }
    }
}

/// The normal form of the address, unless it equals the sort key, as it nearly always does.
fn email_apart(keys: &ContactKeys) -> Option<&str> {
    (keys.email != keys.primary_email).then_some(keys.email.as_str())
}

fn distinct(tags: &[String]) -> Vec<&str> {
    let mut tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

/// All derived values of a contact, for comparison.
#[derive(Debug, PartialEq)]
pub(crate) struct Derived {
    keys: StoredKeys,
    id: Vec<u8>,
    tags: Vec<String>,
    unique: Vec<(String, String)>,
}

impl Derived {
    /// The values that a contact with these keys must have.
    pub(crate) fn of(contact: &Contact, keys: &ContactKeys) -> Self {
        let mut unique: Vec<(String, String)> =
            keys.unique.iter().map(|unique| (unique.field.clone(), unique.value.clone())).collect();
        unique.sort();
        Derived {
            keys: StoredKeys {
                counter_key: CounterKey::of(contact),
                updated_at: contact.updated_at,
                first_name: keys.first_name.clone(),
                last_name: keys.last_name.clone(),
                primary_email: keys.primary_email.clone(),
                email: email_apart(keys).map(str::to_owned),
                search: keys.search.clone(),
                digits: keys.digits.clone(),
            },
            id: contact.id.as_bytes().to_vec(),
            tags: distinct(&keys.tags).into_iter().map(str::to_owned).collect(),
            unique,
        }
    }

    /// The stored values. Tags are looked up where the contact's own tags must be; any others are found by their
    /// number.
    pub(crate) fn stored(db: &Connection, agent: i64, n: i64, contact: &Contact) -> Result<Self> {
        let keys = StoredKeys::read(db, n)?;
        let sql = "SELECT id FROM contact_key WHERE n = ?1 AND agent = ?2";
        let id = rows::first(db, sql, [n, agent], |r| Ok(r.slice()?.to_vec()))?.unwrap_or_default();
        let mut tagged = db.prepare_cached(
            "SELECT 1 FROM contact_tag WHERE agent = ?1 AND tag = ?2 AND archived = ?3 AND status = ?4 \
             AND created_at = ?5 AND id = ?6 AND n = ?7",
        )?;
        let CounterKey { archived, status, created_at } = keys.counter_key;
        let own: Vec<String> = contact.tags.iter().map(|tag| tag.folded()).collect();
        let mut tags = Vec::new();
        for tag in distinct(&own) {
            if tagged.exists(params![agent, tag, archived, status, created_at.millis(), id, n])? {
                tags.push(tag.to_owned());
            }
        }
        let sql = "SELECT field, value FROM contact_unique WHERE n = ?1 AND agent = ?2 ORDER BY 1, 2";
        let unique = rows::all(db, sql, [n, agent], |r| Ok((r.str()?.to_owned(), r.str()?.to_owned())))?;
        Ok(Derived { keys, id, tags, unique })
    }

    /// How many different tags there are.
    pub(crate) fn tags(&self) -> usize {
        self.tags.len()
    }

    /// The names of the values that differ.
    pub(crate) fn differences(&self, stored: &Derived) -> Vec<&'static str> {
        let (own, other) = (&self.keys, &stored.keys);
        [
            (
                own.counter_key == other.counter_key,
                "archived, status or createdAt among its keys is not that of the record",
            ),
            (own.updated_at == other.updated_at, "updatedAt among its keys is not that of the record"),
            (own.first_name == other.first_name, "the sort key of firstName is wrong"),
            (own.last_name == other.last_name, "the sort key of lastName is wrong"),
            (
                own.primary_email == other.primary_email && own.email == other.email,
                "the sort key or normal form of primaryEmail is wrong",
            ),
            (own.search == other.search && own.digits == other.digits, "the searched text is wrong"),
            (self.id == stored.id, "the id among its keys is not that of the record"),
            (self.tags == stored.tags, "a tag is missing from the tag index"),
            (self.unique == stored.unique, "the unique values are wrong"),
        ]
        .into_iter()
        .filter_map(|(same, words)| (!same).then_some(words))
        .collect()
    }
}

/// Stores the derived values of a new contact.
pub(crate) fn insert(
    db: &Connection,
    agent: i64,
    n: i64,
    contact: &Contact,
    keys: &ContactKeys,
) -> Result<()> {
    let counter_key = CounterKey::of(contact);
    db.prepare_cached(
        "INSERT INTO contact_key (n, agent, id, archived, status, created_at, updated_at, first_name, last_name, \
         primary_email, email, search, digits) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        n,
        agent,
        contact.id.as_bytes(),
        counter_key.archived,
        counter_key.status,
        counter_key.created_at.millis(),
        contact.updated_at.millis(),
        keys.first_name,
        keys.last_name,
        keys.primary_email,
        email_apart(keys),
        keys.search,
        keys.digits,
    ])?;
    count(db, agent, counter_key, 1)?;
    for tag in distinct(&keys.tags) {
        tag_row(db, agent, n, tag, counter_key, contact.id.as_bytes(), true)?;
    }
    insert_unique(db, agent, n, keys)?;
    index::note_new(db, n)
}

/// Updates the derived values of a contact; only values that differ are written.
pub(super) fn update(
    db: &Connection,
    agent: i64,
    n: i64,
    before: &StoredKeys,
    tags_before: &[String],
    contact: &Contact,
    keys: &ContactKeys,
) -> Result<()> {
    let counter_key = CounterKey::of(contact);
    change(db, n, before, contact, keys)?;
    if before.counter_key.archived != counter_key.archived || before.counter_key.status != counter_key.status
    {
        count(db, agent, before.counter_key, -1)?;
        count(db, agent, counter_key, 1)?;
    }
    let (old, new) = (distinct(tags_before), distinct(&keys.tags));
    let moved = before.counter_key != counter_key;
    for tag in old.iter().filter(|tag| moved || new.binary_search(tag).is_err()) {
        tag_row(db, agent, n, tag, before.counter_key, contact.id.as_bytes(), false)?;
    }
    for tag in new.iter().filter(|tag| moved || old.binary_search(tag).is_err()) {
        tag_row(db, agent, n, tag, counter_key, contact.id.as_bytes(), true)?;
    }
    db.prepare_cached("DELETE FROM contact_unique WHERE n = ?1")?.execute([n])?;
    insert_unique(db, agent, n, keys)
}

/// Writes the search and sort keys that another release computes for the same contact.
pub(crate) fn renew(db: &Connection, n: i64, contact: &Contact, keys: &ContactKeys) -> Result<()> {
    change(db, n, &StoredKeys::read(db, n)?, contact, keys)
}

/// Writes what differs of the keys, and tells the search index.
fn change(db: &Connection, n: i64, before: &StoredKeys, contact: &Contact, keys: &ContactKeys) -> Result<()> {
    change_columns(db, n, before, contact, keys)?;
    if before.search != keys.search || before.digits != keys.digits {
        index::note_change(db, n, before.searched())?;
    }
    Ok(())
}

/// Writes the columns that differ, so that the indexes on the others are not touched.
fn change_columns(
    db: &Connection,
    n: i64,
    before: &StoredKeys,
    contact: &Contact,
    keys: &ContactKeys,
) -> Result<()> {
    let counter_key = CounterKey::of(contact);
    let text = |text: Option<&str>| text.map_or(Value::Null, |text| Value::Text(text.to_owned()));
    let email = email_apart(keys);
    let columns = [
        (
            "archived",
            before.counter_key.archived != counter_key.archived,
            Value::Integer(counter_key.archived),
        ),
        ("status", before.counter_key.status != counter_key.status, Value::Integer(counter_key.status)),
        (
            "created_at",
            before.counter_key.created_at != counter_key.created_at,
            Value::Integer(counter_key.created_at.millis()),
        ),
        ("updated_at", before.updated_at != contact.updated_at, Value::Integer(contact.updated_at.millis())),
        ("first_name", before.first_name != keys.first_name, text(keys.first_name.as_deref())),
        ("last_name", before.last_name != keys.last_name, text(keys.last_name.as_deref())),
        ("primary_email", before.primary_email != keys.primary_email, text(Some(&keys.primary_email))),
        ("email", before.email.as_deref() != email, text(email)),
        ("search", before.search != keys.search, text(Some(&keys.search))),
        ("digits", before.digits != keys.digits, text(Some(&keys.digits))),
    ];
    let changed = || columns.iter().filter(|(_, differs, _)| *differs);
    let set: Vec<String> = changed().map(|(name, ..)| format!("{name} = ?")).collect();
    if set.is_empty() {
        return Ok(());
    }
    let values = changed().map(|(.., value)| value as &dyn ToSql).chain([&n as &dyn ToSql]);
    db.prepare_cached(&format!("UPDATE contact_key SET {} WHERE n = ?", set.join(", ")))?
        .execute(rusqlite::params_from_iter(values))?;
    Ok(())
}

/// Removes the derived values of a contact.
pub(super) fn remove(db: &Connection, agent: i64, n: i64, id: &[u8; 12], tags: &[String]) -> Result<()> {
    let stored = StoredKeys::read(db, n)?;
    index::remove(db, n, stored.searched())?;
    count(db, agent, stored.counter_key, -1)?;
    for tag in distinct(tags) {
        tag_row(db, agent, n, tag, stored.counter_key, id, false)?;
    }
    db.prepare_cached("DELETE FROM contact_unique WHERE n = ?1")?.execute([n])?;
    db.prepare_cached("DELETE FROM contact_key WHERE n = ?1")?.execute([n])?;
    Ok(())
}

pub(super) fn insert_unique(db: &Connection, agent: i64, n: i64, keys: &ContactKeys) -> Result<()> {
    for unique in &keys.unique {
        db.prepare_cached("INSERT INTO contact_unique (agent, field, value, n) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![agent, unique.field, unique.value, n])?;
    }
    Ok(())
}

fn count(db: &Connection, agent: i64, counter_key: CounterKey, difference: i64) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO contact_count (agent, archived, status, total) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT DO UPDATE SET total = total + excluded.total",
    )?
    .execute(params![agent, counter_key.archived, counter_key.status, difference])?;
    Ok(())
}

fn tag_row(
    db: &Connection,
    agent: i64,
    n: i64,
    tag: &str,
    counter_key: CounterKey,
    id: &[u8; 12],
    add: bool,
) -> Result<()> {
    let CounterKey { archived, status, created_at } = counter_key;
    let created_at = created_at.millis();
    if add {
        db.prepare_cached(
            "INSERT INTO contact_tag (agent, tag, archived, status, created_at, id, n) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![agent, tag, archived, status, created_at, id, n])?;
        db.prepare_cached(
            "INSERT INTO tag_count (agent, tag, archived, status, total) VALUES (?1, ?2, ?3, ?4, 1) \
             ON CONFLICT DO UPDATE SET total = total + 1",
        )?
        .execute(params![agent, tag, archived, status])?;
        return Ok(());
    }
    db.prepare_cached(
        "DELETE FROM contact_tag WHERE agent = ?1 AND tag = ?2 AND archived = ?3 AND status = ?4 \
         AND created_at = ?5 AND id = ?6",
    )?
    .execute(params![agent, tag, archived, status, created_at, id])?;
    let left: i64 = db
        .prepare_cached(
            "UPDATE tag_count SET total = total - 1 \
             WHERE agent = ?1 AND tag = ?2 AND archived = ?3 AND status = ?4 RETURNING total",
        )?
        .query_row(params![agent, tag, archived, status], |row| row.get(0))?;
    if left == 0 {
        db.prepare_cached(
            "DELETE FROM tag_count WHERE agent = ?1 AND tag = ?2 AND archived = ?3 AND status = ?4",
        )?
        .execute(params![agent, tag, archived, status])?;
    }
    Ok(())
}
