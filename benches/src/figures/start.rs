//! `start`: the startup time of a server with many contacts, and its memory afterwards.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use super::Options;
use crate::data;
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::servers::{self, Server};
use crate::statistics::Samples;

/// Starts with the database in the page cache, and as many without.
const STARTS: usize = 7;

/// The idle time before a server's memory is read.
const REST: Duration = Duration::from_secs(2);

/// The response timeout.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn run(options: &Options) -> Measured {
    let binary = servers::binary()?;
    let database = data::with_contacts(options.contacts)?;
    let (mut warm, mut cold) = (Starts::default(), Starts::default());
    for _ in 0..STARTS {
        forget(&database)?;
        cold.push(&binary, &database)?;
        warm.push(&binary, &database)?;
    }

    let mut report = Report::new("start");
    report.condition(format!(
        "openapi-server on SQLite with {} contacts ({} MiB) and its default settings, from the start of the process to \
         its line 'listening open-api' and to the answer to a first GET /v1/open/health; {STARTS} starts with the \
         database dropped from the system's cache, {STARTS} with it there, in turns",
        number(options.contacts as f64),
        number((std::fs::metadata(&database)?.len() >> 20) as f64)
    ));
    report.condition(format!(
        "memory: resident set of the process {} s after the answer, without further requests",
        REST.as_secs()
    ));
    for (what, starts) in [("not in cache", &cold), ("in cache", &warm)] {
        report.detail(format!("database {what}: listening, median"), starts.listening_ms.median(), "ms");
        report.detail(format!("database {what}: answered, median"), starts.answered_ms.median(), "ms");
        report.detail(format!("database {what}: answered, slowest"), starts.answered_ms.quantile(1.0), "ms");
    }
    let (all, own) = (joined(&cold.all_mib, &warm.all_mib), joined(&cold.own_mib, &warm.own_mib));
    report.detail("resident, the part that is no file (anonymous), largest", own.quantile(1.0), "MiB");
    report.detail("resident, median", all.median(), "MiB");
    report.figure(
        "start to the first answer, database not in cache, median",
        cold.answered_ms.median(),
        "ms",
        Reach::AtMost(300.0),
    );
    // 40 MB are 38.15 MiB.
    report.figure("idle resident memory, largest", all.quantile(1.0) * 1.048_576, "MB", Reach::AtMost(40.0));
    Ok(report)
}

fn joined(one: &Samples, other: &Samples) -> Samples {
    let mut joined = one.clone();
    joined.extend(other);
    joined
}

#[derive(Default)]
struct Starts {
    listening_ms: Samples,
    answered_ms: Samples,
    all_mib: Samples,
    own_mib: Samples,
}

impl Starts {
    fn push(&mut self, binary: &Path, database: &Path) -> Result<(), Failure> {
        let begun = monotonic();
        let server = Server::openapi(binary, database)?;
        self.listening_ms.push(begun.elapsed().as_secs_f64() * 1e3);
        health(server.address())?;
        self.answered_ms.push(begun.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(REST);
        let (all, own) = server.memory()?;
        self.all_mib.push(all);
        self.own_mib.push(own);
        server.stop()
    }
}

/// Sends a health request.
///
/// # Errors
/// If the status is not 200.
fn health(address: SocketAddr) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(stream, "GET /v1/open/health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.starts_with("HTTP/1.1 200 ") {
        Ok(())
    } else {
        Err(format!("the health check answered {answer}").into())
    }
}

/// Evicts the database from the page cache.
fn forget(database: &Path) -> Result<(), Failure> {
    let file = File::open(database)?;
    // Only pages on disk can be evicted.
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}
