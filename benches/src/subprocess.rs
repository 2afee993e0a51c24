//! How the benchmarks start themselves as a subprocess.

use std::process::Command;

/// The first argument of a subprocess; internal.
pub(crate) const ARGUMENT: &str = "internal";

/// The command that starts the subprocess of this name.
///
/// # Errors
/// If the path of this program is unknown.
pub(crate) fn command(name: &str) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([ARGUMENT, name]);
    Ok(command)
}
