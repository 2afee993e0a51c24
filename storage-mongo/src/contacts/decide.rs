//! Which writes of a batch are stored: a decision on each in turn, as if it followed the ones before it.

use std::collections::{HashMap, HashSet};

use mongodb::bson::doc;
use openapi_core::storage::{ContactWrite, Effects, IdempotencyKey, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, Timestamp};

use super::counters::Difference;
use super::duplicates::{self, Holder};
use super::row;
use super::stored::{self, Derived, Stored};
use crate::document::key;
use crate::error::Result;
use crate::migrate::collection;
use crate::tenant::TenantState;
use crate::transaction::{Transaction, Update};
use crate::writer::{ContactChange, ContactJob};
use crate::{effects, replays};

/// The decision on a write: it is stored, or refused.
pub(super) type Decision = Result<(), StorageErrorKind>;

/// A contact after the accepted writes so far.
#[derive(Clone)]
struct State<'j> {
    /// As it is stored.
    before: Option<Stored>,
    /// As the last accepted write stores it.
    after: Option<(Stored, &'j ContactWrite)>,
}

impl State<'_> {
    fn current(&self) -> Option<&Stored> {
        self.after.as_ref().map(|(stored, _)| stored).or(self.before.as_ref())
    }
}

/// The data that the decisions on a batch depend on, and the changes of its accepted writes.
pub(super) struct Batch<'j> {
    tenant: TenantState,
    contacts: HashMap<ContactId, State<'j>>,
    holders: HashMap<String, Holder>,
    replays: HashMap<IdempotencyKey, Timestamp>,
    /// The effects of the accepted writes, in order.
    effects: Vec<&'j Effects>,
    /// The written contacts, in the order of the last write of each.
    written: Vec<ContactId>,
}

impl<'j> Batch<'j> {
    pub(super) async fn read(
        tx: &mut Transaction,
        agent: &AgentId,
        tenant: TenantState,
        jobs: &'j [ContactJob],
    ) -> Result<Self> {
        let ids: HashSet<ContactId> = jobs.iter().map(|job| job.write.write.contact.id).collect();
        let stored = stored::find(&mut tx.reads(), agent, ids.into_iter()).await?;
        let unique: HashSet<String> = jobs
            .iter()
            .flat_map(|job| row::unique_values(&job.write.write.contact, &job.write.write.keys))
            .collect();
        let holders = duplicates::holders(&mut tx.reads(), agent, unique.iter()).await?;
        let keys: Vec<IdempotencyKey> = jobs
            .iter()
            .filter_map(|job| job.write.write.effects.replay.as_ref())
            .map(|replay| replay.key)
            .collect();
        let replays = replays::stored(&mut tx.reads(), agent, &keys).await?;
        Ok(Batch {
            tenant,
            contacts: stored
                .into_iter()
                .map(|(id, stored)| (id, State { before: Some(stored), after: None }))
                .collect(),
            holders,
            replays: replays.into_iter().collect(),
            effects: Vec::new(),
            written: Vec::new(),
        })
    }

    /// Decides on a write as if the earlier ones were committed, in the order of errors that the port documents.
    pub(super) fn decide(&mut self, job: &'j ContactJob) -> Decision {
        let ContactChange { write, expected_version } = &job.write;
        let contact = &write.contact;
        let current = self.contacts.get(&contact.id).and_then(State::current);
        if let Some(expected) = *expected_version {
            let stored = current.ok_or(StorageErrorKind::Missing)?;
            if stored.version != expected {
                return Err(StorageErrorKind::Stale);
            }
        }
        if write.schema_version != self.tenant.schema_version {
            return Err(StorageErrorKind::Stale);
        }
        let replay = write.effects.replay.as_ref();
        let known = replay.and_then(|replay| self.replays.get(&replay.key));
        if known.is_some_and(|expires_at| *expires_at > write.at) {
            return Err(StorageErrorKind::ReplayExists);
        }
        let wanted = duplicates::unique_values(contact.external_reference_id.as_ref(), &write.keys.unique);
        if let Some(duplicate) = duplicates::duplicate(&self.holders, Some(contact.id), &wanted) {
            return Err(StorageErrorKind::Duplicate(duplicate));
        }
        if expected_version.is_none() && current.is_some() {
            return Err(StorageErrorKind::AlreadyExists);
        }
        self.accept(write);
        Ok(())
    }

    fn accept(&mut self, write: &'j ContactWrite) {
        let contact = &write.contact;
        let id = contact.id;
        let after = Stored {
            version: contact.version,
            archived: contact.is_archived(),
            derived: Derived::of(contact, &write.keys),
        };
        let state = self.contacts.entry(id).or_insert(State { before: None, after: None });
        for freed in state.current().iter().flat_map(|stored| &stored.derived.unique) {
            self.holders.remove(freed);
        }
        let holder = Holder { contact: id, archived: after.archived };
        self.holders.extend(after.derived.unique.iter().map(|value| (value.clone(), holder)));
        state.after = Some((after, write));
        self.written.retain(|written| *written != id);
        self.written.push(id);
        self.effects.push(&write.effects);
        self.replays.extend(write.effects.replay.iter().map(|replay| (replay.key, replay.expires_at)));
    }

    pub(super) async fn write(self, tx: &mut Transaction, agent: &AgentId) -> Result<()> {
        let mut difference = Difference::default();
        let (mut new, mut changed) = (Vec::new(), Vec::new());
        for id in &self.written {
            let Some(State { before, after: Some((after, write)) }) = self.contacts.get(id) else { continue };
            let document = row::document(&write.contact, &write.keys)?;
            difference.count(&after.derived, 1);
            match before {
                Some(before) => {
                    difference.count(&before.derived, -1);
                    changed.push(Update::one(doc! { "_id": key(agent, id.as_bytes()) }, document));
                }
                None => new.push(document),
            }
        }
        let mut updates = self.freed(agent);
        updates.append(&mut changed);
        if !updates.is_empty() {
            tx.update(collection::CONTACTS, &updates).await?;
        }
        if !new.is_empty() {
            tx.insert(collection::CONTACTS, &new).await?;
        }
        let ends = effects::apply_all(tx, agent, &self.effects, self.tenant.ends).await?;
        difference.apply(tx, agent, Some(ends)).await
    }

    /// The updates that free unique values which other contacts of the batch take. They come first, because each statement
    /// must leave the values unique.
    fn freed(&self, agent: &AgentId) -> Vec<Update> {
        let mut updates = Vec::new();
        for (id, state) in &self.contacts {
            let (Some(before), Some(_)) = (&state.before, &state.after) else { continue };
            let stays = |value: &&String| self.holders.get(*value).is_none_or(|holder| holder.contact == *id);
            let unique = &before.derived.unique;
            let remaining: Vec<&str> = unique.iter().filter(stays).map(String::as_str).collect();
            if remaining.len() < unique.len() {
                let filter = doc! { "_id": key(agent, id.as_bytes()) };
                updates.push(Update::one(filter, row::only_unique(&remaining)));
            }
        }
        updates
    }
}
