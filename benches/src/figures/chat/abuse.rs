//! `widget-abuse`: one address floods the widget while visitors from other addresses ask; measures the effect on
//! memory, the model and those visitors.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Site, allow_files, database_in};
use crate::data;
use crate::figures::Options;
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::statistics::Samples;
use crate::world::{Chat, Manner, ORIGIN};

/// Phases without and with the flood, each.
const ROUNDS: usize = 4;

/// The duration of a phase.
const PHASE: Duration = Duration::from_secs(15);

/// Turns of the flood over all phases.
const TURNS: usize = 10_000;

/// Origins that the flood claims; none may show the widget.
const FORGED: usize = 50;

/// Connections for the flood's turns.
const CONNECTIONS: usize = 20;

/// One in this many turns of the flood has a body of 2 MiB.
const LARGE_ONE_IN: usize = 50;
const LARGE: usize = 2 << 20;

/// Connections that send their heads one byte a second.
const SLOW: usize = 100;

/// The pause between two honest visitors.
const HONEST_PAUSE: Duration = Duration::from_millis(200);

/// A fast model: a fifth of a second per reply.
const MANNER: Manner = Manner { pace: Duration::from_millis(40), words: 5 };

/// A visitor limit for the agent that the benchmark does not reach; the limits on the flood are the built-in ones.
const LIMITS: [&str; 1] = ["agent_turns=10000/60s"];

/// Model calls that the built-in 30 turns a minute allow one address over all phases.
const BUDGET: f64 = 30.0 * (2 * ROUNDS) as f64 * PHASE.as_secs() as f64 / 60.0;

/// The flood's responses by status; 0 for a closed connection.
type Answers = Arc<Mutex<BTreeMap<u16, usize>>>;

pub(in crate::figures) fn run(_: &Options) -> Measured {
    allow_files(4 * (SLOW + CONNECTIONS) + 1_000)?;
    let folder = data::own_folder("widget-abuse")?;
    let agent = data::agent()?;
    let host = data::open(&database_in(&folder))?;
    data::runtime()?.block_on(host.agent(&agent))?;
    drop(host);
    let site = Site::start(folder, MANNER, &LIMITS)?;
    let honest = AtomicUsize::new(0);
    let answers = Answers::default();

    site.runtime.block_on(visitors(&site.chat, &honest, Duration::from_secs(2)))?;
    let at_rest = site.server.memory()?.0;
    let (mut without, mut flooded) = (Samples::default(), Samples::default());
    let mut most = at_rest;
    for round in 0..ROUNDS {
        without.extend(&site.runtime.block_on(visitors(&site.chat, &honest, PHASE))?);
        let flood = site.runtime.spawn(flood(site.chat.clone(), round, Arc::clone(&answers)));
        flooded.extend(&site.runtime.block_on(visitors(&site.chat, &honest, PHASE))?);
        most = most.max(site.server.memory()?.0);
        site.runtime.block_on(flood)??;
        most = most.max(site.server.memory()?.0);
    }
    let calls = site.model.calls() - honest.load(Ordering::Relaxed);
    site.end()?;

    let mut report = Report::new("widget-abuse");
    report.condition(format!(
        "openapi-server with the built-in limits of an address; {} turns from one address over {CONNECTIONS} connections, \
         a fifth with one of {FORGED} forged origins, one in {LARGE_ONE_IN} with a body of 2 MiB, next to {SLOW} connections \
         that send a head a byte a second; meanwhile a visitor from an address of its own asks every {} ms, answered by a \
         model that takes {} ms; in turns with {ROUNDS} times {} s without the flood; all on the same cores",
        number(TURNS as f64),
        HONEST_PAUSE.as_millis(),
        MANNER.pace.as_millis() * MANNER.words as u128,
        PHASE.as_secs()
    ));
    for (status, count) in &*answers.lock() {
        let what =
            if *status == 0 { "flood: closed".to_owned() } else { format!("flood: answered {status}") };
        report.detail(what, *count as f64, "");
    }
    report.detail("honest visitors", (without.len() + flooded.len()) as f64, "");
    report.detail("median of an honest answer without the flood", without.median(), "ms");
    report.detail("median of an honest answer during it", flooded.median(), "ms");
    report.detail("p95 of an honest answer without the flood", without.quantile(0.95), "ms");
    report.detail("p95 of an honest answer during it", flooded.quantile(0.95), "ms");
    report.detail("memory at rest", at_rest, "MiB");
    report.figure("growth of memory", most - at_rest, "MiB", Reach::AtMost(20.0));
    report.figure("calls of the model for the flood", calls as f64, "", Reach::AtMost(BUDGET));
    let slower = flooded.quantile(0.95) / without.quantile(0.95);
    report.figure("p95 of an honest answer, against without the flood", slower, "×", Reach::AtMost(1.1));
    Ok(report)
}

/// Sends honest visitors, each from its own address; returns their response times in milliseconds.
async fn visitors(chat: &Chat, honest: &AtomicUsize, during: Duration) -> Result<Samples, Failure> {
    let begun = monotonic();
    let mut asking = JoinSet::new();
    while begun.elapsed() < during {
        let number = honest.fetch_add(1, Ordering::Relaxed);
        let chat = chat.clone();
        asking.spawn(async move {
            let [.., high, low] = number.to_be_bytes();
            let from = Ipv4Addr::new(127, 1, high, low);
            let begun = monotonic();
            chat.ask(from, &chat.turn(number, ORIGIN, None), |_| {}).await?;
            Ok::<f64, Failure>(begun.elapsed().as_secs_f64() * 1e3)
        });
        tokio::time::sleep(HONEST_PAUSE).await;
    }
    let mut took = Samples::default();
    while let Some(outcome) = asking.join_next().await {
        took.push(outcome??);
    }
    Ok(took)
}

/// The flood of one phase.
async fn flood(chat: Chat, round: usize, answers: Answers) -> Result<(), Failure> {
    let begun = monotonic();
    let mut slow = JoinSet::new();
    for _ in 0..SLOW {
        let chat = chat.clone();
        slow.spawn(async move {
            loop {
                // The server closes it after a few seconds; then another one follows.
                let _ = dribble(&chat).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
    }
    let each = TURNS / ROUNDS / CONNECTIONS;
    let pause = PHASE.div_f64(each as f64);
    let mut turns = JoinSet::new();
    for connection in 0..CONNECTIONS {
        let (chat, answers) = (chat.clone(), Arc::clone(&answers));
        turns.spawn(async move {
            let mut sender = Sender::default();
            for number in 0..each {
                tokio::time::sleep_until((begun + pause.mul_f64(number as f64)).into()).await;
                // Honest visitors have lower numbers.
                let number = 1_000_000 + (round * CONNECTIONS + connection) * each + number;
                let status = sender.send(&chat, number).await.unwrap_or(0);
                let mut answers = answers.lock();
                *answers.entry(status).or_default() += 1;
            }
        });
    }
    while let Some(done) = turns.join_next().await {
        done?;
    }
    Ok(())
}

/// Begins a head and never ends it.
async fn dribble(chat: &Chat) -> std::io::Result<()> {
    let mut stream = chat.connect(Ipv4Addr::LOCALHOST).await?;
    for byte in chat.turn(0, ORIGIN, None).bytes() {
        stream.write_all(&[byte]).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

/// One connection of the flood, reopened whenever it was closed.
#[derive(Default)]
struct Sender {
    stream: Option<TcpStream>,
    token: Option<String>,
}

impl Sender {
    /// Sends a turn and reads the beginning of the response.
    async fn send(&mut self, chat: &Chat, number: usize) -> Result<u16, Failure> {
        let origin = match number % 5 {
            0 => format!("https://forged{}.example.net", number / 5 % FORGED),
            _ => ORIGIN.to_owned(),
        };
        let mut request = chat.turn(number, &origin, self.token.as_deref()).into_bytes();
        if number.is_multiple_of(LARGE_ONE_IN) {
            let head = format!(
                "POST /widget/v1/turns HTTP/1.1\r\nHost: {}\r\nOrigin: {ORIGIN}\r\nContent-Type: text/plain;charset=utf-8\r\n\
                 Content-Length: {LARGE}\r\n\r\n",
                chat.widget
            );
            request = head.into_bytes();
            request.resize(request.len() + LARGE, b' ');
        }
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(chat.connect(Ipv4Addr::LOCALHOST).await?),
        };
        let mut answer = Vec::with_capacity(8_192);
        // A server that rejects a request need not read the rest of it.
        let sent = stream.write_all(&request).await;
        let read = stream.read_buf(&mut answer).await;
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((_, token)) = text.split_once("\"token\":\"") {
            self.token = token.split_once('"').map(|(token, _)| token.to_owned());
        }
        // A stream would have to be read to its end; the flood does not.
        if sent.is_err() || read.is_err() || !text.ends_with('}') {
            self.stream = None;
        }
        Ok(text.get(9..12).ok_or("closed")?.parse()?)
    }
}
