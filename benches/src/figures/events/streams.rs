//! `event-streams`: a thousand readers of events over server-sent events.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use super::site::{Site, create, within};
use crate::data;
use crate::figures::{Options, chat};
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::world::{Caller, Credentials};

/// Streams of one key, the most that it may have.
const STREAMS_OF_A_KEY: usize = 5;

/// Warm-up requests, so that the caches and the allocator of the server hold what they hold in use.
const WARM_UP: u64 = 500;

/// The idle time that is observed, as a multiple of the usual duration.
const IDLE: f64 = 5.0;

/// The pause after all readers have connected.
const SETTLING: Duration = Duration::from_secs(2);

/// How long all readers may take to connect or to get an event.
const DEADLINE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Counts {
    /// Readers whose streams have begun.
    begun: AtomicUsize,
    /// Events that readers have got.
    events: AtomicUsize,
    /// Readers whose streams have ended.
    ended: AtomicUsize,
}

pub(in crate::figures) fn run(options: &Options) -> Measured {
    let readers = options.readers;
    chat::allow_files(readers * 3)?;
    let site = Site::new("event-streams", &[443], "")?;
    let agent = data::agent()?;
    let host = Arc::new(site.host()?);
    let mut keys = data::runtime()?.block_on(async {
        host.agent(&agent).await?;
        host.keys(&agent, readers.div_ceil(STREAMS_OF_A_KEY) + 1).await
    })?;
    drop(host);
    let server = site.serve(&[])?;
    let mut caller = Caller::new(server.address(), keys.split_off(keys.len() - 1));
    for number in 0..WARM_UP {
        create(&mut caller, agent.as_str(), number)?;
    }
    server.rest()?;
    let at_rest = server.memory()?.0;
    let idle = Duration::from_secs_f64(options.seconds * IDLE);
    let alone = (server.cpu()?, monotonic());
    std::thread::sleep(idle);
    let alone = (server.cpu()? - alone.0).as_secs_f64() / alone.1.elapsed().as_secs_f64();

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let counts = Arc::new(Counts::default());
    for number in 0..readers {
        let key = keys[number / STREAMS_OF_A_KEY].clone();
        let (agent, counts) = (agent.to_string(), Arc::clone(&counts));
        runtime.spawn(read(server.address(), number, key, agent, counts));
    }
    reached(&counts, &counts.begun, readers)?;
    std::thread::sleep(SETTLING);
    let opened = server.memory()?.0;
    let with = (server.cpu()?, monotonic());
    std::thread::sleep(idle);
    let with = (server.cpu()? - with.0).as_secs_f64() / with.1.elapsed().as_secs_f64();
    // The streams were alive: an event reaches all of them.
    let sent = monotonic();
    create(&mut caller, agent.as_str(), WARM_UP)?;
    reached(&counts, &counts.events, readers)?;
    let spread = sent.elapsed();
    let after = server.memory()?.0;
    drop(runtime);
    server.stop()?;
    site.end()?;

    let mut report = Report::new("event-streams");
    report.condition(format!(
        "openapi-server on SQLite with its default settings, and {} readers of \
         GET /v1/open/events/chatbots/{{agentId}}/stream, {STREAMS_OF_A_KEY} for each key, all of one agent; readers and \
         server share the cores; memory: resident set, minus that after {WARM_UP} creates; idle: for {} s",
        number(readers as f64),
        number(idle.as_secs_f64())
    ));
    report.detail("at rest", at_rest, "MiB");
    report.detail("with the streams", opened, "MiB");
    report.detail("after an event to all of them", after, "MiB");
    report.detail("from the request of the event to the last reader", spread.as_secs_f64() * 1e3, "ms");
    report.detail("idle processor without streams", alone * 100.0, "% of a core");
    let each = (opened.max(after) - at_rest) * 1_024.0 / readers as f64;
    report.figure("memory of a reader", each, "KiB", Reach::AtMost(64.0));
    report.figure("idle processor with the readers", with * 100.0, "% of a core", Reach::AtMost(5.0));
    Ok(report)
}

fn reached(counts: &Counts, count: &AtomicUsize, readers: usize) -> Result<(), Failure> {
    let all = within(DEADLINE, || {
        let ended = counts.ended.load(Ordering::Relaxed);
        if ended > 0 {
            return Err(format!("{ended} streams have ended").into());
        }
        Ok(count.load(Ordering::Relaxed) >= readers)
    })?;
    let reached = count.load(Ordering::Relaxed);
    if all { Ok(()) } else { Err(format!("only {reached} of {readers} readers got on").into()) }
}

/// Reads a stream to its end.
async fn read(address: SocketAddr, number: usize, key: Credentials, agent: String, counts: Arc<Counts>) {
    if let Err(error) = read_to_end(address, number, &key, &agent, &counts).await {
        eprintln!("reader {number}: {error}");
    }
    counts.ended.fetch_add(1, Ordering::Relaxed);
}

async fn read_to_end(
    address: SocketAddr,
    number: usize,
    Credentials { key, secret }: &Credentials,
    agent: &str,
    counts: &Counts,
) -> Result<(), Failure> {
    let socket = TcpSocket::new_v4()?;
    // One address may have a thousand connections.
    socket.bind((Ipv4Addr::new(127, 2, 0, u8::try_from(number % 100)?), 0).into())?;
    let mut stream = socket.connect(address).await?;
    let request = format!(
        "GET /v1/open/events/chatbots/{agent}/stream?types=contact.created HTTP/1.1\r\nHost: {address}\r\n\
         X-API-Key: {key}\r\nX-API-Secret: {secret}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut text = Vec::with_capacity(1_024);
    let mut is_begun = false;
    loop {
        if stream.read_buf(&mut text).await? == 0 {
            return Ok(());
        }
        if !is_begun {
            if !text.starts_with(b"HTTP/1.1 200") {
                return Err(String::from_utf8_lossy(&text).into());
            }
            is_begun = text.windows(6).any(|window| window == b"retry:");
            if is_begun {
                counts.begun.fetch_add(1, Ordering::Relaxed);
            }
        }
        if is_begun && text.ends_with(b"\n\n\r\n") {
            let events = text.windows(7).filter(|window| *window == b"\nevent:").count();
            counts.events.fetch_add(events, Ordering::Relaxed);
            text.clear();
        }
    }
}
