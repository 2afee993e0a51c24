//! `fleet-limits`: two servers on one store, overloaded with requests of one key.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Options;
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report};
use crate::servers::{self, Server};
use crate::world::SERVER_KEY_HEX;

/// The key's limit per minute.
const PER_MINUTE: u32 = 600;

/// The key's maximum hourly limit: in so few minutes only the limit per minute applies.
const PER_HOUR: u32 = 10_000;

/// Clients per server, each with one request at a time.
const CLIENTS: usize = 4;

/// A client's pause between requests: together they send several times the limit.
const PAUSE: Duration = Duration::from_millis(100);

const MINUTE: Duration = Duration::from_secs(60);

/// The response timeout.
const TIMEOUT: Duration = Duration::from_secs(10);

/// An admitted request: the times of its sending and of its response.
type Admitted = (Duration, Duration);

pub(super) fn run(options: &Options) -> Measured {
    let binary = servers::binary()?;
    let mut report = Report::new("fleet-limits");
    report.condition(format!(
        "two processes of openapi-server on one database, a key of {PER_MINUTE} requests a minute, {CLIENTS} clients of \
         each server that ask for a contact every {} ms, for {} minutes; a window counts what was both sent and \
         answered within 60 s, and so surely admitted there",
        PAUSE.as_millis(),
        options.minutes
    ));
    let postgres = database_servers::postgres::Server::start();
    overload(&mut report, "PostgreSQL", &binary, &postgres.url(), options)?;
    drop(postgres);
    let mongo = database_servers::mongo::ReplicaSet::start(1);
    overload(&mut report, "MongoDB", &binary, &mongo.url().replace("/?", "/openapi?"), options)?;
    Ok(report)
}

fn overload(
    report: &mut Report,
    engine: &str,
    binary: &Path,
    store: &str,
    options: &Options,
) -> Result<(), Failure> {
    let settings =
        [("OPENAPI_STORE", store), ("OPENAPI_SERVER_KEY", SERVER_KEY_HEX), ("OPENAPI_BLOBS", "memory:")];
    let key = key(binary, &settings)?;
    let servers = [Server::with_settings(binary, &settings)?, Server::with_settings(binary, &settings)?];
    let begun = monotonic();
    let length = MINUTE * options.minutes;
    let outcomes: Vec<Result<(Vec<Admitted>, u64), Failure>> = std::thread::scope(|scope| {
        let key = &key;
        let clients = servers.iter().flat_map(|server| (0..CLIENTS).map(move |_| server.address()));
        let clients: Vec<_> =
            clients.map(|address| scope.spawn(move || client(address, key, begun, length))).collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .collect()
    });
    let (mut admitted, mut asked) = (Vec::new(), 0);
    for outcome in outcomes {
        let (of_client, requests) = outcome?;
        admitted.extend(of_client);
        asked += requests;
    }
    for server in servers {
        server.stop()?;
    }
    report.detail(format!("{engine}: requests"), asked as f64, "");
    // The first minute admits the whole limit at once.
    let allowed = f64::from(PER_MINUTE) * f64::from(options.minutes);
    report.detail(
        format!("{engine}: admitted, of what was allowed"),
        admitted.len() as f64 / allowed * 100.0,
        "%",
    );
    let fullest = fullest(&mut admitted);
    report.figure(
        format!("{engine}: most admitted in any 60 s"),
        f64::from(fullest),
        "",
        Reach::AtMost(PER_MINUTE.into()),
    );
    Ok(())
}

/// The maximum number of requests certainly admitted within one minute.
fn fullest(admitted: &mut [Admitted]) -> u32 {
    admitted.sort_unstable();
    let window = |(at, first): (usize, &Admitted)| {
        let within = admitted[at..].iter().take_while(|(sent, _)| *sent < first.0 + MINUTE);
        within.filter(|(_, answered)| *answered < first.0 + MINUTE).count()
    };
    let most = admitted.iter().enumerate().map(window).max().unwrap_or(0);
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// The headers of a new key of a new agent.
fn key(binary: &Path, settings: &[(&str, &str)]) -> Result<String, Failure> {
    let run = |arguments: &[&str]| -> Result<Value, Failure> {
        let output =
            Command::new(binary).args(arguments).arg("--json").envs(settings.iter().copied()).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    run(&["agents", "create", "Bench", "--id", "bench"])?;
    let (per_minute, per_hour) = (PER_MINUTE.to_string(), PER_HOUR.to_string());
    let limits = ["--per-minute", &per_minute, "--per-hour", &per_hour];
    let key =
        run(&[&["keys", "create", "--agent", "bench", "--name", "Bench", "--allow", "all"][..], &limits]
            .concat())?;
    let text = |name: &str| key[name].as_str().ok_or("the key is not shown");
    Ok(format!("X-API-Key: {}\r\nX-API-Secret: {}\r\n", text("apiKey")?, text("apiSecret")?))
}

/// Sends requests continuously; returns the admitted ones and the number sent.
fn client(
    address: SocketAddr,
    key: &str,
    begun: Instant,
    length: Duration,
) -> Result<(Vec<Admitted>, u64), Failure> {
    let (mut admitted, mut asked) = (Vec::new(), 0);
    while begun.elapsed() < length {
        let sent = begun.elapsed();
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        write!(
            stream,
            "GET /v1/open/contacts/nobody/chatbots/bench HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{key}\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        asked += 1;
        match answer.get(9..12) {
            // An absent contact counts like any other.
            Some("404") => admitted.push((sent, begun.elapsed())),
            Some("429") => {}
            _ => return Err(format!("the server answered {answer}").into()),
        }
        std::thread::sleep(PAUSE);
    }
    Ok((admitted, asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_counts_only_requests_within_it() {
        let at = |sent: u64, answered: u64| (Duration::from_millis(sent), Duration::from_millis(answered));
        assert_eq!(fullest(&mut []), 0);
        assert_eq!(fullest(&mut [at(0, 5), at(59_999, 60_000), at(30_000, 30_005)]), 2);
        assert_eq!(fullest(&mut [at(0, 5), at(59_990, 59_999), at(60_000, 60_001)]), 2);
        assert_eq!(fullest(&mut [at(10, 15), at(59_990, 59_999), at(60_000, 60_001)]), 3);
    }
}
