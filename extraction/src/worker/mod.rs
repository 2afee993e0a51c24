//! Reading documents in a process of its own, which can do nothing but compute, and is killed when it takes too long.
//!
//! The process is the host's own program, started again: its `main` begins with
//!
//! ```no_run
//! # use std::process::ExitCode;
//! fn main() -> ExitCode {
//!     if let Some(code) = extraction::worker::run_if_asked() {
//!         return code;
//!     }
//!     // What the program does otherwise.
//! #   ExitCode::SUCCESS
//! }
//! ```
//!
//! A host that cannot do this names a program that can ([`Worker::at`]; this crate has one, `extraction-worker`), or
//! decides to read in its own process ([`Reader::InProcess`]), where a hostile document takes the host's memory and
//! stack.

mod child;
#[cfg(target_os = "linux")]
mod confine;
mod frame;
mod parent;

use std::process::ExitCode;

use serde::{Deserialize, Serialize};

pub use parent::{Reader, Worker, WorkerError};

/// The argument that asks a program to be a worker.
const ASKED: &str = "extraction-worker";

/// Is the worker if the program was started as one, and returns at once with `None` otherwise. What it returns is what
/// `main` is to return.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == ASKED && arguments.next().is_none()).then(child::run)
}

/// What keeps a worker in. What the system does not have is not in force; the rest is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Limits on memory, processor time, files and descriptors.
    pub limits: bool,
    /// No files and, on newer systems, no network (landlock).
    pub landlock: bool,
    /// Only the system calls that computing needs (seccomp).
    pub seccomp: bool,
}

/// What a worker may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Allowance {
    memory: u64,
    cpu: u64,
    cpu_page: u64,
    pages: u64,
}
