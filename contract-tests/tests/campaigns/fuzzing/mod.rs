//! Fuzzing: the API answers any input without a panic or a hang, and its responses follow the rules.
//!
//! Mutations start from a successful request for each endpoint, from the random requests of the small domain, and from
//! cases that led to a new kind of response. `FUZZ_CPU_SECONDS` sets the duration, `FUZZ_SEED` the start. Findings are
//! written to `target/tmp`; once fixed, add the file to `fuzzing/kept`.

mod case;
mod mutate;
pub mod seeds;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use contract_tests::SplitMix64;
use contract_tests::traffic::{self, Known, Step};
use parking_lot::Mutex;

pub use self::case::{Case, Who};
pub use self::mutate::mutated;

use self::world::{HAS_DEFECT, Sent, World};
use crate::{caught, length};

/// Cases per world, so that its store stays small.
const CASES_OF_WORLD: u64 = 400;
/// The time after which a case counts as a hang.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The number of distinct findings that ends a campaign.
const ENOUGH: usize = 10;

/// A finding.
struct Finding {
    message: String,
    case: Case,
    /// Whether it reproduces alone, in a fresh world.
    alone: bool,
}

impl Finding {
    /// Minimizes a case, if it fails alone.
    fn of(case: &Case, message: String) -> Self {
        let fails = |case: &Case| caught(|| World::new().send(case)).err();
        let mut finding = Finding { message, case: case.clone(), alone: fails(case).is_some() };
        if !finding.alone {
            return finding;
        }
        let mut shrink = |smaller: Case| match fails(&smaller) {
            Some(message) => {
                (finding.message, finding.case) = (message, smaller);
                true
            }
            None => false,
        };
        let mut current = case.clone();
        for at in (0..current.headers.len()).rev() {
            let mut fewer = current.clone();
            let _ = fewer.headers.remove(at);
            if shrink(fewer.clone()) {
                current = fewer;
            }
        }
        let mut size = current.body.len().div_ceil(2);
        let mut tries = 0;
        while size > 0 && tries < 400 {
            let mut at = 0;
            while at < current.body.len() && tries < 400 {
                let mut fewer = current.clone();
                let _ = fewer.body.drain(at..fewer.body.len().min(at + size));
                tries += 1;
                if shrink(fewer.clone()) {
                    current = fewer;
                } else {
                    at += size;
                }
            }
            size /= 2;
        }
        finding
    }

    fn saved(&self, number: usize) -> String {
        let bytes = self.case.bytes();
        let path = output_path(&format!("fuzz-finding-{number}.http"));
        fs::write(&path, &bytes).expect("a file in target/tmp");
        let alone = if self.alone { "alone" } else { "only after what was sent before it" };
        let shown: String = bytes.escape_ascii().to_string().chars().take(4_000).collect();
        format!(
            "{}\n  {alone}, saved as {}:\n  {}",
            self.message,
            path.display(),
            shown.replace("\\n", "\n  ")
        )
    }
}

fn output_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The CPU seconds of this thread.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/thread-self/stat").expect("Linux tells the time of a thread");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// The peak memory of this process, formatted.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap_or("unknown").trim().to_owned()
}

#[derive(Default)]
struct Campaign {
    corpus: Vec<Case>,
    signatures: BTreeSet<String>,
    findings: Vec<Finding>,
    statuses: BTreeMap<u16, u64>,
    cases: u64,
    /// The number of findings that ends it.
    enough: usize,
}

impl Campaign {
    fn try_case(&mut self, world: &mut World, case: &Case, running: &Mutex<Vec<u8>>) {
        *running.lock() = case.bytes();
        let sent = match caught(|| world.send(case)) {
            Ok(Sent::Nothing) => return,
            Ok(sent) => sent,
            Err(message) => {
                let finding = Finding::of(case, message);
                let is_new = self.findings.iter().all(|known| known.message != finding.message);
                self.findings.extend(is_new.then_some(finding));
                *world = World::new();
                return;
            }
        };
        self.cases += 1;
        let status = match &sent {
            Sent::Reply(reply) => reply.status,
            Sent::Widget(status, _) => *status,
            Sent::Nothing => 0,
        };
        *self.statuses.entry(status).or_default() += 1;
        if self.signatures.insert(sent.signature()) && case.body.len() < 100_000 {
            self.corpus.push(case.clone());
        }
    }

    /// Runs cases until the CPU time is used up.
    fn run(&mut self, seed: u64, seconds: f64, running: &Mutex<Vec<u8>>) {
        let mut random = SplitMix64(seed);
        let mut world = World::new();
        self.corpus = seeds::all();
        for case in self.corpus.clone() {
            self.try_case(&mut world, &case, running);
        }
        // The planted defect is in uploads: a proof that begins with them does not depend on what else there is.
        let is_proof = self.enough == 1;
        if is_proof {
            self.corpus.retain(|case| case.body.windows(9).any(|bytes| bytes == b"form-data"));
        }
        let of_world = Known::of(vec!["<TEMPLATE>".to_owned()]);
        let end = cpu_seconds() + seconds;
        while self.findings.len() < self.enough && cpu_seconds() < end {
            world = World::new();
            for _ in 0..CASES_OF_WORLD {
                let choose = if random.one_in(2) { traffic::hostile_step } else { traffic::step };
                let begin = match choose(random.next_u64(), &of_world) {
                    Step::Request(request) if !is_proof && random.one_in(3) => Case::of(&request),
                    _ => random.pick(&self.corpus),
                };
                let case = if random.one_in(30) {
                    begin
                } else {
                    let other = &self.corpus[random.below(self.corpus.len() as u64) as usize];
                    mutated(&mut random, &begin, other)
                };
                self.try_case(&mut world, &case, running);
            }
        }
    }
}

/// Runs a campaign on its own thread; a case that hangs aborts the process and reports its request.
#[expect(clippy::disallowed_methods, reason = "nothing else stops a hung thread")]
fn campaign(seed: u64, seconds: f64, has_defect: bool) -> Campaign {
    let running = Arc::new(Mutex::new(Vec::new()));
    let (done, outcome) = mpsc::channel();
    let shared = Arc::clone(&running);
    // As small as a host's thread may be, to find requests that need more stack.
    let thread = std::thread::Builder::new().stack_size(1024 * 1024).spawn(move || {
        HAS_DEFECT.set(has_defect);
        let mut campaign = Campaign { enough: if has_defect { 1 } else { ENOUGH }, ..Campaign::default() };
        campaign.run(seed, seconds, &shared);
        let used = cpu_seconds();
        let _ = done.send((campaign, used));
    });
    let _ = thread.expect("a thread");
    let mut before = Vec::new();
    loop {
        match outcome.recv_timeout(TIMEOUT) {
            Ok((campaign, used)) => {
                println!(
                    "{} requests in {used:.0} s of one processor, {} kinds of answers, {} seeds in the end, at most {}: {:?}",
                    campaign.cases,
                    campaign.signatures.len(),
                    campaign.corpus.len(),
                    peak_memory(),
                    campaign.statuses
                );
                return campaign;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("the campaign itself failed"),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let case = running.lock().clone();
                if case == before {
                    fs::write(output_path("fuzz-finding-endless.http"), &case).expect("a file in target/tmp");
                    eprintln!("a request is not answered in {TIMEOUT:?}:\n{}", case.escape_ascii());
                    std::process::abort();
                }
                before = case;
            }
        }
    }
}

#[test]
fn every_input_gets_a_valid_response() {
    let campaign = campaign(length("FUZZ_SEED", 1), length("FUZZ_CPU_SECONDS", 5) as f64, false);
    let findings = campaign.findings.iter().enumerate();
    let findings: Vec<String> = findings.map(|(number, finding)| finding.saved(number)).collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n\n"));
    // Purely invalid mutations would find nothing.
    for status in [200, 201, 204, 400, 401, 403, 404, 405, 408, 415] {
        assert!(campaign.statuses.contains_key(&status), "no {status} among {:?}", campaign.statuses);
    }
}

/// A green campaign means something only if a panic after all checks of a request is found and minimized.
#[test]
fn a_planted_panic_is_found() {
    // It stops at the finding. The duration depends on the seeds.
    let campaign = campaign(1, 300.0, true);
    let [finding] = &campaign.findings[..] else { panic!("{} findings", campaign.findings.len()) };
    assert!(finding.message.contains("the planted defect"), "{}", finding.message);
    assert!(finding.alone, "it reproduces in a fresh world");
    assert!(finding.case.body.len() < 1_000, "{} bytes are left of it", finding.case.body.len());
}

#[test]
fn committed_findings_stay_fixed() {
    for (name, case) in seeds::reproducers() {
        if let Err(message) = caught(|| World::new().send(&case)) {
            panic!("{name}: {message}");
        }
    }
}
