//! The lease and the saves of an endpoint.

use openapi_core::values::Timestamp;

use super::endpoint::{AGAIN_AFTER, Delivery, Phase, Saving};
use super::state::Lease;
use super::{Action, LEASE, RENEWAL, Save};

/// The longest time for which an outcome is not saved, in milliseconds: what a crash loses at most.
const SAVE_AFTER: i64 = 1_000;
/// Outcomes after which a save does not wait.
const SAVE_AT: usize = 200;
/// How long the lease is held without work, in milliseconds.
const HOLD: i64 = 5_000;
/// How far a clock may go back before the lease is confirmed again, in milliseconds.
const CLOCK_SLACK: i64 = 1_000;

impl Delivery {
    /// When to report a tick, if nothing else happens until then.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.phase == Phase::Ended {
            return None;
        }
        let after = |at: Timestamp| (at > self.now).then_some(at);
        let mut wakes =
            vec![after(self.saved_at.plus_millis(RENEWAL)), self.state.rest_until.and_then(after)];
        if self.saving.is_none() && self.is_dirty {
            let save_at = self.saved_at.plus_millis(SAVE_AFTER);
            wakes.push(after(save_at.max(self.save_from.unwrap_or(save_at))));
        }
        wakes.extend([
            self.state.probe_at.and_then(after),
            self.read_from.and_then(after),
            self.save_from.and_then(after),
        ]);
        wakes.extend(self.state.open.values().map(|open| after(open.next_at)));
        wakes.push(self.idle_since.and_then(|since| after(since.plus_millis(HOLD))));
        // A time that has passed does not spin.
        Some(wakes.into_iter().flatten().min().unwrap_or_else(|| self.now.plus_millis(SAVE_AFTER)))
    }

    /// A clock that goes back says nothing about how long the lease still lasts: it is saved again before anything begins.
    pub(super) fn turn_clock(&mut self, now: Timestamp) {
        if now.plus_millis(CLOCK_SLACK) < self.now {
            self.lease_until = None;
            self.saved_at = now.plus_millis(-RENEWAL);
            (self.idle_since, self.read_from, self.save_from) = (None, None, None);
            if let Some(saving) = &mut self.saving {
                // Its lease was reckoned by the former time.
                saving.lease_until = saving.lease_until.map(|_| now);
            }
        }
        self.now = now;
    }

    /// Whether something runs, or will within the time for which the lease is held.
    fn has_work(&self) -> bool {
        if !self.in_flight.is_empty() || self.log.is_reading {
            return true;
        }
        if self.state.is_stopped {
            return false;
        }
        let soon = self.now.plus_millis(HOLD);
        let is_soon = |at: Option<Timestamp>| at.is_none_or(|at| at <= soon);
        let retries = self.state.open.values().any(|open| open.next_at <= soon);
        let firsts = (!self.log.is_done(self.known_head()) || !self.state.replays.is_empty())
            && self.has_room()
            && is_soon(self.state.probe_at);
        is_soon(self.state.rest_until) && (retries || firsts)
    }

    pub(super) fn save_if_due(&mut self, actions: &mut Vec<Action>) {
        let has_work = self.has_work();
        if has_work {
            self.idle_since = None;
        } else {
            self.idle_since.get_or_insert(self.now);
        }
        if self.saving.is_some() || self.save_from.is_some_and(|from| self.now < from) {
            return;
        }
        let since_save = self.now.millis_since(self.saved_at);
        let is_idle = self.idle_since.is_some_and(|since| self.now.millis_since(since) >= HOLD);
        let may_let_go = self.in_flight.is_empty();
        let lets_go = may_let_go && (is_idle || self.phase == Phase::Draining || self.state.is_stopped);
        let is_due = lets_go
            || self.disable.is_some()
            || since_save >= RENEWAL
            || (self.is_dirty && (self.unsaved >= SAVE_AT || since_save >= SAVE_AFTER));
        if is_due {
            actions.push(self.save(lets_go));
        }
    }

    /// A save of the state as it is; it renews the lease or gives it back.
    pub(super) fn save(&mut self, lets_go: bool) -> Action {
        let until = self.now.plus_millis(LEASE);
        let lease = Lease { server: self.settings.server, until };
        self.state.lease = (!lets_go).then_some(lease);
        // Times that have passed would make the endpoint due for ever. What waits makes it due for the next server.
        let waits = lets_go && self.has_room() && !self.log.is_done(self.known_head());
        self.state.rest_until = self.state.rest_until.filter(|at| *at > self.now);
        self.state.probe_at = self.state.probe_at.filter(|at| *at > self.now).or(waits.then_some(self.now));
        let saving = Saving {
            lease_until: self.state.lease.map(|lease| lease.until),
            outcomes: std::mem::take(&mut self.unsaved),
            attempts: std::mem::take(&mut self.attempts),
            disable: self.disable.take(),
        };
        let save =
            Save { state: self.state.clone(), attempts: saving.attempts.clone(), disable: saving.disable };
        self.saving = Some(saving);
        self.saved_at = self.now;
        self.is_dirty = false;
        Action::Save(Box::new(save))
    }

    /// What was not saved is part of the next save.
    pub(super) fn save_failed(&mut self) {
        let Some(mut saving) = self.saving.take() else { return };
        self.save_from = Some(self.now.plus_millis(AGAIN_AFTER));
        saving.attempts.append(&mut self.attempts);
        self.attempts = saving.attempts;
        self.unsaved += saving.outcomes;
        self.disable = self.disable.or(saving.disable);
        self.is_dirty = true;
    }
}
