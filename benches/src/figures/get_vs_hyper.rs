//! `get-vs-hyper`: the server's cost of a GET of one contact beyond that of hyper and SQLite.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Options;
use crate::cores::{Cores, on_core};
use crate::data;
use crate::load::{self, Plan, Work};
use crate::machine::monotonic;
use crate::raw_read::RawReads;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::servers::{self, Server};
use crate::statistics::Samples;
use crate::world::Credentials;

/// Contacts of the agent. Their pages exceed a connection's cache, as in a medium-sized installation.
const CONTACTS: u64 = 100_000;

/// Rounds. The verdicts use the median round.
const ROUNDS: usize = 7;

/// Requests per key, below the 1,000 allowed in a minute.
const REQUESTS_OF_A_KEY: u32 = 960;

/// Above the server's request rate; determines the number of keys.
const FASTEST: f64 = 100_000.0;

/// The warm-up of each side, in seconds.
const WARM_UP: f64 = 1.0;

pub(super) fn run(options: &Options) -> Measured {
    let cores = Cores::apart()?;
    let binary = servers::binary()?;
    let contacts = CONTACTS.min(options.contacts);
    let database = data::copy_of(contacts, "get-vs-hyper")?;
    let seconds_in_all = WARM_UP + options.seconds * ROUNDS as f64;
    let reopened = options.connections * (ROUNDS + 1);
    let keys = FASTEST * seconds_in_all / f64::from(REQUESTS_OF_A_KEY);
    let mut clients = Clients {
        keys: keys_of(&database, reopened + keys as usize)?,
        connections: options.connections,
        contacts,
        core: cores.client,
    };

    let api = on_core(cores.server, || Server::openapi(&binary, &database))??;
    api.rest()?;
    let warm = clients.send(&api, WARM_UP, REQUESTS_OF_A_KEY)?;
    let bare = on_core(cores.server, || Server::bare(warm.bytes))??;
    clients.send(&bare, WARM_UP, u32::MAX)?;
    let mut raw = RawReads::open(&database, &data::agent()?, contacts)?;
    let mut raw_us = |seconds| on_core(cores.server, || raw.run(Duration::from_secs_f64(seconds)))?;
    raw_us(WARM_UP)?;

    let mut sides = Sides::default();
    for round in 0..ROUNDS {
        // The order alternates, so that a change in the machine's load favours neither side.
        let (of_api, of_bare);
        if round.is_multiple_of(2) {
            of_api = clients.send(&api, options.seconds, REQUESTS_OF_A_KEY)?;
            of_bare = clients.send(&bare, options.seconds, u32::MAX)?;
        } else {
            of_bare = clients.send(&bare, options.seconds, u32::MAX)?;
            of_api = clients.send(&api, options.seconds, REQUESTS_OF_A_KEY)?;
        }
        sides.push(&of_api, &of_bare, raw_us(options.seconds / 6.0)?);
    }
    api.stop()?;
    data::remove_database(&database)?;
    Ok(sides.report(options, contacts, warm.bytes))
}

/// Creates this many keys directly in the store.
fn keys_of(database: &Path, count: usize) -> Result<Vec<Credentials>, Failure> {
    let agent = data::agent()?;
    let host = Arc::new(data::open(database)?);
    data::runtime()?.block_on(host.keys(&agent, count))
}

/// The result of one load run.
struct Sent {
    cpu_us: f64,
    rate: f64,
    bytes: u64,
}

struct Clients {
    keys: Vec<Credentials>,
    connections: usize,
    contacts: u64,
    core: usize,
}

impl Clients {
    fn send(&mut self, server: &Server, seconds: f64, requests_of_a_key: u32) -> Result<Sent, Failure> {
        let plan = Plan {
            address: server.address(),
            connections: self.connections,
            seconds,
            keys: self.keys.clone(),
            requests_of_a_key,
            awake: true,
            agent: data::agent()?.to_string(),
            work: Work::Get { contacts: self.contacts },
        };
        let (before, begun) = (server.cpu()?, monotonic());
        let outcome = on_core(self.core, || load::run(&plan))??;
        let used = server.cpu()? - before;
        if requests_of_a_key == REQUESTS_OF_A_KEY {
            self.keys.drain(..outcome.keys_used);
        }
        if outcome.answers == 0 || begun.elapsed().is_zero() {
            return Err("no request was answered".into());
        }
        Ok(Sent {
            cpu_us: used.as_secs_f64() * 1e6 / outcome.answers as f64,
            rate: outcome.rate(),
            bytes: outcome.body_bytes / outcome.answers,
        })
    }
}

/// The CPU time of a request or read in microseconds, one sample per round.
#[derive(Default)]
struct Sides {
    api: Samples,
    bare: Samples,
    raw: Samples,
    against_bare: Samples,
    against_sum: Samples,
    rate_of_api: Samples,
    rate_of_bare: Samples,
}

impl Sides {
    fn push(&mut self, api: &Sent, bare: &Sent, raw_us: f64) {
        self.api.push(api.cpu_us);
        self.bare.push(bare.cpu_us);
        self.raw.push(raw_us);
        self.against_bare.push(api.cpu_us / bare.cpu_us);
        self.against_sum.push(api.cpu_us / (bare.cpu_us + raw_us));
        self.rate_of_api.push(api.rate);
        self.rate_of_bare.push(bare.rate);
    }

    fn report(&self, options: &Options, contacts: u64, bytes: u64) -> Report {
        let mut report = Report::new("get-vs-hyper");
        report.condition(format!(
            "GET /v1/open/contacts/{{externalReferenceId}}/chatbots/{{agentId}} of openapi-server on SQLite with its \
             default settings, {} connections; a contact at random of {} with every field set; bodies of {bytes} \
             bytes; keys change after {REQUESTS_OF_A_KEY} requests, so that no limit refuses",
            options.connections,
            number(contacts as f64)
        ));
        report.condition(
            "bare hyper: the same requests to a server on hyper that answers a fixed body of the same size; raw read: the \
             same contacts by the same index through rusqlite on one thread, every column read, the statement prepared \
             prepared, the store's settings",
        );
        report.condition(format!(
            "user and system time of the process over the requests it answered; each server and the reads on one core in \
             turns, the load generator on another, where it never sleeps; {ROUNDS} rounds of {} s for each server, \
             after a warm-up; medians",
            number(options.seconds)
        ));
        report.detail("openapi-server, CPU of a request", self.api.median(), "µs");
        report.detail("bare hyper, CPU of a request", self.bare.median(), "µs");
        report.detail("raw rusqlite, CPU of a read", self.raw.median(), "µs");
        report.detail("openapi-server, requests", self.rate_of_api.median(), "/s");
        report.detail("bare hyper, requests", self.rate_of_bare.median(), "/s");
        for (what, ratios) in
            [("bare hyper", &self.against_bare), ("read and hyper added up", &self.against_sum)]
        {
            report.detail(format!("against {what}, best round"), ratios.quantile(0.0), "×");
            report.detail(format!("against {what}, worst round"), ratios.quantile(1.0), "×");
        }
        report.figure("CPU against bare hyper", self.against_bare.median(), "×", Reach::AtMost(1.8));
        report.figure(
            "CPU against a raw read and bare hyper added up",
            self.against_sum.median(),
            "×",
            Reach::AtMost(1.25),
        );
        report
    }
}
