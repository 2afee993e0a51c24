//! What the system counts for this process.

use std::time::Duration;

/// Ticks of the system's clock in a second, as all kinds of Linux count.
const TICKS: u64 = 100;

/// The processor's time of this process and of those that it started and waited for.
pub fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, which may hold anything, ends with the last bracket; user, system and the children's times are the
    // twelfth to fifteenth number after it.
    let numbers = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
    let ticks = numbers.map(|number| number.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS))
}

/// The most memory that this process has held, in bytes.
pub fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}
