//! Creations and changes of contacts: those of one agent that wait together share a transaction (group commit).
//!
//! Everything that the writes have to look at is read with three finds; then each write's outcome is decided in turn,
//! as if it were alone behind those before it; then the winners are written with a few commands. What is refused costs
//! the others nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use mongodb::bson::doc;
use openapi_core::audit::AuditEntry;
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::storage::{ContactWrite, IdempotencyKey, IdempotencyRecord, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use tokio::sync::oneshot;

use super::row::{self, Derived, Stored};
use super::write::{self, Difference, Holder};
use crate::connect::Handle;
use crate::document::key;
use crate::error::{Fault, Result};
use crate::ledger::{self, Ledger};
use crate::migrate::collection;
use crate::transaction::{Transaction, Update};
use crate::{audit, replays};

/// A creation or change that waits.
pub(crate) struct ContactJob {
    write: ContactWrite,
    /// Of a change, the version that the caller has seen.
    expected_version: Option<u64>,
    reply: Mutex<Option<oneshot::Sender<Result<()>>>>,
}

impl ContactJob {
    /// As [`openapi_core::storage::ContactStore::insert_contact`].
    pub(super) fn insertion(write: ContactWrite, reply: oneshot::Sender<Result<()>>) -> Self {
        ContactJob { write, expected_version: None, reply: Mutex::new(Some(reply)) }
    }

    /// As [`openapi_core::storage::ContactStore::update_contact`].
    pub(super) fn change(
        write: ContactWrite,
        expected_version: u64,
        reply: oneshot::Sender<Result<()>>,
    ) -> Self {
        ContactJob { write, expected_version: Some(expected_version), reply: Mutex::new(Some(reply)) }
    }

    fn sender(&self) -> std::sync::MutexGuard<'_, Option<oneshot::Sender<Result<()>>>> {
        self.reply.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Whether nobody waits for the outcome any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.sender().as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn answer(&self, outcome: Result<()>) {
        if let Some(reply) = self.sender().take() {
            // Nobody listens when the future was dropped; the write stands either way.
            let _ = reply.send(outcome);
        }
    }
}

/// Does the writes of an agent and tells each its outcome.
pub(crate) async fn store(handle: &Handle, agent: &AgentId, jobs: Vec<ContactJob>) {
    let mut input = (agent.clone(), jobs);
    match commit(handle, &input).await {
        // One that the database does not take must not take the others with it.
        Err(fault) if fault.is_internal() && input.1.len() > 1 => {
            tracing::warn!(?fault, writes = input.1.len(), "a commit failed; its writes are done one by one");
            for job in std::mem::take(&mut input.1) {
                let alone = (agent.clone(), vec![job]);
                let outcome = commit(handle, &alone).await;
                answer(&alone.1, outcome);
            }
        }
        outcome => answer(&input.1, outcome),
    }
}

async fn commit(handle: &Handle, input: &(AgentId, Vec<ContactJob>)) -> Result<Vec<Outcome>> {
    handle.transact(input, |tx, (agent, jobs)| Box::pin(attempt(tx, agent, jobs))).await
}

fn answer(jobs: &[ContactJob], outcome: Result<Vec<Outcome>>) {
    match outcome {
        Ok(outcomes) => {
            for (job, outcome) in jobs.iter().zip(outcomes) {
                job.answer(outcome.map_err(Fault::Known));
            }
        }
        Err(fault) => {
            tracing::warn!(?fault, writes = jobs.len(), "a commit failed; none of its writes is stored");
            jobs.iter().for_each(|job| job.answer(Err(fault.again())));
        }
    }
}

/// Stores new contacts of an agent whose ledger is taken, with everything that they are found by. Refuses those that
/// have a unique value of another one.
pub(crate) async fn put_new(
    tx: &mut Transaction,
    agent: &AgentId,
    contacts: &[(&Contact, ContactKeys)],
) -> Result<()> {
    let unique: HashSet<String> =
        contacts.iter().flat_map(|(contact, keys)| row::unique_values(contact, keys)).collect();
    let mut holders = write::holders(&mut tx.reads(), agent, unique.iter()).await?;
    let (mut difference, mut documents) = (Difference::default(), Vec::with_capacity(contacts.len()));
    for (contact, keys) in contacts {
        let wanted = write::unique_values(contact.external_reference_id.as_ref(), &keys.unique);
        if let Some(duplicate) = write::duplicate(&holders, Some(contact.id), &wanted) {
            return Err(duplicate.into());
        }
        let holder = Holder { contact: contact.id, archived: contact.is_archived() };
        holders.extend(wanted.into_iter().map(|(_, value)| (value, holder)));
        difference.count(&Derived::of(contact, keys), 1);
        documents.push(row::document(contact, keys)?);
    }
    tx.insert(collection::CONTACTS, &documents).await?;
    difference.apply(tx, agent).await
}

type Outcome = Result<(), StorageErrorKind>;

async fn attempt(tx: &mut Transaction, agent: &AgentId, jobs: &[ContactJob]) -> Result<Vec<Outcome>> {
    let Some(ledger) = ledger::take(tx, agent).await? else {
        return Ok(jobs.iter().map(|_| Err(StorageErrorKind::Missing)).collect());
    };
    let mut world = World::read(tx, agent, ledger, jobs).await?;
    let outcomes: Vec<Outcome> = jobs.iter().map(|job| world.decide(job)).collect();
    if outcomes.iter().any(Result::is_ok) {
        world.write(tx, agent).await?;
    }
    Ok(outcomes)
}

/// A contact as the writes so far leave it.
#[derive(Clone)]
struct State<'j> {
    /// As it is stored; none for one that is not.
    before: Option<Stored>,
    /// As it is to be stored, with the write that says so; none when nothing changes it.
    after: Option<(Stored, &'j ContactWrite)>,
}

impl State<'_> {
    fn current(&self) -> Option<&Stored> {
        self.after.as_ref().map(|(stored, _)| stored).or(self.before.as_ref())
    }
}

/// What the writes of a batch look at, and what they leave.
struct World<'j> {
    ledger: Ledger,
    contacts: HashMap<ContactId, State<'j>>,
    holders: HashMap<String, Holder>,
    replays: HashMap<IdempotencyKey, Timestamp>,
    /// What is written besides contacts, in order.
    entries: Vec<&'j AuditEntry>,
    answers: HashMap<IdempotencyKey, &'j IdempotencyRecord>,
    /// The contacts that are written, in the order of the last write of each.
    written: Vec<ContactId>,
}

impl<'j> World<'j> {
    async fn read(
        tx: &mut Transaction,
        agent: &AgentId,
        ledger: Ledger,
        jobs: &'j [ContactJob],
    ) -> Result<Self> {
        let ids: HashSet<ContactId> = jobs.iter().map(|job| job.write.contact.id).collect();
        let stored = write::stored(&mut tx.reads(), agent, ids.into_iter()).await?;
        let unique: HashSet<String> =
            jobs.iter().flat_map(|job| row::unique_values(&job.write.contact, &job.write.keys)).collect();
        let holders = write::holders(&mut tx.reads(), agent, unique.iter()).await?;
        let keys: Vec<IdempotencyKey> = jobs
            .iter()
            .filter_map(|job| job.write.effects.replay.as_ref())
            .map(|replay| replay.key)
            .collect();
        let replays = replays::stored(&mut tx.reads(), agent, &keys).await?;
        Ok(World {
            ledger,
            contacts: stored
                .into_iter()
                .map(|(id, stored)| (id, State { before: Some(stored), after: None }))
                .collect(),
            holders,
            replays: replays.into_iter().collect(),
            entries: Vec::new(),
            answers: HashMap::new(),
            written: Vec::new(),
        })
    }

    /// What becomes of a write, in the order of errors that the port documents.
    fn decide(&mut self, job: &'j ContactJob) -> Outcome {
        let write = &job.write;
        let contact = &write.contact;
        let current = self.contacts.get(&contact.id).and_then(State::current);
        if let Some(expected) = job.expected_version {
            let stored = current.ok_or(StorageErrorKind::Missing)?;
            if stored.version != expected {
                return Err(StorageErrorKind::Stale);
            }
        }
        if write.schema_version != self.ledger.schema_version {
            return Err(StorageErrorKind::Stale);
        }
        let replay = write.effects.replay.as_ref();
        let known = replay.and_then(|replay| self.replays.get(&replay.key));
        if known.is_some_and(|expires_at| *expires_at > write.effects.audit.at) {
            return Err(StorageErrorKind::ReplayExists);
        }
        let wanted = write::unique_values(contact.external_reference_id.as_ref(), &write.keys.unique);
        if let Some(duplicate) = write::duplicate(&self.holders, Some(contact.id), &wanted) {
            return Err(StorageErrorKind::Duplicate(duplicate));
        }
        if job.expected_version.is_none() && current.is_some() {
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
        self.entries.push(&write.effects.audit);
        if let Some(replay) = &write.effects.replay {
            self.replays.insert(replay.key, replay.expires_at);
            self.answers.insert(replay.key, replay);
        }
    }

    async fn write(self, tx: &mut Transaction, agent: &AgentId) -> Result<()> {
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
        difference.apply(tx, agent).await?;
        if !self.answers.is_empty() {
            replays::put(tx, agent, self.answers.into_values()).await?;
        }
        audit::append(tx, self.entries).await
    }

    /// Where a contact takes a unique value that another one of the batch gives up, the other one gives it up first,
    /// whichever is written first: each statement must leave values unique.
    fn freed(&self, agent: &AgentId) -> Vec<Update> {
        let mut updates = Vec::new();
        for (id, state) in &self.contacts {
            let (Some(before), Some(_)) = (&state.before, &state.after) else { continue };
            let stays = |value: &&String| self.holders.get(*value).is_none_or(|holder| holder.contact == *id);
            let unique = &before.derived.unique;
            let kept: Vec<&str> = unique.iter().filter(stays).map(String::as_str).collect();
            if kept.len() < unique.len() {
                let filter = doc! { "_id": key(agent, id.as_bytes()) };
                updates.push(Update::one(filter, row::only_unique(&kept)));
            }
        }
        updates
    }
}
