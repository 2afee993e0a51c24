//! Which writes of a batch are stored.
//!
//! Each write is judged by what the database holds, in the order of errors that the port documents, as if it were
//! alone. A write that depends on what an earlier one of the same batch changes cannot be judged by that: it waits for
//! the next batch, which sees the change. The first of a batch never waits, so that each batch brings the queue on.

use std::collections::{HashMap, HashSet};

use openapi_core::storage::{Duplicate, IdempotencyKey, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId};

use super::batch::{Pending, Stored};
use super::duplicates::Holders;

/// What the database says of a batch.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The versions of the contact schemas in force, of agents that are there.
    pub(super) schemas: HashMap<AgentId, u64>,
    /// The agents that are there and were skipped, because another transaction holds them.
    pub(super) held: HashSet<AgentId>,
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
    /// Another transaction holds its agent.
    Held,
}

/// What the writes that are stored change.
#[derive(Default)]
struct Claims<'w> {
    contacts: HashSet<(&'w AgentId, ContactId)>,
    replays: HashSet<(&'w AgentId, IdempotencyKey)>,
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

    fn replay(pending: &'w Pending) -> Option<(&'w AgentId, IdempotencyKey)> {
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
    let Some(schema_version) = known.schemas.get(&pending.agent) else {
        return if known.held.contains(&pending.agent) { Verdict::Held } else { Verdict::Refused(Missing) };
    };
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

#[cfg(test)]
mod tests {
    use openapi_core::contacts::UniqueValue;
    use openapi_core::schema::ContactSchema;
    use openapi_core::storage::IdempotencyRecord;

    use super::super::batch::Place;
    use super::super::duplicates::Holder;
    use super::*;
    use crate::tests::support::contacts::{agent_id, at, contact, contact_id, write};

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

    fn known() -> Known {
        Known { schemas: HashMap::from([(agent_id("a"), 1)]), ..Known::default() }
    }

    fn stored(number: u64, version: u64) -> Stored {
        let place = Place { archived: 0, status: 0, created_at: 0 };
        Stored { id: contact_id(number), version, place, tags: Default::default() }
    }

    fn duplicate(field: &str, number: u64) -> Verdict {
        let field = field.to_owned();
        Verdict::Refused(StorageErrorKind::Duplicate(Duplicate {
            field,
            existing: contact_id(number),
            archived: false,
        }))
    }

    #[test]
    fn writes_that_share_nothing_are_stored_together() {
        let batch = [named(1, "x"), named(2, "y"), with_unique(3, "x"), answered(pending(4))];
        assert!(decide(&batch, &known()).iter().all(|verdict| *verdict == Verdict::Stored));
    }

    #[test]
    fn a_write_that_shares_something_with_an_earlier_one_waits() {
        for batch in [
            [named(1, "x"), named(2, "x")],
            [with_unique(1, "x"), with_unique(2, "x")],
            [answered(pending(1)), answered(pending(2))],
            [pending(1), pending(1)],
        ] {
            assert_eq!(decide(&batch, &known()), [Verdict::Stored, Verdict::Waits]);
        }
        let mut elsewhere = named(2, "x");
        elsewhere.agent = agent_id("b");
        let mut known = known();
        known.schemas.insert(agent_id("b"), 1);
        assert_eq!(decide(&[named(1, "x"), elsewhere], &known), [Verdict::Stored, Verdict::Stored]);
    }

    #[test]
    fn a_refused_write_holds_nobody_up() {
        let mut stale = named(1, "x");
        stale.write.schema_version = 7;
        let verdicts = decide(&[stale, named(2, "x")], &known());
        assert_eq!(verdicts, [Verdict::Refused(StorageErrorKind::Stale), Verdict::Stored]);
    }

    #[test]
    fn a_value_that_an_earlier_write_may_free_is_waited_for() {
        let mut known = known();
        known.stored.insert(0, stored(1, 1));
        known.holders = Holders::of_test([((1, 0), Holder { id: contact_id(1), archived: false })]);
        // The holder is changed in the same batch.
        assert_eq!(decide(&[update(1, 1), named(2, "x")], &known), [Verdict::Stored, Verdict::Waits]);
        // It would be changed, but the change is refused.
        let verdicts = decide(&[update(1, 9), named(2, "x")], &known);
        assert_eq!(
            verdicts,
            [Verdict::Refused(StorageErrorKind::Stale), duplicate("externalReferenceId", 1)]
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
        let of = Verdict::Refused;
        assert_eq!(refused(clone(&everything), &known), of(StorageErrorKind::Missing));
        known.held.insert(agent_id("a"));
        assert_eq!(refused(clone(&everything), &known), Verdict::Held);
        known.schemas.insert(agent_id("a"), 1);
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
        assert_eq!(refused(clone(&everything), &known), Verdict::Stored);
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
