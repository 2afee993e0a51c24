//! Writing events: what changes append to the log of their agent.

use super::Platform;
use crate::credits::CreditAccount;
use crate::events::{ChangedFields, EventActor, EventData, NewEvent};
use crate::json::{Json, Object};
use crate::storage::StorageError;
use crate::values::{ContactId, Timestamp};

/// How many events a sweep removes at a time.
const SWEPT_AT_ONCE: u32 = 500;

/// How many events a scrub looks at at a time.
const SCRUBBED_AT_ONCE: u32 = 10_000;

/// The pause between two sweeps of all logs.
const SWEEP_MILLIS: i64 = 3_600_000;

impl Platform {
    /// An event about a change that the caller is about to store, for [`Effects`](crate::storage::Effects). `contact`
    /// is the one whose erasure empties the event.
    #[must_use]
    pub fn event(
        &self,
        actor: impl Into<EventActor>,
        contact: Option<ContactId>,
        data: EventData,
        now: Timestamp,
    ) -> Option<NewEvent> {
        let event =
            || NewEvent { id: self.ports.ids.platform_id(now), at: now, actor: actor.into(), contact, data };
        self.events.is_on.then(event)
    }

    /// The event that a change of an account needs, if it leaves nothing available.
    #[must_use]
    pub fn credits_event(
        &self,
        actor: impl Into<EventActor>,
        available_before: u64,
        account: &CreditAccount,
        now: Timestamp,
    ) -> Option<NewEvent> {
        let available = account.available();
        let is_exhausted = !account.unlimited && available == 0 && available_before > 0;
        let event = || self.event(actor, None, EventData::CreditsExhausted { available }, now);
        is_exhausted.then(event).flatten()
    }

    /// Empties events of erased contacts and, every hour, removes events after their retention.
    pub(super) async fn maintain_logs(&self) -> Result<(), StorageError> {
        while self.storage.scrub_logs(SCRUBBED_AT_ONCE).await? > 0 {}
        let now = self.now();
        if !self.events.is_sweep_due(now) {
            return Ok(());
        }
        let before = now.plus_millis(-self.events.retention_millis);
        for agent in self.storage.agents().await? {
            while self.storage.sweep_log(&agent.id, before, SWEPT_AT_ONCE).await? >= u64::from(SWEPT_AT_ONCE)
            {
            }
        }
        Ok(())
    }
}

/// How events are written and retained.
pub(super) struct EventSettings {
    /// Whether changes have events.
    pub(super) is_on: bool,
    /// How long events are retained.
    pub(super) retention_millis: i64,
    /// When the logs were swept last.
    swept_at: parking_lot::Mutex<Option<Timestamp>>,
}

impl Default for EventSettings {
    fn default() -> Self {
        EventSettings { is_on: true, retention_millis: 7 * 24 * 3_600_000, swept_at: Default::default() }
    }
}

impl EventSettings {
    fn is_sweep_due(&self, now: Timestamp) -> bool {
        let mut swept_at = self.swept_at.lock();
        let is_due = swept_at.is_none_or(|last| now.millis_since(last) >= SWEEP_MILLIS);
        if is_due {
            *swept_at = Some(now);
        }
        is_due
    }
}

/// The fields that the details of an audit entry name as changed.
pub(super) fn changed_in(details: &Object) -> ChangedFields {
    match details.get("changed") {
        Some(Json::Array(names)) => ChangedFields::new(names.iter().filter_map(Json::as_str)),
        _ => ChangedFields::default(),
    }
}
