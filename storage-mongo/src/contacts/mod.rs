//! Contacts.

mod gather;
mod grams;
mod list;
mod narrow;
mod points;
mod rekey;
pub(crate) mod row;
mod store;
mod write;

use async_trait::async_trait;
use mongodb::bson::{Document, doc};
use openapi_core::audit::AuditEntry;
use openapi_core::contacts::{ContactRef, SharedContact, UniqueValue};
use openapi_core::storage::{ContactPage, ContactQuery, ContactStore, ContactWrite, Duplicate, StorageError};
use openapi_core::values::{AgentId, ContactId, ExternalId};

#[cfg(test)]
pub(crate) use list::plan_of;
#[cfg(test)]
pub(crate) use narrow::count_of_search;
pub(crate) use points::Points;
#[cfg(test)]
pub(crate) use points::find_by_external_ids;
pub(crate) use rekey::rekey;
pub(crate) use store::{ContactJob, put_new, store};
pub(crate) use write::{every, external_ids, purge, refuse_stale};

use crate::MongoStorage;
use crate::error::Result;
use crate::ledger;
use crate::transaction::Reads;

/// What a read of the record leaves out.
pub(crate) fn without_keys() -> Document {
    doc! { "keys": 0 }
}

#[async_trait]
impl ContactStore for MongoStorage {
    async fn contact(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<SharedContact>, StorageError> {
        Ok(self.handle.read(self.points.contact(agent, contact)).await?.map(SharedContact::from))
    }

    async fn contacts(&self, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage, StorageError> {
        Ok(self.handle.list(list::page(&self.handle, agent, query)).await?)
    }

    async fn duplicate_contact(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external_reference_id: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Result<Option<Duplicate>, StorageError> {
        let find = async {
            let mut reads = Reads::alone(&self.handle);
            if ledger::living(&mut reads, agent).await?.is_none() {
                return Ok(None);
            }
            let wanted = write::unique_values(external_reference_id, unique);
            let holders = write::holders(&mut reads, agent, wanted.iter().map(|(_, value)| value)).await?;
            Ok(write::duplicate(&holders, except, &wanted))
        };
        Ok(self.handle.read(find).await?)
    }

    async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<(), StorageError> {
        self.writer.write_contact(agent, |reply| ContactJob::insertion(write.clone(), reply)).await
    }

    async fn update_contact(
        &self,
        agent: &AgentId,
        expected_version: u64,
        write: &ContactWrite,
    ) -> Result<(), StorageError> {
        self.writer
            .write_contact(agent, |reply| ContactJob::change(write.clone(), expected_version, reply))
            .await
    }

    async fn erase_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), contact, audit.clone());
        self.writer
            .write(agent, input, |tx, (agent, contact, audit)| {
                Box::pin(write::erase(tx, agent, *contact, audit))
            })
            .await
    }
}
