//! `webhook-delay`, `engine-webhook-delay`: from the commit of an event to its first byte at the receiver.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use openapi_core::values::Timestamp;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::site::{Created, Site, create_at_a_pace, within};
use crate::figures::Options;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::servers::Server;
use crate::statistics::Samples;
use crate::world::{Behaviour, Caller, Credentials, Receiver};

/// The pause between two creates: short enough that the server that delivers does not give the endpoint away.
const PACE: Duration = Duration::from_millis(50);

/// Measurements of the usual duration.
const PARTS: f64 = 5.0;

/// How long events may take before the benchmark fails.
const DEADLINE: Duration = Duration::from_secs(30);

/// Keys of a client, enough for the longest measurement.
const KEYS: usize = 7;

const AGENT: &str = "bench";

/// The delays of the events of contacts that one server created, in milliseconds.
#[derive(Default)]
pub(super) struct Delays {
    /// From the time of the event, which is before its commit.
    pub(super) since_event: Samples,
    /// From the response to the create, which is after its commit.
    since_answer: Samples,
}

impl Delays {
    pub(super) fn p95(&self) -> f64 {
        self.since_event.quantile(0.95)
    }

    fn details(&self, report: &mut Report, what: &str) {
        report.detail(format!("{what}: events"), self.since_event.len() as f64, "");
        report.detail(format!("{what}: from the event, median"), self.since_event.median(), "ms");
        report.detail(format!("{what}: from the event, slowest"), self.since_event.quantile(1.0), "ms");
        report.detail(
            format!("{what}: from the response, 95 of 100"),
            self.since_answer.quantile(0.95),
            "ms",
        );
    }
}

/// A receiver that stores messages, on a runtime with one thread.
pub(super) fn receiver() -> Result<(Runtime, Receiver), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let receiver = Receiver::start(&runtime, Ipv4Addr::LOCALHOST, Behaviour::Store)?;
    Ok((runtime, receiver))
}

/// Waits for the messages about these contacts, and sorts their delays by the caller that created each.
pub(super) fn delays(
    receiver: &Receiver,
    created: &[Created],
    callers: usize,
) -> Result<Vec<Delays>, Failure> {
    let expected: HashMap<&str, (usize, f64)> = created
        .iter()
        .enumerate()
        .map(|(number, created)| (created.id.as_str(), (number % callers, created.answered)))
        .collect();
    let mut delays: Vec<Delays> = (0..callers).map(|_| Delays::default()).collect();
    let mut missing: HashSet<&str> = expected.keys().copied().collect();
    let all = within(DEADLINE, || {
        for message in receiver.take() {
            let event: Value = serde_json::from_slice(&message.body)?;
            let contact = event["data"]["contactId"].as_str().unwrap_or_default();
            // A message that came again counts once.
            if !missing.remove(contact) {
                continue;
            }
            let (caller, answered) = expected[contact];
            let at: Timestamp = serde_json::from_value(event["timestamp"].clone())?;
            delays[caller].since_event.push(message.first_byte - at.millis() as f64);
            delays[caller].since_answer.push((message.first_byte - answered).max(0.0));
        }
        Ok(missing.is_empty())
    })?;
    if !all {
        let (missing, all) = (missing.len(), created.len());
        return Err(format!("{missing} of {all} events did not arrive in {} s", DEADLINE.as_secs()).into());
    }
    Ok(delays)
}

/// The agent with its endpoint and the keys of its clients, made before the servers start, which then know the endpoint.
fn prepare(site: &Site, receiver: &Receiver, servers: usize) -> Result<Vec<Credentials>, Failure> {
    let keys = site.agent(AGENT, KEYS * servers)?;
    site.endpoint(AGENT, receiver.address(), 0)?;
    Ok(keys)
}

/// Creates contacts through each of the servers in turn.
fn measure(
    servers: &[Server],
    keys: &[Credentials],
    receiver: &Receiver,
    seconds: f64,
) -> Result<Vec<Delays>, Failure> {
    let client = |(server, keys): (&Server, &[Credentials])| Caller::new(server.address(), keys.to_vec());
    let mut callers: Vec<Caller> = servers.iter().zip(keys.chunks(KEYS)).map(client).collect();
    // One of the servers takes the endpoint.
    let warm_up = create_at_a_pace(&mut callers, AGENT, 1_000_000, PACE, 2.0)?;
    delays(receiver, &warm_up, callers.len())?;
    let created = create_at_a_pace(&mut callers, AGENT, 0, PACE, seconds)?;
    delays(receiver, &created, callers.len())
}

pub(in crate::figures) fn run(options: &Options) -> Measured {
    let (_runtime, receiver) = receiver()?;
    let site = Site::new("webhook-delay", &[receiver.address().port()], "")?;
    let keys = prepare(&site, &receiver, 1)?;
    let server = site.serve(&[])?;
    let measured = measure(std::slice::from_ref(&server), &keys, &receiver, options.seconds * PARTS)?;
    server.stop()?;
    site.end()?;
    let mut report = Report::new("webhook-delay");
    report.condition(format!(
        "POST of a contact every {} ms for {} s to openapi-server on SQLite with its default settings, and one webhook \
         endpoint in this process; the delay begins with the time of the event, shortly before its commit",
        PACE.as_millis(),
        number(options.seconds * PARTS)
    ));
    let delays = measured.first().ok_or("nothing was measured")?;
    delays.details(&mut report, "same server");
    report.figure("commit to first byte, 95 of 100 within", delays.p95(), "ms", Reach::AtMost(50.0));
    Ok(report)
}

pub(in crate::figures) fn on_engines(options: &Options) -> Measured {
    let mut report = Report::new("engine-webhook-delay");
    report.condition(format!(
        "POST of a contact every {} ms for {} s, in turns to two processes of openapi-server on one database, one of \
         which delivers to the webhook endpoint in this process: the one whose own events come faster; the delay begins \
         with the time of the event, shortly before its commit; engine, servers and receiver share the machine",
        PACE.as_millis(),
        number(options.seconds * PARTS)
    ));
    let postgres = database_servers::postgres::Server::start();
    engine(&mut report, "PostgreSQL", &postgres.url(), 150.0, options)?;
    drop(postgres);
    let mongo = database_servers::mongo::ReplicaSet::start(1);
    engine(&mut report, "MongoDB", &mongo.url().replace("/?", "/openapi?"), 350.0, options)?;
    Ok(report)
}

fn engine(report: &mut Report, name: &str, store: &str, most: f64, options: &Options) -> Result<(), Failure> {
    let (_runtime, receiver) = receiver()?;
    let site = Site::on_engine("engine-webhook-delay", store, &[receiver.address().port()])?;
    let keys = prepare(&site, &receiver, 2)?;
    let servers = [site.serve(&[])?, site.serve(&[])?];
    let mut measured = measure(&servers, &keys, &receiver, options.seconds * PARTS)?;
    for server in servers {
        server.stop()?;
    }
    site.end()?;
    measured.sort_by(|one, other| one.since_event.median().total_cmp(&other.since_event.median()));
    let [same, elsewhere] = measured.as_slice() else { return Err("two servers were to be measured".into()) };
    same.details(report, &format!("{name}, same server"));
    elsewhere.details(report, &format!("{name}, other server"));
    let figures = [("same", same, 50.0), ("other", elsewhere, most)];
    for (server, delays, most) in figures {
        let what = format!("{name}: commit to first byte, {server} server, 95 of 100 within");
        report.figure(what, delays.p95(), "ms", Reach::AtMost(most));
    }
    Ok(())
}
