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

use self::frame::ASKED;
pub use self::frame::Confinement;
pub use self::parent::{Reader, Worker, WorkerError};

/// Is the worker if the program was started as one, and returns at once with `None` otherwise. What it returns is what
/// `main` is to return.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == ASKED && arguments.next().is_none()).then(child::run)
}
