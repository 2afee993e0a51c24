//! Random arrival sequences against a limiter, judged by an oracle that knows only the rule: limits on the admitted
//! requests in any 60 s and in any 3,600 s.

use openapi_core::access::RateLimits;
use openapi_core::limits::{Decision, SlidingLog};
use openapi_core::values::Timestamp;

use crate::world::SplitMix64;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 3_600_000;
const START: i64 = 1_769_856_000_000;

/// A limiter under test.
pub(crate) trait Limiter {
    /// A new limiter.
    fn fresh() -> Self;
    /// Decides on a request at `now` (milliseconds since the epoch) and counts it if admitted.
    fn admit(&mut self, now: i64, limits: RateLimits) -> Decision;
}

impl Limiter for SlidingLog {
    fn fresh() -> Self {
        SlidingLog::default()
    }

    fn admit(&mut self, now: i64, limits: RateLimits) -> Decision {
        SlidingLog::admit(self, Timestamp::from_millis(now), limits)
    }
}

/// The results; every count but the first three should be 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Sequences run.
    pub(crate) sequences: u64,
    /// Requests in them.
    pub(crate) arrivals: u64,
    /// Rejections in them.
    pub(crate) refusals: u64,
    /// Requests sent exactly at the end of a rejection's `Retry-After`.
    pub(crate) retries: u64,
    /// Admissions that exceed the limit of a window.
    pub(crate) windows_over: u64,
    /// Retries that were rejected.
    pub(crate) refused_retries: u64,
    /// Rejections although both windows had capacity.
    pub(crate) needless: u64,
    /// Rejections whose `Retry-After` was at least a second too long.
    pub(crate) long_waits: u64,
    /// Replies whose remaining requests do not match the windows.
    pub(crate) wrong_remaining: u64,
}

impl Findings {
    pub(crate) fn add(&mut self, other: &Findings) {
        self.sequences += other.sequences;
        self.arrivals += other.arrivals;
        self.refusals += other.refusals;
        self.retries += other.retries;
        self.windows_over += other.windows_over;
        self.refused_retries += other.refused_retries;
        self.needless += other.needless;
        self.long_waits += other.long_waits;
        self.wrong_remaining += other.wrong_remaining;
    }
}

/// The admissions of one sequence by time, with the starts of both windows.
#[derive(Default)]
struct Admitted {
    times: Vec<i64>,
    minute_from: usize,
    hour_from: usize,
}

impl Admitted {
    /// The admissions in the 60 s and the 3,600 s that end at `now`.
    fn counts(&mut self, now: i64) -> (usize, usize) {
        let begin = |from: &mut usize, window: i64| {
            while self.times.get(*from).is_some_and(|time| now - time >= window) {
                *from += 1;
            }
            self.times.len() - *from
        };
        (begin(&mut self.minute_from, MINUTE), begin(&mut self.hour_from, HOUR))
    }

    /// The milliseconds from `now` until both windows have capacity for one more.
    fn wait(&self, now: i64, limits: RateLimits) -> i64 {
        let until = |from: usize, limit: u32, window: i64| {
            let count = self.times.len() - from;
            let leaving = count.checked_sub(limit as usize).map(|over| self.times[from + over]);
            leaving.map_or(0, |time| time + window - now)
        };
        until(self.minute_from, limits.per_minute, MINUTE).max(until(self.hour_from, limits.per_hour, HOUR))
    }
}

/// Runs the sequence of this number.
pub(crate) fn sequence<L: Limiter>(seed: u64, number: u64, findings: &mut Findings) {
    let mut random = SplitMix64(seed.wrapping_add(number.wrapping_mul(0x2545_f491_4f6c_dd1d)));
    let (limits, length) = shape(&mut random);
    let rate = Rate::draw(&mut random, limits);
    let mut limiter = L::fresh();
    let mut admitted = Admitted::default();
    let mut now = START + random.below(HOUR as u64) as i64;
    let mut retry_at = None;
    findings.sequences += 1;
    for _ in 0..length {
        let retries = retry_at.take().filter(|_| random.below(2) == 0);
        now = retries.unwrap_or_else(|| now + rate.gap(&mut random));
        let (in_minute, in_hour) = admitted.counts(now);
        let has_room = in_minute < limits.per_minute as usize && in_hour < limits.per_hour as usize;
        let decision = limiter.admit(now, limits);
        findings.arrivals += 1;
        findings.retries += u64::from(retries.is_some());
        let counted = usize::from(decision.admitted);
        if decision.admitted {
            admitted.times.push(now);
            findings.windows_over += u64::from(!has_room);
        } else {
            findings.refusals += 1;
            findings.needless += u64::from(has_room);
            findings.refused_retries += u64::from(retries.is_some());
            let announced = decision.exhausted().1.reset_seconds.max(1) as i64 * 1_000;
            findings.long_waits += u64::from(announced - admitted.wait(now, limits) >= 1_000);
            retry_at = Some(now + announced);
        }
        let left = |limit: u32, used: usize| (limit as usize).saturating_sub(used);
        let right = decision.minute.remaining as usize == left(limits.per_minute, in_minute + counted)
            && decision.hour.remaining as usize == left(limits.per_hour, in_hour + counted);
        findings.wrong_remaining += u64::from(!right);
    }
}

/// Limits and a number of requests: mostly small limits, whose boundaries are reached often; sometimes the default or
/// any others up to the maximum, with enough requests to reach them as well.
fn shape(random: &mut SplitMix64) -> (RateLimits, u64) {
    let (per_minute, per_hour) = match random.below(100) {
        0..90 => {
            let per_minute = 1 + random.below(8);
            (per_minute, per_minute + random.below(20))
        }
        90..98 => (60, 1_000),
        _ => {
            let per_minute = 1 + random.below(1_000);
            (per_minute, per_minute + random.below(10_001 - per_minute))
        }
    };
    let limits = RateLimits { per_minute: per_minute as u32, per_hour: per_hour as u32 };
    let length = 1 + random.below(100 + 2 * per_hour.min(4_000));
    (limits, length)
}

/// The arrival pattern of a sequence.
struct Rate {
    /// The mean gap of ordinary requests in milliseconds.
    mean: u64,
}

impl Rate {
    /// From well below a limit to far above it.
    fn draw(random: &mut SplitMix64, limits: RateLimits) -> Self {
        let window = if random.below(2) == 0 {
            MINUTE as u64 / u64::from(limits.per_minute)
        } else {
            HOUR as u64 / u64::from(limits.per_hour)
        };
        Rate { mean: window * (1 + random.below(30)) / 10 }
    }

    /// The next gap in milliseconds: bursts at one instant, ordinary gaps, the boundaries of both windows, long
    /// pauses.
    fn gap(&self, random: &mut SplitMix64) -> i64 {
        let gap = match random.below(64) {
            0..16 => 0,
            16..24 => random.below(20),
            24..58 => random.below(2 * self.mean + 1),
            58..61 => MINUTE as u64 - 20 + random.below(40),
            61 => HOUR as u64 - 20 + random.below(40),
            62 => random.below(2 * MINUTE as u64),
            _ => random.below(2 * HOUR as u64),
        };
        gap as i64
    }
}

/// Runs `count` sequences on all cores.
pub(crate) fn sequences<L: Limiter>(seed: u64, count: u64) -> Findings {
    let workers = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let next = std::sync::atomic::AtomicU64::new(0);
    const AT_ONCE: u64 = 500;
    let work = || {
        let mut findings = Findings::default();
        loop {
            let from = next.fetch_add(AT_ONCE, std::sync::atomic::Ordering::Relaxed);
            if from >= count {
                return findings;
            }
            for number in from..(from + AT_ONCE).min(count) {
                sequence::<L>(seed, number, &mut findings);
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut all = Findings::default();
        for worker in workers {
            match worker.join() {
                Ok(findings) => all.add(&findings),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi_core::limits::WindowState;

    const SEQUENCES: u64 = 20_000;

    #[test]
    fn the_sliding_log_is_exact() {
        let findings = sequences::<SlidingLog>(7, SEQUENCES);
        let Findings { sequences, arrivals, refusals, retries, .. } = findings;
        let flawless = Findings { sequences, arrivals, refusals, retries, ..Findings::default() };
        assert_eq!(findings, flawless);
        assert_eq!(sequences, SEQUENCES);
        assert!(arrivals > 1_000_000 && refusals > 200_000 && retries > 100_000, "{findings:?}");
    }

    /// A sliding log with one mistake.
    struct Mistaken<const MISTAKE: u8> {
        log: SlidingLog,
        last: i64,
    }

    /// Uses fixed minutes and hours of the clock instead of any 60 s and 3,600 s.
    const FIXED_WINDOW: u8 = 0;
    /// Announces a second too little.
    const SHORT_WAIT: u8 = 1;
    /// Announces a second too much.
    const LONG_WAIT: u8 = 2;
    /// Admits one request too few.
    const ONE_TOO_FEW: u8 = 3;
    /// Forgets a request a millisecond early.
    const EARLY: u8 = 4;

    impl<const MISTAKE: u8> Limiter for Mistaken<MISTAKE> {
        fn fresh() -> Self {
            Mistaken { log: SlidingLog::fresh(), last: 0 }
        }

        fn admit(&mut self, now: i64, limits: RateLimits) -> Decision {
            let shifted = |state: WindowState, by: i64| WindowState {
                reset_seconds: state.reset_seconds.saturating_add_signed(by),
                ..state
            };
            match MISTAKE {
                FIXED_WINDOW => {
                    if now / MINUTE != self.last / MINUTE {
                        self.log = SlidingLog::default();
                    }
                    self.last = now;
                    Limiter::admit(&mut self.log, now / MINUTE * MINUTE, limits)
                }
                SHORT_WAIT | LONG_WAIT => {
                    let by = if MISTAKE == SHORT_WAIT { -1 } else { 1 };
                    let seen = Limiter::admit(&mut self.log, now, limits);
                    Decision { minute: shifted(seen.minute, by), hour: shifted(seen.hour, by), ..seen }
                }
                ONE_TOO_FEW => {
                    let fewer = RateLimits { per_hour: (limits.per_hour - 1).max(1), ..limits };
                    Limiter::admit(&mut self.log, now, fewer)
                }
                _ => {
                    // Each gap of the clock is stretched by a millisecond.
                    self.last += 1;
                    Limiter::admit(&mut self.log, now + self.last, limits)
                }
            }
        }
    }

    #[test]
    fn the_oracle_detects_every_mistake() {
        assert!(sequences::<Mistaken<FIXED_WINDOW>>(7, 200).windows_over > 0);
        assert!(sequences::<Mistaken<SHORT_WAIT>>(7, 200).refused_retries > 0);
        assert!(sequences::<Mistaken<LONG_WAIT>>(7, 200).long_waits > 0);
        let few = sequences::<Mistaken<ONE_TOO_FEW>>(7, 200);
        assert!(few.needless > 0 && few.wrong_remaining > 0);
        assert!(sequences::<Mistaken<EARLY>>(7, 2_000).windows_over > 0);
    }
}
