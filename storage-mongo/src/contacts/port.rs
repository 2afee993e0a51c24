//! The implementation of [`ContactStore`].

use async_trait::async_trait;
use openapi_core::contacts::{ContactRef, SharedContact, UniqueValue};
use openapi_core::storage::{
    ContactPage, ContactQuery, ContactStore, ContactWrite, Duplicate, Effects, ErasureState, StorageError,
};
use openapi_core::values::{AgentId, ContactId, ExternalId, Timestamp};
use storage_common::in_transaction;

use super::{duplicates, erase, list};
use crate::store::MongoStorage;
use crate::tenant;
use crate::transaction::DocumentReader;

#[async_trait]
impl ContactStore for MongoStorage {
    async fn contact(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<SharedContact>, StorageError> {
        Ok(self.handle.read_stored(self.loader.contact(agent, contact)).await?.map(SharedContact::from))
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
            let mut reads = DocumentReader::new(&self.handle);
            if tenant::find(&mut reads, agent).await?.is_none() {
                return Ok(None);
            }
            let wanted = duplicates::unique_values(external_reference_id, unique);
            let holders =
                duplicates::holders(&mut reads, agent, wanted.iter().map(|(_, value)| value)).await?;
            Ok(duplicates::duplicate(&holders, except, &wanted))
        };
        Ok(self.handle.read(find).await?)
    }

    async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<(), StorageError> {
        self.writer.write_contact(agent, None, write).await
    }

    async fn update_contact(
        &self,
        agent: &AgentId,
        expected_version: u64,
        write: &ContactWrite,
    ) -> Result<(), StorageError> {
        self.writer.write_contact(agent, Some(expected_version), write).await
    }

    async fn erase_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), erase::erase(agent, *contact, *at, effects))
    }

    async fn complete_erasures(&self) -> Result<ErasureState, StorageError> {
        Ok(ErasureState::LeftToDatabase)
    }
}
