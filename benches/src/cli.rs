//! The command line.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, ValueEnum};
use serde_json::json;

use crate::figures::{Benchmark, Options};
use crate::machine;

const AFTER_HELP: &str = "Each benchmark compares in one run and ends with its verdicts:\n  \
    figure NAME: WHAT: MEASURED, to be BOUND: reached | MISSED\n\n\
    Examples:\n  \
    cargo run --profile dist -p benches -- api-get\n  \
    cargo run --profile dist -p benches -- limits --sequences 20000\n  \
    cargo run --profile dist -p benches -- all --json > figures.json\n\n\
    Exit status: 0 every figure reached, 1 a figure missed or not measured, 2 wrong usage.";

/// Measures the figures that docs/performance.md reports.
#[derive(Parser)]
#[command(name = "benches", after_help = AFTER_HELP, max_term_width = 110)]
struct Arguments {
    /// The benchmarks to run, in this order; `all` is every one
    #[arg(required = true, value_name = "NAME", value_parser = names())]
    names: Vec<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Duration of one measurement; comparisons take several
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    seconds: f64,
    /// Connections of the load generator
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    connections: u64,
    /// Contacts of the large agent; its database is built once under target/bench-data
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(10_000..=10_000_000))]
    contacts: u64,
    /// Readers of `event-streams`
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    readers: u64,
    /// Queued jobs of the first agent of `jobs`
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    jobs: u64,
    /// Events of the erased contact of `log-scrub`
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    events: u64,
    /// Arrival sequences of `limits`
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    sequences: u64,
    /// How long `fleet-limits` overloads the servers of each store
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    minutes: u32,
    /// Seed of the random arrivals of `limits`
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// The names of the benchmarks and `all`, each with its help text.
fn names() -> Vec<clap::builder::PossibleValue> {
    let benchmarks = Benchmark::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    benchmarks.chain([clap::builder::PossibleValue::new("all").help("Every benchmark")]).collect()
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))?;
    if (0.1..=60.0).contains(&seconds) { Ok(seconds) } else { Err("give 0.1 to 60 seconds".to_owned()) }
}

/// Runs the program.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let shown = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let _ = error.print();
            return ExitCode::from(if shown { 0 } else { 2 });
        }
    };
    let chosen: Vec<Benchmark> = if arguments.names.iter().any(|name| name == "all") {
        Benchmark::value_variants().to_vec()
    } else {
        arguments.names.iter().filter_map(|name| Benchmark::from_str(name, false).ok()).collect()
    };
    let options = Options {
        seconds: arguments.seconds,
        connections: usize::try_from(arguments.connections).unwrap_or(1),
        contacts: arguments.contacts,
        readers: usize::try_from(arguments.readers).unwrap_or(1),
        jobs: usize::try_from(arguments.jobs).unwrap_or(1),
        events: arguments.events,
        sequences: arguments.sequences,
        minutes: arguments.minutes,
        seed: arguments.seed,
    };
    measure(&chosen, &options, arguments.json)
}

fn measure(chosen: &[Benchmark], options: &Options, as_json: bool) -> ExitCode {
    if cfg!(debug_assertions) {
        eprintln!("warning: built without optimisation; run with cargo run --profile dist -p benches");
    }
    let machine = machine::kind();
    if !as_json {
        println!("machine: {machine}");
    }
    let mut reached = true;
    let mut documents = Vec::new();
    for benchmark in chosen {
        match benchmark.run(options) {
            Ok(report) => {
                reached &= report.is_reached();
                if as_json {
                    documents.push(report.json());
                } else {
                    println!("\n{}", report.text().trim_end());
                }
            }
            Err(error) => {
                reached = false;
                let name = benchmark.to_possible_value().map(|value| value.get_name().to_owned());
                let name = name.unwrap_or_default();
                eprintln!("{name}: could not be measured: {error}");
                documents.push(json!({ "name": name, "error": error.to_string(), "reached": false }));
            }
        }
    }
    if as_json {
        println!("{:#}", json!({ "machine": machine, "benchmarks": documents, "reached": reached }));
    }
    ExitCode::from(u8::from(!reached))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
        for bad in [&["benches"][..], &["benches", "nothing"], &["benches", "limits", "--seconds", "0"]] {
            assert!(Arguments::try_parse_from(bad).is_err(), "{bad:?}");
        }
        assert!(Arguments::try_parse_from(["benches", "limits", "faults", "--json"]).is_ok());
    }
}
