//! `jobs`: how long queued extractions wait.

use std::time::Duration;

use openapi_core::values::Timestamp;
use serde_json::Value;

use super::site::Site;
use crate::figures::Options;
use crate::machine::{monotonic, since_epoch};
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::servers::Server;
use crate::statistics::Samples;
use crate::world::{Caller, Credentials, REQUESTS_OF_A_KEY};

const PATH: &str = "/v1/open/document-extraction/jobs";

const SCHEMA: &str = r#"{ "total": { "type": "number" } }"#;

/// Documents on an idle queue.
const ROUNDS: usize = 100;

/// Documents of the second agent.
const SECOND: usize = 20;

/// Clients that fill the queue.
const CLIENTS: usize = 8;

/// The longest time in which the queue is filled; then the benchmark goes on with what it has.
const FILLING: Duration = Duration::from_secs(240);

const AGENTS: [&str; 2] = ["first", "second"];

/// The times of a job, in milliseconds since 1970.
struct Times {
    created: f64,
    started: Option<f64>,
}

fn times(job: &Value) -> Result<Times, Failure> {
    let time = |name: &str| -> Result<Option<f64>, Failure> {
        let at: Option<Timestamp> = serde_json::from_value(job[name].clone())?;
        Ok(at.map(|at| at.millis() as f64))
    };
    Ok(Times { created: time("createdAt")?.ok_or("a job has no time")?, started: time("startedAt")? })
}

fn id_of(job: &Value) -> Result<String, Failure> {
    Ok(job["id"].as_str().ok_or("a job has no id")?.to_owned())
}

/// Queues a document; its job.
fn queue(caller: &mut Caller) -> Result<Value, Failure> {
    caller.post_form(PATH, &[("document", "Total: 12.50\n"), ("schema", SCHEMA)])
}

/// Queues a document and waits for its end.
fn run_one(caller: &mut Caller) -> Result<Times, Failure> {
    let id = id_of(&queue(caller)?)?;
    let job = caller.get(&format!("{PATH}/{id}?wait=25"))?;
    match job["status"].as_str() {
        Some("succeeded") => times(&job),
        _ => Err(format!("a job has not succeeded: {job}").into()),
    }
}

pub(in crate::figures) fn run(options: &Options) -> Measured {
    let site = Site::new("jobs", &[443], "extraction_workers = 1\n")?;
    let keys_of_first = CLIENTS + options.jobs.div_ceil(REQUESTS_OF_A_KEY) * 3;
    let mut keys = Vec::new();
    for (agent, count) in AGENTS.into_iter().zip([keys_of_first, 2]) {
        keys.push(site.agent(agent, count)?);
        site.run(&["credits", "set", "1000000", "--agent", agent])?;
    }
    let (Some(of_second), Some(mut of_first)) = (keys.pop(), keys.pop()) else {
        return Err("no keys".into());
    };

    let server = site.serve(&[])?;
    let mut second = Caller::new(server.address(), of_second[..1].to_vec());
    run_one(&mut second)?;
    let mut idle = Samples::default();
    for _ in 0..ROUNDS {
        let times = run_one(&mut second)?;
        idle.push(times.started.ok_or("a job has not started")? - times.created);
    }
    server.stop()?;

    let server = site.serve(&[("OPENAPI_EXTRACTION_WORKERS", "0")])?;
    let begun = monotonic();
    let queued = fill(&server, &mut of_first, options.jobs)?;
    let filled = begun.elapsed();
    server.stop()?;

    let server = site.serve(&[])?;
    let mut second = Caller::new(server.address(), of_second[1..].to_vec());
    let mut first = Caller::new(server.address(), of_first);
    let mut waits = Samples::default();
    let mut overtaken = Samples::default();
    for _ in 0..SECOND {
        let id = id_of(&queue(&mut second)?)?;
        let answered = since_epoch();
        let job = second.get(&format!("{PATH}/{id}?wait=25"))?;
        let started = times(&job)?.started.ok_or("the second agent's job has not started within 25 s")?;
        waits.push(started - answered);
        overtaken.push(started_between(&mut first, &queued, answered, started)? as f64);
    }
    let left = queued.len() - first_ready(&mut first, &queued)?;
    if left == 0 {
        return Err(
            "the jobs of the first agent ended before those of the second; queue more with --jobs".into()
        );
    }
    // A drain hands back what runs; what waits stays in the store, which is removed.
    server.stop()?;
    site.end()?;

    let mut report = Report::new("jobs");
    report.condition(format!(
        "openapi-server on SQLite with one worker and the built-in engine; idle queue: {ROUNDS} documents of one line, one \
         at a time, from createdAt to startedAt of the job; then {} jobs of one agent are queued, and another agent queues \
         {SECOND}, one at a time, while they run",
        number(queued.len() as f64)
    ));
    report.detail("idle queue, median", idle.median(), "ms");
    report.detail("idle queue, slowest", idle.quantile(1.0), "ms");
    report.detail("time to queue the jobs of the first agent", filled.as_secs_f64(), "s");
    report.detail("jobs of the first agent that waited to the end", left as f64, "");
    report.detail("second agent, from the response to the start, median", waits.median(), "ms");
    report.detail("second agent, from the response to the start, slowest", waits.quantile(1.0), "ms");
    report.figure("wait on an idle queue, 95 of 100 within", idle.quantile(0.95), "ms", Reach::AtMost(200.0));
    report.detail("jobs of the first agent that start before one of the second, mean", overtaken.mean(), "");
    report.figure(
        "jobs of the first agent that start after the response to one of the second and before its start, at most",
        overtaken.quantile(1.0),
        "",
        Reach::AtMost(0.0),
    );
    Ok(report)
}

/// Queues this many documents, by several clients; their ids, in the order of the queue.
fn fill(server: &Server, keys: &mut Vec<Credentials>, jobs: usize) -> Result<Vec<String>, Failure> {
    let begun = monotonic();
    let each = jobs.div_ceil(CLIENTS);
    let needed = each.div_ceil(REQUESTS_OF_A_KEY);
    let filled: Vec<Result<Vec<(f64, String)>, Failure>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let keys = keys.drain(..needed).collect();
                let mut caller = Caller::new(server.address(), keys);
                scope.spawn(move || {
                    let mut queued = Vec::new();
                    while queued.len() < each && begun.elapsed() < FILLING {
                        let job = queue(&mut caller)?;
                        queued.push((times(&job)?.created, id_of(&job)?));
                    }
                    Ok::<_, Failure>(queued)
                })
            })
            .collect();
        let join = |client: std::thread::ScopedJoinHandle<'_, _>| {
            client.join().unwrap_or_else(|_| Err("a client panicked".into()))
        };
        clients.into_iter().map(join).collect()
    });
    let mut queued = filled.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    queued.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    Ok(queued.into_iter().map(|(_, id)| id).collect())
}

/// When a job of the first agent started.
fn start_of(caller: &mut Caller, queued: &[String], number: usize) -> Result<Option<f64>, Failure> {
    let id = queued.get(number).ok_or("there is no such job")?;
    Ok(times(&caller.get(&format!("{PATH}/{id}"))?)?.started)
}

/// The number of the first job that has not started. Jobs start in about their order.
fn first_ready(caller: &mut Caller, queued: &[String]) -> Result<usize, Failure> {
    let (mut low, mut high) = (0, queued.len());
    while low < high {
        let middle = low.midpoint(high);
        if start_of(caller, queued, middle)?.is_some() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// How many jobs started after `from` and before `to`: looked for around the newest that has started, because jobs that
/// were queued at once may have been reordered a little.
fn started_between(caller: &mut Caller, queued: &[String], from: f64, to: f64) -> Result<usize, Failure> {
    const AROUND: usize = 8;
    let next = first_ready(caller, queued)?;
    let mut count = 0;
    for number in next.saturating_sub(AROUND)..(next + AROUND).min(queued.len()) {
        let start = start_of(caller, queued, number)?;
        count += usize::from(start.is_some_and(|start| start > from && start < to));
    }
    Ok(count)
}
