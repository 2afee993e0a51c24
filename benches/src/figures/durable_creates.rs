//! `durable-creates`: creates that share disk syncs against one sync for each.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use openapi_core::schema::CompiledSchema;
use storage_sqlite::SqliteConfig;

use super::Options;
use crate::data;
use crate::load::{self, Plan, Work};
use crate::machine::{monotonic, process_cpu};
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::servers::{self, Server};
use crate::statistics::Samples;
use crate::world::{Credentials, Host, write_of};

/// Rounds. The verdict uses the median round.
const ROUNDS: u64 = 9;

/// The fraction of the duration that a round takes: many short rounds, because the speed of a shared disk varies by
/// the second.
const PART: f64 = 1.0 / 3.0;

/// Requests per key, below the 1,000 allowed in a minute.
const REQUESTS_OF_A_KEY: u32 = 960;

/// Above the server's create rate; determines the number of keys.
const FASTEST: f64 = 60_000.0;

/// The numbers of the contacts of one side in one round.
const NUMBERS: u64 = 10_000_000;

/// Timed disk syncs.
const SYNCS: usize = 200;

pub(super) fn run(options: &Options) -> Measured {
    let binary = servers::binary()?;
    let database = data::empty("durable-creates")?;
    let seconds = options.seconds * PART;
    let per_round = options.connections as f64 + FASTEST * seconds / f64::from(REQUESTS_OF_A_KEY);
    let agent = data::agent()?;
    let host = Arc::new(data::open(&database)?);
    let mut keys =
        data::runtime()?.block_on(host.keys(&agent, per_round as usize * (ROUNDS as usize + 2)))?;
    drop(host);
    let server = Server::openapi(&binary, &database)?;
    let mut sides = Sides::default();
    let mut next = Numbers(0);
    // Warm-up: files grow and caches fill.
    over_http(&server, &mut keys, options.connections, 1.0, next.take())?;
    for _ in 0..ROUNDS {
        server.rest()?;
        let over = over_http(&server, &mut keys, options.connections, seconds, next.take())?;
        server.rest()?;
        let alone = |writers, batch, numbers| in_store(writers, batch, seconds, numbers);
        let concurrent = alone(options.connections, Some(1), next.take())?;
        let single = alone(1, Some(1), next.take())?;
        let grouped = alone(options.connections, None, next.take())?;
        let one_connection = over_http(&server, &mut keys, 1, seconds, next.take())?;
        server.rest()?;
        sides.ratio.push(over.rate / concurrent.rate.max(single.rate));
        sides.over_http.push(&over);
        sides.one_connection.push(&one_connection);
        sides.grouped.push(&grouped);
        sides.concurrent.push(&concurrent);
        sides.single.push(&single);
        sides.syncs.extend(&syncs()?);
    }
    server.stop()?;
    data::remove_database(&database)?;
    data::remove_database(&data::folder()?.join(format!("{STORE}.db")))?;
    Ok(sides.report(options))
}

/// The database of the sides without a server.
const STORE: &str = "durable-creates-store";

/// Contact numbers that no other side uses.
struct Numbers(u64);

impl Numbers {
    fn take(&mut self) -> u64 {
        self.0 += NUMBERS;
        self.0
    }
}

/// The result of one side.
struct Done {
    rate: f64,
    /// Busy cores of the process.
    cores: f64,
    median_us: f64,
    p99_us: f64,
}

fn over_http(
    server: &Server,
    keys: &mut Vec<Credentials>,
    connections: usize,
    seconds: f64,
    from: u64,
) -> Result<Done, Failure> {
    let plan = Plan {
        address: server.address(),
        connections,
        seconds,
        keys: keys.clone(),
        requests_of_a_key: REQUESTS_OF_A_KEY,
        awake: false,
        agent: data::agent()?.to_string(),
        work: Work::Create { from },
    };
    let before = server.cpu()?;
    let outcome = load::run(&plan)?;
    let used = server.cpu()? - before;
    keys.drain(..outcome.keys_used);
    Ok(Done {
        rate: outcome.rate(),
        cores: used.as_secs_f64() / outcome.seconds,
        median_us: outcome.median_us,
        p99_us: outcome.p99_us,
    })
}

/// Creates directly in the store, without HTTP, JSON or keys: the same rows and indexes, at most `batch` of them in a
/// commit.
fn in_store(writers: usize, batch: Option<usize>, seconds: f64, from: u64) -> Result<Done, Failure> {
    let mut config = SqliteConfig::new(data::empty(STORE)?);
    config.write_batch = batch.unwrap_or(config.write_batch);
    let host = Arc::new(data::open_with(config)?);
    let agent = data::agent()?;
    let runtime = data::runtime()?;
    let schema = Arc::new(runtime.block_on(host.schema(&agent))?);
    let next = Arc::new(AtomicU64::new(from));
    let (cpu, begun) = (process_cpu(std::process::id())?, monotonic());
    let ends = begun + Duration::from_secs_f64(seconds);
    let latencies = runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..writers {
            tasks.spawn(create_until(ends, Arc::clone(&host), Arc::clone(&schema), Arc::clone(&next)));
        }
        let mut latencies = Samples::default();
        while let Some(of_task) = tasks.join_next().await {
            latencies.extend(&of_task??);
        }
        Ok::<_, Failure>(latencies)
    })?;
    let took = begun.elapsed().as_secs_f64();
    let used = process_cpu(std::process::id())? - cpu;
    Ok(Done {
        rate: latencies.len() as f64 / took,
        cores: used.as_secs_f64() / took,
        median_us: latencies.median(),
        p99_us: latencies.quantile(0.99),
    })
}

async fn create_until(
    ends: std::time::Instant,
    host: Arc<Host>,
    schema: Arc<CompiledSchema>,
    next: Arc<AtomicU64>,
) -> Result<Samples, Failure> {
    let agent = data::agent()?;
    let mut latencies = Samples::default();
    loop {
        let write = write_of(&schema, &agent, next.fetch_add(1, Ordering::Relaxed))?;
        let begun = monotonic();
        if begun >= ends {
            return Ok(latencies);
        }
        host.storage().insert_contact(&agent, &write).await?;
        latencies.push(begun.elapsed().as_secs_f64() * 1e6);
    }
}

/// Times syncs after writes of four KiB, in microseconds.
fn syncs() -> Result<Samples, Failure> {
    let path = data::folder()?.join("syncs");
    let latencies = time_syncs(&path);
    std::fs::remove_file(&path)?;
    latencies
}

fn time_syncs(path: &Path) -> Result<Samples, Failure> {
    let mut file = File::create(path)?;
    let mut latencies = Samples::default();
    for _ in 0..SYNCS {
        let begun = monotonic();
        file.write_all(&[7; 4_096])?;
        file.sync_data()?;
        latencies.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(latencies)
}

/// The rounds of one side.
#[derive(Default)]
struct Side {
    rate: Samples,
    cores: Samples,
    median_us: Samples,
    p99_us: Samples,
}

impl Side {
    fn push(&mut self, done: &Done) {
        self.rate.push(done.rate);
        self.cores.push(done.cores);
        self.median_us.push(done.median_us);
        self.p99_us.push(done.p99_us);
    }

    fn details(&self, report: &mut Report, what: &str) {
        report.detail(what, self.rate.median(), "/s");
        report.detail("  latency, median", self.median_us.median(), "µs");
        report.detail("  latency, 99 of 100 below", self.p99_us.median(), "µs");
        report.detail("  CPU of the process", self.cores.median(), "cores");
    }
}

#[derive(Default)]
struct Sides {
    over_http: Side,
    one_connection: Side,
    grouped: Side,
    concurrent: Side,
    single: Side,
    ratio: Samples,
    syncs: Samples,
}

impl Sides {
    fn report(&self, options: &Options) -> Report {
        let mut report = Report::new("durable-creates");
        report.condition(format!(
            "POST /v1/open/contacts/chatbots/{{agentId}} of openapi-server on SQLite (synchronous=FULL) with its default \
             settings, {} connections, every field set; {ROUNDS} rounds of {} s in turns, each side in a database of \
             its own in target/bench-data; medians",
            options.connections,
            number(options.seconds * PART)
        ));
        report.condition(
            "one sync for each: the same contacts straight into the same store (no HTTP, no validation, no key) with a \
             commit and a sync for every single one; the faster of as many writers as connections and one writer",
        );
        self.over_http.details(&mut report, "openapi-server");
        self.one_connection.details(&mut report, "openapi-server, one connection");
        self.concurrent.details(&mut report, "one sync for each, many writers");
        self.single.details(&mut report, "one sync for each, one writer");
        self.grouped.details(&mut report, "the store alone, shared syncs, many writers");
        report.detail("a write of 4 KiB and its sync, median", self.syncs.median(), "µs");
        report.detail("a write of 4 KiB and its sync, 99 of 100 below", self.syncs.quantile(0.99), "µs");
        report.detail("best round", self.ratio.quantile(1.0), "×");
        report.detail("worst round", self.ratio.quantile(0.0), "×");
        report.figure("creates against one sync for each", self.ratio.median(), "×", Reach::AtLeast(8.0));
        report
    }
}
