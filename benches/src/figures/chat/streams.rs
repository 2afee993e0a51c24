//! `open-streams`: the cost of a thousand concurrent replies in memory and in the API's latency.

use std::sync::Arc;
use std::time::Duration;

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
const LIMITS: [&str; 8] = [
    "turns=off",
    "address_turns=off",
    "address_sessions=off",
    "address_calls=off",
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
    let count = CLIENTS + (FASTEST * options.seconds / f64::from(REQUESTS_OF_A_KEY)) as usize;
    let host = Arc::new(data::open(&database_in(&folder))?);
    let mut keys = data::runtime()?.block_on(async {
        host.agent(&agent).await?;
        host.contacts(&agent, 0..CONTACTS).await?;
        Host::keys(&host, &agent, count * (2 * ROUNDS + 1)).await
    })?;
    drop(host);
    let site = Site::start(folder, MANNER, &LIMITS)?;
    let crowd = Crowd::new(site.chat.clone());

    let gets = |keys: &mut Vec<Credentials>| -> Result<Outcome, Failure> {
        let plan = Plan {
            address: site.server.address(),
            connections: CLIENTS,
            seconds: options.seconds,
            keys: keys.clone(),
            requests_of_a_key: REQUESTS_OF_A_KEY,
            awake: false,
            agent: agent.to_string(),
            work: Work::Get { contacts: CONTACTS },
        };
        let outcome = load::run(&plan)?;
        keys.drain(..outcome.keys_used);
        Ok(outcome)
    };
    // Excludes what every busy server holds: database pages, statements, allocator caches.
    site.model.cut_short(true);
    for _ in 0..WARMING / WARMING_AT_ONCE {
        crowd.ask(&site.runtime, WARMING_AT_ONCE)?;
        crowd.end(WARMING_AT_ONCE)?;
    }
    site.model.cut_short(false);
    gets(&mut keys)?;
    let at_rest = site.server.memory()?.0;
    let (mut most, mut first) = (0.0_f64, 0.0);
    let (mut without, mut with, mut ratios) = (Samples::default(), Samples::default(), Samples::default());
    let (mut medians, mut words) = (Samples::default(), Samples::default());
    for round in 0..ROUNDS {
        let alone = gets(&mut keys)?;
        crowd.ask(&site.runtime, STREAMS)?;
        let (calls, expected) = (site.model.calls(), WARMING + (round + 1) * STREAMS);
        if calls != expected {
            return Err(format!("the model was asked {calls} times by {expected} visitors").into());
        }
        let begun = (monotonic(), crowd.words());
        let loaded = gets(&mut keys)?;
        words.push((crowd.words() - begun.1) as f64 / begun.0.elapsed().as_secs_f64());
        let memory = site.server.memory()?.0;
        most = most.max(memory);
        if round == 0 {
            first = memory;
        }
        site.model.cut_short(true);
        crowd.end(STREAMS)?;
        site.model.cut_short(false);
        without.push(alone.p99_us);
        with.push(loaded.p99_us);
        ratios.push(loaded.p99_us / alone.p99_us);
        medians.push(loaded.median_us / alone.median_us);
    }
    site.end()?;

    let mut report = Report::new("open-streams");
    report.condition(format!(
        "openapi-server with a model's endpoint that writes a word a second to each of {} visitors, all of whose answers \
         are open at once; meanwhile {CLIENTS} clients GET contacts as fast as they are answered; {ROUNDS} rounds, in turns \
         with the same without visitors; endpoint, visitors and clients run on the same cores",
        number(STREAMS as f64)
    ));
    report.condition(
        "memory: all that is resident, with the connections to the endpoint; at rest, after as many visitors as there \
         are in all rounds, fifty at a time, and in the first round",
    );
    report.detail("at rest", at_rest, "MiB");
    report.detail("with the first streams", first, "MiB");
    report.detail("words a second", words.median(), "");
    report.detail("p99 of a GET without streams", without.median(), "µs");
    report.detail("p99 of a GET with them", with.median(), "µs");
    report.detail("median of a GET with them, against without", medians.median(), "×");
    let kib = |mib: f64| mib * 1_024.0 / STREAMS as f64;
    // The turns of a round have ended when the next one begins, and their events are cached for minutes.
    report.detail(
        "growth with each further round, by stream",
        kib(most - first) / (ROUNDS - 1) as f64,
        "KiB",
    );
    report.figure("memory of an open stream", kib(first - at_rest), "KiB", Reach::AtMost(64.0));
    report.figure("p99 of a GET with the streams", ratios.median(), "×", Reach::AtMost(2.0));
    Ok(report)
}
