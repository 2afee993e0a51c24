//! How many imports read a file at the same time: each may hold a file of 10 MiB, and what a workbook unpacks to.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The most at a time.
const MOST: usize = 2;

/// Counts the imports that are running.
#[derive(Default)]
pub(crate) struct Permits(AtomicUsize);

/// One that is running, until it is dropped.
pub(crate) struct Permit<'a>(&'a Permits);

impl Permits {
    /// Begins one, unless too many are running.
    pub(crate) fn take(&self) -> Option<Permit<'_>> {
        let more = |running| (running < MOST).then_some(running + 1);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok().map(|_| Permit(self))
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_run_and_no_more() {
        let permits = Permits::default();
        let mut running: Vec<Permit<'_>> = (0..MOST).map(|_| permits.take().unwrap()).collect();
        assert!(permits.take().is_none());
        running.pop();
        assert!(permits.take().is_some());
    }
}
