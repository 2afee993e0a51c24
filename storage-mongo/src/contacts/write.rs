//! Creating and changing contacts: those of one tenant that wait share a transaction.
//!
//! Three finds read the data that the decisions depend on. Then each write is decided in turn, and a few commands store the
//! accepted ones. A refused write does not affect the others.

use std::collections::HashSet;

use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::storage::{StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use storage_common::group_commit::commit_together;

use super::counters::Difference;
use super::decide::{Batch, Decision};
use super::duplicates::{self, Holder};
use super::row;
use super::stored::Derived;
use crate::connect::Handle;
use crate::error::Result;
use crate::migrate::collection;
use crate::tenant;
use crate::transaction::Transaction;
use crate::writer::ContactJob;

/// Stores the writes of a tenant and finishes each.
pub(crate) async fn store_batch(handle: &Handle, agent: &AgentId, jobs: Vec<ContactJob>) {
    let commit = |jobs: Vec<ContactJob>| async {
        let input = (agent.clone(), jobs);
        let decisions = handle.transact(&input, |tx, (agent, jobs)| Box::pin(attempt(tx, agent, jobs))).await;
        (input.1, decisions)
    };
    for (job, decision) in commit_together(jobs, commit).await {
        job.finish(decision.and_then(|decision| decision.map_err(StorageError::from)));
    }
}

/// Stores new contacts of a locked tenant, with their keys. Refuses those that have a unique value of another contact.
pub(crate) async fn insert(
    tx: &mut Transaction,
    agent: &AgentId,
    contacts: &[(&Contact, ContactKeys)],
) -> Result<()> {
    let unique: HashSet<String> =
        contacts.iter().flat_map(|(contact, keys)| row::unique_values(contact, keys)).collect();
    let mut holders = duplicates::holders(&mut tx.reads(), agent, unique.iter()).await?;
    let (mut difference, mut documents) = (Difference::default(), Vec::with_capacity(contacts.len()));
    for (contact, keys) in contacts {
        let wanted = duplicates::unique_values(contact.external_reference_id.as_ref(), &keys.unique);
        if let Some(duplicate) = duplicates::duplicate(&holders, Some(contact.id), &wanted) {
            return Err(duplicate.into());
        }
        let holder = Holder { contact: contact.id, archived: contact.is_archived() };
        holders.extend(wanted.into_iter().map(|(_, value)| (value, holder)));
        difference.count(&Derived::of(contact, keys), 1);
        documents.push(row::document(contact, keys)?);
    }
    tx.insert(collection::CONTACTS, &documents).await?;
    difference.apply(tx, agent, None).await
}

async fn attempt(tx: &mut Transaction, agent: &AgentId, jobs: &[ContactJob]) -> Result<Vec<Decision>> {
    let Some(tenant) = tenant::lock(tx, agent).await? else {
        return Ok(jobs.iter().map(|_| Err(StorageErrorKind::Missing)).collect());
    };
    let mut batch = Batch::read(tx, agent, tenant, jobs).await?;
    let decisions: Vec<Decision> = jobs.iter().map(|job| batch.decide(job)).collect();
    if decisions.iter().any(Result::is_ok) {
        batch.write(tx, agent).await?;
    }
    Ok(decisions)
}
