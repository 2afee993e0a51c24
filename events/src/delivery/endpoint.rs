//! An endpoint in the hands of the server that holds its lease.

use std::collections::BTreeSet;

use openapi_core::values::Timestamp;

use super::source::{Page, Reading, Source};
use super::state::{DeliveryState, Open};
use super::{
    Absence, Action, AttemptResult, DeliverySettings, DisableReason, Happening, LEASE_LEFT, LoggedAttempt,
    MAX_IN_FLIGHT, MAX_OPEN, Mode,
};
use crate::schedule::FAILURES_BEFORE_PROBES;

/// Outcomes that may be unsaved. Beyond, nothing is begun, so that a slow store bounds what a crash repeats.
const MAX_UNSAVED: usize = 1_000;
/// The pause after a read or a save that has failed, in milliseconds.
pub(super) const AGAIN_AFTER: i64 = 1_000;

/// An endpoint that this process delivers to.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub(super) settings: DeliverySettings,
    pub(super) state: DeliveryState,
    /// Events of which a request runs.
    pub(super) in_flight: BTreeSet<u64>,
    /// The most requests that may run at a time: one after a request that was not answered, one more with each success.
    pub(super) window: usize,
    pub(super) log: Reading,
    pub(super) replay: Option<Reading>,
    /// Whether the next first attempt comes from the replay.
    pub(super) is_replays_turn: bool,
    /// The newest event that is known, and whether a page has confirmed it.
    pub(super) head: (u64, bool),
    /// When reads go on after one has failed.
    pub(super) read_from: Option<Timestamp>,
    pub(super) now: Timestamp,
    pub(super) phase: Phase,
    /// The end of the lease that the store has confirmed.
    pub(super) lease_until: Option<Timestamp>,
    pub(super) saving: Option<Saving>,
    pub(super) saved_at: Timestamp,
    /// When saves go on after one has failed.
    pub(super) save_from: Option<Timestamp>,
    pub(super) is_dirty: bool,
    /// Outcomes since the last save began.
    pub(super) unsaved: usize,
    pub(super) attempts: Vec<LoggedAttempt>,
    pub(super) disable: Option<DisableReason>,
    pub(super) idle_since: Option<Timestamp>,
    pub(super) success_logged_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    Draining,
    Ended,
}

/// A save that runs.
#[derive(Clone, Debug)]
pub(super) struct Saving {
    pub(super) lease_until: Option<Timestamp>,
    pub(super) outcomes: usize,
    pub(super) attempts: Vec<LoggedAttempt>,
    pub(super) disable: Option<DisableReason>,
}

impl Delivery {
    /// Takes an endpoint that is free: the first action is the save by which this process gets the lease. `None` if the
    /// endpoint is stopped or another server holds it.
    #[must_use]
    pub fn take(
        state: DeliveryState,
        settings: DeliverySettings,
        now: Timestamp,
    ) -> Option<(Self, Vec<Action>)> {
        if !state.is_free(settings.server, now) {
            return None;
        }
        let mut delivery = Delivery {
            log: Reading::after(state.cursor),
            settings,
            state,
            in_flight: BTreeSet::new(),
            window: MAX_IN_FLIGHT,
            replay: None,
            is_replays_turn: false,
            head: (0, false),
            read_from: None,
            now,
            phase: Phase::Running,
            lease_until: None,
            saving: None,
            saved_at: now,
            save_from: None,
            is_dirty: false,
            unsaved: 0,
            attempts: Vec::new(),
            disable: None,
            idle_since: None,
            success_logged_at: None,
        };
        let save = delivery.save(false);
        Some((delivery, vec![save]))
    }

    /// The state as it would be saved now.
    #[must_use]
    pub fn state(&self) -> &DeliveryState {
        &self.state
    }

    /// Events that are known to wait: open ones, and those after the cursor.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.head.0.saturating_sub(self.state.cursor) + self.state.open.len() as u64
    }

    /// Takes what has happened at this time, and says what to do.
    pub fn handle(&mut self, happening: Happening, now: Timestamp) -> Vec<Action> {
        if self.phase == Phase::Ended {
            return Vec::new();
        }
        self.turn_clock(now);
        match happening {
            Happening::Tick => {}
            Happening::Head(head) => self.head.0 = self.head.0.max(head),
            Happening::Read(source, page) => self.take_page(source, &page),
            Happening::ReadFailed(source) => {
                self.read_from = Some(now.plus_millis(AGAIN_AFTER));
                if let Some(reading) = self.reading(source) {
                    reading.is_reading = false;
                }
            }
            Happening::Ended(seq, outcome) => self.ended(seq, &outcome, now),
            Happening::Absent(seq, absence) => self.absent(seq, absence),
            Happening::Saved => {
                if let Some(saving) = self.saving.take() {
                    self.lease_until = saving.lease_until;
                    if saving.lease_until.is_none() {
                        return self.end();
                    }
                }
            }
            Happening::SaveFailed => self.save_failed(),
            Happening::Stale => return self.end(),
            Happening::Drain => self.phase = Phase::Draining,
        }
        let mut actions = Vec::new();
        self.read(&mut actions);
        self.begin(&mut actions);
        self.advance_cursor();
        self.save_if_due(&mut actions);
        actions
    }

    fn end(&mut self) -> Vec<Action> {
        self.phase = Phase::Ended;
        vec![Action::End]
    }

    fn reading(&mut self, source: Source) -> Option<&mut Reading> {
        match source {
            Source::Log => Some(&mut self.log),
            Source::Replay => self.replay.as_mut(),
        }
    }

    fn take_page(&mut self, source: Source, page: &Page) {
        self.head = (self.head.0.max(page.head), true);
        let to = match source {
            Source::Log => u64::MAX,
            Source::Replay => self.state.replays.first().map_or(0, |replay| replay.to),
        };
        let open: BTreeSet<u64> = self.state.open.keys().copied().collect();
        let taken = self.reading(source).map(|reading| reading.take(page, to, |seq| open.contains(&seq)));
        if let Some(Some((from, upto))) = taken {
            self.log_expired(from, upto);
        }
        let oldest = page.oldest;
        let expired: Vec<u64> = self
            .state
            .open
            .range(..oldest)
            .map(|(seq, _)| *seq)
            .filter(|seq| !self.in_flight.contains(seq))
            .collect();
        for seq in expired {
            self.absent(seq, Absence::Expired);
        }
        self.is_dirty = true;
    }

    /// An event that cannot be sent any more is not open.
    fn absent(&mut self, seq: u64, absence: Absence) {
        self.in_flight.remove(&seq);
        if self.state.open.remove(&seq).is_some() {
            self.is_dirty = true;
            self.unsaved += 1;
            if absence == Absence::Expired {
                self.log_expired(seq, seq);
            }
        }
    }

    fn log_expired(&mut self, from: u64, upto: u64) {
        let upto = (upto > from).then_some(upto);
        self.log_attempt(from, upto, 0, AttemptResult::Expired, &Default::default());
    }

    fn read(&mut self, actions: &mut Vec<Action>) {
        let may_read = self.is_active() && self.read_from.is_none_or(|from| from <= self.now);
        if !may_read || self.lease_until.is_none() {
            return;
        }
        let head = self.known_head();
        if let Some(replay) = self.state.replays.first() {
            let reading = self.replay.get_or_insert_with(|| Reading::after(replay.next.saturating_sub(1)));
            if reading.wants_page(replay.to) {
                reading.is_reading = true;
                actions.push(Action::Read(Source::Replay, reading.read_to));
            }
        }
        if self.log.wants_page(head) {
            self.log.is_reading = true;
            actions.push(Action::Read(Source::Log, self.log.read_to));
        }
    }

    /// The newest event; before the first page, the log is read in any case.
    pub(super) fn known_head(&self) -> u64 {
        if self.head.1 { self.head.0 } else { u64::MAX }
    }

    /// Whether something new may begin: not at the end, and not while the lease is given back.
    fn is_active(&self) -> bool {
        self.phase == Phase::Running
            && !self.state.is_stopped
            && self.saving.as_ref().is_none_or(|saving| saving.lease_until.is_some())
    }

    /// Whether a request may begin: the lease outlasts it.
    fn may_begin(&self) -> bool {
        let limit = match self.settings.mode {
            Mode::Parallel => self.window,
            Mode::Ordered => 1,
        };
        self.is_active()
            && self.in_flight.len() < limit
            && self.unsaved + self.in_flight.len() + self.saving.as_ref().map_or(0, |saving| saving.outcomes)
                < MAX_UNSAVED
            && self.lease_until.is_some_and(|until| until.millis_since(self.now) >= LEASE_LEFT)
            && self.state.rest_until.is_none_or(|rest| rest <= self.now)
    }

    /// Whether an event may be sent for the first time. An endpoint that fails gets one such event at a time.
    fn may_begin_first(&self) -> bool {
        let is_probed = self.state.failures >= FAILURES_BEFORE_PROBES;
        let no_probe_runs = || {
            self.in_flight.iter().all(|seq| self.state.open.get(seq).is_some_and(|open| open.failures > 0))
        };
        self.has_room()
            && self.state.probe_at.is_none_or(|at| at <= self.now)
            && (!is_probed || no_probe_runs())
    }

    /// Whether another event may become open.
    pub(super) fn has_room(&self) -> bool {
        match self.settings.mode {
            Mode::Parallel => self.state.open.len() < MAX_OPEN,
            Mode::Ordered => self.state.open.is_empty(),
        }
    }

    fn begin(&mut self, actions: &mut Vec<Action>) {
        while self.may_begin() {
            let Some(seq) = self.next_retry().or_else(|| self.next_first()) else { return };
            let open = self.state.open.entry(seq).or_insert(Open { failures: 0, next_at: self.now });
            actions.push(Action::Send(seq, open.failures + 1));
            self.in_flight.insert(seq);
            self.is_dirty = true;
        }
    }

    /// The open event that has been due for longest.
    fn next_retry(&self) -> Option<u64> {
        let due = self
            .state
            .open
            .iter()
            .filter(|(seq, open)| open.next_at <= self.now && !self.in_flight.contains(seq));
        due.min_by_key(|(seq, open)| (open.next_at, **seq)).map(|(seq, _)| *seq)
    }

    /// The next event for its first attempt: log and replay in turns.
    fn next_first(&mut self) -> Option<u64> {
        if !self.may_begin_first() {
            return None;
        }
        loop {
            let from_replay = self.replay.as_ref().and_then(|replay| replay.waiting.front());
            let take_replay = from_replay.is_some() && (self.is_replays_turn || self.log.waiting.is_empty());
            self.is_replays_turn = !take_replay;
            let source = if take_replay { Source::Replay } else { Source::Log };
            let seq = self.reading(source)?.waiting.pop_front()?;
            // A replay may meet an event that has become open since it was read.
            if !self.state.open.contains_key(&seq) {
                return Some(seq);
            }
        }
    }

    /// The cursor goes up to the first event that was not begun; in ordered mode also not past the open one.
    fn advance_cursor(&mut self) {
        let begun = self.log.begun_to();
        let cursor = match (self.settings.mode, self.state.open.keys().next()) {
            (Mode::Ordered, Some(open)) => begun.min(open - 1),
            _ => begun,
        };
        self.state.cursor = self.state.cursor.max(cursor);
        if let (Some(reading), Some(replay)) = (&self.replay, self.state.replays.first_mut()) {
            replay.next = reading.begun_to().saturating_add(1);
            if reading.is_done(replay.to) {
                self.state.replays.remove(0);
                self.replay = None;
                self.is_dirty = true;
            }
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) fn touch(&mut self) {
        self.is_dirty = true;
        self.unsaved += 1;
    }
}
