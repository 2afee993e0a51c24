//! What writes need to know of stored contacts.

use std::collections::BTreeSet;

use openapi_core::contacts::Contact;
use openapi_core::storage::StorageErrorKind;
use openapi_core::values::{AgentId, ContactId, Tag};
use sqlx::PgConnection;
use storage_common::fields::FieldReader;

use crate::connect::fetch_version;
use crate::error::Result;
use crate::rows::{RowReader, Statement, code};

/// The columns of a contact that counters and tags are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    pub(super) archived: i16,
    pub(super) status: i16,
    pub(super) created_at: i64,
}

impl Slot {
    pub(super) fn of(contact: &Contact) -> Self {
        Slot {
            archived: contact.is_archived().into(),
            status: code(contact.status),
            created_at: contact.created_at.millis(),
        }
    }
}

/// A stored contact, as far as a change needs it.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) id: ContactId,
    pub(super) version: u64,
    pub(super) slot: Slot,
    /// Folded.
    pub(super) tags: BTreeSet<String>,
}

/// The columns that [`Stored::read`] reads.
pub(super) const STORED: &str = "c.id, c.version, c.archived, c.status, c.created_at, c.tags";

impl Stored {
    pub(super) fn read(columns: &mut RowReader<'_>) -> Result<Self> {
        Ok(Stored {
            id: ContactId::from_bytes(columns.bytes()?),
            version: columns.count()?,
            slot: Slot {
                archived: columns.small()?,
                status: columns.small()?,
                created_at: columns.integer()?,
            },
            tags: FieldReader::optional_str(columns, "tags")?
                .map(|tags| tags.split('\n').map(Tag::fold).collect())
                .unwrap_or_default(),
        })
    }
}

/// Refuses a change of a record of a contact unless the contact has the version that the caller read.
pub(crate) async fn refuse_stale(
    db: &mut PgConnection,
    agent: &AgentId,
    contact: ContactId,
    version: u64,
) -> Result<()> {
    let statement = Statement::new("SELECT version FROM contact WHERE agent = $1 AND id = $2")
        .bind(agent.as_str())?
        .bind(contact.as_bytes().as_slice())?;
    match fetch_version(db, statement).await? {
        None => Err(StorageErrorKind::Missing.into()),
        Some(stored) if stored != version => Err(StorageErrorKind::Stale.into()),
        Some(_) => Ok(()),
    }
}
