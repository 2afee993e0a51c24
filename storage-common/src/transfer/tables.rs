//! Where the SQL stores hold the records of each kind, and reading them from a row.

use openapi_core::storage::IdempotencyKey;
use openapi_core::values::{AgentId, ConversationId, FileId, SubmissionId};

use super::rows::{KeyShape, TransferKey, TransferKind, TransferRow};
use crate::fields::FieldReader;
use crate::{
    audit_columns, contact_columns, file_or_tombstone_columns, job_columns, key_columns, log_columns,
    record_columns, records, replay_columns, revision_columns, submission_and_history_columns,
    template_columns,
};

/// The table of a kind of records.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The columns that [`record`] reads.
    pub columns: &'static str,
    /// The table that gives the order, with its alias.
    pub table: &'static str,
    /// A table that is joined to it: its name, its alias and the condition.
    pub joined: Option<(&'static str, &'static str, &'static str)>,
    /// The columns of the key after the tenant.
    pub key: &'static [&'static str],
    /// The column of the tenant.
    pub agent: &'static str,
}

impl Table {
    const fn new(
        columns: &'static str,
        table: &'static str,
        key: &'static [&'static str],
        agent: &'static str,
    ) -> Self {
        Table { columns, table, joined: None, key, agent }
    }

    /// The table of a kind.
    #[must_use]
    pub const fn of(kind: TransferKind) -> Self {
        match kind {
            TransferKind::ContactSchema => {
                Table::new("s.body", "contact_schema s", &["s.version"], "s.agent")
            }
            TransferKind::Template => Table {
                joined: Some((
                    "form_template_version",
                    "v",
                    "v.agent = t.agent AND v.template = t.id AND v.version = t.version",
                )),
                ..Table::new(template_columns!(), "form_template t", &["t.id"], "t.agent")
            },
            TransferKind::TemplateVersion => Table {
                joined: Some(("form_template", "t", "t.agent = v.agent AND t.id = v.template")),
                ..Table::new(
                    template_columns!(),
                    "form_template_version v",
                    &["v.template", "v.version"],
                    "v.agent",
                )
            },
            TransferKind::Contact => Table::new(contact_columns!(), "contact c", &["c.id"], "c.agent"),
            TransferKind::File => Table::new(file_or_tombstone_columns!(), "file f", &["f.id"], "f.agent"),
            TransferKind::Document => Table::new("d.body", "document d", &["d.id"], "d.agent"),
            TransferKind::Purge => Table::new("p.file, p.due_at", "blob_purge p", &["p.file"], "p.agent"),
            TransferKind::Submission => {
                Table::new(submission_and_history_columns!(), "form_submission s", &["s.id"], "s.agent")
            }
            TransferKind::Revision => Table::new(
                concat!("r.submission, ", revision_columns!()),
                "form_data_revision r",
                &["r.submission", "r.version"],
                "r.agent",
            ),
            TransferKind::IdempotencyRecord => {
                Table::new(concat!("r.key, ", replay_columns!()), "replay r", &["r.key"], "r.agent")
            }
            TransferKind::CreditAccount => {
                Table::new("c.body", "credit_account c", &["CAST(0 AS bigint)"], "c.agent")
            }
            TransferKind::CreditEntry => Table::new("e.body", "credit_entry e", &["e.at", "e.id"], "e.agent"),
            TransferKind::Knowledge => Table::new("k.body", "knowledge k", &["k.id"], "k.agent"),
            TransferKind::Passage => {
                Table::new("p.document, p.body", "passage p", &["p.document", "p.position"], "p.agent")
            }
            TransferKind::Conversation => Table::new("c.body", "conversation c", &["c.id"], "c.agent"),
            TransferKind::Message => {
                Table::new("m.conversation, m.body", "message m", &["m.conversation", "m.seq"], "m.agent")
            }
            TransferKind::Record => Table::new(record_columns!(), "record r", &["r.kind", "r.id"], "r.agent"),
            TransferKind::Log => Table::new(log_columns!(), "log l", &["l.seq"], "l.agent"),
            TransferKind::Job => Table::new(job_columns!(), "job j", &["j.id"], "j.agent"),
            TransferKind::Audit => Table::new(audit_columns!(), "audit e", &["e.at", "e.id"], "e.agent"),
            TransferKind::Key => Table::new(key_columns!(), "api_key k", &["k.id"], "k.agent"),
        }
    }
}

/// Reads a record: a row of [`Table::columns`], or a document that is one record.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn record<'r, R: FieldReader<'r>>(
    agent: &AgentId,
    kind: TransferKind,
    r: &mut R,
) -> Result<TransferRow, R::Error> {
    Ok(match kind {
        TransferKind::ContactSchema => TransferRow::ContactSchema(r.json("body")?),
        TransferKind::Template => TransferRow::Template(records::template(agent, r, None)?),
        TransferKind::TemplateVersion => TransferRow::TemplateVersion(records::template(agent, r, None)?),
        TransferKind::Contact => TransferRow::Contact(records::contact(agent, r)?),
        TransferKind::File => {
            let (file, tombstone) = records::file_or_tombstone(agent, r)?;
            TransferRow::File { file, tombstone }
        }
        TransferKind::Document => TransferRow::Document(r.json("body")?),
        TransferKind::Purge => {
            TransferRow::Purge { file: FileId::from_bytes(r.bytes("_id.id")?), due_at: r.time("dueAt")? }
        }
        TransferKind::Submission => TransferRow::Submission(records::submission_with_history(agent, r)?),
        TransferKind::Revision => TransferRow::Revision {
            submission: SubmissionId::from_bytes(r.bytes("_id.id")?),
            revision: records::revision(r)?,
        },
        TransferKind::IdempotencyRecord => {
            let key = IdempotencyKey(r.bytes("_id.id")?);
            TransferRow::IdempotencyRecord(records::replay(key, r)?)
        }
        TransferKind::CreditAccount => TransferRow::CreditAccount(r.json("body")?),
        TransferKind::CreditEntry => TransferRow::CreditEntry(r.json("body")?),
        TransferKind::Knowledge => TransferRow::Knowledge(r.json("body")?),
        TransferKind::Passage => {
            let (document, passage) = records::passage(r)?;
            TransferRow::Passage { document, passage }
        }
        TransferKind::Conversation => TransferRow::Conversation(r.json("body")?),
        TransferKind::Message => TransferRow::Message {
            conversation: ConversationId::from_bytes(r.bytes("_id.id")?),
            message: r.json("body")?,
        },
        TransferKind::Record => TransferRow::Record(records::stored_record(r)?),
        TransferKind::Log => TransferRow::Log(records::log_entry(r)?),
        TransferKind::Job => TransferRow::Job(Box::new(records::job(r)?)),
        TransferKind::Audit => TransferRow::Audit(records::audit_entry(r)?),
        TransferKind::Key => TransferRow::Key(records::key(r)?),
    })
}

/// Reads the key of a record: a row of [`Table::key`].
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn key<'r, R: FieldReader<'r>>(kind: TransferKind, r: &mut R) -> Result<TransferKey, R::Error> {
    Ok(match kind.key_shape() {
        KeyShape::Number => TransferKey::of_number(r.count("number")?),
        KeyShape::Version => TransferKey::of_version(&r.bytes("id")?, r.count("version")?),
        KeyShape::Named => TransferKey::of_named(r.count("kind")?, r.slice("id")?),
        KeyShape::Time => TransferKey::of_time(r.time("at")?, &r.bytes("id")?),
        KeyShape::Id => TransferKey(r.slice("id")?.to_vec()),
    })
}
