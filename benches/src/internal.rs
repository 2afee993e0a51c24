//! Runs the subprocesses of the benchmarks: the load generator and the bare servers.

use std::process::ExitCode;

use crate::subprocess::ARGUMENT;
use crate::{bare, bare_file, load};

/// Runs the subprocess named by the arguments, if any.
pub(crate) fn run(arguments: &[std::ffi::OsString]) -> Option<ExitCode> {
    let names: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let outcome = match names[..] {
        [_, ARGUMENT, load::COMMAND] => load::serve(),
        [_, ARGUMENT, bare::COMMAND, bytes] => bare::serve(bytes),
        [_, ARGUMENT, bare_file::COMMAND, path] => bare_file::serve(path),
        _ => return None,
    };
    Some(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}
