//! Single contacts: reads that wait at the same time share a command.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use mongodb::bson::{Document, RawDocumentBuf, doc};
use openapi_core::contacts::{Contact, ContactRef};
use openapi_core::values::{AgentId, ContactId, ExternalId};
use storage_common::SharedReads;

use super::row::{self, EXTERNAL};
use super::without_keys;
use crate::connect::Handle;
use crate::document::{Fields, key};
use crate::error::{Fault, Result};
use crate::ledger::{self, ledger_key};
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads};

/// How many commands of each kind are under way at the most.
const LANES: usize = 3;

/// The most contacts of one command.
const MOST: usize = 64;

type Found = Result<Option<RawDocumentBuf>>;

/// Reads of single contacts.
pub(crate) struct Points {
    by_id: SharedReads<(AgentId, ContactId), Found>,
    by_external_id: SharedReads<(AgentId, ExternalId), Found>,
}

impl Points {
    pub(crate) fn new(handle: &Handle) -> Self {
        Points {
            by_id: shared(handle, find_by_ids, id_of),
            by_external_id: shared(handle, find_by_external_ids, external_id_of),
        }
    }

    /// One contact.
    pub(crate) async fn contact(&self, agent: &AgentId, contact: &ContactRef) -> Result<Option<Contact>> {
        let found = match contact {
            ContactRef::Id(id) => self.by_id.read((agent.clone(), *id)).await,
            ContactRef::External(id) => self.by_external_id.read((agent.clone(), id.clone())).await,
        };
        let found = found.ok_or_else(|| Fault::Corrupt("a read ended without an outcome".to_owned()))?;
        found?.map(|document| row::contact(agent, &document)).transpose()
    }
}

fn shared<K: Eq + Hash + Send + Sync + 'static>(
    handle: &Handle,
    find: fn(&[(AgentId, K)]) -> Find,
    key_of: fn(Fields<'_>) -> Result<K>,
) -> SharedReads<(AgentId, K), Found> {
    // The runtime that the store was opened on.
    let (runtime, handle) = (tokio::runtime::Handle::current(), handle.clone());
    let spawn = move |task| {
        // Behind what is ready now: it may ask for a contact as well.
        drop(runtime.spawn(async move {
            tokio::task::yield_now().await;
            task.await;
        }));
    };
    SharedReads::new(LANES, MOST, spawn, move |wanted: Vec<(AgentId, K)>| {
        let handle = handle.clone();
        async move {
            match handle.read(fetch(&handle, find(&wanted), key_of)).await {
                // Two reads may be of the same contact.
                Ok(contacts) => wanted.iter().map(|key| Ok(contacts.get(key).cloned())).collect(),
                Err(fault) => wanted.iter().map(|_| Err(fault.again())).collect(),
            }
        }
    })
}

/// The contacts with these ids, and the ledgers of their agents.
fn find_by_ids(wanted: &[(AgentId, ContactId)]) -> Find {
    let wanted: HashSet<&(AgentId, ContactId)> = wanted.iter().collect();
    let agents: HashSet<&AgentId> = wanted.iter().map(|(agent, _)| agent).collect();
    let names: Vec<&str> = agents.iter().map(|agent| agent.as_str()).collect();
    let ledgers = agents.iter().map(|agent| ledger_key(agent));
    let ids: Vec<Document> =
        ledgers.chain(wanted.iter().map(|(agent, id)| key(agent, id.as_bytes()))).collect();
    Find {
        limit: ids.len() as u32,
        // The agents are named once more for routers of sharded clusters.
        filter: doc! { "_id": { "$in": ids }, "_id.agent": { "$in": names } },
        projection: Some(without_keys()),
        hint: Some(index::BY_KEY),
        ..Find::default()
    }
}

/// The contacts with these external ids, and the ledgers of their agents. Each agent has a branch of its own: otherwise
/// the index would be asked for the ids of all under each of them.
pub(crate) fn find_by_external_ids(wanted: &[(AgentId, ExternalId)]) -> Find {
    let mut by_agent: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (agent, id) in wanted {
        by_agent.entry(agent.as_str()).or_default().push(row::unique(EXTERNAL, id.as_str()));
    }
    let ledgers: HashSet<&AgentId> = wanted.iter().map(|(agent, _)| agent).collect();
    let ledgers: Vec<Document> = ledgers.into_iter().map(ledger_key).collect();
    let limit = (ledgers.len() + wanted.len()) as u32;
    let mut branches = vec![doc! { "_id": { "$in": ledgers } }];
    branches.extend(
        by_agent.into_iter().map(|(agent, ids)| doc! { "_id.agent": agent, "keys.unique": { "$in": ids } }),
    );
    Find { filter: doc! { "$or": branches }, projection: Some(without_keys()), limit, ..Find::default() }
}

fn id_of(document: Fields<'_>) -> Result<ContactId> {
    Ok(ContactId::from_bytes(document.id()?))
}

fn external_id_of(document: Fields<'_>) -> Result<ExternalId> {
    document.text(EXTERNAL)
}

/// The contacts that a command finds, by what they were asked for with; only those of living agents.
async fn fetch<K: Eq + Hash>(
    handle: &Handle,
    find: Find,
    key_of: fn(Fields<'_>) -> Result<K>,
) -> Result<HashMap<(AgentId, K), RawDocumentBuf>> {
    let mut living: HashSet<AgentId> = HashSet::new();
    let mut contacts = HashMap::new();
    for document in Reads::alone(handle).find(collection::CONTACTS, find).await? {
        let agent = Fields(&document).agent()?;
        if !ledger::is_ledger(&document)? {
            contacts.insert((agent, key_of(Fields(&document))?), document);
        } else if !ledger::is_deleted(&document)? {
            living.insert(agent);
        }
    }
    contacts.retain(|(agent, _), _| living.contains(agent));
    Ok(contacts)
}
