//! Simulates power loss, for tests of components that promise durable writes.
//!
//! A process runs under `strace`. The trace yields its file operations and its outbound messages ([`Event`]).
//! [`after_cut`] then builds a folder as it may look if power fails after any event: synced data survives, and of
//! later changes any subset may survive. Killing a process cannot test this, because the operating system still writes
//! its cached data.

mod disk;
mod trace;

use std::path::Path;
use std::process::Command;

pub use disk::after_cut;
pub use trace::{Event, events};

/// The traced system calls. Those with a question mark exist only on some processors.
const CALLS: &str = "trace=write,pwrite64,writev,sendto,fsync,fdatasync,openat,linkat,unlinkat,mkdirat,renameat2,\
                     ftruncate,?link,?unlink,?mkdir,?rename,?renameat";

/// A command that runs `program` under `strace` and writes the trace to the file `trace`. The child process is the
/// program itself. The trace is finished once [`is_complete`] returns true.
#[must_use]
pub fn traced(program: impl AsRef<Path>, trace: &Path) -> Command {
    let mut command = Command::new("strace");
    command
        .args(["-D", "-f", "-y", "-xx", "-s", "1000000", "-e", CALLS, "-o"])
        .arg(trace)
        .arg(program.as_ref());
    command
}

/// An error message for a failed start of [`traced`], with the remedy.
#[must_use]
pub fn not_traced(error: &std::io::Error) -> String {
    format!("{error}: install strace: apt-get install --yes strace")
}

/// Whether the trace contains the exit of the process `pid`.
#[must_use]
pub fn is_complete(trace: &str, pid: u32) -> bool {
    trace.lines().rev().any(|line| {
        line.strip_prefix(&pid.to_string()).is_some_and(|rest| rest.trim_start().starts_with("+++"))
    })
}
