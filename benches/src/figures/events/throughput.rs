//! `webhook-throughput`: deliveries a second, what they cost creates, and endpoints that never answer next to a healthy
//! one.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::delay;
use super::site::{Site, create, create_at_a_pace, within};
use crate::data;
use crate::figures::Options;
use crate::load::{self, Outcome, Plan, Work};
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::servers::Server;
use crate::statistics::Samples;
use crate::world::{Behaviour, Caller, Credentials, Receiver};

/// Endpoints that all get every event.
const ENDPOINTS: usize = 64;

/// Endpoints that never answer.
const DEAD: usize = 20;

/// Deliveries a second that the server is to reach.
const RATE: f64 = 1_000.0;

/// Events whose deliveries are timed, for each second of the duration.
const EVENTS_A_SECOND: f64 = 40.0;

/// Rounds of creates with and without deliveries, and with and without dead endpoints.
const ROUNDS: u64 = 5;

/// The fraction of the duration that the creates of a round take.
const PART: f64 = 1.0 / 3.0;

/// The pause between the events of the healthy endpoint.
const PACE: Duration = Duration::from_millis(50);

/// How long the deliveries of all events may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// Requests per key, below the 1,000 allowed in a minute.
const REQUESTS_OF_A_KEY: u32 = 960;

/// Above the server's create rate; determines the number of keys.
const FASTEST: f64 = 20_000.0;

/// The numbers of the contacts of one run of creates.
const NUMBERS: u64 = 10_000_000;

/// The agents with webhooks.
const MANY: &str = "many";
const HEALTHY: &str = "healthy";

/// Keys of an agent with webhooks.
const KEYS: usize = 8;

/// A server with three agents: one whose creates are timed, and two with webhooks.
struct Bench {
    site: Site,
    server: Server,
    /// For each agent with webhooks, the keys of its client.
    many: Vec<Credentials>,
    healthy: Vec<Credentials>,
    load: Load,
    _runtime: Runtime,
    /// Accepts and counts what the 64 endpoints get.
    counting: Receiver,
    storing: Receiver,
    dead: Vec<String>,
}

pub(in crate::figures) fn run(options: &Options) -> Measured {
    let mut bench = start(options)?;
    let mut report = Report::new("webhook-throughput");
    report.condition(format!(
        "openapi-server on SQLite with its default settings; receivers and clients in processes on the same cores; \
         {ENDPOINTS} endpoints of one agent on one address; creates of another agent with every field set over {} \
         connections, in {ROUNDS} rounds of {} s with and without {} deliveries a second; medians",
        options.connections,
        number(options.seconds * PART),
        number(RATE)
    ));
    report.condition(format!(
        "{DEAD} endpoints at addresses that accept connections and never answer, and one healthy endpoint of the same \
         agent, in {ROUNDS} rounds with the {DEAD} enabled and disabled: the delay of an event every {} ms to the healthy \
         one, then the creates of another agent",
        PACE.as_millis()
    ));
    deliveries(&mut bench, &mut report, options)?;
    creates(&mut bench, &mut report)?;
    dead(&mut bench, &mut report, options)?;
    // The endpoints go with the store. A drain would wait for the receivers that never answer.
    drop(bench.server);
    bench.site.end()?;
    Ok(report)
}

fn start(options: &Options) -> Result<Bench, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let counting = Receiver::start(&runtime, Ipv4Addr::LOCALHOST, Behaviour::Count)?;
    let storing = Receiver::start(&runtime, Ipv4Addr::LOCALHOST, Behaviour::Store)?;
    let mut hanging = Vec::new();
    for number in 1..=DEAD {
        // Each has an address of its own, because the requests to one host are limited.
        let on = Ipv4Addr::new(127, 0, 1, u8::try_from(number)?);
        hanging.push(Receiver::start(&runtime, on, Behaviour::Hang)?.address());
    }
    let all = [counting.address(), storing.address()].into_iter().chain(hanging.iter().copied());
    let ports: Vec<u16> = all.map(|address| address.port()).collect();
    let site = Site::new("webhook-throughput", &ports, "")?;
    let host = Arc::new(site.host()?);
    let agent = data::agent()?;
    let seconds = options.seconds * PART;
    let per_run = options.connections as f64 + FASTEST * seconds / f64::from(REQUESTS_OF_A_KEY);
    let keys = data::runtime()?.block_on(async {
        host.agent(&agent).await?;
        host.keys(&agent, per_run as usize * (4 * ROUNDS as usize + 2)).await
    })?;
    drop(host);
    let server = site.serve(&[])?;
    let (many, healthy) = (site.agent(MANY, KEYS)?, site.agent(HEALTHY, KEYS)?);
    for endpoint in 0..ENDPOINTS {
        site.endpoint(MANY, counting.address(), endpoint)?;
    }
    site.endpoint(HEALTHY, storing.address(), 0)?;
    let mut dead = Vec::new();
    for address in hanging {
        let id = site.endpoint(HEALTHY, address, 0)?;
        site.run(&["webhooks", "disable", &id, "--agent", HEALTHY])?;
        dead.push(id);
    }
    let load = Load { connections: options.connections, seconds, agent: agent.to_string(), keys, from: 0 };
    Ok(Bench { site, server, many, healthy, load, _runtime: runtime, counting, storing, dead })
}

/// The creates whose rate is measured.
struct Load {
    connections: usize,
    seconds: f64,
    agent: String,
    /// The unused keys.
    keys: Vec<Credentials>,
    from: u64,
}

impl Load {
    fn run(&mut self, server: &Server) -> Result<Outcome, Failure> {
        self.from += NUMBERS;
        let plan = Plan {
            address: server.address(),
            connections: self.connections,
            seconds: self.seconds,
            keys: self.keys.clone(),
            requests_of_a_key: REQUESTS_OF_A_KEY,
            awake: false,
            agent: self.agent.clone(),
            work: Work::Create { from: self.from },
        };
        let outcome = load::run(&plan)?;
        self.keys.drain(..outcome.keys_used);
        Ok(outcome)
    }

    /// The rate while clients of another agent create contacts at a pace.
    fn run_next_to(
        &mut self,
        server: &Server,
        callers: &mut [Caller],
        agent: &str,
        (pace, from): (Duration, u64),
    ) -> Result<Outcome, Failure> {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let paced = scope.spawn(|| {
                let mut number = from;
                while !is_over.load(Ordering::Relaxed) {
                    create_at_a_pace(callers, agent, number, pace, pace.as_secs_f64() * 4.0)?;
                    number += 4;
                }
                Ok::<_, Failure>(())
            });
            let outcome = self.run(server);
            is_over.store(true, Ordering::Relaxed);
            paced.join().map_err(|_| "a client panicked")??;
            outcome
        })
    }
}

/// Deliveries a second without other load.
fn deliveries(bench: &mut Bench, report: &mut Report, options: &Options) -> Result<(), Failure> {
    let mut caller = Caller::new(bench.server.address(), bench.many.split_off(KEYS / 2));
    // The first event finds the endpoints idle.
    create(&mut caller, MANY, 0)?;
    let arrived = |count: usize| within(DEADLINE, || Ok(bench.counting.accepted() >= count));
    if !arrived(ENDPOINTS)? {
        return Err("the first event did not arrive everywhere".into());
    }
    let events = (options.seconds * EVENTS_A_SECOND).min(2_000.0) as usize;
    let begun = monotonic();
    for number in 1..=events {
        create(&mut caller, MANY, number as u64)?;
    }
    let created = begun.elapsed();
    arrived(ENDPOINTS * (events + 1))?;
    let (took, count) = (begun.elapsed().as_secs_f64(), bench.counting.accepted() - ENDPOINTS);
    report.detail("events", events as f64, "");
    report.detail("all created within", created.as_secs_f64(), "s");
    report.detail("deliveries, of those to be made", count as f64 / (ENDPOINTS * events) as f64 * 100.0, "%");
    report.figure("deliveries to 64 endpoints", count as f64 / took, "/s", Reach::AtLeast(RATE));
    Ok(())
}

/// Creates with and without deliveries.
fn creates(bench: &mut Bench, report: &mut Report) -> Result<(), Failure> {
    let mut callers = [Caller::new(bench.server.address(), std::mem::take(&mut bench.many))];
    let pace = Duration::from_secs_f64(ENDPOINTS as f64 / RATE);
    let (mut alone, mut loaded, mut ratios) = (Samples::default(), Samples::default(), Samples::default());
    let mut delivered = Samples::default();
    // Warm-up: files grow and caches fill.
    bench.load.run(&bench.server)?;
    for round in 0..ROUNDS {
        bench.server.rest()?;
        let without = bench.load.run(&bench.server)?.rate();
        bench.server.rest()?;
        let before = bench.counting.accepted();
        let paced = (pace, 1_000_000 * (round + 1));
        let outcome = bench.load.run_next_to(&bench.server, &mut callers, MANY, paced)?;
        delivered.push((bench.counting.accepted() - before) as f64 / outcome.seconds);
        alone.push(without);
        loaded.push(outcome.rate());
        ratios.push(outcome.rate() / without);
    }
    report.detail("creates without deliveries", alone.median(), "/s");
    report.detail("creates with deliveries", loaded.median(), "/s");
    report.detail("deliveries next to these creates", delivered.median(), "/s");
    report.figure("creates with deliveries, relative to without", ratios.median(), "×", Reach::AtLeast(0.9));
    Ok(())
}

/// A healthy endpoint, and creates, with and without dead endpoints.
fn dead(bench: &mut Bench, report: &mut Report, options: &Options) -> Result<(), Failure> {
    let mut callers = [Caller::new(bench.server.address(), std::mem::take(&mut bench.healthy))];
    let mut next = 0;
    let mut round = |bench: &mut Bench| {
        next += 1_000_000;
        let created = create_at_a_pace(&mut callers, HEALTHY, next, PACE, options.seconds.min(10.0))?;
        let delays = delay::delays(&bench.storing, &created, 1)?;
        let paced = (PACE, next + 500_000);
        let outcome = bench.load.run_next_to(&bench.server, &mut callers, HEALTHY, paced)?;
        let delay = delays.first().map_or(f64::NAN, |delays| delays.since_event.median());
        Ok::<_, Failure>((delay, outcome.rate()))
    };
    round(bench)?;
    let (mut delays, mut creates) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        bench.server.rest()?;
        let (delay, rate) = round(bench)?;
        for id in &bench.dead {
            bench.site.run(&["webhooks", "enable", id, "--agent", HEALTHY, "--resume", "now"])?;
        }
        let (delay_next_to_dead, rate_next_to_dead) = round(bench)?;
        for id in &bench.dead {
            bench.site.run(&["webhooks", "disable", id, "--agent", HEALTHY])?;
        }
        delays.push(delay_next_to_dead / delay);
        creates.push(rate / rate_next_to_dead);
    }
    report.figure(
        "median delay of a healthy endpoint, next to 20 dead ones",
        delays.median(),
        "×",
        Reach::AtMost(1.1),
    );
    report.figure("time of a create, next to 20 dead endpoints", creates.median(), "×", Reach::AtMost(1.05));
    Ok(())
}
