//! Reading records in the order of the primary keys of their tables.
//!
//! The condition on the tenant is a range of the key and not an equality, so only the primary key has the wanted order,
//! whatever PostgreSQL estimates about the tenant's rows.

use openapi_core::storage::{Record, RecordKey, RecordKind, ReplayKey};
use openapi_core::values::{AgentId, ConversationId, FileId, KeyId, SubmissionId, Timestamp};
use sqlx::postgres::PgRow;
use storage_common::{contact_columns, records, replay_columns};

use crate::chat::{agent_records, knowledge};
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement, signed};
use crate::{audit, files, forms, rate_windows};

/// The table of a kind of records.
struct Table {
    columns: &'static str,
    /// The table whose primary key is walked order_by, with its alias, and what is joined to it.
    from: &'static str,
    /// The primary key after the tenant.
    key: &'static [&'static str],
    /// The column of the tenant.
    agent: &'static str,
}

const fn table(kind: RecordKind) -> Table {
    match kind {
        RecordKind::ContactSchema => {
            Table { columns: "s.body", from: "contact_schema s", key: &["s.version"], agent: "s.agent" }
        }
        RecordKind::Template => Table {
            columns: forms::templates::COLUMNS,
            from: "form_template t JOIN form_template_version v \
                   ON v.agent = t.agent AND v.template = t.id AND v.version = t.version",
            key: &["t.id"],
            agent: "t.agent",
        },
        RecordKind::TemplateVersion => Table {
            columns: forms::templates::COLUMNS,
            from: "form_template_version v JOIN form_template t ON t.agent = v.agent AND t.id = v.template",
            key: &["v.template", "v.version"],
            agent: "v.agent",
        },
        RecordKind::Contact => {
            Table { columns: contact_columns!(), from: "contact c", key: &["c.id"], agent: "c.agent" }
        }
        RecordKind::File => {
            Table { columns: files::ALL_COLUMNS, from: "file f", key: &["f.id"], agent: "f.agent" }
        }
        RecordKind::Document => {
            Table { columns: "d.body", from: "document d", key: &["d.id"], agent: "d.agent" }
        }
        RecordKind::Purge => {
            Table { columns: "p.file, p.due_at", from: "blob_purge p", key: &["p.file"], agent: "p.agent" }
        }
        RecordKind::Submission => Table {
            columns: forms::row::ALL_COLUMNS,
            from: "form_submission s",
            key: &["s.id"],
            agent: "s.agent",
        },
        RecordKind::Revision => Table {
            columns: "r.version, r.at, r.by, r.form_data, r.submission",
            from: "form_data_revision r",
            key: &["r.submission", "r.version"],
            agent: "r.agent",
        },
        RecordKind::Replay => Table {
            columns: concat!(replay_columns!(), ", r.key"),
            from: "replay r",
            key: &["r.key"],
            agent: "r.agent",
        },
        RecordKind::RateWindow => Table {
            columns: "w.version, w.shares, w.key",
            from: "rate_window w",
            key: &["w.key"],
            agent: "w.agent",
        },
        RecordKind::CreditAccount => {
            Table { columns: "c.body", from: "credit_account c", key: &["0::bigint"], agent: "c.agent" }
        }
        RecordKind::CreditEntry => {
            Table { columns: "e.body", from: "credit_entry e", key: &["e.at", "e.id"], agent: "e.agent" }
        }
        RecordKind::Knowledge => {
            Table { columns: "k.body", from: "knowledge k", key: &["k.id"], agent: "k.agent" }
        }
        RecordKind::Passage => Table {
            columns: "p.document, p.body",
            from: "passage p",
            key: &["p.document", "p.position"],
            agent: "p.agent",
        },
        RecordKind::Conversation => {
            Table { columns: "c.body", from: "conversation c", key: &["c.id"], agent: "c.agent" }
        }
        RecordKind::Message => Table {
            columns: "m.conversation, m.body",
            from: "message m",
            key: &["m.conversation", "m.seq"],
            agent: "m.agent",
        },
        RecordKind::AgentRecord => Table {
            columns: "r.kind, r.version, r.body",
            from: "agent_record r",
            key: &["r.kind"],
            agent: "r.agent",
        },
        RecordKind::Audit => {
            Table { columns: audit::COLUMNS, from: "audit e", key: &["e.at", "e.id"], agent: "e.agent" }
        }
        RecordKind::Key => Table {
            columns: "k.body, k.last_used_at, k.last_used_address",
            from: "api_key k",
            key: &["k.id"],
            agent: "k.agent",
        },
    }
}

/// As [`openapi_core::storage::TransferStore::agents_after`].
pub(crate) fn agents_after(after: Option<&AgentId>, at_most: u32) -> Result<Statement> {
    Statement::new(
        "SELECT id, name, status, created_at, updated_at FROM agent WHERE id > $1 ORDER BY id LIMIT $2",
    )
    .bind(after.map_or("", AgentId::as_str))?
    .bind(i64::from(at_most))
}

/// As [`openapi_core::storage::TransferStore::records`].
pub(crate) fn after(
    agent: &AgentId,
    kind: RecordKind,
    after: Option<&RecordKey>,
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

/// As [`openapi_core::storage::TransferStore::last_record`]: a row for [`key`].
pub(crate) fn last(agent: &AgentId, kind: RecordKind) -> Result<Statement> {
    let Table { from, key, agent: of, .. } = table(kind);
    let from = from.split_once(" JOIN ").map_or(from, |(walked, _)| walked);
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
fn add_key(statement: &mut Statement, kind: RecordKind, key: Option<&RecordKey>) -> Result<Vec<String>> {
    let broken = || corrupt("a key of another kind of record");
    // The empty byte string sorts first, and no version and no kind is 0.
    let nothing = || (Vec::new(), 0);
    match kind {
        RecordKind::ContactSchema | RecordKind::AgentRecord => {
            let number = key.map_or(Some(0), RecordKey::number).ok_or_else(broken)?;
            Ok(vec![statement.add(signed(number)?)?])
        }
        // The one account has the number 0.
        RecordKind::CreditAccount => {
            let number = key.map(|key| key.number().ok_or_else(broken)).transpose()?;
            Ok(vec![statement.add(number.map_or(Ok(-1), signed)?)?])
        }
        RecordKind::TemplateVersion | RecordKind::Revision | RecordKind::Passage | RecordKind::Message => {
            let parts = key.map(|key| key.version().ok_or_else(broken)).transpose()?;
            let (id, version) = parts.map_or_else(nothing, |(id, version)| (id.to_vec(), version));
            Ok(vec![statement.add(id)?, statement.add(signed(version)?)?])
        }
        RecordKind::CreditEntry | RecordKind::Audit => {
            let parts = key.map(|key| key.time().ok_or_else(broken)).transpose()?;
            let (at, id) =
                parts.map_or_else(|| (i64::MIN, Vec::new()), |(at, id)| (at.millis(), id.to_vec()));
            Ok(vec![statement.add(at)?, statement.add(id)?])
        }
        RecordKind::Template
        | RecordKind::Contact
        | RecordKind::File
        | RecordKind::Document
        | RecordKind::Purge
        | RecordKind::Submission
        | RecordKind::Replay
        | RecordKind::RateWindow
        | RecordKind::Knowledge
        | RecordKind::Conversation
        | RecordKind::Key => Ok(vec![statement.add(key.map_or(&[] as &[u8], |key| &key.0))?]),
    }
}

/// Reads a row of [`last`].
pub(super) fn key(kind: RecordKind, row: &PgRow) -> Result<RecordKey> {
    let mut columns = RowReader::new(row);
    Ok(match kind {
        RecordKind::ContactSchema | RecordKind::CreditAccount | RecordKind::AgentRecord => {
            RecordKey::of_number(columns.count()?)
        }
        RecordKind::TemplateVersion | RecordKind::Revision | RecordKind::Passage | RecordKind::Message => {
            RecordKey::of_version(&columns.bytes()?, columns.count()?)
        }
        RecordKind::CreditEntry | RecordKind::Audit => {
            let at: Timestamp = columns.time()?;
            RecordKey::of_time(at, &columns.bytes()?)
        }
        RecordKind::Replay => RecordKey(columns.bytes::<32>()?.to_vec()),
        RecordKind::Template
        | RecordKind::Contact
        | RecordKind::File
        | RecordKind::Document
        | RecordKind::Purge
        | RecordKind::Submission
        | RecordKind::RateWindow
        | RecordKind::Knowledge
        | RecordKind::Conversation
        | RecordKind::Key => RecordKey(columns.bytes::<12>()?.to_vec()),
    })
}

/// Reads a row of [`after`].
pub(super) fn record(agent: &AgentId, kind: RecordKind, row: &PgRow) -> Result<Record> {
    let mut columns = RowReader::new(row);
    Ok(match kind {
        RecordKind::ContactSchema => Record::ContactSchema(columns.json()?),
        RecordKind::Template => Record::Template(forms::templates::template(agent, row)?),
        RecordKind::TemplateVersion => Record::TemplateVersion(forms::templates::template(agent, row)?),
        RecordKind::Contact => Record::Contact(records::contact(agent, &mut columns)?),
        RecordKind::File => {
            let (file, tombstone) = files::file_or_tombstone(agent, row)?;
            Record::File { file, tombstone }
        }
        RecordKind::Document => Record::Document(columns.json()?),
        RecordKind::Purge => {
            Record::Purge { file: FileId::from_bytes(columns.bytes()?), due_at: columns.time()? }
        }
        RecordKind::Submission => Record::Submission(forms::row::with_history(agent, row)?),
        RecordKind::Revision => Record::Revision {
            submission: SubmissionId::from_bytes(RowReader::at(row, 4).bytes()?),
            revision: forms::read::revision(row)?,
        },
        RecordKind::Replay => {
            let key = ReplayKey(RowReader::at(row, 6).bytes()?);
            Record::Replay(records::replay(key, &mut columns)?)
        }
        RecordKind::RateWindow => Record::RateWindow {
            key: KeyId::from_bytes(RowReader::at(row, 2).bytes()?),
            window: rate_windows::read(&mut columns)?,
        },
        RecordKind::CreditAccount => Record::CreditAccount(columns.json()?),
        RecordKind::CreditEntry => Record::CreditEntry(columns.json()?),
        RecordKind::Knowledge => Record::Knowledge(columns.json()?),
        RecordKind::Passage => {
            let (document, passage) = knowledge::passage(row)?;
            Record::Passage { document, passage }
        }
        RecordKind::Conversation => Record::Conversation(columns.json()?),
        RecordKind::Message => Record::Message {
            conversation: ConversationId::from_bytes(columns.bytes()?),
            message: columns.json()?,
        },
        RecordKind::AgentRecord => Record::AgentRecord(agent_records::read(&mut columns)?),
        RecordKind::Audit => Record::Audit(audit::read(row)?),
        RecordKind::Key => Record::Key(records::key(&mut columns)?),
    })
}
