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
//!
//! A worker whose sandbox is not complete reads nothing: [`WorkerError::Unconfined`]. A host whose system lacks landlock
//! or seccomp, and whose documents are trusted, says so with [`Worker::allow_unconfined`]. The worker's program also
//! starts the OCR engine, under a sandbox of its own: [`Worker::confine`].

mod child;
mod frame;
mod ocr;
mod parent;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod syscalls;

use std::process::ExitCode;

use recognition::Weights;

pub use self::frame::Sandbox;
use self::frame::{ASKED, ASKED_OCR};
pub use self::parent::{Reader, Worker, WorkerError};

/// Runs the worker if the program was started as one, or becomes the OCR engine if it was started to confine one;
/// returns `None` at once otherwise. Return the exit code from `main`.
pub fn run_if_asked() -> Option<ExitCode> {
    run_if_asked_with(None)
}

/// The same with the weights of the networks that read images in the worker: [`Worker::with_networks`].
pub fn run_if_asked_with(weights: Option<Weights>) -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next()?;
    if first == ASKED_OCR {
        return Some(ocr::run(arguments));
    }
    (first == ASKED && arguments.next().is_none()).then(|| child::run(weights))
}
