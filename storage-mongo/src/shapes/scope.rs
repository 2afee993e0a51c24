//! The scope of records and jobs: a tenant, or the installation, which is null.

use std::collections::HashSet;

use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::values::{AgentId, StoredText};

use crate::document::{FieldReader, Fields};
use crate::error::Result;
use crate::migrate::collection;
use crate::tenant::{self, TenantState};
use crate::transaction::{DocumentReader, Find, Transaction};
use crate::{audit, effects};

/// The value of a scope: null for the installation.
pub(super) fn value(scope: Option<&AgentId>) -> Bson {
    scope.map_or(Bson::Null, |agent| agent.as_str().into())
}

/// The scope of a document.
pub(super) fn of(document: &RawDocument) -> Result<Option<AgentId>> {
    Ok(Fields(document).optional_str("_id.agent")?.map(StoredText::from_stored))
}

/// The scopes that are deleted or absent tenants.
pub(super) async fn gone(
    reads: &mut DocumentReader<'_>,
    scopes: impl Iterator<Item = Result<Option<AgentId>>>,
) -> Result<HashSet<AgentId>> {
    let scopes: Result<HashSet<Option<AgentId>>> = scopes.collect();
    let mut gone: HashSet<AgentId> = scopes?.into_iter().flatten().collect();
    let keys: Vec<Document> = gone.iter().map(tenant::state_key).collect();
    if keys.is_empty() {
        return Ok(gone);
    }
    let find = Find {
        filter: doc! { "_id": { "$in": keys }, "status": { "$ne": tenant::DELETED } },
        projection: Some(doc! { "_id": 1 }),
        ..Find::default()
    };
    for state in reads.find(collection::CONTACTS, find).await? {
        gone.remove(&Fields(&state).agent()?);
    }
    Ok(gone)
}

/// The values of documents whose scope is not a deleted tenant, each with its scope.
pub(super) async fn living<T>(
    reads: &mut DocumentReader<'_>,
    found: &[RawDocumentBuf],
    read: fn(&RawDocument) -> Result<T>,
) -> Result<Vec<(Option<AgentId>, T)>> {
    let gone = gone(reads, found.iter().map(|document| of(document))).await?;
    let mut values = Vec::with_capacity(found.len());
    for document in found {
        let scope = of(document)?;
        if scope.as_ref().is_none_or(|agent| !gone.contains(agent)) {
            values.push((scope, read(document)?));
        }
    }
    Ok(values)
}

/// Locks a scope for this transaction.
///
/// # Errors
/// [`StorageErrorKind::Missing`] for a tenant that is absent or deleted.
pub(super) async fn lock(tx: &mut Transaction, scope: Option<&AgentId>) -> Result<TenantState> {
    let state = match scope {
        Some(agent) => tenant::lock(tx, agent).await?,
        None => tenant::lock_any(tx, None).await?,
    };
    state.ok_or_else(|| StorageErrorKind::Missing.into())
}

/// Stores the effects of a write; of one of the installation, those are entries of the audit log.
///
/// `state` is what the scope's lock has read.
pub(super) async fn apply(
    tx: &mut Transaction,
    scope: Option<&AgentId>,
    effects: &Effects,
    state: &TenantState,
) -> Result<()> {
    if let Some(agent) = scope {
        return effects::apply(tx, agent, effects, state.ends).await;
    }
    for entry in &effects.audit {
        audit::append(tx, entry).await?;
    }
    Ok(())
}
