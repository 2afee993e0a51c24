//! `limits`: the windows of a key are exact.

use openapi_core::limits::SlidingLog;

use super::Options;
use crate::limits_oracle::sequences;
use crate::machine::monotonic;
use crate::report::{Measured, Reach, Report};

pub(super) fn run(options: &Options) -> Measured {
    let begun = monotonic();
    let found = sequences::<SlidingLog>(options.seed, options.sequences);
    let mut report = Report::new("limits");
    report.condition(format!(
        "openapi_core::limits::SlidingLog under random limits and arrivals (bursts, window edges, pauses, retries \
         exactly after Retry-After), judged by an oracle; seed {}; {:.1} s",
        options.seed,
        begun.elapsed().as_secs_f64()
    ));
    report.detail("arrival sequences", found.sequences as f64, "");
    report.detail("arrivals", found.arrivals as f64, "");
    report.detail("refusals", found.refusals as f64, "");
    report.detail("requests sent exactly after Retry-After", found.retries as f64, "");
    for (what, count) in [
        ("windows over their limit", found.windows_over),
        ("refusals after Retry-After", found.refused_retries),
        ("refusals although both windows had room", found.needless),
        ("waits announced a second or more too long", found.long_waits),
        ("wrong numbers of remaining requests", found.wrong_remaining),
    ] {
        report.figure(what, count as f64, "", Reach::AtMost(0.0));
    }
    Ok(report)
}
