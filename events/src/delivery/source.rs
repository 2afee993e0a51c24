//! From where events come: the log after the cursor, or a range that is replayed.

use std::collections::VecDeque;

/// Events that wait for their first attempt, from which the next page is not read yet.
const READ_BELOW: usize = 64;

/// What a read is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The log after the cursor.
    Log,
    /// The first replay.
    Replay,
}

/// A page of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The number after which the page begins, as the read said.
    pub after: u64,
    /// Events in their order, without gaps: the sequence number, and whether the endpoint gets it. It does not get
    /// events of other types, and emptied ones.
    pub events: Vec<(u64, bool)>,
    /// The oldest event that is still there.
    pub oldest: u64,
    /// The newest event.
    pub head: u64,
}

/// The events between two points that were read and not begun.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    /// Up to here was read.
    pub(super) read_to: u64,
    /// Events to send, in their order.
    pub(super) waiting: VecDeque<u64>,
    pub(super) is_reading: bool,
}

impl Reading {
    pub(super) fn after(seq: u64) -> Self {
        Reading { read_to: seq, ..Reading::default() }
    }

    /// Every event up to this one was begun or filtered out.
    pub(super) fn begun_to(&self) -> u64 {
        self.waiting.front().map_or(self.read_to, |seq| seq - 1)
    }

    pub(super) fn wants_page(&self, head: u64) -> bool {
        !self.is_reading && self.read_to < head && self.waiting.len() < READ_BELOW
    }

    /// Whether everything up to `to` was begun.
    pub(super) fn is_done(&self, to: u64) -> bool {
        self.waiting.is_empty() && self.read_to >= to
    }

    /// Takes a page up to `to`, without the events for which `skip` is true. Returns the range that has expired.
    pub(super) fn take(&mut self, page: &Page, to: u64, skip: impl Fn(u64) -> bool) -> Option<(u64, u64)> {
        self.is_reading = false;
        if page.after != self.read_to {
            return None;
        }
        let gone_to = page.oldest.saturating_sub(1).min(to);
        let expired = (gone_to > self.read_to).then(|| (self.read_to + 1, gone_to));
        self.read_to = self.read_to.max(gone_to);
        for (seq, is_wanted) in &page.events {
            // A page without gaps continues where the last one ended.
            if *seq != self.read_to + 1 || *seq > to {
                continue;
            }
            self.read_to = *seq;
            if *is_wanted && !skip(*seq) {
                self.waiting.push_back(*seq);
            }
        }
        expired
    }
}
