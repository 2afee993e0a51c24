//! Reads of single contacts: concurrent ones share a command.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use mongodb::bson::{Document, RawDocumentBuf, doc};
use openapi_core::contacts::{Contact, ContactRef};
use openapi_core::storage::{StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, ExternalId};
use storage_common::batch_loader::{BatchLoader, spawn_last};

use super::row::{self, EXTERNAL, without_keys};
use crate::connect::Handle;
use crate::document::{FieldReader, Fields, key};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::tenant::{self, state_key};
use crate::transaction::{DocumentReader, Find};

/// The most concurrent commands of each kind.
const MAX_CONCURRENCY: usize = 3;

/// The most contacts of one command.
const MAX_BATCH_SIZE: usize = 64;

type Found = Result<Option<RawDocumentBuf>, StorageError>;

/// Reads of single contacts.
pub(crate) struct ContactLoader {
    by_id: BatchLoader<(AgentId, ContactId), Found>,
    by_external_id: BatchLoader<(AgentId, ExternalId), Found>,
}

impl ContactLoader {
    pub(crate) fn new(handle: &Handle) -> Self {
        ContactLoader {
            by_id: loader(handle, find_by_ids, id_of),
            by_external_id: loader(handle, find_by_external_ids, external_id_of),
        }
    }

    /// One contact.
    pub(crate) async fn contact(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<Contact>, StorageError> {
        let found = match contact {
            ContactRef::Id(id) => self.by_id.read((agent.clone(), *id)).await,
            ContactRef::External(id) => self.by_external_id.read((agent.clone(), id.clone())).await,
        };
        let no_outcome = || StorageError::new(StorageErrorKind::Internal, "a read ended without an outcome");
        let found = found.ok_or_else(no_outcome)??;
        Ok(found.map(|document| row::contact(agent, &document)).transpose()?)
    }
}

fn loader<K: Eq + Hash + Send + Sync + 'static>(
    handle: &Handle,
    find: fn(&[(AgentId, K)]) -> Find,
    key_of: fn(Fields<'_>) -> Result<K>,
) -> BatchLoader<(AgentId, K), Found> {
    // The runtime that the store was opened on.
    let (spawn, handle) = (spawn_last(tokio::runtime::Handle::current()), handle.clone());
    BatchLoader::new(MAX_CONCURRENCY, MAX_BATCH_SIZE, spawn, move |wanted: Vec<(AgentId, K)>| {
        let handle = handle.clone();
        async move {
            match handle.read(fetch(&handle, find(&wanted), key_of)).await {
                // Two reads may ask for the same contact.
                Ok(contacts) => wanted.iter().map(|key| Ok(contacts.get(key).cloned())).collect(),
                Err(error) => {
                    let error = StorageError::from(error);
                    wanted.iter().map(|_| Err(error.again())).collect()
                }
            }
        }
    })
}

/// The contacts with these ids, and the states of their tenants.
fn find_by_ids(wanted: &[(AgentId, ContactId)]) -> Find {
    let wanted: HashSet<&(AgentId, ContactId)> = wanted.iter().collect();
    let agents: HashSet<&AgentId> = wanted.iter().map(|(agent, _)| agent).collect();
    let names: Vec<&str> = agents.iter().map(|agent| agent.as_str()).collect();
    let states = agents.iter().map(|agent| state_key(agent));
    let ids: Vec<Document> =
        states.chain(wanted.iter().map(|(agent, id)| key(agent, id.as_bytes()))).collect();
    Find {
        limit: ids.len() as u32,
        // The tenants are for the router of a sharded cluster.
        filter: doc! { "_id": { "$in": ids }, "_id.agent": { "$in": names } },
        projection: Some(without_keys()),
        hint: Some(index::BY_KEY),
        ..Find::default()
    }
}

/// The contacts with these external ids, and the states of their tenants. Each tenant has a branch: otherwise the index
/// would be searched for all ids under each tenant.
pub(crate) fn find_by_external_ids(wanted: &[(AgentId, ExternalId)]) -> Find {
    let mut by_agent: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (agent, id) in wanted {
        by_agent.entry(agent.as_str()).or_default().push(row::unique(EXTERNAL, id.as_str()));
    }
    let tenants: HashSet<&AgentId> = wanted.iter().map(|(agent, _)| agent).collect();
    let states: Vec<Document> = tenants.into_iter().map(state_key).collect();
    let limit = (states.len() + wanted.len()) as u32;
    let mut branches = vec![doc! { "_id": { "$in": states } }];
    branches.extend(
        by_agent.into_iter().map(|(agent, ids)| doc! { "_id.agent": agent, "keys.unique": { "$in": ids } }),
    );
    Find { filter: doc! { "$or": branches }, projection: Some(without_keys()), limit, ..Find::default() }
}

fn id_of(document: Fields<'_>) -> Result<ContactId> {
    Ok(ContactId::from_bytes(document.id()?))
}

fn external_id_of(mut document: Fields<'_>) -> Result<ExternalId> {
    document.text(EXTERNAL)
}

/// The contacts that a command finds, by key; only those of tenants that are not deleted.
async fn fetch<K: Eq + Hash>(
    handle: &Handle,
    find: Find,
    key_of: fn(Fields<'_>) -> Result<K>,
) -> Result<HashMap<(AgentId, K), RawDocumentBuf>> {
    let mut active: HashSet<AgentId> = HashSet::new();
    let mut contacts = HashMap::new();
    for document in DocumentReader::new(handle).find(collection::CONTACTS, find).await? {
        let agent = Fields(&document).agent()?;
        if !tenant::is_state(&document)? {
            contacts.insert((agent, key_of(Fields(&document))?), document);
        } else if !tenant::is_deleted(&document)? {
            active.insert(agent);
        }
    }
    contacts.retain(|(agent, _), _| active.contains(agent));
    Ok(contacts)
}
