//! Contacts.
//!
//! | File | What |
//! |---|---|
//! | `row.rs` | a contact as columns |
//! | `list.rs`, `walk.rs` | lists: which statement, and walks along an index |
//! | `decide.rs` | which writes of a batch are stored, and what becomes of the others |
//! | `points.rs`, `kept.rs` | single reads that share a statement, and contacts kept in memory |
//! | `batch.rs` | a batch of writes as few statements |
//! | `duplicates.rs` | who has a value already |
//! | `erase.rs`, `rekey.rs` | removing contacts, computing their keys anew |

pub(crate) mod batch;
mod decide;
mod duplicates;
mod erase;
pub(crate) mod kept;
pub(crate) mod list;
pub(crate) mod points;
mod rekey;
pub(crate) mod row;
mod walk;

use async_trait::async_trait;
use openapi_core::audit::AuditEntry;
use openapi_core::contacts::{ContactRef, SharedContact, UniqueValue};
use openapi_core::storage::{
    ContactPage, ContactQuery, ContactStore, ContactWrite, Duplicate, StorageError, StorageErrorKind, Window,
};
use openapi_core::values::{AgentId, ContactId, ExternalId};
use sqlx::PgConnection;

pub(crate) use batch::put_new;
pub(crate) use duplicates::refuse as refuse_duplicates;
#[cfg(test)]
pub(crate) use erase::REMOVE;
pub(crate) use erase::purge;
pub(crate) use points::Points;
pub(crate) use rekey::rekey;

use crate::PostgresStorage;
use crate::connect::fetch_one;
use crate::error::Result;
use crate::rows::{Columns, Statement};

#[async_trait]
impl ContactStore for PostgresStorage {
    async fn contact(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<SharedContact>, StorageError> {
        self.points.contact(agent, contact).await
    }

    async fn contacts(&self, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage, StorageError> {
        let mut statement = list::page(agent, query)?;
        if list::may_be_nearer_to_the_end(query)
            && let Window::Page { offset, .. } = query.window
        {
            let size = list::listed(agent, &self.db.read(list::size(agent, query)?).await?)?.total;
            if offset > size / 2 {
                statement = list::page_from_end(agent, query)?;
            }
        }
        let rows = match list::ways(query) {
            None => self.db.read(statement).await?,
            Some(ways) => self.db.read_widely(statement, ways).await?,
        };
        Ok(list::listed(agent, &rows)?)
    }

    async fn duplicate_contact(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external_reference_id: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Result<Option<Duplicate>, StorageError> {
        let mut asked = duplicates::Asked::default();
        asked.add(agent, external_reference_id, unique);
        let Some(statement) = asked.statement_of_living()? else { return Ok(None) };
        let holders = duplicates::Holders::read(&self.db.read(statement).await?)?;
        Ok(holders.first(0, except, unique))
    }

    async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<(), StorageError> {
        self.writer.write(agent, None, write).await
    }

    async fn update_contact(
        &self,
        agent: &AgentId,
        expected_version: u64,
        write: &ContactWrite,
    ) -> Result<(), StorageError> {
        self.writer.write(agent, Some(expected_version), write).await
    }

    async fn erase_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        let erased = self
            .db
            .write((agent.clone(), contact, audit.clone()), |db, (agent, contact, audit)| {
                Box::pin(erase::erase(db, agent, *contact, audit))
            })
            .await;
        self.points.forget(contact);
        erased
    }
}

/// Refuses a change of what belongs to a contact unless the contact is there as it was read.
pub(crate) async fn refuse_stale(
    db: &mut PgConnection,
    agent: &AgentId,
    contact: ContactId,
    version: u64,
) -> Result<()> {
    let statement = Statement::new("SELECT version FROM contact WHERE agent = $1 AND id = $2")
        .bind(agent.as_str())?
        .bind(contact.as_bytes().as_slice())?;
    let row = fetch_one(db, statement).await?.ok_or(StorageErrorKind::Missing)?;
    if Columns::of(&row).count()? == version { Ok(()) } else { Err(StorageErrorKind::Stale.into()) }
}
