//! What a power cut leaves of a process's files, for the tests of whoever promises that acknowledged writes stay.
//!
//! A process runs under `strace`; what it did to its files ([`Event`]) is read from the trace, together with what it said
//! to others meanwhile. [`after_cut`] then makes a folder as it may be found when the power fails behind any of these
//! events: what a sync covered is there, and of what came behind it any part may be. A killed process tells little
//! about this, because the system keeps what it wrote.

mod disk;
mod trace;

use std::path::Path;
use std::process::Command;

pub use disk::after_cut;
pub use trace::{Event, events};

/// The system calls that are looked at. Those with a question mark exist only on some processors.
const CALLS: &str = "trace=write,pwrite64,writev,sendto,fsync,fdatasync,openat,linkat,unlinkat,mkdirat,renameat2,\
                     ftruncate,?link,?unlink,?mkdir,?rename,?renameat";

/// A command that runs `program` under `strace`, whose trace goes to the file `trace`. The process that is started is
/// the program itself; the trace is complete when [`is_complete`].
#[must_use]
pub fn traced(program: impl AsRef<Path>, trace: &Path) -> Command {
    let mut command = Command::new("strace");
    command
        .args(["-D", "-f", "-y", "-xx", "-s", "1000000", "-e", CALLS, "-o"])
        .arg(trace)
        .arg(program.as_ref());
    command
}

/// What went wrong when [`traced`] did not start, and what to do.
#[must_use]
pub fn not_traced(error: &std::io::Error) -> String {
    format!("{error}: install strace: apt-get install --yes strace")
}

/// Whether the trace holds the end of the process `pid`.
#[must_use]
pub fn is_complete(trace: &str, pid: u32) -> bool {
    trace.lines().rev().any(|line| {
        line.strip_prefix(&pid.to_string()).is_some_and(|rest| rest.trim_start().starts_with("+++"))
    })
}
