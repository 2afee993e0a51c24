//! Which writes of a batch are stored.
//!
//! Each write is checked against the database as if it were alone, in the order of errors that the port documents. A write
//! that depends on the changes of an earlier one in the batch is deferred to the next batch, which sees the changes. The
//! first write of a batch is never deferred, so every batch makes progress.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};

use openapi_core::storage::{ContactWrite, Duplicate, IdempotencyKey, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId};

use super::duplicates::Holders;
use super::stored::Stored;
use crate::tenant::Locked;

/// A creation or change of a contact.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) agent: AgentId,
    /// The version that a change replaces; `None` creates.
    pub(crate) expected_version: Option<u64>,
    pub(crate) write: ContactWrite,
}

/// What a batch does about a tenant that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockWait {
    /// It skips the tenant's writes ([`Decision::Locked`]).
    Skip,
    /// It waits for the lock.
    Wait,
}

/// The stored data that the decisions on a batch depend on.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The existing tenants.
    pub(super) tenants: HashMap<AgentId, Locked>,
    /// The existing tenants that were skipped because another transaction has locked them.
    pub(super) locked: HashSet<AgentId>,
    /// The stored contacts, by index in the batch.
    pub(super) stored: HashMap<usize, Stored>,
    /// The indexes in the batch whose idempotency key has a response.
    pub(super) replayed: HashSet<usize>,
    /// The holders of the unique values of each index in the batch.
    pub(super) holders: Holders,
}

/// The decision on a write.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision {
    /// It is stored.
    Stored,
    /// It is refused.
    Refused(StorageErrorKind),
    /// The next batch decides.
    Deferred,
    /// Another transaction has locked its tenant.
    Locked,
}

/// The contacts, idempotency keys and unique values that the stored writes of a batch change.
#[derive(Default)]
struct WriteSet<'w> {
    contacts: HashSet<(&'w AgentId, ContactId)>,
    replays: HashSet<(&'w AgentId, IdempotencyKey)>,
    /// Values by field; the field of the external id is empty.
    values: HashSet<(&'w AgentId, &'w str, &'w str)>,
}

impl<'w> WriteSet<'w> {
    fn values(pending: &'w Pending) -> impl Iterator<Item = (&'w AgentId, &'w str, &'w str)> {
        let agent = &pending.agent;
        let external = pending.write.contact.external_reference_id.as_ref();
        let unique = pending.write.keys.unique.iter();
        external
            .map(|id| (agent, "", id.as_str()))
            .into_iter()
            .chain(unique.map(move |unique| (agent, unique.field.as_str(), unique.value.as_str())))
    }

    fn replay(pending: &'w Pending) -> Option<(&'w AgentId, IdempotencyKey)> {
        pending.write.effects.replay.as_ref().map(|replay| (&pending.agent, replay.key))
    }

    fn overlaps(&self, pending: &'w Pending) -> bool {
        self.contacts.contains(&(&pending.agent, pending.write.contact.id))
            || WriteSet::replay(pending).is_some_and(|replay| self.replays.contains(&replay))
            || WriteSet::values(pending).any(|value| self.values.contains(&value))
    }

    fn add(&mut self, pending: &'w Pending) {
        self.contacts.insert((&pending.agent, pending.write.contact.id));
        self.replays.extend(WriteSet::replay(pending));
        self.values.extend(WriteSet::values(pending));
    }
}

/// Decides on the writes of a batch in their order.
pub(super) fn decide<P: Borrow<Pending>>(batch: &[P], known: &Known) -> Vec<Decision> {
    let mut write_set = WriteSet::default();
    let mut decisions = Vec::with_capacity(batch.len());
    for (index, pending) in batch.iter().map(Borrow::borrow).enumerate() {
        let decision = if write_set.overlaps(pending) {
            Decision::Deferred
        } else {
            check(index, pending, known, &write_set)
        };
        if decision == Decision::Stored {
            write_set.add(pending);
        }
        decisions.push(decision);
    }
    decisions
}

fn check(index: usize, pending: &Pending, known: &Known, write_set: &WriteSet<'_>) -> Decision {
    use StorageErrorKind::{AlreadyExists, Missing, ReplayExists, Stale};
    let write = &pending.write;
    let stored = known.stored.get(&index);
    let Some(Locked { schema_version, .. }) = known.tenants.get(&pending.agent) else {
        return if known.locked.contains(&pending.agent) {
            Decision::Locked
        } else {
            Decision::Refused(Missing)
        };
    };
    if let Some(expected) = pending.expected_version {
        match stored {
            None => return Decision::Refused(Missing),
            Some(stored) if stored.version != expected => return Decision::Refused(Stale),
            Some(_) => {}
        }
    }
    if write.schema_version != *schema_version {
        return Decision::Refused(Stale);
    }
    if known.replayed.contains(&index) {
        return Decision::Refused(ReplayExists);
    }
    let own = write.contact.id;
    // An earlier write of the batch may free a value of the contact that it changes.
    let mut holders = known.holders.of(index, Some(own), &write.keys.unique).peekable();
    if let Some((field, first)) = holders.peek().copied() {
        if holders.any(|(_, holder)| write_set.contacts.contains(&(&pending.agent, holder.id))) {
            return Decision::Deferred;
        }
        let duplicate = Duplicate { field: field.to_owned(), existing: first.id, archived: first.archived };
        return Decision::Refused(StorageErrorKind::Duplicate(duplicate));
    }
    if pending.expected_version.is_none() && stored.is_some() {
        return Decision::Refused(AlreadyExists);
    }
    Decision::Stored
}

#[cfg(test)]
mod tests {
    use openapi_core::contacts::UniqueValue;
    use openapi_core::schema::ContactSchema;
    use openapi_core::storage::IdempotencyRecord;

    use super::super::duplicates::Holder;
    use super::super::stored::Slot;
    use super::*;
    use storage_common::fixtures::{agent_id, at, contact, contact_id, write};

    fn pending(number: u64) -> Pending {
        let agent = agent_id("a");
        let schema = ContactSchema::builtin(agent.clone(), at(0));
        Pending { write: write(&contact(&agent, number), &schema, 1), agent, expected_version: None }
    }

    fn named(number: u64, external: &str) -> Pending {
        let mut named = pending(number);
        named.write.contact.external_reference_id = external.parse().ok();
        named
    }

    fn with_unique(number: u64, value: &str) -> Pending {
        let mut pending = pending(number);
        pending.write.keys.unique.push(UniqueValue { field: "dob".to_owned(), value: value.to_owned() });
        pending
    }

    fn update(number: u64, expected: u64) -> Pending {
        Pending { expected_version: Some(expected), ..pending(number) }
    }

    fn answered(mut pending: Pending) -> Pending {
        pending.write.effects.replay = Some(IdempotencyRecord {
            key: IdempotencyKey([1; 32]),
            fingerprint: [0; 32],
            status: 201,
            location: None,
            body: "{}".into(),
            resource: None,
            expires_at: at(1_000),
        });
        pending
    }

    fn of_version(schema_version: u64) -> Locked {
        Locked { schema_version, ..Locked::default() }
    }

    fn known() -> Known {
        Known { tenants: HashMap::from([(agent_id("a"), of_version(1))]), ..Known::default() }
    }

    fn stored(number: u64, version: u64) -> Stored {
        let slot = Slot { archived: 0, status: 0, created_at: 0 };
        Stored { id: contact_id(number), version, slot, tags: Default::default() }
    }

    fn duplicate(field: &str, number: u64) -> Decision {
        let field = field.to_owned();
        Decision::Refused(StorageErrorKind::Duplicate(Duplicate {
            field,
            existing: contact_id(number),
            archived: false,
        }))
    }

    #[test]
    fn writes_that_share_nothing_are_stored_together() {
        let batch = [named(1, "x"), named(2, "y"), with_unique(3, "x"), answered(pending(4))];
        assert!(decide(&batch, &known()).iter().all(|decision| *decision == Decision::Stored));
    }

    #[test]
    fn a_write_that_overlaps_an_earlier_one_is_deferred() {
        for batch in [
            [named(1, "x"), named(2, "x")],
            [with_unique(1, "x"), with_unique(2, "x")],
            [answered(pending(1)), answered(pending(2))],
            [pending(1), pending(1)],
        ] {
            assert_eq!(decide(&batch, &known()), [Decision::Stored, Decision::Deferred]);
        }
        let mut elsewhere = named(2, "x");
        elsewhere.agent = agent_id("b");
        let mut known = known();
        known.tenants.insert(agent_id("b"), of_version(1));
        assert_eq!(decide(&[named(1, "x"), elsewhere], &known), [Decision::Stored, Decision::Stored]);
    }

    #[test]
    fn a_refused_write_defers_no_other() {
        let mut stale = named(1, "x");
        stale.write.schema_version = 7;
        let decisions = decide(&[stale, named(2, "x")], &known());
        assert_eq!(decisions, [Decision::Refused(StorageErrorKind::Stale), Decision::Stored]);
    }

    #[test]
    fn a_write_is_deferred_for_a_value_that_an_earlier_one_may_free() {
        let mut known = known();
        known.stored.insert(0, stored(1, 1));
        known.holders = Holders::of_test([((1, 0), Holder { id: contact_id(1), archived: false })]);
        // The holder is changed in the same batch.
        assert_eq!(decide(&[update(1, 1), named(2, "x")], &known), [Decision::Stored, Decision::Deferred]);
        // It would be changed, but the change is refused.
        let decisions = decide(&[update(1, 9), named(2, "x")], &known);
        assert_eq!(
            decisions,
            [Decision::Refused(StorageErrorKind::Stale), duplicate("externalReferenceId", 1)]
        );
    }

    #[test]
    fn errors_come_in_their_order() {
        let refused = |pending: Pending, known: &Known| decide(&[pending], known).remove(0);
        let mut everything = answered(with_unique(1, "x"));
        everything.write.contact.external_reference_id = "x".parse().ok();
        everything.write.schema_version = 7;
        let mut known = Known::default();
        known.stored.insert(0, stored(1, 1));
        known.replayed.insert(0);
        known.holders = Holders::of_test([
            ((0, 0), Holder { id: contact_id(8), archived: false }),
            ((0, 1), Holder { id: contact_id(9), archived: false }),
        ]);
        let of = Decision::Refused;
        assert_eq!(refused(clone(&everything), &known), of(StorageErrorKind::Missing));
        known.locked.insert(agent_id("a"));
        assert_eq!(refused(clone(&everything), &known), Decision::Locked);
        known.tenants.insert(agent_id("a"), of_version(1));
        assert_eq!(refused(clone(&everything), &known), of(StorageErrorKind::Stale));
        everything.write.schema_version = 1;
        assert_eq!(refused(clone(&everything), &known), of(StorageErrorKind::ReplayExists));
        known.replayed.clear();
        assert_eq!(refused(clone(&everything), &known), duplicate("externalReferenceId", 8));
        everything.write.contact.external_reference_id = None;
        known.holders = Holders::of_test([((0, 1), Holder { id: contact_id(9), archived: false })]);
        assert_eq!(refused(clone(&everything), &known), duplicate("dob", 9));
        known.holders = Holders::default();
        assert_eq!(refused(clone(&everything), &known), of(StorageErrorKind::AlreadyExists));
        known.stored.clear();
        assert_eq!(refused(clone(&everything), &known), Decision::Stored);
        assert_eq!(refused(update(1, 1), &known), of(StorageErrorKind::Missing));
    }

    fn clone(pending: &Pending) -> Pending {
        Pending {
            agent: pending.agent.clone(),
            expected_version: pending.expected_version,
            write: pending.write.clone(),
        }
    }
}
