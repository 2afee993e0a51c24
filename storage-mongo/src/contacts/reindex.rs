//! Computing the keys of all contacts of a tenant again, when its schema changes which fields are unique or searched.
//!
//! It runs in the transaction of the change, which the server bounds (60 s unless the operator sets
//! `transactionLifetimeLimitSeconds`), and writes only contacts whose keys change.

use std::collections::HashMap;

use mongodb::bson::{Document, RawDocumentBuf, doc};
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::Duplicate;
use openapi_core::values::{AgentId, ContactId};

use super::row;
use super::stored::every;
use crate::document::{Fields, key};
use crate::error::{Error, Result};
use crate::migrate::collection;
use crate::transaction::{Find, Transaction, Update};

/// A contact with its old and new keys.
pub(crate) struct Reindexed {
    pub(crate) contact: Contact,
    pub(crate) keys: ContactKeys,
    unique_before: Vec<String>,
    unique_after: Vec<String>,
    /// Whether the stored keys are these.
    pub(crate) is_same: bool,
}

impl Reindexed {
    fn of(agent: &AgentId, schema: &ContactSchema, document: &RawDocumentBuf) -> Result<Self> {
        let contact = row::contact(agent, document)?;
        let keys = ContactKeys::of(&contact, schema);
        let stored = Fields(document).within("keys")?;
        let unique_before = row::strings(stored, "unique")?;
        let unique_after = row::unique_values(&contact, &keys);
        let sort_key = |name: &str| Ok::<_, Error>(stored.value(name)?.as_str());
        let is_same = unique_before == unique_after
            && sort_key("firstName")? == keys.first_name.as_deref()
            && sort_key("lastName")? == keys.last_name.as_deref()
            && sort_key("primaryEmail")? == Some(keys.primary_email.as_str())
            && sort_key("search")? == Some(keys.search.as_str())
            && sort_key("digits")? == Some(keys.digits.as_str());
        Ok(Reindexed { contact, keys, unique_before, unique_after, is_same })
    }

    /// The values that remain.
    fn remaining(&self) -> Vec<&str> {
        let stays = |value: &&String| self.unique_after.contains(value);
        self.unique_before.iter().filter(stays).map(String::as_str).collect()
    }

    fn frees(&self) -> bool {
        self.remaining().len() < self.unique_before.len()
    }

    pub(crate) fn update(&self, agent: &AgentId, change: Document) -> Update {
        Update::one(doc! { "_id": key(agent, self.contact.id.as_bytes()) }, change)
    }
}

/// Reads all contacts of a tenant in chunks.
pub(crate) struct Pass<'s> {
    pub(crate) agent: &'s AgentId,
    pub(crate) schema: &'s ContactSchema,
    /// The last contact that was read.
    pub(crate) last: Option<ContactId>,
    pub(crate) chunk: u32,
}

impl Pass<'_> {
    pub(crate) async fn next(&mut self, tx: &mut Transaction) -> Result<Vec<Reindexed>> {
        let mut filter = every(self.agent);
        if let Some(last) = &self.last {
            let last = doc! { "_id": { "$gt": key(self.agent, last.as_bytes()) } };
            filter = doc! { "$and": [filter, last] };
        }
        let find = Find {
            filter,
            projection: Some(doc! { "keys.grams": 0, "keys.labels": 0 }),
            sort: Some(doc! { "_id": 1 }),
            limit: self.chunk,
            ..Find::default()
        };
        let found = tx.reads().find(collection::CONTACTS, find).await?;
        let reindexed = found.iter().map(|document| Reindexed::of(self.agent, self.schema, document));
        let reindexed = reindexed.collect::<Result<Vec<_>>>()?;
        self.last = reindexed.last().map(|last| last.contact.id).or(self.last);
        Ok(reindexed)
    }
}

/// Computes the keys again, `chunk` contacts at a time. Refuses the first two contacts, by id, that share a unique value.
pub(crate) async fn reindex(
    tx: &mut Transaction,
    agent: &AgentId,
    schema: &ContactSchema,
    chunk: u32,
) -> Result<()> {
    let pass = || Pass { agent, schema, last: None, chunk };
    let mut holders: HashMap<String, (ContactId, bool)> = HashMap::new();
    let mut some_free = false;
    let mut some_differ = false;
    let mut first = pass();
    loop {
        let reindexed = first.next(tx).await?;
        if reindexed.is_empty() {
            break;
        }
        for one in &reindexed {
            some_free |= one.frees();
            some_differ |= !one.is_same;
            for value in &one.keys.unique {
                let holder = (one.contact.id, one.contact.is_archived());
                let before = holders.insert(row::unique(&value.field, &value.value), holder);
                if let Some((existing, archived)) = before {
                    return Err(Duplicate { field: value.field.clone(), existing, archived }.into());
                }
            }
        }
    }
    // Values are freed before others are taken, because each statement must leave the values unique.
    if some_free {
        let free =
            |one: &Reindexed| one.frees().then(|| one.update(agent, row::only_unique(&one.remaining())));
        write(tx, pass(), free).await?;
    }
    if some_differ {
        let set = |one: &Reindexed| {
            let keys = || row::keys_document(&one.contact, &one.keys);
            (!one.is_same).then(|| one.update(agent, doc! { "$set": { "keys": keys() } }))
        };
        write(tx, pass(), set).await?;
    }
    Ok(())
}

async fn write(
    tx: &mut Transaction,
    mut pass: Pass<'_>,
    update: impl Fn(&Reindexed) -> Option<Update> + Send,
) -> Result<()> {
    loop {
        let reindexed = pass.next(tx).await?;
        if reindexed.is_empty() {
            return Ok(());
        }
        let updates: Vec<Update> = reindexed.iter().filter_map(&update).collect();
        if !updates.is_empty() {
            tx.update(collection::CONTACTS, &updates).await?;
        }
    }
}
