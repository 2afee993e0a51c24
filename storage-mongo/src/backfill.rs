//! Computing the search and sort keys of everything again, after a release that computes others
//! ([`ContactKeys::VERSION`]).
//!
//! It is the last part of a migration, in transactions of one chunk of contacts, so that it needs little memory and stays
//! far below the longest transaction that the server allows. How far it is stands next to the version of the schema: an
//! interrupted run continues there.

use mongodb::bson::{Bson, doc};
use openapi_core::contacts::ContactKeys;
use openapi_core::values::{AgentId, ContactId, TemplateId, fold};
use storage_common::KeyProgress;

use crate::connect::Handle;
use crate::contact_schemas::at_version;
use crate::contacts::{Pass, row};
use crate::document::{FieldReader, Fields, binary, key, of_agent};
use crate::error::{Result, corrupt};
use crate::forms::templates::content_key;
use crate::migrate::{Backfill, collection};
use crate::tenant;
use crate::transaction::{DocumentReader, Find, Transaction, Update};

/// The `_id` of the state of the work.
const STATE: &str = "keys";

/// The work.
pub(crate) const KEYS: Backfill = Backfill {
    is_done: |handle| Box::pin(async move { are_up_to_date(&mut DocumentReader::new(handle)).await }),
    run: |handle| Box::pin(bring_up_to_date(handle)),
};

/// Whether all keys are of this release's version.
async fn are_up_to_date(reads: &mut DocumentReader<'_>) -> Result<bool> {
    let state = reads.one(collection::MIGRATIONS, doc! { "_id": STATE }, None).await?;
    // Version 1 stood nowhere.
    let version = state.map_or(Ok(1), |state| Fields(&state).integer("version"))?;
    Ok(version >= ContactKeys::VERSION)
}

/// Computes all keys again unless they are of this release's version.
async fn bring_up_to_date(handle: &Handle) -> Result<()> {
    let chunk = handle.thresholds.reindex_chunk;
    let mut progress = KeyProgress::default();
    while let Some(done) = handle.transact_long(&chunk, |tx, chunk| Box::pin(step(tx, *chunk))).await? {
        progress.add(done);
    }
    progress.finish();
    Ok(())
}

/// Computes the keys of the next contacts and returns how many they were; `None` when none are left.
async fn step(tx: &mut Transaction, chunk: u32) -> Result<Option<u64>> {
    if are_up_to_date(&mut tx.reads()).await? {
        return Ok(None);
    }
    let state = tx.reads().one(collection::MIGRATIONS, doc! { "_id": STATE }, None).await?;
    let (before, last) = match &state {
        Some(state) => {
            let mut state = Fields(state);
            (state.str("agent")?.to_owned(), state.optional_slice("contact")?)
        }
        None => (String::new(), None),
    };
    let last = last.map(|id| id.try_into().map(ContactId::from_bytes).map_err(corrupt)).transpose()?;
    let from = if last.is_some() { "$gte" } else { "$gt" };
    let mut compare = mongodb::bson::Document::new();
    compare.insert(from, before.as_str());
    let find = Find {
        filter: doc! { "_id": compare },
        projection: Some(doc! { "_id": 1 }),
        sort: Some(doc! { "_id": 1 }),
        limit: 1,
        ..Find::default()
    };
    let found = tx.reads().find(collection::AGENTS, find).await?;
    let Some(found) = found.first() else {
        advance(tx, ContactKeys::VERSION, "", None).await?;
        return Ok(Some(0));
    };
    let agent: AgentId = Fields(found).str("_id")?.parse().map_err(corrupt)?;
    // After a deletion in the meantime the next tenant comes at its beginning.
    let last = last.filter(|_| agent.as_str() == before);
    let Some(state) = tenant::lock(tx, &agent).await? else {
        advance(tx, 1, agent.as_str(), None).await?;
        return Ok(Some(0));
    };
    let schema = at_version(&mut tx.reads(), &agent, state.schema_version).await?;
    let schema = schema.ok_or_else(|| corrupt("the agent has no contact schema"))?;
    if last.is_none() {
        templates(tx, &agent).await?;
    }
    let mut pass = Pass { agent: &agent, schema: &schema, last, chunk };
    let contacts = pass.next(tx).await?;
    let updates: Vec<Update> = contacts
        .iter()
        .filter(|one| !one.is_same)
        .map(|one| {
            one.update(&agent, doc! { "$set": { "keys": row::keys_document(&one.contact, &one.keys) } })
        })
        .collect();
    if !updates.is_empty() {
        tx.update(collection::CONTACTS, &updates).await?;
    }
    let end = pass.last.filter(|_| contacts.len() == chunk as usize);
    advance(tx, 1, agent.as_str(), end).await?;
    Ok(Some(contacts.len() as u64))
}

/// Notes how far the work is.
async fn advance(tx: &mut Transaction, version: i64, agent: &str, contact: Option<ContactId>) -> Result<()> {
    let contact = contact.map_or(Bson::Null, |id| Bson::Binary(binary(id.as_bytes())));
    let state = doc! { "$set": { "version": version, "agent": agent, "contact": contact } };
    tx.update(collection::MIGRATIONS, &[Update::upsert(doc! { "_id": STATE }, state)]).await.map(drop)
}

/// Computes the sort keys of a tenant's templates again.
async fn templates(tx: &mut Transaction, agent: &AgentId) -> Result<()> {
    let find = Find {
        filter: of_agent(agent),
        projection: Some(doc! { "version": 1, "nameKey": 1 }),
        ..Find::default()
    };
    let mut updates = Vec::new();
    for template in tx.reads().find(collection::TEMPLATES, find).await? {
        let mut fields = Fields(&template);
        let (id, before): ([u8; 12], _) = (fields.id()?, fields.str("nameKey")?);
        let content = content_key(agent, TemplateId::from_bytes(id), fields.integer("version")?);
        let content = tx.reads().one(collection::TEMPLATE_VERSIONS, doc! { "_id": content }, None).await?;
        let content = content.ok_or_else(|| corrupt("a template has no content"))?;
        let name_key = fold(Fields(&content).str("name")?);
        if name_key != before {
            let change = doc! { "$set": { "nameKey": name_key } };
            updates.push(Update::one(doc! { "_id": key(agent, &id) }, change));
        }
    }
    if updates.is_empty() {
        return Ok(());
    }
    tx.update(collection::TEMPLATES, &updates).await.map(drop)
}
