//! Credits of tenants and their ledgers, as JSON.

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, doc};
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::storage::{
    CreditStore, CreditWrite, DocumentWrite, LedgerQuery, StorageError, StorageErrorKind,
};
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use storage_common::in_transaction;

use crate::document::{FieldReader, Fields, binary, integer, json, key, time};
use crate::error::Result;
use crate::migrate::collection;
use crate::store::MongoStorage;
use crate::transaction::{DocumentReader, Find, Transaction, Update};
use crate::{documents, effects, tenant};

/// The `_id` of a tenant's account.
pub(crate) fn account_key(agent: &AgentId) -> Document {
    key(agent, &[])
}

/// The `_id` of an entry.
pub(crate) fn entry_key(agent: &AgentId, at: Timestamp, id: PlatformId) -> Document {
    doc! { "agent": agent.as_str(), "at": time(at), "id": binary(id.as_bytes()) }
}

/// The document of an account.
pub(crate) fn account_document(agent: &AgentId, account: &CreditAccount) -> Result<Document> {
    Ok(doc! {
        "_id": account_key(agent),
        "version": integer(account.version)?,
        "body": json(account)?,
    })
}

/// The document of an entry.
pub(crate) fn entry_document(agent: &AgentId, entry: &CreditEntry) -> Result<Document> {
    Ok(doc! { "_id": entry_key(agent, entry.at, entry.id), "body": json(entry)? })
}

pub(crate) fn account(document: &RawDocument) -> Result<CreditAccount> {
    Fields(document).json("body")
}

pub(crate) fn entry(document: &RawDocument) -> Result<CreditEntry> {
    Fields(document).json("body")
}

/// The find for part of a ledger.
pub(crate) fn find(query: &LedgerQuery) -> Find {
    let agent = query.agent.as_str();
    // The entries of a tenant are in order within its range of `_id`.
    let before = match &query.before {
        Some((at, id)) => entry_key(&query.agent, *at, *id),
        None => doc! { "agent": agent, "at": Bson::MaxKey },
    };
    Find {
        filter: doc! { "_id": { "$gt": { "agent": agent }, "$lt": before }, "_id.agent": agent },
        sort: Some(doc! { "_id": -1 }),
        limit: query.limit,
        hint: Some(crate::migrate::index::BY_KEY),
        ..Find::default()
    }
}

/// As [`CreditStore::save_credits`], inside a transaction.
async fn save(tx: &mut Transaction, agent: &AgentId, write: &CreditWrite) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    effects::refuse_replayed(tx, agent, &write.effects, write.at).await?;
    if let Some(account) = &write.account {
        refuse_stale(tx, agent, account).await?;
    }
    if let Some(document) = &write.document {
        documents::refuse_excess(state.bytes, document)?;
    }
    if let Some(entry) = &write.entry {
        append(tx, agent, entry).await?;
    }
    if let Some(DocumentWrite { document, .. }) = &write.document {
        documents::add(tx, agent, document).await?;
    }
    if let Some(account) = &write.account {
        put(tx, agent, account).await?;
    }
    effects::apply(tx, agent, &write.effects, state.ends).await
}

/// Refuses an account that is not of the version after the stored one. The tenant is locked.
pub(crate) async fn refuse_stale(
    tx: &mut Transaction,
    agent: &AgentId,
    account: &CreditAccount,
) -> Result<()> {
    let id = doc! { "_id": account_key(agent) };
    let found = tx.reads().one(collection::CREDIT_ACCOUNTS, id, Some(doc! { "version": 1 })).await?;
    let stored = found.map_or(Ok(0), |found| Fields(&found).count("version"))?;
    if stored.checked_add(1) == Some(account.version) { Ok(()) } else { Err(StorageErrorKind::Stale.into()) }
}

/// Stores an account, replacing the one before. The tenant is locked.
pub(crate) async fn put(tx: &mut Transaction, agent: &AgentId, account: &CreditAccount) -> Result<()> {
    let update = Update::upsert(doc! { "_id": account_key(agent) }, account_document(agent, account)?);
    tx.update(collection::CREDIT_ACCOUNTS, &[update]).await.map(drop)
}

/// Adds an entry to a ledger. The tenant is locked.
///
/// # Errors
/// [`StorageErrorKind::AlreadyExists`] when its time and id are taken.
pub(crate) async fn append(tx: &mut Transaction, agent: &AgentId, entry: &CreditEntry) -> Result<()> {
    let id = doc! { "_id": entry_key(agent, entry.at, entry.id) };
    if tx.reads().one(collection::CREDIT_ENTRIES, id, Some(doc! { "_id": 1 })).await?.is_some() {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    tx.insert(collection::CREDIT_ENTRIES, &[entry_document(agent, entry)?]).await
}

#[async_trait]
impl CreditStore for MongoStorage {
    async fn credit_account(&self, agent: &AgentId) -> Result<Option<CreditAccount>, StorageError> {
        let one = async {
            let mut reads = DocumentReader::new(&self.handle);
            let id = doc! { "_id": account_key(agent) };
            // Without an account the tenant need not be read.
            let Some(found) = reads.one(collection::CREDIT_ACCOUNTS, id, None).await? else {
                return Ok(None);
            };
            let living = tenant::find(&mut reads, agent).await?;
            living.map(|_| account(&found)).transpose()
        };
        Ok(self.handle.read(one).await?)
    }

    async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), save(agent, write))
    }

    async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>, StorageError> {
        // To the database 0 means no limit.
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        let list = async {
            let mut reads = DocumentReader::new(&self.handle);
            if tenant::find(&mut reads, &query.agent).await?.is_none() {
                return Ok(Vec::new());
            }
            let found = reads.find(collection::CREDIT_ENTRIES, find(query)).await?;
            found.iter().map(|document| entry(document)).collect()
        };
        Ok(self.handle.list(list).await?)
    }
}
