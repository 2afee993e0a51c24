//! The benchmarks, one file each.

mod api_get;
mod faults;
mod limits;
mod lists;

use clap::ValueEnum;

use crate::report::Measured;

/// What the command line may set.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// How long one measurement takes, in seconds.
    pub(crate) seconds: f64,
    /// Connections of the load generator.
    pub(crate) connections: usize,
    /// Contacts of the large agent.
    pub(crate) contacts: u64,
    /// Arrival sequences of `limits`.
    pub(crate) sequences: u64,
    /// What random sequences are made from.
    pub(crate) seed: u64,
}

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Benchmark {
    /// CPU time of a whole GET of one contact through `Api::handle` on the memory backend
    ApiGet,
    /// Page 1 of a list with exact total among a million contacts against a thousand
    ListScale,
    /// A search for a rare term among a million contacts against page 1 of the list
    SearchScale,
    /// Exactness of the rate limits over random arrival sequences
    Limits,
    /// Planted faults that the conformance suite catches
    Faults,
}

impl Benchmark {
    pub(crate) fn run(self, options: &Options) -> Measured {
        match self {
            Benchmark::ApiGet => api_get::run(options),
            Benchmark::ListScale => lists::list_scale(options),
            Benchmark::SearchScale => lists::search_scale(options),
            Benchmark::Limits => limits::run(options),
            Benchmark::Faults => faults::run(),
        }
    }
}
