//! When things are tried again.

/// The pauses before the second to the tenth attempt of an event, in seconds.
const PAUSES: [i64; 9] =
    [5, 5 * 60, 30 * 60, 2 * 3_600, 5 * 3_600, 10 * 3_600, 14 * 3_600, 20 * 3_600, 24 * 3_600];
/// How many attempts an event has.
pub const MAX_ATTEMPTS: u8 = 10;
/// How far jitter moves a pause, in hundredths of it.
const JITTER_PERCENT: i64 = 20;
/// The first and the longest pause between probes of an endpoint that fails, in milliseconds.
const PROBES: (i64, i64) = (5_000, 300_000);
/// The failures in a row from which an endpoint is only probed.
pub const FAILURES_BEFORE_PROBES: u32 = 10;

/// The pause after the failure with this number, from 1, in milliseconds, without jitter. `None` after the last attempt.
#[must_use]
pub fn pause(failures: u8) -> Option<i64> {
    let at = usize::from(failures.checked_sub(1)?);
    PAUSES.get(at).map(|seconds| seconds * 1_000)
}

/// A pause with jitter of up to 20 % in both directions, so that events that failed together do not return together. The
/// same event, attempt and seed have the same jitter.
#[must_use]
pub fn jittered(pause: i64, seed: u64, seq: u64, failures: u8) -> i64 {
    let span = pause / 100 * JITTER_PERCENT;
    let random = mix(seed ^ mix(seq ^ mix(u64::from(failures))));
    // The modulus is positive and fits.
    let width = u64::try_from(2 * span + 1).unwrap_or(1);
    pause - span + i64::try_from(random % width).unwrap_or_default()
}

/// The pause before the next probe, after this many failures of the endpoint in a row, in milliseconds.
#[must_use]
pub fn probe_pause(failures: u32) -> i64 {
    let doublings = failures.saturating_sub(FAILURES_BEFORE_PROBES).min(16);
    (PROBES.0 << doublings).min(PROBES.1)
}

/// How long the whole endpoint rests after a response that asks for it, in milliseconds: as long as `Retry-After` says,
/// between the pause of the event and twice that. No more than the longest pause of a probe is imposed on other events
/// unless the receiver asks for it.
#[must_use]
pub fn rest(pause: i64, retry_after: Option<i64>) -> i64 {
    let least = pause.min(PROBES.1);
    retry_after.map_or(least, |asked| asked.clamp(least, 2 * pause))
}

/// The output function of SplitMix64: every bit of the number moves every bit of the result.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule() {
        let pauses: Vec<i64> = (0..=11).filter_map(pause).map(|pause| pause / 1_000).collect();
        assert_eq!(pauses, [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
        assert_eq!((pause(0), pause(MAX_ATTEMPTS - 1), pause(MAX_ATTEMPTS)), (None, Some(86_400_000), None));
        let probes: Vec<i64> = (10..18).map(|failures| probe_pause(failures) / 1_000).collect();
        assert_eq!(probes, [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!((probe_pause(0), probe_pause(u32::MAX)), (5_000, 300_000));
    }

    #[test]
    fn jitter_is_spread_evenly_within_its_bounds() {
        let moved: Vec<i64> = (0..10_000).map(|seq| jittered(100_000, 7, seq, 1)).collect();
        assert!(moved.iter().all(|pause| (80_000..=120_000).contains(pause)));
        for tenth in 0..10 {
            let (from, to) = (80_000 + tenth * 4_000, 84_000 + tenth * 4_000);
            let share = moved.iter().filter(|pause| (from..to).contains(*pause)).count();
            assert!((800..1_200).contains(&share), "{share} of 10,000 between {from} and {to}");
        }
        assert_ne!(jittered(100_000, 7, 1, 1), jittered(100_000, 8, 1, 1));
        assert_ne!(jittered(100_000, 7, 1, 1), jittered(100_000, 7, 1, 2));
        assert_eq!(jittered(100_000, 7, 1, 1), jittered(100_000, 7, 1, 1));
    }

    #[test]
    fn rests_follow_the_receiver_within_bounds() {
        for (pause, asked, expected) in [
            (5, None, 5),
            (5, Some(0), 5),
            (5, Some(7), 7),
            (5, Some(3_600), 10),
            (1_800, None, 300),
            (1_800, Some(60), 300),
            (1_800, Some(2_000), 2_000),
            (1_800, Some(9_000), 3_600),
        ] {
            assert_eq!(
                rest(pause * 1_000, asked.map(|s: i64| s * 1_000)),
                expected * 1_000,
                "{pause} {asked:?}"
            );
        }
    }
}
