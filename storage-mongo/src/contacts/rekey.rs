//! Computing the keys of all contacts of an agent anew, when a schema changes what is unique or searched.
//!
//! It happens in the transaction of the change, which the server bounds (60 s unless the operator sets
//! `transactionLifetimeLimitSeconds`); only contacts whose keys differ are written.

use std::collections::HashMap;

use mongodb::bson::{Document, RawDocumentBuf, doc};
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::Duplicate;
use openapi_core::values::{AgentId, ContactId};

use super::row;
use super::write::every;
use crate::document::{Fields, key};
use crate::error::Result;
use crate::migrate::collection;
use crate::transaction::{Find, Transaction, Update};

/// How many contacts are read at a time.
const STEP: u32 = 1_000;

/// A contact with the keys it has and those it is to have.
struct Rekeyed {
    contact: Contact,
    keys: ContactKeys,
    unique_before: Vec<String>,
    unique_after: Vec<String>,
    is_same: bool,
}

impl Rekeyed {
    fn of(agent: &AgentId, schema: &ContactSchema, document: &RawDocumentBuf) -> Result<Self> {
        let contact = row::contact(agent, document)?;
        let keys = ContactKeys::of(&contact, schema);
        let stored = Fields(document).within("keys")?;
        let unique_before = row::strings(stored, "unique")?;
        let unique_after = row::unique_values(&contact, &keys);
        let is_same = unique_before == unique_after
            && stored.str("search")? == keys.search
            && stored.str("digits")? == keys.digits;
        Ok(Rekeyed { contact, keys, unique_before, unique_after, is_same })
    }

    /// The values that stay.
    fn kept(&self) -> Vec<&str> {
        let stays = |value: &&String| self.unique_after.contains(value);
        self.unique_before.iter().filter(stays).map(String::as_str).collect()
    }

    fn gives_up(&self) -> bool {
        self.kept().len() < self.unique_before.len()
    }

    fn update(&self, agent: &AgentId, change: Document) -> Update {
        Update::one(doc! { "_id": key(agent, self.contact.id.as_bytes()) }, change)
    }
}

/// Goes through all contacts of an agent, some at a time.
struct Pass<'s> {
    agent: &'s AgentId,
    schema: &'s ContactSchema,
    last: Option<ContactId>,
}

impl Pass<'_> {
    async fn next(&mut self, tx: &mut Transaction) -> Result<Vec<Rekeyed>> {
        let mut filter = every(self.agent);
        if let Some(last) = &self.last {
            let last = doc! { "_id": { "$gt": key(self.agent, last.as_bytes()) } };
            filter = doc! { "$and": [filter, last] };
        }
        let find = Find {
            filter,
            projection: Some(doc! { "keys.grams": 0, "keys.labels": 0 }),
            sort: Some(doc! { "_id": 1 }),
            limit: STEP,
            ..Find::default()
        };
        let found = tx.reads().find(collection::CONTACTS, find).await?;
        let rekeyed = found.iter().map(|document| Rekeyed::of(self.agent, self.schema, document));
        let rekeyed = rekeyed.collect::<Result<Vec<_>>>()?;
        self.last = rekeyed.last().map(|last| last.contact.id).or(self.last);
        Ok(rekeyed)
    }
}

/// Computes the keys anew. The first two contacts that share a unique value, by id, are refused.
pub(crate) async fn rekey(tx: &mut Transaction, agent: &AgentId, schema: &ContactSchema) -> Result<()> {
    let pass = || Pass { agent, schema, last: None };
    let mut holders: HashMap<String, (ContactId, bool)> = HashMap::new();
    let mut some_give_up = false;
    let mut some_differ = false;
    let mut first = pass();
    loop {
        let rekeyed = first.next(tx).await?;
        if rekeyed.is_empty() {
            break;
        }
        for one in &rekeyed {
            some_give_up |= one.gives_up();
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
    // Values are given up before others are taken, so that no statement finds one taken that will be free.
    if some_give_up {
        let give_up =
            |one: &Rekeyed| one.gives_up().then(|| one.update(agent, row::only_unique(&one.kept())));
        write(tx, pass(), give_up).await?;
    }
    if some_differ {
        let set = |one: &Rekeyed| {
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
    update: impl Fn(&Rekeyed) -> Option<Update> + Send,
) -> Result<()> {
    loop {
        let rekeyed = pass.next(tx).await?;
        if rekeyed.is_empty() {
            return Ok(());
        }
        let updates: Vec<Update> = rekeyed.iter().filter_map(&update).collect();
        if !updates.is_empty() {
            tx.update(collection::CONTACTS, &updates).await?;
        }
    }
}
