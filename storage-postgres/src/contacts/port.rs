//! The implementation of [`ContactStore`].

use async_trait::async_trait;
use openapi_core::contacts::{ContactRef, SharedContact, UniqueValue};
use openapi_core::storage::{
    ContactPage, ContactQuery, ContactStore, ContactWrite, Duplicate, Effects, ErasureState, StorageError,
    Window,
};
use openapi_core::values::{AgentId, ContactId, ExternalId, Timestamp};
use storage_common::in_transaction;

use super::{duplicates, erase, list};
use crate::error::Result;
use crate::store::PostgresStorage;

#[async_trait]
impl ContactStore for PostgresStorage {
    async fn contact(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<SharedContact>, StorageError> {
        self.loader.contact(agent, contact).await
    }

    async fn contacts(&self, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage, StorageError> {
        let mut statement = list::page(agent, query)?;
        let far = self.db.config().thresholds.far_offset;
        if list::may_be_nearer_to_the_end(query, far)
            && let Window::Page { offset, .. } = query.window
        {
            let size = list::listed(agent, &self.db.read(list::size(agent, query)?).await?)?.total;
            if offset > size / 2 {
                statement = list::page_from_end(agent, query)?;
            }
        }
        let rows = self.db.read(statement).await?;
        Ok(list::listed(agent, &rows)?)
    }

    async fn duplicate_contact(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external_reference_id: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Result<Option<Duplicate>, StorageError> {
        let mut wanted = duplicates::Wanted::default();
        wanted.add(agent, external_reference_id, unique);
        let Some(statement) = wanted.statement_of_active()? else { return Ok(None) };
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
        at: Timestamp,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let erased = in_transaction!(self.db.write(), erase::erase(agent, *contact, *at, effects));
        self.loader.forget(contact);
        erased
    }

    async fn complete_erasures(&self) -> Result<ErasureState, StorageError> {
        Ok(ErasureState::LeftToDatabase)
    }
}
