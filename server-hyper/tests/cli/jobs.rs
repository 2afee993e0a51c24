//! Queued extractions through the real server: kills, restarts, the command line.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::extraction::{SCHEMA, form};
use super::support::{Sandbox, Serving, connect, credentials, request, within};

const JOBS: &str = "/v1/open/document-extraction/jobs";

type Keys = [(&'static str, String); 2];

/// Queues a document; the id of the job, or none if the server does not answer.
pub fn queue(origin: &str, keys: &Keys, text: &str) -> Option<String> {
    let parts = [("document", text), ("schema", SCHEMA), ("batchId", "kills")];
    let mut stream = std::panic::catch_unwind(|| connect(origin)).ok()?;
    stream.write_all(&form(JOBS, keys, &parts)).ok()?;
    let mut heard = String::new();
    stream.read_to_string(&mut heard).ok()?;
    let (head, body) = heard.split_once("\r\n\r\n")?;
    let body: Value = serde_json::from_str(body).ok()?;
    assert!(head.contains(" 201 "), "{body}");
    body["data"]["id"].as_str().map(str::to_owned)
}

fn get(server: &Serving, keys: &Keys, path: &str) -> Value {
    let headers: Vec<(&str, &str)> = keys.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (status, body) = request(&server.api, "GET", path, &headers, "");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

fn agent(sandbox: &Sandbox) {
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    sandbox.run(&["credits", "set", "1000000", "--agent", "acme"]).done();
}

fn key(sandbox: &Sandbox) -> Keys {
    let limits = ["--per-minute", "1000", "--per-hour", "10000"];
    let key = ["keys", "create", "--agent", "acme", "--name", "All", "--allow", "all"];
    credentials(&sandbox.json(&[&key[..], &limits[..]].concat()))
}

/// The number of kills; more with `OPENAPI_TEST_KILLS`.
fn kills() -> u64 {
    std::env::var("OPENAPI_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3)
}

/// Servers are killed at random moments of queueing and running: every acknowledged job has its result, each is charged
/// once, and the ledger is balanced.
#[test]
fn killed_servers_lose_no_job_and_charge_none_twice() {
    let sandbox = Sandbox::new();
    agent(&sandbox);
    let mut acknowledged = Vec::new();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..kills() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let keys = key(&sandbox);
        let mut server = sandbox.serve(&["--extraction-workers", "2"]);
        let delay = Duration::from_micros(100_000 + (random >> 33) % 900_000);
        let pid = rustix::process::Pid::from_child(&server.child);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let begun = Instant::now();
                while begun.elapsed() < delay {
                    std::thread::sleep(Duration::from_micros(100));
                }
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            });
            // Far below the limit of the key.
            for _ in 0..900 {
                let Some(job) = queue(&server.api, &keys, "Total: 12.50") else { break };
                acknowledged.push(job);
            }
        });
        server.wait();
    }
    assert!(!acknowledged.is_empty(), "no job was acknowledged");
    let keys = key(&sandbox);
    let server = sandbox.serve(&["--extraction-workers", "2"]);
    let mut batch = Value::Null;
    // A lease of a killed server ends after a minute.
    within(Duration::from_secs(180), "every job ends", || {
        std::thread::sleep(Duration::from_millis(200));
        batch = get(&server, &keys, "/v1/open/document-extraction/batches/kills")["data"].clone();
        batch["queued"] == 0 && batch["running"] == 0
    });
    assert_eq!(batch["succeeded"], batch["total"], "{batch}");
    // A job whose answer was lost counts as well.
    assert!(batch["total"].as_u64().unwrap() >= acknowledged.len() as u64);
    for jobs in acknowledged.chunks(900) {
        let keys = key(&sandbox);
        for job in jobs {
            let job = get(&server, &keys, &format!("{JOBS}/{job}"));
            assert_eq!(job["data"]["result"]["data"]["total"], 12.5, "{job}");
        }
    }
    assert_eq!(server.end(), 0);
    let credits = sandbox.json(&["credits", "show", "--agent", "acme"]);
    let spent = 1_000_000 - credits["plan"].as_u64().unwrap();
    assert_eq!(
        (spent, &credits["reserved"]),
        (batch["total"].as_u64().unwrap(), &Value::from(0)),
        "{credits}"
    );
    let said = sandbox.run(&["check"]);
    for line in said.stdout.lines().filter(|line| *line != "the store is sound") {
        assert!(line.ends_with("belongs to no file"), "{line}");
    }
}

/// A server that ends hands its jobs back, and the next one does them.
#[test]
fn a_restart_loses_no_job() {
    let sandbox = Sandbox::new();
    agent(&sandbox);
    let keys = key(&sandbox);
    let server = sandbox.serve(&["--extraction-workers", "0"]);
    let jobs: Vec<String> =
        (0..4).map(|_| queue(&server.api, &keys, "Total: 3").expect("an answer")).collect();
    let listed = sandbox.json(&["extractions", "list", "--agent", "acme", "--status", "queued"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(4));
    sandbox.run(&["extractions", "cancel", &jobs[0], "--agent", "acme"]).done();
    assert_eq!(server.end(), 0);
    let server = sandbox.serve(&["--extraction-workers", "1"]);
    for job in &jobs[1..] {
        let job = get(&server, &keys, &format!("{JOBS}/{job}?wait=25"));
        assert_eq!((&job["data"]["status"], &job["data"]["attempts"]), (&"succeeded".into(), &1.into()));
    }
    let (_, metrics) = server.ops("/metrics");
    assert!(metrics.contains("openapi_jobs{queue=\"extraction\",state=\"ready\"}"), "{metrics}");
    let shown = sandbox.json(&["extractions", "show", &jobs[0], "--agent", "acme"]);
    assert_eq!(shown["status"], "cancelled");
    // Only a failed one is queued again.
    let retry = ["extractions", "retry", &jobs[0], "--agent", "acme"];
    assert!(sandbox.run(&retry).failed(1).contains("Only a failed job"));
    let retried = sandbox.json(&["extractions", "retry", "--batch", "kills", "--agent", "acme"]);
    assert_eq!(retried.as_array().map(Vec::len), Some(0));
    sandbox.run(&["extractions", "retry", "--agent", "acme"]).failed(2);
    assert_eq!(server.end(), 0);
}
