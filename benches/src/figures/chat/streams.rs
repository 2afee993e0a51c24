//! `open-streams`: the cost of a thousand concurrent replies in memory and in the API's latency.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use openapi_core::values::AgentId;

use super::{Site, allow_files, database_in};
use crate::data;
use crate::figures::Options;
use crate::load::{self, Outcome, Plan, Work};
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::statistics::Samples;
use crate::world::{Credentials, Crowd, Host, Manner};

/// Concurrent replies.
const STREAMS: usize = 1_000;

/// Warm-up visitors: as many as will have been answered by the last round, so that the database's cache is full and
/// the events of ended turns, which are cached for minutes, are present.
const WARMING: usize = STREAMS * ROUNDS;

/// Concurrent warm-up visitors.
const WARMING_AT_ONCE: usize = 50;

/// Measurements of the API without and with them.
const ROUNDS: usize = 7;

/// API clients: few enough that they do not saturate the cores.
const CLIENTS: usize = 4;

const CONTACTS: u64 = 1_000;
const REQUESTS_OF_A_KEY: u32 = 960;

/// Above the server's GET rate; determines the number of keys.
const FASTEST: f64 = 200_000.0;

/// The model: a word a second, for longer than a round takes.
const MANNER: Manner = Manner { pace: Duration::from_secs(1), words: 3_600 };

/// Unlimited visitors from one address.
const LIMITS: [&str; 9] = [
    "turns=off",
    "address_turns=off",
    "address_sessions=off",
    "address_calls=off",
    "address_requests=off",
    "address_streams=off",
    "address_repeats=off",
    "agent_turns=off",
    "agent_streams=off",
];

pub(in crate::figures) fn run(options: &Options) -> Measured {
    // Each stream is a connection of a visitor and one to the endpoint.
    allow_files(STREAMS * 3)?;
    let folder = data::own_folder("open-streams")?;
    let agent = data::agent()?;
    let keys = contacts_and_keys(&folder, &agent, options)?;
    let site = Site::start(folder, MANNER, &LIMITS)?;
    let crowd = Crowd::new(site.chat.clone());
    let mut clients =
        Clients { address: site.server.address(), seconds: options.seconds, agent: agent.to_string(), keys };
    warm_up(&site, &crowd, &mut clients)?;
    let rounds = measure(&site, &crowd, &mut clients)?;
    site.end()?;
    Ok(report(&rounds))
}

/// Stores the contacts; returns the keys that the clients of all rounds use.
fn contacts_and_keys(folder: &Path, agent: &AgentId, options: &Options) -> Result<Vec<Credentials>, Failure> {
    let count = CLIENTS + (FASTEST * options.seconds / f64::from(REQUESTS_OF_A_KEY)) as usize;
    let host = Arc::new(data::open(&database_in(folder))?);
    data::runtime()?.block_on(async {
        host.agent(agent).await?;
        host.contacts(agent, 0..CONTACTS).await?;
        Host::keys(&host, agent, count * (2 * ROUNDS + 1)).await
    })
}

/// The clients of the API.
struct Clients {
    address: SocketAddr,
    seconds: f64,
    agent: String,
    /// The unused keys.
    keys: Vec<Credentials>,
}

impl Clients {
    /// Reads contacts for one round.
    fn get(&mut self) -> Result<Outcome, Failure> {
        let plan = Plan {
            address: self.address,
            connections: CLIENTS,
            seconds: self.seconds,
            keys: self.keys.clone(),
            requests_of_a_key: REQUESTS_OF_A_KEY,
            awake: false,
            agent: self.agent.clone(),
            work: Work::Get { contacts: CONTACTS },
        };
        let outcome = load::run(&plan)?;
        self.keys.drain(..outcome.keys_used);
        Ok(outcome)
    }
}

/// Fills what every busy server holds: database pages, statements, allocator caches.
fn warm_up(site: &Site, crowd: &Crowd, clients: &mut Clients) -> Result<(), Failure> {
    site.model.cut_short(true);
    for _ in 0..WARMING / WARMING_AT_ONCE {
        crowd.ask(&site.runtime, WARMING_AT_ONCE)?;
        crowd.end(WARMING_AT_ONCE)?;
    }
    site.model.cut_short(false);
    clients.get()?;
    Ok(())
}

/// The measurements of all rounds.
#[derive(Default)]
struct Rounds {
    /// The memory without streams, with those of the first round, and the most of all rounds; MiB.
    at_rest: f64,
    first: f64,
    most: f64,
    /// The 99th percentiles of a GET without and with the streams, in µs, and their ratios.
    without: Samples,
    with: Samples,
    ratios: Samples,
    /// The ratios of the medians of a GET.
    medians: Samples,
    words: Samples,
}

fn measure(site: &Site, crowd: &Crowd, clients: &mut Clients) -> Result<Rounds, Failure> {
    let mut rounds = Rounds { at_rest: site.server.memory()?.0, ..Rounds::default() };
    for round in 0..ROUNDS {
        let alone = clients.get()?;
        crowd.ask(&site.runtime, STREAMS)?;
        let (calls, expected) = (site.model.calls(), WARMING + (round + 1) * STREAMS);
        if calls != expected {
            return Err(format!("the model was asked {calls} times by {expected} visitors").into());
        }
        let begun = (monotonic(), crowd.words());
        let loaded = clients.get()?;
        rounds.words.push((crowd.words() - begun.1) as f64 / begun.0.elapsed().as_secs_f64());
        let memory = site.server.memory()?.0;
        rounds.most = rounds.most.max(memory);
        if round == 0 {
            rounds.first = memory;
        }
        site.model.cut_short(true);
        crowd.end(STREAMS)?;
        site.model.cut_short(false);
        rounds.without.push(alone.p99_us);
        rounds.with.push(loaded.p99_us);
        rounds.ratios.push(loaded.p99_us / alone.p99_us);
        rounds.medians.push(loaded.median_us / alone.median_us);
    }
    Ok(rounds)
}

fn report(rounds: &Rounds) -> Report {
    let mut report = Report::new("open-streams");
    report.condition(format!(
        "openapi-server with a model endpoint that sends one word a second to each of {} visitors, whose replies are all \
         open at once; {CLIENTS} clients GET contacts continuously; {ROUNDS} rounds, each with and without visitors; \
         endpoint, visitors and clients run on the same cores",
        number(STREAMS as f64)
    ));
    report.condition(
        "memory: resident set, including the connections to the endpoint; at rest, after as many visitors as in all \
         rounds, fifty at a time, and in the first round",
    );
    report.detail("at rest", rounds.at_rest, "MiB");
    report.detail("with the first streams", rounds.first, "MiB");
    report.detail("words a second", rounds.words.median(), "");
    report.detail("p99 of a GET without streams", rounds.without.median(), "µs");
    report.detail("p99 of a GET with streams", rounds.with.median(), "µs");
    report.detail("median of a GET with streams, relative to without", rounds.medians.median(), "×");
    let kib = |mib: f64| mib * 1_024.0 / STREAMS as f64;
    // The turns of a round have ended when the next one begins, and their events are cached for minutes.
    report.detail(
        "growth with each further round, by stream",
        kib(rounds.most - rounds.first) / (ROUNDS - 1) as f64,
        "KiB",
    );
    let opened = kib(rounds.first - rounds.at_rest);
    report.figure("memory of an open stream", opened, "KiB", Reach::AtMost(64.0));
    report.figure("p99 of a GET with the streams", rounds.ratios.median(), "×", Reach::AtMost(2.0));
    report
}
