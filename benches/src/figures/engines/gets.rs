//! `engine-gets`: authenticated GETs against the engine's own single reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use database_servers::postgres;
use mongodb::bson::{Document, doc};

use super::{Opened, REQUESTS_OF_A_KEY, durable_postgres, serve, single_mongo};
use crate::data;
use crate::figures::Options;
use crate::load::{self, Plan, Work};
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::servers::{self, Server};
use crate::statistics::Samples;
use crate::world::{Credentials, SplitMix64};

const CONTACTS: u64 = 100_000;

/// Rounds.
const ROUNDS: usize = 5;

/// Above the server's request rate; determines the number of keys.
const FASTEST: f64 = 100_000.0;

/// Connections to PostgreSQL, of the service by default and of `pgbench`.
const POSTGRES_CONNECTIONS: &str = "8";

pub(in crate::figures) fn gets(options: &Options) -> Measured {
    let contacts = CONTACTS.min(options.contacts);
    let mut report = Report::new("engine-gets");
    report.condition(format!(
        "GET /v1/open/contacts/{{externalReferenceId}}/chatbots/{{agentId}} of openapi-server with its default settings, {} \
         connections, a contact at random of {}; in turns of {} s with `pgbench -S -M prepared` (scale 10) over \
         {POSTGRES_CONNECTIONS} connections, as many as the service has, and with find_one of the same contacts by the \
         same number of tasks as connections; {ROUNDS} rounds, medians; engine, service and load share the machine",
        options.connections,
        number(contacts as f64),
        number(options.seconds),
    ));
    on_postgres(&mut report, options, contacts)?;
    on_mongo(&mut report, options, contacts)?;
    Ok(report)
}

fn on_postgres(report: &mut Report, options: &Options, contacts: u64) -> Result<(), Failure> {
    let binary = servers::binary()?;
    let engine = durable_postgres();
    run(engine.program("pgbench").args(["--initialize", "--quiet", "--scale=10"]))?;
    let mut keys = data::runtime()?.block_on(filled(Opened::postgres(&engine.url()), options, contacts))?;
    run(engine.program("psql").args(["--quiet", "--command", "VACUUM ANALYZE"]))?;
    let service = serve(&binary, &engine.url())?;
    let (mut ours, mut theirs, mut ratios) = (Samples::default(), Samples::default(), Samples::default());
    send(&service, &mut keys, options, contacts, 1.0)?;
    for _ in 0..ROUNDS {
        let by_service = send(&service, &mut keys, options, contacts, options.seconds)?;
        let by_engine = pgbench(&engine, options.seconds)?;
        ours.push(by_service);
        theirs.push(by_engine);
        ratios.push(by_service / by_engine);
    }
    service.stop()?;
    tell(report, "PostgreSQL", "pgbench -S", (&ours, &theirs, &ratios));
    Ok(())
}

fn on_mongo(report: &mut Report, options: &Options, contacts: u64) -> Result<(), Failure> {
    let binary = servers::binary()?;
    let (_engine, url) = single_mongo();
    let runtime = data::runtime()?;
    let mut keys = runtime.block_on(filled(Opened::mongo(&url), options, contacts))?;
    let service = serve(&binary, &url)?;
    let (mut ours, mut theirs, mut ratios) = (Samples::default(), Samples::default(), Samples::default());
    send(&service, &mut keys, options, contacts, 1.0)?;
    for _ in 0..ROUNDS {
        let by_service = send(&service, &mut keys, options, contacts, options.seconds)?;
        let by_engine = runtime.block_on(find_one(&url, options, contacts))?;
        ours.push(by_service);
        theirs.push(by_engine);
        ratios.push(by_service / by_engine);
    }
    service.stop()?;
    tell(report, "MongoDB", "find_one", (&ours, &theirs, &ratios));
    Ok(())
}

/// Fills a store and creates the keys of all rounds.
async fn filled(
    open: impl Future<Output = Result<Opened, Failure>>,
    options: &Options,
    contacts: u64,
) -> Result<Vec<Credentials>, Failure> {
    let store = open.await?;
    store.fill(contacts).await?;
    let seconds = 1.0 + options.seconds * ROUNDS as f64;
    let reopened = options.connections * (ROUNDS + 1);
    store.keys(reopened + (FASTEST * seconds / f64::from(REQUESTS_OF_A_KEY)) as usize).await
}

/// Requests per second.
fn send(
    service: &Server,
    keys: &mut Vec<Credentials>,
    options: &Options,
    contacts: u64,
    seconds: f64,
) -> Result<f64, Failure> {
    let plan = Plan {
        address: service.address(),
        connections: options.connections,
        seconds,
        keys: keys.clone(),
        requests_of_a_key: REQUESTS_OF_A_KEY,
        awake: false,
        agent: data::agent()?.to_string(),
        work: Work::Get { contacts },
    };
    let outcome = load::run(&plan)?;
    keys.drain(..outcome.keys_used);
    Ok(outcome.rate())
}

/// Transactions per second.
fn pgbench(engine: &postgres::Server, seconds: f64) -> Result<f64, Failure> {
    let seconds = format!("{}", seconds.ceil());
    let mut pgbench = engine.program("pgbench");
    pgbench.args(["--select-only", "--protocol=prepared", "--client", POSTGRES_CONNECTIONS, "--jobs=2"]);
    tps(&run(pgbench.args(["--time", &seconds]))?)
}

/// Parses the transactions per second from `pgbench`'s output.
pub(super) fn tps(said: &str) -> Result<f64, Failure> {
    let line = said.lines().find_map(|line| line.strip_prefix("tps = ")).ok_or("pgbench tells no tps")?;
    Ok(line.split(' ').next().unwrap_or_default().parse()?)
}

/// Runs a program and returns its output.
pub(super) fn run(command: &mut std::process::Command) -> Result<String, Failure> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Reads per second of whole documents by id, through the driver alone.
async fn find_one(url: &str, options: &Options, contacts: u64) -> Result<f64, Failure> {
    let client = mongodb::Client::with_uri_str(url).await?;
    let collection = client.database("openapi").collection::<Document>("contacts");
    let ids = Arc::new(ids(&collection, contacts).await?);
    let (begun, answered) = (monotonic(), Arc::new(AtomicU64::new(0)));
    let length = Duration::from_secs_f64(options.seconds);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..options.connections {
        let (collection, answered, ids) = (collection.clone(), Arc::clone(&answered), Arc::clone(&ids));
        tasks.spawn(async move {
            let mut random = SplitMix64(number as u64);
            while begun.elapsed() < length {
                let id = ids[random.below(ids.len() as u64) as usize].clone();
                if collection.find_one(doc! { "_id": id }).await?.is_none() {
                    return Err("a contact is not there".into());
                }
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<(), Failure>(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    let rate = answered.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    client.shutdown().await;
    Ok(rate)
}

/// The ids of all contacts.
async fn ids(
    collection: &mongodb::Collection<Document>,
    contacts: u64,
) -> Result<Vec<mongodb::bson::Bson>, Failure> {
    let mut ids = Vec::with_capacity(contacts as usize);
    let mut found = collection.find(doc! {}).projection(doc! { "_id": 1 }).await?;
    while found.advance().await? {
        if let Some(id) = found.deserialize_current()?.get("_id") {
            ids.push(id.clone());
        }
    }
    Ok(ids)
}

fn tell(report: &mut Report, engine: &str, alone: &str, samples: (&Samples, &Samples, &Samples)) {
    let (ours, theirs, ratios) = samples;
    report.detail(format!("{engine}: openapi-server, GETs"), ours.median(), "/s");
    report.detail(format!("{engine}: {alone}"), theirs.median(), "/s");
    report.detail(format!("{engine}: best round"), ratios.quantile(1.0), "×");
    report.detail(format!("{engine}: worst round"), ratios.quantile(0.0), "×");
    report.figure(format!("{engine}: GETs against {alone}"), ratios.median(), "×", Reach::AtLeast(0.7));
}
