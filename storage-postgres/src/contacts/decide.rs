//! Which writes of a batch are stored.
//!
//! Each write is judged by what the database holds, in the order of errors that the port documents, as if it were
//! alone. A write that depends on what an earlier one of the same batch changes cannot be judged by that: it waits for
//! the next batch, which sees the change. The first of a batch never waits, so that each batch brings the queue on.

use std::collections::{HashMap, HashSet};

use openapi_core::storage::{Duplicate, ReplayKey, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId};

use super::batch::{Pending, Stored};
use super::duplicates::Holders;

/// What the database says of a batch.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The versions of the contact schemas in force, of agents that are there.
    pub(super) schemas: HashMap<AgentId, u64>,
    /// The contacts that are there, by the place in the batch.
    pub(super) stored: HashMap<usize, Stored>,
    /// The places in the batch whose idempotency key has an answer.
    pub(super) replayed: HashSet<usize>,
    /// Who has the values of each place in the batch.
    pub(super) holders: Holders,
}

/// What becomes of a write.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It is stored.
    Stored,
    /// It is not, for this reason.
    Refused(StorageErrorKind),
    /// The next batch tells.
    Waits,
}

/// What the writes that are stored change.
#[derive(Default)]
struct Claims<'w> {
    contacts: HashSet<(&'w AgentId, ContactId)>,
    replays: HashSet<(&'w AgentId, ReplayKey)>,
    /// Values by field, the external id's being empty.
    values: HashSet<(&'w AgentId, &'w str, &'w str)>,
}

impl<'w> Claims<'w> {
    fn values(pending: &'w Pending) -> impl Iterator<Item = (&'w AgentId, &'w str, &'w str)> {
        let agent = &pending.agent;
        let external = pending.write.contact.external_reference_id.as_ref();
        let unique = pending.write.keys.unique.iter();
        external
            .map(|id| (agent, "", id.as_str()))
            .into_iter()
            .chain(unique.map(move |unique| (agent, unique.field.as_str(), unique.value.as_str())))
    }

    fn replay(pending: &'w Pending) -> Option<(&'w AgentId, ReplayKey)> {
        pending.write.effects.replay.as_ref().map(|replay| (&pending.agent, replay.key))
    }

    fn touch(&self, pending: &'w Pending) -> bool {
        self.contacts.contains(&(&pending.agent, pending.write.contact.id))
            || Claims::replay(pending).is_some_and(|replay| self.replays.contains(&replay))
            || Claims::values(pending).any(|value| self.values.contains(&value))
    }

    fn add(&mut self, pending: &'w Pending) {
        self.contacts.insert((&pending.agent, pending.write.contact.id));
        self.replays.extend(Claims::replay(pending));
        self.values.extend(Claims::values(pending));
    }
}

/// Judges the writes of a batch in their order.
pub(super) fn decide(batch: &[Pending], known: &Known) -> Vec<Verdict> {
    let mut claims = Claims::default();
    let mut verdicts = Vec::with_capacity(batch.len());
    for (place, pending) in batch.iter().enumerate() {
        let verdict =
            if claims.touch(pending) { Verdict::Waits } else { judge(place, pending, known, &claims) };
        if verdict == Verdict::Stored {
            claims.add(pending);
        }
        verdicts.push(verdict);
    }
    verdicts
}

fn judge(place: usize, pending: &Pending, known: &Known, claims: &Claims<'_>) -> Verdict {
    use StorageErrorKind::{AlreadyExists, Missing, ReplayExists, Stale};
    let write = &pending.write;
    let stored = known.stored.get(&place);
    let Some(schema_version) = known.schemas.get(&pending.agent) else { return Verdict::Refused(Missing) };
    if let Some(expected) = pending.expected_version {
        match stored {
            None => return Verdict::Refused(Missing),
            Some(stored) if stored.version != expected => return Verdict::Refused(Stale),
            Some(_) => {}
        }
    }
    if write.schema_version != *schema_version {
        return Verdict::Refused(Stale);
    }
    if known.replayed.contains(&place) {
        return Verdict::Refused(ReplayExists);
    }
    let own = write.contact.id;
    // A value of a contact that an earlier write of the batch changes may be free behind it.
    let mut holders = known.holders.of(place, Some(own), &write.keys.unique).peekable();
    if let Some((field, first)) = holders.peek().copied() {
        if holders.any(|(_, holder)| claims.contacts.contains(&(&pending.agent, holder.id))) {
            return Verdict::Waits;
        }
        let duplicate = Duplicate { field: field.to_owned(), existing: first.id, archived: first.archived };
        return Verdict::Refused(StorageErrorKind::Duplicate(duplicate));
    }
    if pending.expected_version.is_none() && stored.is_some() {
        return Verdict::Refused(AlreadyExists);
    }
    Verdict::Stored
}
