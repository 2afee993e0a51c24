//! Reads documents in a sandboxed worker process, which can only compute and is killed at its timeout.
//!
//! The worker is the host's own executable, started again. Its `main` begins with
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
mod frame;
mod parent;
#[cfg(target_os = "linux")]
mod sandbox;

use std::process::ExitCode;

use self::frame::ASKED;
pub use self::frame::Sandbox;
pub use self::parent::{Reader, Worker, WorkerError};

/// Runs the worker if the program was started as one; returns `None` at once otherwise. Return the exit code from
/// `main`.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == ASKED && arguments.next().is_none()).then(child::run)
}
