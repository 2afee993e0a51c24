//! Measurements of the machine: time, CPU time of threads and processes, memory, hardware.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::report::Failure;

/// Monotonic time.
#[expect(clippy::disallowed_methods, reason = "durations are what a benchmark measures")]
pub(crate) fn monotonic() -> Instant {
    Instant::now()
}

/// The time of day, in milliseconds since 1970, to compare with times that a server reports.
pub(crate) fn since_epoch() -> f64 {
    server_hyper::ports::since_epoch().as_secs_f64() * 1e3
}

/// The CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The user and system time of a process, all threads included.
///
/// # Errors
/// If the process has ended.
pub(crate) fn process_cpu(pid: u32) -> Result<Duration, Failure> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let ticks = ticks_of(&text).ok_or_else(|| format!("{path} has an unknown form: {text}"))?;
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// The fields `utime` and `stime` of proc(5), added. The name of the process, in parentheses, may contain anything.
fn ticks_of(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    // The first field after the name is the third of the line; utime and stime are the 14th and 15th.
    let mut fields = fields.split_whitespace().skip(14 - 3);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// The resident memory of a process in MiB: total, and without mapped files.
///
/// # Errors
/// If the process has ended.
pub(crate) fn process_memory(pid: u32) -> Result<(f64, f64), Failure> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let kib = |name: &str| -> Option<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    let (all, own) = (kib("VmRSS"), kib("RssAnon"));
    let (Some(all), Some(own)) = (all, own) else {
        return Err(format!("{path} tells no memory").into());
    };
    Ok((all / 1_024.0, own / 1_024.0))
}

/// The kind of machine and its other load.
pub(crate) fn kind() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let os = read("/etc/os-release");
    let os = os.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or("unknown system");
    let load = read("/proc/loadavg");
    format!(
        "{cores} cores, {} ({}), {}, load average {}",
        std::env::consts::ARCH,
        model.map_or("unknown model", |(_, model)| model),
        os.trim_matches('"'),
        load.split_whitespace().next().unwrap_or("unknown"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_parsed_after_any_process_name() {
        let line = "12 (a b) c) S 1 2 3 4 5 6 7 8 9 10 700 65 0 0 20 0 1 0";
        assert_eq!(ticks_of(line), Some(765));
        assert_eq!(ticks_of("12 (a"), None);
    }

    #[test]
    fn this_process_has_cpu_time_and_memory() {
        let pid = std::process::id();
        let before = (process_cpu(pid).unwrap(), thread_cpu());
        // By processor time, because a busy machine may grant none of a stretch of wall time. A tick has 10 ms.
        while thread_cpu() - before.1 < Duration::from_millis(30) {
            std::hint::black_box(before);
        }
        assert!(process_cpu(pid).unwrap() > before.0);
        let (all, own) = process_memory(pid).unwrap();
        assert!(all >= own && own > 0.0);
    }
}
