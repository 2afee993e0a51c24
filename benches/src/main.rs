//! The binary `benches`: one benchmark for each figure that `docs/performance.md` reports.

#![expect(
    dead_code,
    reason = "the load generator and the started servers wait for the figures that use them"
)]

mod bare;
mod cli;
mod data;
mod figures;
mod internal;
mod limits_oracle;
mod load;
mod machine;
mod report;
mod servers;
mod statistics;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    internal::run(&arguments).unwrap_or_else(|| cli::run(arguments))
}
