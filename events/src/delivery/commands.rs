//! What a person changes in the stored state. The change is saved like any other, so a server that delivers meanwhile
//! finds its own save stale, drops what it has begun, and begins again with the changed state.

use openapi_core::values::Timestamp;

use super::state::{DeliveryState, Open, Replay};
use super::{MAX_OPEN, MAX_REPLAYS, Mode};

/// The endpoint has as many replays, or open events, as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the endpoint has too many replays or failed events; wait until some are settled")]
pub struct TooManyReplays;

/// The event is not one that can be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event is not waiting for another attempt")]
pub struct SkipError;

/// With which event a disabled endpoint goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// With the first that it has not got.
    Cursor,
    /// With the next one after this, which is the newest.
    Now(u64),
}

impl DeliveryState {
    /// Sends the events of a range again. What comes after the cursor is not part of it, because it is sent anyway. In
    /// ordered mode the cursor goes back, because order includes what follows.
    ///
    /// # Errors
    /// [`TooManyReplays`].
    pub fn replay(&mut self, mode: Mode, from: u64, to: u64) -> Result<(), TooManyReplays> {
        let from = from.max(1);
        let to = to.min(self.cursor);
        if from > to {
            return Ok(());
        }
        if mode == Mode::Ordered {
            self.cursor = from - 1;
            self.open.clear();
            return Ok(());
        }
        // One that touches another becomes part of it.
        let (mut from, mut to) = (from, to);
        let mut apart = Vec::with_capacity(self.replays.len() + 1);
        for replay in &self.replays {
            if replay.next <= to.saturating_add(1) && from <= replay.to.saturating_add(1) {
                (from, to) = (from.min(replay.next), to.max(replay.to));
            } else {
                apart.push(*replay);
            }
        }
        if apart.len() >= MAX_REPLAYS {
            return Err(TooManyReplays);
        }
        apart.push(Replay { next: from, to });
        self.replays = apart;
        Ok(())
    }

    /// Sends single events again; the caller leaves out those that the endpoint does not get. In ordered mode the cursor goes back before the first of them.
    ///
    /// # Errors
    /// [`TooManyReplays`]; then nothing has changed.
    pub fn replay_events(&mut self, mode: Mode, seqs: &[u64], now: Timestamp) -> Result<(), TooManyReplays> {
        if mode == Mode::Ordered {
            return match seqs.iter().min() {
                Some(first) => self.replay(mode, *first, *first),
                None => Ok(()),
            };
        }
        let mut open = self.open.clone();
        for seq in seqs.iter().filter(|seq| (1..=self.cursor).contains(*seq)) {
            open.entry(*seq).or_insert(Open { failures: 0, next_at: now }).next_at = now;
        }
        if open.len() > MAX_OPEN {
            return Err(TooManyReplays);
        }
        self.open = open;
        Ok(())
    }

    /// Passes over a failed event for good.
    ///
    /// # Errors
    /// [`SkipError`] if the event has not failed.
    pub fn skip(&mut self, mode: Mode, seq: u64) -> Result<(), SkipError> {
        self.open.remove(&seq).ok_or(SkipError)?;
        if mode == Mode::Ordered {
            self.cursor = self.cursor.max(seq);
        }
        Ok(())
    }

    /// Stops delivery. The lease stays with its owner, who notices at its next save.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Starts delivery again: open events are due at once and have all their attempts again.
    pub fn resume(&mut self, with: Resume, now: Timestamp) {
        self.is_stopped = false;
        (self.failures, self.failing_since, self.rest_until) = (0, None, None);
        // So that the endpoint is due, whatever happened meanwhile.
        self.probe_at = Some(now);
        match with {
            Resume::Cursor => {
                for open in self.open.values_mut() {
                    *open = Open { failures: 0, next_at: now };
                }
            }
            Resume::Now(head) => {
                self.cursor = self.cursor.max(head);
                self.open.clear();
                self.replays.clear();
            }
        }
    }

    /// Adapts the state to another mode. The order of an ordered endpoint begins with what is open: the cursor goes back
    /// before it. A change to parallel mode needs nothing.
    pub fn change_mode(&mut self, mode: Mode) {
        if mode == Mode::Ordered {
            let first = self.open.keys().next().copied();
            let replayed = self.replays.iter().map(|replay| replay.next).min();
            if let Some(first) = first.into_iter().chain(replayed).min() {
                self.cursor = self.cursor.min(first - 1);
            }
            self.open.clear();
            self.replays.clear();
        }
    }
}
