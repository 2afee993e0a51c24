//! The binary `benches`: one benchmark for each figure that `docs/performance.md` reports.

mod bare;
mod bare_file;
mod cli;
mod cores;
mod data;
mod figures;
mod internal;
mod limits_oracle;
mod load;
mod machine;
mod raw_read;
mod report;
mod servers;
mod statistics;
mod subprocess;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    internal::run(&arguments).unwrap_or_else(|| cli::run(arguments))
}
