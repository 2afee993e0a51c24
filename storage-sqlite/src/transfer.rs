//! Moving records: reading them in the order of their keys, and storing them unchanged.

use async_trait::async_trait;
use openapi_core::agents::Agent;
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{IdempotencyKey, Result as StorageResult, StorageErrorKind};
use openapi_core::values::{AgentId, ConversationId, FileId, KeyId, SubmissionId};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, ToSql, params};
use storage_common::transfer::{TransferKey, TransferKind, TransferRow, TransferStore};

use crate::chat::{agent_records, conversations, knowledge, messages};
use crate::contacts::Columns;
use crate::error::{Fault, Result, corrupt};
use crate::readers::snapshot;
use crate::store::SqliteStorage;
use crate::{
    agents, audit, contact_schemas, contacts, credits, documents, files, forms, keys, rate_windows, replays,
    tenant,
};

#[async_trait]
impl TransferStore for SqliteStorage {
    async fn agents_after(&self, after: Option<&AgentId>, at_most: u32) -> StorageResult<Vec<Agent>> {
        let after = after.cloned();
        self.readers
            .read(move |db, _| {
                let after = after.as_ref().map_or("", AgentId::as_str);
                let sql = "SELECT id, name, status, created_at, updated_at FROM agent WHERE id > ?1 \
                           ORDER BY id LIMIT ?2";
                every(db, sql, params![after, at_most], agents::read)
            })
            .await
    }

    async fn records(
        &self,
        agent: &AgentId,
        kind: TransferKind,
        after: Option<&TransferKey>,
        at_most: u32,
    ) -> StorageResult<Vec<TransferRow>> {
        let (agent, after) = (agent.clone(), after.cloned());
        self.readers
            .read(move |db, _| {
                snapshot(db, |db| match tenant::number(db, &agent)? {
                    Some(number) => {
                        let agent = &Tenant { id: &agent, number };
                        read(&Batch { db, agent, after: after.as_ref(), at_most }, kind)
                    }
                    None => Ok(Vec::new()),
                })
            })
            .await
    }

    async fn last_record(&self, agent: &AgentId, kind: TransferKind) -> StorageResult<Option<TransferKey>> {
        let agent = agent.clone();
        self.readers
            .read(move |db, _| {
                snapshot(db, |db| match tenant::number(db, &agent)? {
                    Some(number) => last(db, &Tenant { id: &agent, number }, kind),
                    None => Ok(None),
                })
            })
            .await
    }

    async fn put_agent(&self, agent: &Agent) -> StorageResult<()> {
        let agent = agent.clone();
        self.writer.write_of_agent(move |db| put_agent(db, &agent)).await
    }

    async fn put_records(&self, agent: &AgentId, records: &[TransferRow]) -> StorageResult<()> {
        let (agent, records) = (agent.clone(), records.to_vec());
        self.writer
            .write(move |db| {
                let number = tenant::number(db, &agent)?.ok_or(StorageErrorKind::Missing)?;
                let tenant = Tenant { id: &agent, number };
                let schema = match records.first() {
                    Some(TransferRow::Contact(_)) => contact_schemas::of_number(db, number)?,
                    _ => None,
                };
                records
                    .iter()
                    .try_for_each(|record| put(db, &tenant, schema.as_ref(), record))
                    .map_err(refused)
            })
            .await
    }
}

/// An agent as its rows name it: by the id or by the number.
struct Tenant<'a> {
    id: &'a AgentId,
    number: i64,
}

fn every<T>(
    db: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

const CONTACT_SCHEMAS_AFTER: &str =
    "SELECT body FROM contact_schema WHERE agent = ?1 AND version > ?2 ORDER BY version LIMIT ?3";

const CONTACTS_AFTER: &str = concat!(
    "SELECT ",
    contacts::columns!(),
    " FROM contact c INDEXED BY contact_by_id WHERE c.agent = ?1 AND c.id > ?2 ORDER BY c.id LIMIT ?3"
);

const PURGES_AFTER: &str =
    "SELECT file, due_at FROM blob_purge WHERE agent = ?1 AND file > ?2 ORDER BY file LIMIT ?3";

const SUBMISSIONS_AFTER: &str = concat!(
    "SELECT ",
    forms::all_columns!(),
    " FROM form_submission s INDEXED BY form_submission_by_id",
    " WHERE s.agent = ?1 AND s.id > ?2 ORDER BY s.id LIMIT ?3"
);

const REVISIONS_AFTER: &str = "SELECT version, at, by, form_data, submission FROM form_data_revision \
     WHERE agent = ?1 AND (submission, version) > (?2, ?3) ORDER BY submission, version LIMIT ?4";

const REPLAYS_AFTER: &str = "SELECT fingerprint, status, location, body, resource, expires_at, key FROM replay \
     WHERE agent = ?1 AND key > ?2 ORDER BY key LIMIT ?3";

const RATE_WINDOWS_AFTER: &str =
    "SELECT version, shares, key FROM rate_window WHERE agent = ?1 AND key > ?2 ORDER BY key LIMIT ?3";

const AUDIT_AFTER: &str = "SELECT at, id, agent, resource, contact, action, actor, address, request_id, details \
     FROM audit INDEXED BY audit_by_agent WHERE agent = ?1 AND (at, id) > (?2, ?3) ORDER BY at, id LIMIT ?4";

/// The index by id is over all agents; an agent has few keys.
const KEYS_AFTER: &str = "SELECT body, last_used_at, last_used_address FROM api_key WHERE agent = ?1 AND id > ?2 \
     ORDER BY id LIMIT ?3";

/// Some records of a kind that follow a key, in the order of their keys.
struct Batch<'a> {
    db: &'a Connection,
    agent: &'a Tenant<'a>,
    after: Option<&'a TransferKey>,
    at_most: u32,
}

type Records = Result<Vec<TransferRow>>;

impl Batch<'_> {
    /// The records of a statement that takes agent, id and limit.
    fn by_id(&self, sql: &str, read: impl Fn(&Row<'_>) -> Result<TransferRow>) -> Records {
        self.by_id_of(&self.agent.number, sql, read)
    }

    /// The same for a table that names agents by another value.
    fn by_id_of(
        &self,
        agent: &dyn ToSql,
        sql: &str,
        read: impl Fn(&Row<'_>) -> Result<TransferRow>,
    ) -> Records {
        // No id is as low as the empty one.
        let id = self.after.map_or(&[] as &[u8], |after| &after.0);
        every(self.db, sql, params![agent, id, self.at_most], read)
    }

    /// The records of a statement that takes agent, number and limit.
    fn by_number(&self, sql: &str, read: impl Fn(&Row<'_>) -> Result<TransferRow>) -> Records {
        let after = self.after.map_or(Some(0), TransferKey::number).ok_or_else(other_kind)?;
        every(self.db, sql, params![self.agent.number, after as i64, self.at_most], read)
    }

    /// The records of a statement that takes agent, id, version and limit.
    fn by_version(&self, sql: &str, read: impl Fn(&Row<'_>) -> Result<TransferRow>) -> Records {
        let (id, version) = id_and_version(self.after).ok_or_else(other_kind)?;
        every(self.db, sql, params![self.agent.number, id, version, self.at_most], read)
    }

    /// The records of a statement that takes agent, time, id and limit.
    fn by_time(
        &self,
        agent: &dyn ToSql,
        sql: &str,
        read: impl Fn(&Row<'_>) -> Result<TransferRow>,
    ) -> Records {
        let (at, id) = time_and_id(self.after).ok_or_else(other_kind)?;
        every(self.db, sql, params![agent, at, id, self.at_most], read)
    }
}

fn other_kind() -> Fault {
    corrupt("a key of another kind of record")
}

fn read(batch: &Batch<'_>, kind: TransferKind) -> Records {
    let Batch { agent, .. } = *batch;
    match kind {
        TransferKind::ContactSchema => batch
            .by_number(CONTACT_SCHEMAS_AFTER, |row| Ok(TransferRow::ContactSchema(Columns::of(row).json()?))),
        TransferKind::Template => batch.by_id(forms::TEMPLATES_AFTER, |row| {
            Ok(TransferRow::Template(forms::read_template(agent.id, row)?))
        }),
        TransferKind::TemplateVersion => batch.by_version(forms::VERSIONS_AFTER, |row| {
            Ok(TransferRow::TemplateVersion(forms::read_template(agent.id, row)?))
        }),
        TransferKind::Contact => {
            batch.by_id(CONTACTS_AFTER, |row| Ok(TransferRow::Contact(contacts::read(agent.id, row)?)))
        }
        TransferKind::File => batch.by_id(files::AFTER, |row| {
            let (file, tombstone) = files::file_or_tombstone(agent.id, row)?;
            Ok(TransferRow::File { file, tombstone })
        }),
        TransferKind::Document => {
            batch.by_id(documents::AFTER, |row| Ok(TransferRow::Document(documents::read(row)?)))
        }
        TransferKind::Purge => batch.by_id_of(&agent.id.as_str(), PURGES_AFTER, |row| {
            let mut columns = Columns::of(row);
            Ok(TransferRow::Purge { file: FileId::from_bytes(columns.bytes()?), due_at: columns.time()? })
        }),
        TransferKind::Submission => batch.by_id(SUBMISSIONS_AFTER, |row| {
            Ok(TransferRow::Submission(forms::read_submission(agent.id, row)?))
        }),
        TransferKind::Revision => batch.by_version(REVISIONS_AFTER, |row| {
            let submission = SubmissionId::from_bytes(Columns::from(row, 4).bytes()?);
            Ok(TransferRow::Revision { submission, revision: forms::revision(row)? })
        }),
        TransferKind::IdempotencyRecord => batch.by_id(REPLAYS_AFTER, |row| {
            let key = IdempotencyKey(Columns::from(row, 6).bytes()?);
            Ok(TransferRow::IdempotencyRecord(replays::read(key, &mut Columns::of(row))?))
        }),
        TransferKind::RateLimitWindow => batch.by_id(RATE_WINDOWS_AFTER, |row| {
            let key = KeyId::from_bytes(Columns::from(row, 2).bytes()?);
            Ok(TransferRow::RateLimitWindow { key, window: rate_windows::read(&mut Columns::of(row))? })
        }),
        TransferKind::CreditAccount if batch.after.is_some() => Ok(Vec::new()),
        TransferKind::CreditAccount => {
            let sql = "SELECT version, body FROM credit_account WHERE agent = ?1 LIMIT ?2";
            every(batch.db, sql, params![agent.number, batch.at_most], |row| {
                Ok(TransferRow::CreditAccount(credits::account(row)?))
            })
        }
        TransferKind::CreditEntry => batch.by_time(&agent.number, credits::ENTRIES_AFTER, |row| {
            Ok(TransferRow::CreditEntry(credits::entry(row)?))
        }),
        TransferKind::Knowledge => {
            batch.by_id(knowledge::AFTER, |row| Ok(TransferRow::Knowledge(knowledge::read(row)?)))
        }
        TransferKind::Passage => batch.by_version(knowledge::PASSAGES_AFTER, |row| {
            let (document, passage) = knowledge::passage(row)?;
            Ok(TransferRow::Passage { document, passage })
        }),
        TransferKind::Conversation => batch.by_id(conversations::AFTER, |row| {
            Ok(TransferRow::Conversation(Box::new(conversations::read(row)?)))
        }),
        TransferKind::Message => batch.by_version(messages::AFTER, |row| {
            let conversation = ConversationId::from_bytes(Columns::from(row, 1).bytes()?);
            Ok(TransferRow::Message { conversation, message: messages::read(row)? })
        }),
        TransferKind::StoredRecord => batch
            .by_number(agent_records::AFTER, |row| Ok(TransferRow::StoredRecord(agent_records::read(row)?))),
        TransferKind::Audit => {
            batch.by_time(&agent.id.as_str(), AUDIT_AFTER, |row| Ok(TransferRow::Audit(audit::read(row)?)))
        }
        TransferKind::Key => {
            batch.by_id(KEYS_AFTER, |row| Ok(TransferRow::Key(keys::read(&mut Columns::of(row))?)))
        }
    }
}

/// The key of records with an id and a version; before every key without `after`.
fn id_and_version(after: Option<&TransferKey>) -> Option<(Vec<u8>, i64)> {
    match after {
        Some(after) => after.version().map(|(id, version)| (id.to_vec(), version as i64)),
        None => Some((Vec::new(), 0)),
    }
}

/// The key of records with a time and an id; before every key without `after`.
fn time_and_id(after: Option<&TransferKey>) -> Option<(i64, Vec<u8>)> {
    match after {
        Some(after) => after.time().map(|(at, id)| (at.millis(), id.to_vec())),
        None => Some((i64::MIN, Vec::new())),
    }
}

fn last(db: &Connection, agent: &Tenant<'_>, kind: TransferKind) -> Result<Option<TransferKey>> {
    let of_version = |sql: &str| -> Result<Option<TransferKey>> {
        let mut statement = db.prepare_cached(sql)?;
        let mut rows = statement.query([agent.number])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let mut columns = Columns::of(row);
        Ok(Some(TransferKey::of_version(&columns.bytes()?, columns.count()?)))
    };
    let of_bytes = |sql: &str, value: &dyn ToSql| -> Result<Option<TransferKey>> {
        let found: Option<Option<Vec<u8>>> =
            db.prepare_cached(sql)?.query_row([value], |row| row.get(0)).optional()?;
        Ok(found.flatten().map(TransferKey))
    };
    let of_time = |sql: &str, value: &dyn ToSql| -> Result<Option<TransferKey>> {
        let mut statement = db.prepare_cached(sql)?;
        let mut rows = statement.query([value])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let mut columns = Columns::of(row);
        Ok(Some(TransferKey::of_time(columns.time()?, &columns.bytes()?)))
    };
    let of_number = |sql: &str| -> Result<Option<TransferKey>> {
        let number: Option<i64> = db.prepare_cached(sql)?.query_row([agent.number], |row| row.get(0))?;
        Ok(number.map(|number| TransferKey::of_number(number as u64)))
    };
    let number: &dyn ToSql = &agent.number;
    match kind {
        TransferKind::ContactSchema => of_number("SELECT max(version) FROM contact_schema WHERE agent = ?1"),
        TransferKind::Template => of_bytes("SELECT max(id) FROM form_template WHERE agent = ?1", number),
        TransferKind::TemplateVersion => of_version(
            "SELECT template, version FROM form_template_version WHERE agent = ?1 \
             ORDER BY template DESC, version DESC LIMIT 1",
        ),
        TransferKind::Contact => of_bytes("SELECT max(id) FROM contact WHERE agent = ?1", number),
        TransferKind::File => of_bytes("SELECT max(id) FROM file WHERE agent = ?1", number),
        TransferKind::Document => of_bytes("SELECT max(id) FROM document WHERE agent = ?1", number),
        TransferKind::Purge => {
            of_bytes("SELECT max(file) FROM blob_purge WHERE agent = ?1", &agent.id.as_str())
        }
        TransferKind::Submission => of_bytes("SELECT max(id) FROM form_submission WHERE agent = ?1", number),
        TransferKind::Revision => of_version(
            "SELECT submission, version FROM form_data_revision WHERE agent = ?1 \
             ORDER BY submission DESC, version DESC LIMIT 1",
        ),
        TransferKind::IdempotencyRecord => of_bytes("SELECT max(key) FROM replay WHERE agent = ?1", number),
        TransferKind::RateLimitWindow => {
            of_bytes("SELECT max(key) FROM rate_window WHERE agent = ?1", number)
        }
        TransferKind::CreditAccount => {
            let is_there = db.prepare_cached(credits::ACCOUNT_OF_AGENT)?.exists([agent.number])?;
            Ok(is_there.then(|| TransferKey::of_number(0)))
        }
        TransferKind::CreditEntry => of_time(
            "SELECT at, id FROM credit_entry WHERE agent = ?1 ORDER BY at DESC, id DESC LIMIT 1",
            number,
        ),
        TransferKind::Knowledge => of_bytes("SELECT max(id) FROM knowledge WHERE agent = ?1", number),
        TransferKind::Passage => of_version(
            "SELECT document, position FROM passage WHERE agent = ?1 \
             ORDER BY document DESC, position DESC LIMIT 1",
        ),
        TransferKind::Conversation => of_bytes("SELECT max(id) FROM conversation WHERE agent = ?1", number),
        TransferKind::Message => of_version(
            "SELECT conversation, seq FROM message WHERE agent = ?1 \
             ORDER BY conversation DESC, seq DESC LIMIT 1",
        ),
        TransferKind::StoredRecord => of_number("SELECT max(kind) FROM agent_record WHERE agent = ?1"),
        TransferKind::Audit => of_time(
            "SELECT at, id FROM audit INDEXED BY audit_by_agent WHERE agent = ?1 \
             ORDER BY at DESC, id DESC LIMIT 1",
            &agent.id.as_str(),
        ),
        TransferKind::Key => of_bytes("SELECT max(id) FROM api_key WHERE agent = ?1", number),
    }
}

fn put_agent(db: &Connection, agent: &Agent) -> Result<()> {
    if tenant::number(db, &agent.id)?.is_none() {
        return agents::put_new(db, agent, 0).map(drop);
    }
    db.prepare_cached(
        "UPDATE agent SET name = ?2, status = ?3, created_at = ?4, updated_at = ?5 WHERE id = ?1",
    )?
    .execute(params![
        agent.id.as_str(),
        agent.name.as_str(),
        tenant::status_number(agent.status),
        agent.created_at.millis(),
        agent.updated_at.millis()
    ])?;
    Ok(())
}

fn put_contact_schema(db: &Connection, agent: i64, schema: &ContactSchema) -> Result<()> {
    contact_schemas::put(db, agent, schema)?;
    let version = i64::try_from(schema.version).map_err(corrupt)?;
    db.prepare_cached("UPDATE agent SET schema_version = max(schema_version, ?2) WHERE n = ?1")?
        .execute([agent, version])?;
    Ok(())
}

fn put_contact(db: &Connection, agent: i64, schema: Option<&ContactSchema>, contact: &Contact) -> Result<()> {
    let keys = ContactKeys::of(contact, schema.ok_or(StorageErrorKind::Missing)?);
    let external = contact.external_reference_id.as_ref();
    if let Some(duplicate) = contacts::duplicate(db, agent, Some(contact.id), external, &keys.unique)? {
        return Err(duplicate.into());
    }
    contacts::put_new(db, agent, contact, &keys)
}

fn put(
    db: &Connection,
    agent: &Tenant<'_>,
    schema: Option<&ContactSchema>,
    record: &TransferRow,
) -> Result<()> {
    let refuse_known = |sql: &str, values: &[&dyn ToSql]| -> Result<()> {
        if db.prepare_cached(sql)?.exists(values)? {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        Ok(())
    };
    match record {
        TransferRow::ContactSchema(schema) => put_contact_schema(db, agent.number, schema),
        TransferRow::Template(template) => forms::put_standing(db, agent.number, template),
        TransferRow::TemplateVersion(template) => {
            let version = i64::try_from(template.version).map_err(corrupt)?;
            refuse_known(
                "SELECT 1 FROM form_template_version WHERE agent = ?1 AND template = ?2 AND version = ?3",
                params![agent.number, template.id.as_bytes(), version],
            )?;
            forms::put_content(db, agent.number, template)
        }
        TransferRow::Contact(contact) => put_contact(db, agent.number, schema, contact),
        TransferRow::File { file, tombstone } => {
            files::put_new(db, agent.number, file, &file.file_name.sort_key())?;
            tombstone.iter().try_for_each(|tombstone| files::bury(db, agent.number, tombstone))
        }
        TransferRow::Document(document) => documents::put_new(db, agent.number, document),
        TransferRow::Purge { file, due_at } => {
            refuse_known(
                "SELECT 1 FROM blob_purge WHERE agent = ?1 AND file = ?2",
                params![agent.id.as_str(), file.as_bytes()],
            )?;
            files::make_due(db, agent.id, *file, *due_at)
        }
        TransferRow::Submission(submission) => forms::put_new(db, agent.number, submission),
        TransferRow::Revision { submission, revision } => {
            forms::keep(db, agent.number, *submission, revision)
        }
        TransferRow::IdempotencyRecord(replay) => {
            refuse_known(
                "SELECT 1 FROM replay WHERE agent = ?1 AND key = ?2",
                params![agent.number, replay.key.0],
            )?;
            replays::put(db, agent.number, replay)
        }
        TransferRow::RateLimitWindow { key, window } => rate_windows::put_new(db, agent.number, *key, window),
        TransferRow::CreditAccount(account) => credits::put_new(db, agent.number, account),
        TransferRow::CreditEntry(entry) => credits::note(db, agent.number, entry),
        TransferRow::Knowledge(document) => knowledge::put_new(db, agent.number, document),
        TransferRow::Passage { document, passage } => {
            knowledge::put_passage(db, agent.number, *document, passage)
        }
        TransferRow::Conversation(it) => conversations::put_new(db, agent.id, agent.number, it),
        TransferRow::Message { conversation, message } => {
            let seq = i64::try_from(message.seq).map_err(corrupt)?;
            refuse_known(
                "SELECT 1 FROM message WHERE agent = ?1 AND conversation = ?2 AND seq = ?3",
                params![agent.number, conversation.as_bytes(), seq],
            )?;
            messages::put(db, agent.number, *conversation, message)
        }
        TransferRow::StoredRecord(record) => agent_records::put_new(db, agent.number, record),
        TransferRow::Audit(entry) => {
            refuse_known(
                "SELECT 1 FROM audit WHERE at = ?1 AND id = ?2",
                params![entry.at.millis(), entry.id.as_bytes()],
            )?;
            audit::append(db, entry)
        }
        TransferRow::Key(stored) => keys::put_new(db, agent.number, stored),
    }
}

/// The meaning of a violated constraint: the key is taken, or the record refers to an absent one.
fn refused(fault: Fault) -> Fault {
    match &fault {
        Fault::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            let is_foreign = error
                .sqlite_error()
                .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
            Fault::Known(if is_foreign { StorageErrorKind::Missing } else { StorageErrorKind::AlreadyExists })
        }
        _ => fault,
    }
}
