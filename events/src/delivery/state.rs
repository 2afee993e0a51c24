//! The stored progress of an endpoint.

use std::collections::BTreeMap;

use openapi_core::values::{PlatformId, Timestamp};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{MAX_OPEN, MAX_REPLAYS};

/// The progress of an endpoint, as a record has it. Its JSON has at most 64 KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryState {
    /// The server that delivers to the endpoint.
    pub lease: Option<Lease>,
    /// Every event up to this one is settled, filtered out, or open.
    pub cursor: u64,
    /// Events that were sent at least once, or were on their way, and are not settled; by sequence number. In ordered
    /// mode at most one, the first after the cursor.
    pub open: BTreeMap<u64, Open>,
    /// What is to be sent again, in parallel mode.
    pub replays: Vec<Replay>,
    /// Failures of the endpoint in a row.
    pub failures: u32,
    /// Since when it only fails.
    pub failing_since: Option<Timestamp>,
    /// Until when nothing is sent, because the receiver asked for a rest.
    pub rest_until: Option<Timestamp>,
    /// Until when no event is sent for the first time.
    pub probe_at: Option<Timestamp>,
    /// When an event was accepted last, as far as saves tell.
    pub succeeded_at: Option<Timestamp>,
    /// When an attempt failed last.
    pub failed_at: Option<Timestamp>,
    /// The number of the last entry in the attempt log.
    pub attempts: u64,
    /// Whether the endpoint is disabled, by a person or by its failures.
    pub is_stopped: bool,
}

/// The right of a server to deliver to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The id of the process.
    pub server: PlatformId,
    /// When the right ends.
    pub until: Timestamp,
}

/// An open event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Failed attempts.
    pub failures: u8,
    /// When it is sent again; of an event on its way, when it was sent.
    pub next_at: Timestamp,
}

/// A range of events to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The next event: those before are settled, filtered out, or open.
    pub next: u64,
    /// The last event.
    pub to: u64,
}

impl DeliveryState {
    /// The state of a new endpoint that gets the events after this one.
    #[must_use]
    pub fn new(cursor: u64) -> Self {
        DeliveryState { cursor, ..DeliveryState::default() }
    }

    /// When a server should take the endpoint: the end of a lease, or the next retry or probe. `None` if nothing is known
    /// to be sent.
    #[must_use]
    pub fn due_at(&self) -> Option<Timestamp> {
        if let Some(lease) = self.lease {
            return Some(lease.until);
        }
        if self.is_stopped {
            return None;
        }
        let earliest = Timestamp::from_millis(0);
        let retry = self.open.values().map(|open| open.next_at).min();
        let replays = !self.replays.is_empty() && self.open.len() < MAX_OPEN;
        let first = self.probe_at.or(replays.then_some(earliest));
        let due = retry.into_iter().chain(first).min();
        match (due, self.rest_until) {
            (Some(due), Some(rest)) => Some(due.max(rest)),
            (due, rest) => due.or(rest),
        }
    }

    /// Whether a server may take the endpoint now.
    #[must_use]
    pub fn is_free(&self, server: PlatformId, now: Timestamp) -> bool {
        !self.is_stopped && self.lease.is_none_or(|lease| lease.server == server || lease.until <= now)
    }
}

/// The JSON of a state. Open events are one flat array of differences, so that 1,000 of them have some 15 KB instead of
/// 60 KB: sequence number, failures, milliseconds after `openFrom`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<PlatformId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_until: Option<i64>,
    cursor: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_from: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replays: Vec<(u64, u64)>,
    #[serde(default, skip_serializing_if = "is_zero")]
    failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing_since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest_until: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    succeeded_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed_at: Option<i64>,
    attempts: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stopped: bool,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Serialize for DeliveryState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let open_from = self.open.values().map(|open| open.next_at).min();
        let mut open = Vec::with_capacity(3 * self.open.len());
        let mut before = 0;
        for (seq, entry) in &self.open {
            let wait = open_from.map_or(0, |from| entry.next_at.millis_since(from));
            open.extend([seq - before, entry.failures.into(), u64::try_from(wait).unwrap_or_default()]);
            before = *seq;
        }
        let stored = Stored {
            owner: self.lease.map(|lease| lease.server),
            lease_until: self.lease.map(|lease| lease.until.millis()),
            cursor: self.cursor,
            open_from: open_from.map(Timestamp::millis),
            open,
            replays: self.replays.iter().map(|replay| (replay.next, replay.to)).collect(),
            failures: self.failures,
            failing_since: self.failing_since.map(Timestamp::millis),
            rest_until: self.rest_until.map(Timestamp::millis),
            probe_at: self.probe_at.map(Timestamp::millis),
            succeeded_at: self.succeeded_at.map(Timestamp::millis),
            failed_at: self.failed_at.map(Timestamp::millis),
            attempts: self.attempts,
            stopped: self.is_stopped,
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DeliveryState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let (entries, rest) = stored.open.as_chunks::<3>();
        if !rest.is_empty() || entries.len() > MAX_OPEN || stored.replays.len() > MAX_REPLAYS {
            return Err(D::Error::custom("the open events or replays are malformed"));
        }
        let from = stored.open_from.unwrap_or_default();
        let (mut open, mut seq) = (BTreeMap::new(), 0_u64);
        for [step, failures, wait] in entries {
            seq = seq
                .checked_add(*step)
                .filter(|_| *step > 0)
                .ok_or_else(|| D::Error::custom("open events repeat"))?;
            let failures = u8::try_from(*failures).map_err(D::Error::custom)?;
            let wait = i64::try_from(*wait).map_err(D::Error::custom)?;
            open.insert(seq, Open { failures, next_at: Timestamp::from_millis(from.saturating_add(wait)) });
        }
        let lease = match (stored.owner, stored.lease_until) {
            (Some(server), Some(until)) => Some(Lease { server, until: Timestamp::from_millis(until) }),
            (None, None) => None,
            _ => return Err(D::Error::custom("a lease has an owner and an end")),
        };
        Ok(DeliveryState {
            lease,
            cursor: stored.cursor,
            open,
            replays: stored.replays.into_iter().map(|(next, to)| Replay { next, to }).collect(),
            failures: stored.failures,
            failing_since: stored.failing_since.map(Timestamp::from_millis),
            rest_until: stored.rest_until.map(Timestamp::from_millis),
            probe_at: stored.probe_at.map(Timestamp::from_millis),
            succeeded_at: stored.succeeded_at.map(Timestamp::from_millis),
            failed_at: stored.failed_at.map(Timestamp::from_millis),
            attempts: stored.attempts,
            is_stopped: stored.stopped,
        })
    }
}
