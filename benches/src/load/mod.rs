//! The load generator: a subprocess that the benchmarks start with `internal load`. It sends requests continuously
//! over HTTP/1.1 and counts the responses.

mod client;
mod plan;

use std::io::{Read, Write};
use std::process::Stdio;

pub(crate) use plan::{Outcome, Plan, Work};

use crate::report::Failure;
use crate::subprocess;

/// The name of this subprocess.
pub(crate) const COMMAND: &str = "load";

/// Runs a plan in a subprocess.
///
/// # Errors
/// If the subprocess fails, a connection breaks or a response has another status than the plan expects.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, Failure> {
    let mut child = subprocess::command(COMMAND)?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&serde_json::to_vec(plan)?)?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err("the load generator failed; its output is above".into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The subprocess side of [`run`].
pub(crate) fn serve() -> Result<(), Failure> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let plan: Plan = serde_json::from_slice(&input)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let outcome = runtime.block_on(client::run(plan))?;
    std::io::stdout().write_all(&serde_json::to_vec(&outcome)?)?;
    Ok(())
}
