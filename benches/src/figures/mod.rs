//! The benchmarks, one file each.

mod api_get;
mod chat;
mod documents;
mod durable_creates;
mod engines;
mod events;
mod faults;
mod files;
mod fleet;
mod forms;
mod get_vs_hyper;
mod limits;
mod lists;
mod start;

use clap::ValueEnum;

use crate::report::Measured;

/// Command-line options.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The duration of one measurement, in seconds.
    pub(crate) seconds: f64,
    /// Connections of the load generator.
    pub(crate) connections: usize,
    /// Contacts of the large agent.
    pub(crate) contacts: u64,
    /// Readers of `event-streams`.
    pub(crate) readers: usize,
    /// Queued jobs of the first agent of `jobs`.
    pub(crate) jobs: usize,
    /// Events of the erased contact of `log-scrub`.
    pub(crate) events: u64,
    /// Arrival sequences of `limits`.
    pub(crate) sequences: u64,
    /// How long `fleet-limits` overloads servers.
    pub(crate) minutes: u32,
    /// The seed of random sequences.
    pub(crate) seed: u64,
}

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Benchmark {
    /// CPU time of a whole GET of one contact through `Api::handle` on the memory backend
    ApiGet,
    /// CPU time of a GET of one contact through the server on SQLite against bare hyper and a raw read
    GetVsHyper,
    /// Durable creates over many connections against one disk sync for each
    DurableCreates,
    /// Startup time of the server with a million contacts, and its memory afterwards
    Start,
    /// Page 1 of a list with exact total among a million contacts against a thousand
    ListScale,
    /// A search for a rare term among a million contacts against page 1 of the list
    SearchScale,
    /// Throughput of an upload of 25 MiB against writing, syncing and digesting the same bytes
    Upload,
    /// Throughput of a download of 25 MiB against bare hyper serving the same file
    Download,
    /// Growth of memory with 64 concurrent uploads of 25 MiB
    UploadMemory,
    /// Time of an extraction from a five-page text PDF
    Documents,
    /// Memory of a thousand concurrent chat replies, and their effect on the latency of the API
    StreamLimiter,
    /// Thousands of turns, forged origins, large bodies and slow heads from one address, next to honest visitors
    WidgetAbuse,
    /// CPU time of validating the answers to a form of 30 fields
    FormValidation,
    /// Durable submits of a form of 30 fields against creates of contacts
    FormSubmits,
    /// The latest submission among 1,000 superseded ones against that of one
    FormLatest,
    /// Exactness of the rate limits over random arrival sequences
    Limits,
    /// Limits of a key that two overloaded servers enforce together, on PostgreSQL and on MongoDB
    FleetLimits,
    /// GETs of one contact over 64 connections against the engine's own reads, on PostgreSQL and on MongoDB
    EngineGets,
    /// Durable creates on PostgreSQL against one insert per transaction
    PostgresCreates,
    /// Page 1 of a list with exact total among a million contacts against a thousand, on PostgreSQL and on MongoDB
    EngineLists,
    /// Creates with the event log against creates without it, on SQLite
    EventLog,
    /// Creates with the event log against creates without it, on PostgreSQL and on MongoDB
    EngineEventLog,
    /// From the commit of an event to its first byte at a webhook endpoint
    WebhookDelay,
    /// The same with two servers on one store, on PostgreSQL and on MongoDB
    EngineWebhookDelay,
    /// Deliveries a second to 64 endpoints, their cost for creates, and dead endpoints next to a healthy one
    WebhookThroughput,
    /// Memory and idle CPU time of a thousand readers of events
    EventStreams,
    /// Wait of queued extractions, on an idle queue and after 10,000 jobs of another agent
    Jobs,
    /// Erasure of a contact with many events in the log
    LogScrub,
    /// Planted faults that the conformance suite catches
    Faults,
}

impl Benchmark {
    pub(crate) fn run(self, options: &Options) -> Measured {
        match self {
            Benchmark::ApiGet => api_get::run(options),
            Benchmark::GetVsHyper => get_vs_hyper::run(options),
            Benchmark::DurableCreates => durable_creates::run(options),
            Benchmark::Start => start::run(options),
            Benchmark::ListScale => lists::list_scale(options),
            Benchmark::SearchScale => lists::search_scale(options),
            Benchmark::Upload => files::upload(options),
            Benchmark::Download => files::download(options),
            Benchmark::UploadMemory => files::upload_memory(options),
            Benchmark::Documents => documents::run(options),
            Benchmark::StreamLimiter => chat::streams(options),
            Benchmark::WidgetAbuse => chat::abuse(options),
            Benchmark::FormValidation => forms::validation(options),
            Benchmark::FormSubmits => forms::submits(options),
            Benchmark::FormLatest => forms::latest(options),
            Benchmark::Limits => limits::run(options),
            Benchmark::FleetLimits => fleet::run(options),
            Benchmark::EngineGets => engines::gets(options),
            Benchmark::PostgresCreates => engines::creates(options),
            Benchmark::EngineLists => engines::lists(options),
            Benchmark::EventLog => events::event_log(options),
            Benchmark::EngineEventLog => events::engine_event_log(options),
            Benchmark::WebhookDelay => events::webhook_delay(options),
            Benchmark::EngineWebhookDelay => events::engine_webhook_delay(options),
            Benchmark::WebhookThroughput => events::webhook_throughput(options),
            Benchmark::EventStreams => events::event_streams(options),
            Benchmark::Jobs => events::jobs(options),
            Benchmark::LogScrub => events::log_scrub(options),
            Benchmark::Faults => faults::run(),
        }
    }
}
