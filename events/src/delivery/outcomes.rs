//! What the end of an attempt does to the endpoint.

use openapi_core::values::Timestamp;

use super::endpoint::Delivery;
use super::state::Open;
use super::{AttemptResult, DisableReason, LoggedAttempt, MAX_IN_FLIGHT, Mode};
use crate::message::Outcome;
use crate::schedule::{FAILURES_BEFORE_PROBES, MAX_ATTEMPTS, jittered, pause, probe_pause, rest};

/// Successes of a minute after the first are not logged.
const SUCCESSES_LOGGED_EVERY: i64 = 60_000;

impl Delivery {
    /// An attempt has ended. One that this process has not begun is ignored.
    pub(super) fn ended(&mut self, seq: u64, outcome: &Outcome, now: Timestamp) {
        if !self.in_flight.remove(&seq) {
            return;
        }
        let Some(open) = self.state.open.get(&seq).copied() else { return };
        self.touch();
        if outcome.is_success() {
            self.succeeded(seq, open, outcome);
        } else {
            self.failed(seq, open, outcome, now);
        }
    }

    fn succeeded(&mut self, seq: u64, open: Open, outcome: &Outcome) {
        self.state.open.remove(&seq);
        self.window = (self.window + 1).min(MAX_IN_FLIGHT);
        self.state.succeeded_at = Some(self.now());
        (self.state.failures, self.state.failing_since, self.state.probe_at) = (0, None, None);
        let is_first_of_minute = self
            .success_logged_at
            .is_none_or(|at| !(0..SUCCESSES_LOGGED_EVERY).contains(&self.now().millis_since(at)));
        if open.failures > 0 || is_first_of_minute {
            self.success_logged_at = Some(self.now());
            self.log_attempt(seq, None, open.failures + 1, AttemptResult::Succeeded, outcome);
        }
    }

    fn failed(&mut self, seq: u64, open: Open, outcome: &Outcome, now: Timestamp) {
        let failures = open.failures.saturating_add(1);
        // A request that nobody answers holds its part of the agent's requests for 15 s, so the next one tries alone.
        if outcome.status.is_none() {
            self.window = 1;
        }
        self.state.failed_at = Some(now);
        self.state.failures = self.state.failures.saturating_add(1);
        let since = *self.state.failing_since.get_or_insert(now);
        let wait = pause(failures).map(|pause| jittered(pause, self.settings.seed, seq, failures));
        if outcome.asks_for_rest() {
            let until = now.plus_millis(rest(pause(failures).unwrap_or_default(), outcome.retry_after));
            self.state.rest_until = self.state.rest_until.max(Some(until));
        }
        if self.state.failures >= FAILURES_BEFORE_PROBES
            && (open.failures == 0 || self.state.probe_at.is_none())
        {
            self.state.probe_at = Some(now.plus_millis(probe_pause(self.state.failures)));
        }
        let is_last = failures >= MAX_ATTEMPTS;
        let is_given_up = is_last && self.settings.mode == Mode::Parallel;
        if is_given_up {
            self.state.open.remove(&seq);
        } else {
            let next_at = now.plus_millis(wait.unwrap_or_default());
            self.state.open.insert(seq, Open { failures, next_at });
        }
        let result = if is_given_up { AttemptResult::GivenUp } else { AttemptResult::Failed };
        self.log_attempt(seq, None, failures, result, outcome);
        if outcome.is_gone() {
            self.disable_because(DisableReason::Gone);
        } else if (is_last && !is_given_up) || now.millis_since(since) >= self.settings.failing_limit {
            self.disable_because(DisableReason::Failing);
        }
    }

    fn disable_because(&mut self, reason: DisableReason) {
        if !self.state.is_stopped {
            self.state.is_stopped = true;
            self.disable = Some(reason);
        }
    }

    pub(super) fn log_attempt(
        &mut self,
        seq: u64,
        upto: Option<u64>,
        attempt: u8,
        result: AttemptResult,
        outcome: &Outcome,
    ) {
        self.state.attempts += 1;
        self.attempts.push(LoggedAttempt {
            number: self.state.attempts,
            at: self.now(),
            result,
            seq,
            upto,
            attempt,
            status: outcome.status,
            error: outcome.error.map(str::to_owned),
            millis: outcome.millis,
            text: outcome.text.clone(),
        });
    }
}
