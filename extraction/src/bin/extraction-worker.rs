//! A worker for hosts whose own program cannot be one.

use std::process::ExitCode;

fn main() -> ExitCode {
    extraction::worker::run_if_asked().unwrap_or_else(|| {
        eprintln!("This program reads documents for another one, which starts it.");
        ExitCode::from(2)
    })
}
