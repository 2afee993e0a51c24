//! `event-log`, `engine-event-log`: what the event log adds to creates.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use conversations::storage::ConversationStorage;
use http::{Request, StatusCode};
use http_body_util::Full;
use openapi_core::api::{Api, PeerAddress};
use openapi_core::json::Json;
use openapi_core::storage::{ContactWrite, Result as StorageResult};
use openapi_core::values::AgentId;
use parking_lot::Mutex;
use storage_sqlite::{SqliteConfig, SqliteStorage};
use testkit::delegate::Delegate;
use tokio::task::JoinSet;

use crate::data;
use crate::figures::{Options, engines};
use crate::machine::{monotonic, process_cpu};
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::statistics::Samples;
use crate::world::{Credentials, Host, Person, REQUESTS_OF_A_KEY};

/// Rounds, each with and without events. Many short ones, because the speed of a shared disk varies by the second.
const ROUNDS: u64 = 31;

/// The fraction of the duration that each half of a round takes.
const PART: f64 = 1.0 / 3.0;

/// Above the rate of creates; determines the number of keys.
const FASTEST: f64 = 20_000.0;

/// The numbers of the contacts of one half of a round.
const NUMBERS: u64 = 10_000_000;

/// A store that may leave out the events of creates.
struct Switched {
    inner: Arc<dyn ConversationStorage>,
    is_off: AtomicBool,
}

impl Switched {
    /// Overrides the method of the store. The write is copied in both cases, so that the copy counts for both.
    async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> StorageResult<()> {
        let mut write = write.clone();
        if self.is_off.load(Ordering::Relaxed) {
            write.effects.events.clear();
        }
        self.inner.insert_contact(agent, &write).await
    }
}

impl Delegate for Switched {
    type Inner = dyn ConversationStorage;

    fn inner(&self) -> &Self::Inner {
        &*self.inner
    }
}

testkit::delegate_storage!(Switched);

/// A platform in this process, and the keys of its clients.
struct Bench {
    store: Arc<Switched>,
    api: Api,
    agent: String,
    /// The keys, each with the number of requests that it was used for.
    keys: Mutex<Vec<(Credentials, usize)>>,
}

/// The result of one half of a round.
struct Done {
    rate: f64,
    /// Time of this process's processors for each create, in microseconds.
    cpu_us: f64,
}

impl Bench {
    async fn new(inner: Arc<dyn ConversationStorage>, options: &Options) -> Result<Self, Failure> {
        let store = Arc::new(Switched { inner, is_off: AtomicBool::new(false) });
        let host = Arc::new(Host::new(Arc::clone(&store) as _)?);
        let agent = data::agent()?;
        host.agent(&agent).await?;
        let creates = FASTEST * options.seconds * PART * (2 * ROUNDS + 1) as f64;
        let count = options.connections + (creates / REQUESTS_OF_A_KEY as f64) as usize;
        let keys = host.keys(&agent, count).await?;
        let keys = Mutex::new(keys.into_iter().map(|key| (key, 0)).collect());
        Ok(Bench { store, api: host.api()?, agent: agent.to_string(), keys })
    }

    /// Creates contacts for this long, over as many tasks as a server has connections.
    async fn create(self: &Arc<Self>, options: &Options, is_off: bool, from: u64) -> Result<Done, Failure> {
        self.store.is_off.store(is_off, Ordering::Relaxed);
        let next = Arc::new(AtomicU64::new(from));
        let (cpu, begun) = (process_cpu(std::process::id())?, monotonic());
        let ends = begun + Duration::from_secs_f64(options.seconds * PART);
        let mut tasks = JoinSet::new();
        for client in 0..options.connections {
            let (bench, next) = (Arc::clone(self), Arc::clone(&next));
            tasks.spawn(async move { bench.create_until(ends, client, &next).await });
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        let took = begun.elapsed().as_secs_f64();
        let used = (process_cpu(std::process::id())? - cpu).as_secs_f64();
        let count = (next.load(Ordering::Relaxed) - from) as f64;
        Ok(Done { rate: count / took, cpu_us: used * 1e6 / count })
    }

    async fn create_until(&self, ends: Instant, client: usize, next: &AtomicU64) -> Result<(), Failure> {
        let take = || self.keys.lock().pop().ok_or("there are too few keys");
        let mut key = take()?;
        while monotonic() < ends {
            if key.1 >= REQUESTS_OF_A_KEY {
                key = take()?;
            }
            key.1 += 1;
            let request = self.request(&key.0, client, next.fetch_add(1, Ordering::Relaxed))?;
            let response = self.api.handle(request).await;
            let status = response.status();
            if status != StatusCode::CREATED {
                let body = response.into_body().into_bytes().unwrap_or_default();
                return Err(format!("answered {status}: {}", String::from_utf8_lossy(&body)).into());
            }
        }
        self.keys.lock().insert(0, key);
        Ok(())
    }

    fn request(
        &self,
        key: &Credentials,
        client: usize,
        number: u64,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let body = Json::Object(Person::new(number).body()).to_text();
        let request = Request::post(format!("/v1/open/contacts/chatbots/{}", self.agent))
            .header("host", "127.0.0.1:8080")
            .header("x-api-key", &key.key)
            .header("x-api-secret", &key.secret)
            .header("content-type", "application/json")
            .header("content-length", body.len())
            .extension(PeerAddress([192, 0, 2, (client % 200) as u8].into()))
            .body(Full::from(body))?;
        Ok(request)
    }
}

/// The rounds.
#[derive(Default)]
struct Rounds {
    with: Samples,
    without: Samples,
    /// The rate without events divided by the rate with them.
    rates: Samples,
    /// The processor time with events divided by that without.
    cpu: Samples,
}

async fn measure(inner: Arc<dyn ConversationStorage>, options: &Options) -> Result<Rounds, Failure> {
    let bench = Arc::new(Bench::new(inner, options).await?);
    let mut rounds = Rounds::default();
    let mut half = 0;
    let mut create = async |is_off| {
        half += 1;
        bench.create(options, is_off, NUMBERS * half).await
    };
    // Warm-up: files grow and caches fill.
    create(false).await?;
    for round in 0..ROUNDS {
        // The order alternates, because each half leaves its work to the next one.
        let is_off_first = round.is_multiple_of(2);
        let first = create(is_off_first).await?;
        let second = create(!is_off_first).await?;
        let (without, with) = if is_off_first { (first, second) } else { (second, first) };
        rounds.rates.push(without.rate / with.rate);
        rounds.cpu.push(with.cpu_us / without.cpu_us);
        rounds.with.push(with.rate);
        rounds.without.push(without.rate);
    }
    Ok(rounds)
}

fn condition(options: &Options) -> String {
    format!(
        "POST of contacts with every field set through Api::handle, by {} tasks; a store in this process leaves out the \
         events of every other half round; {ROUNDS} rounds of 2 × {} s, medians",
        options.connections,
        number(options.seconds * PART)
    )
}

fn add(report: &mut Report, name: &str, rounds: &Rounds, most: f64) {
    report.detail(format!("{name}: creates with events"), rounds.with.median(), "/s");
    report.detail(format!("{name}: creates without events"), rounds.without.median(), "/s");
    report.detail(format!("{name}: middle half of the rounds, from"), rounds.rates.quantile(0.25), "×");
    report.detail(format!("{name}: middle half of the rounds, to"), rounds.rates.quantile(0.75), "×");
    report.detail(format!("{name}: processor time of a create with events"), rounds.cpu.median(), "×");
    let what = format!("{name}: time of a create with events, relative to without");
    report.figure(what, rounds.rates.median(), "×", Reach::AtMost(most));
}

pub(in crate::figures) fn run(options: &Options) -> Measured {
    let path = data::empty("event-log")?;
    let runtime = data::runtime()?;
    let store = Arc::new(SqliteStorage::open(SqliteConfig::new(&path))?);
    let rounds = runtime.block_on(measure(store, options))?;
    drop(runtime);
    data::remove_database(&path)?;
    let mut report = Report::new("event-log");
    report.condition(condition(options));
    add(&mut report, "SQLite", &rounds, 1.03);
    Ok(report)
}

pub(in crate::figures) fn on_engines(options: &Options) -> Measured {
    let mut report = Report::new("engine-event-log");
    report.condition(condition(options));
    report.condition("engine and service share the machine; PostgreSQL syncs every commit");
    let runtime = data::runtime()?;
    let engine = engines::durable_postgres();
    let rounds = runtime.block_on(async {
        measure(engines::Opened::postgres(&engine.url()).await?.storage, options).await
    })?;
    add(&mut report, "PostgreSQL", &rounds, 1.05);
    drop(engine);
    let (_engine, url) = engines::single_mongo();
    let rounds =
        runtime.block_on(async { measure(engines::Opened::mongo(&url).await?.storage, options).await })?;
    add(&mut report, "MongoDB", &rounds, 1.05);
    Ok(report)
}
