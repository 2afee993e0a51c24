//! Reading records in the order of the primary keys of their tables.
//!
//! The condition on the tenant is a range of the key and not an equality, so only the primary key has the wanted order,
//! whatever PostgreSQL estimates about the tenant's rows.

use openapi_core::storage::IdempotencyKey;
use openapi_core::values::{AgentId, ConversationId, FileId, KeyId, SubmissionId, Timestamp};
use sqlx::postgres::PgRow;
use storage_common::transfer::{TransferKey, TransferKind, TransferRow};
use storage_common::{contact_columns, records, replay_columns};

use crate::chat::{agent_records, knowledge};
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement, signed};
use crate::{audit, files, forms, rate_windows};

/// The table of a kind of records.
struct Table {
    columns: &'static str,
    /// The table whose primary key gives the order, with its alias, and the tables joined to it.
    from: &'static str,
    /// The columns of the primary key after the tenant.
    key: &'static [&'static str],
    /// The column of the tenant.
    agent: &'static str,
}

impl Table {
    const fn new(
        columns: &'static str,
        from: &'static str,
        key: &'static [&'static str],
        agent: &'static str,
    ) -> Self {
        Table { columns, from, key, agent }
    }
}

const fn table(kind: TransferKind) -> Table {
    match kind {
        TransferKind::ContactSchema => Table::new("s.body", "contact_schema s", &["s.version"], "s.agent"),
        TransferKind::Template => Table::new(
            forms::templates::COLUMNS,
            "form_template t JOIN form_template_version v \
                   ON v.agent = t.agent AND v.template = t.id AND v.version = t.version",
            &["t.id"],
            "t.agent",
        ),
        TransferKind::TemplateVersion => Table::new(
            forms::templates::COLUMNS,
            "form_template_version v JOIN form_template t ON t.agent = v.agent AND t.id = v.template",
            &["v.template", "v.version"],
            "v.agent",
        ),
        TransferKind::Contact => Table::new(contact_columns!(), "contact c", &["c.id"], "c.agent"),
        TransferKind::File => Table::new(files::ALL_COLUMNS, "file f", &["f.id"], "f.agent"),
        TransferKind::Document => Table::new("d.body", "document d", &["d.id"], "d.agent"),
        TransferKind::Purge => Table::new("p.file, p.due_at", "blob_purge p", &["p.file"], "p.agent"),
        TransferKind::Submission => {
            Table::new(forms::row::ALL_COLUMNS, "form_submission s", &["s.id"], "s.agent")
        }
        TransferKind::Revision => Table::new(
            "r.version, r.at, r.by, r.form_data, r.submission",
            "form_data_revision r",
            &["r.submission", "r.version"],
            "r.agent",
        ),
        TransferKind::IdempotencyRecord => {
            Table::new(concat!(replay_columns!(), ", r.key"), "replay r", &["r.key"], "r.agent")
        }
        TransferKind::RateLimitWindow => {
            Table::new("w.version, w.shares, w.key", "rate_window w", &["w.key"], "w.agent")
        }
        TransferKind::CreditAccount => Table::new("c.body", "credit_account c", &["0::bigint"], "c.agent"),
        TransferKind::CreditEntry => Table::new("e.body", "credit_entry e", &["e.at", "e.id"], "e.agent"),
        TransferKind::Knowledge => Table::new("k.body", "knowledge k", &["k.id"], "k.agent"),
        TransferKind::Passage => {
            Table::new("p.document, p.body", "passage p", &["p.document", "p.position"], "p.agent")
        }
        TransferKind::Conversation => Table::new("c.body", "conversation c", &["c.id"], "c.agent"),
        TransferKind::Message => {
            Table::new("m.conversation, m.body", "message m", &["m.conversation", "m.seq"], "m.agent")
        }
        TransferKind::StoredRecord => {
            Table::new("r.kind, r.version, r.body", "agent_record r", &["r.kind"], "r.agent")
        }
        TransferKind::Audit => Table::new(audit::COLUMNS, "audit e", &["e.at", "e.id"], "e.agent"),
        TransferKind::Key => {
            Table::new("k.body, k.last_used_at, k.last_used_address", "api_key k", &["k.id"], "k.agent")
        }
    }
}

/// As [`storage_common::transfer::TransferStore::agents_after`].
pub(crate) fn agents_after(after: Option<&AgentId>, at_most: u32) -> Result<Statement> {
    Statement::new(
        "SELECT id, name, status, created_at, updated_at FROM agent WHERE id > $1 ORDER BY id LIMIT $2",
    )
    .bind(after.map_or("", AgentId::as_str))?
    .bind(i64::from(at_most))
}

/// As [`storage_common::transfer::TransferStore::records`].
pub(crate) fn after(
    agent: &AgentId,
    kind: TransferKind,
    after: Option<&TransferKey>,
    at_most: u32,
) -> Result<Statement> {
    let Table { columns, from, key, agent: of } = table(kind);
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let values = add_key(&mut statement, kind, after)?.join(", ");
    let at_most = statement.add(i64::from(at_most))?;
    let key = key.join(", ");
    statement.push(&format!(
        "SELECT {columns} FROM {from} WHERE ({of}, {key}) > ({agent}, {values}) AND {of} <= {agent} \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent}) ORDER BY {of}, {key} LIMIT {at_most}"
    ));
    Ok(statement)
}

/// As [`storage_common::transfer::TransferStore::last_record`]: a row for [`key`].
pub(crate) fn last(agent: &AgentId, kind: TransferKind) -> Result<Statement> {
    let Table { from, key, agent: of, .. } = table(kind);
    let from = from.split_once(" JOIN ").map_or(from, |(table, _)| table);
    let descending: Vec<String> = [of].iter().chain(key).map(|column| format!("{column} DESC")).collect();
    Statement::new(format!(
        "SELECT {} FROM {from} WHERE {of} >= $1 AND {of} <= $1 \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = $1) ORDER BY {} LIMIT 1",
        key.join(", "),
        descending.join(", ")
    ))
    .bind(agent.as_str())
}

/// Binds the parts of a key, or values before every key; returns their names in the text.
fn add_key(statement: &mut Statement, kind: TransferKind, key: Option<&TransferKey>) -> Result<Vec<String>> {
    let broken = || corrupt("a key of another kind of record");
    // The empty byte string sorts first, and no version and no kind is 0.
    let nothing = || (Vec::new(), 0);
    match kind {
        TransferKind::ContactSchema | TransferKind::StoredRecord => {
            let number = key.map_or(Some(0), TransferKey::number).ok_or_else(broken)?;
            Ok(vec![statement.add(signed(number)?)?])
        }
        // The one account has the number 0.
        TransferKind::CreditAccount => {
            let number = key.map(|key| key.number().ok_or_else(broken)).transpose()?;
            Ok(vec![statement.add(number.map_or(Ok(-1), signed)?)?])
        }
        TransferKind::TemplateVersion
        | TransferKind::Revision
        | TransferKind::Passage
        | TransferKind::Message => {
            let parts = key.map(|key| key.version().ok_or_else(broken)).transpose()?;
            let (id, version) = parts.map_or_else(nothing, |(id, version)| (id.to_vec(), version));
            Ok(vec![statement.add(id)?, statement.add(signed(version)?)?])
        }
        TransferKind::CreditEntry | TransferKind::Audit => {
            let parts = key.map(|key| key.time().ok_or_else(broken)).transpose()?;
            let (at, id) =
                parts.map_or_else(|| (i64::MIN, Vec::new()), |(at, id)| (at.millis(), id.to_vec()));
            Ok(vec![statement.add(at)?, statement.add(id)?])
        }
        TransferKind::Template
        | TransferKind::Contact
        | TransferKind::File
        | TransferKind::Document
        | TransferKind::Purge
        | TransferKind::Submission
        | TransferKind::IdempotencyRecord
        | TransferKind::RateLimitWindow
        | TransferKind::Knowledge
        | TransferKind::Conversation
        | TransferKind::Key => Ok(vec![statement.add(key.map_or(&[] as &[u8], |key| &key.0))?]),
    }
}

/// Reads a row of [`last`].
pub(super) fn key(kind: TransferKind, row: &PgRow) -> Result<TransferKey> {
    let mut columns = RowReader::new(row);
    Ok(match kind {
        TransferKind::ContactSchema | TransferKind::CreditAccount | TransferKind::StoredRecord => {
            TransferKey::of_number(columns.count()?)
        }
        TransferKind::TemplateVersion
        | TransferKind::Revision
        | TransferKind::Passage
        | TransferKind::Message => TransferKey::of_version(&columns.bytes()?, columns.count()?),
        TransferKind::CreditEntry | TransferKind::Audit => {
            let at: Timestamp = columns.time()?;
            TransferKey::of_time(at, &columns.bytes()?)
        }
        TransferKind::IdempotencyRecord => TransferKey(columns.bytes::<32>()?.to_vec()),
        TransferKind::Template
        | TransferKind::Contact
        | TransferKind::File
        | TransferKind::Document
        | TransferKind::Purge
        | TransferKind::Submission
        | TransferKind::RateLimitWindow
        | TransferKind::Knowledge
        | TransferKind::Conversation
        | TransferKind::Key => TransferKey(columns.bytes::<12>()?.to_vec()),
    })
}

/// Reads a row of [`after`].
pub(super) fn record(agent: &AgentId, kind: TransferKind, row: &PgRow) -> Result<TransferRow> {
    let mut columns = RowReader::new(row);
    Ok(match kind {
        TransferKind::ContactSchema => TransferRow::ContactSchema(columns.json()?),
        TransferKind::Template => TransferRow::Template(forms::templates::template(agent, row)?),
        TransferKind::TemplateVersion => {
            TransferRow::TemplateVersion(forms::templates::template(agent, row)?)
        }
        TransferKind::Contact => TransferRow::Contact(records::contact(agent, &mut columns)?),
        TransferKind::File => {
            let (file, tombstone) = files::file_or_tombstone(agent, row)?;
            TransferRow::File { file, tombstone }
        }
        TransferKind::Document => TransferRow::Document(columns.json()?),
        TransferKind::Purge => {
            TransferRow::Purge { file: FileId::from_bytes(columns.bytes()?), due_at: columns.time()? }
        }
        TransferKind::Submission => TransferRow::Submission(forms::row::with_history(agent, row)?),
        TransferKind::Revision => TransferRow::Revision {
            submission: SubmissionId::from_bytes(RowReader::at(row, 4).bytes()?),
            revision: forms::read::revision(row)?,
        },
        TransferKind::IdempotencyRecord => {
            let key = IdempotencyKey(RowReader::at(row, 6).bytes()?);
            TransferRow::IdempotencyRecord(records::replay(key, &mut columns)?)
        }
        TransferKind::RateLimitWindow => TransferRow::RateLimitWindow {
            key: KeyId::from_bytes(RowReader::at(row, 2).bytes()?),
            window: rate_windows::read(&mut columns)?,
        },
        TransferKind::CreditAccount => TransferRow::CreditAccount(columns.json()?),
        TransferKind::CreditEntry => TransferRow::CreditEntry(columns.json()?),
        TransferKind::Knowledge => TransferRow::Knowledge(columns.json()?),
        TransferKind::Passage => {
            let (document, passage) = knowledge::passage(row)?;
            TransferRow::Passage { document, passage }
        }
        TransferKind::Conversation => TransferRow::Conversation(columns.json()?),
        TransferKind::Message => TransferRow::Message {
            conversation: ConversationId::from_bytes(columns.bytes()?),
            message: columns.json()?,
        },
        TransferKind::StoredRecord => TransferRow::StoredRecord(agent_records::read(&mut columns)?),
        TransferKind::Audit => TransferRow::Audit(audit::read(row)?),
        TransferKind::Key => TransferRow::Key(records::key(&mut columns)?),
    })
}
