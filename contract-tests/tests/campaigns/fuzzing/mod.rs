//! Fuzzing: whatever is sent, the API answers, does not panic, does not wait for ever, and its answer keeps the rules.
//!
//! Requests are mutated, from one that succeeds for each endpoint, from the small world of random requests, and from
//! those that led to an answer of a new kind. `FUZZ_CPU_SECONDS` sets how long, `FUZZ_SEED` where it begins. What is
//! found is written to `target/tmp` as a file that belongs into `fuzzing/kept` once it is mended.

mod case;
mod mutate;
pub mod seeds;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use contract_tests::SplitMix64;
use contract_tests::traffic::{self, Known, Step};

pub use self::case::{Case, Who};
pub use self::mutate::mutated;

use self::world::{HAS_DEFECT, Sent, World};
use crate::{caught, length};

/// Cases that one world takes: its store stays small.
const CASES_OF_WORLD: u64 = 400;
/// A case that takes longer than this is taken for one that never ends.
const PATIENCE: Duration = Duration::from_secs(120);
/// Different findings after which a campaign ends.
const ENOUGH: usize = 10;

/// What a case did that none may do.
struct Finding {
    words: String,
    case: Case,
    /// Whether it does so alone, in a fresh world.
    alone: bool,
}

impl Finding {
    /// Cuts a case down, as far as it fails alone.
    fn of(case: &Case, words: String) -> Self {
        let fails = |case: &Case| caught(|| World::new().send(case)).err();
        let mut finding = Finding { words, case: case.clone(), alone: fails(case).is_some() };
        if !finding.alone {
            return finding;
        }
        let mut shrink = |smaller: Case| match fails(&smaller) {
            Some(words) => {
                (finding.words, finding.case) = (words, smaller);
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

    fn kept(&self, number: usize) -> String {
        let bytes = self.case.bytes();
        let path = place(&format!("fuzz-finding-{number}.http"));
        fs::write(&path, &bytes).expect("a file in target/tmp");
        let alone = if self.alone { "alone" } else { "only after what was sent before it" };
        let shown: String = bytes.escape_ascii().to_string().chars().take(4_000).collect();
        format!("{}\n  {alone}, kept as {}:\n  {}", self.words, path.display(), shown.replace("\\n", "\n  "))
    }
}

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The seconds of the processor that this thread has used.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/thread-self/stat").expect("Linux tells the time of a thread");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// The most memory that this process has held, for people.
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
    /// Findings after which it ends.
    enough: usize,
}

impl Campaign {
    fn try_case(&mut self, world: &mut World, case: &Case, running: &Mutex<Vec<u8>>) {
        *running.lock().unwrap_or_else(PoisonError::into_inner) = case.bytes();
        let sent = match caught(|| world.send(case)) {
            Ok(Sent::Nothing) => return,
            Ok(sent) => sent,
            Err(words) => {
                let finding = Finding::of(case, words);
                let is_new = self.findings.iter().all(|known| known.words != finding.words);
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

    /// Cases until so many seconds of the processor are used up.
    fn run(&mut self, seed: u64, seconds: f64, running: &Mutex<Vec<u8>>) {
        let mut dice = SplitMix64(seed);
        let mut world = World::new();
        self.corpus = seeds::all();
        for case in self.corpus.clone() {
            self.try_case(&mut world, &case, running);
        }
        let of_world = Known::of(vec!["<TEMPLATE>".to_owned()]);
        let end = cpu_seconds() + seconds;
        while self.findings.len() < self.enough && cpu_seconds() < end {
            world = World::new();
            for _ in 0..CASES_OF_WORLD {
                let begin = match traffic::step(dice.next_u64(), &of_world) {
                    Step::Request(request) if dice.one_in(4) => Case::of(&request),
                    _ => dice.pick(&self.corpus),
                };
                let case = if dice.one_in(30) {
                    begin
                } else {
                    let other = &self.corpus[dice.below(self.corpus.len() as u64) as usize];
                    mutated(&mut dice, &begin, other)
                };
                self.try_case(&mut world, &case, running);
            }
        }
    }
}

/// Runs a campaign on a thread of its own; a case that never ends ends the process with its request.
#[expect(clippy::disallowed_methods, reason = "nothing else ends a thread that never ends")]
fn campaign(seed: u64, seconds: f64, has_defect: bool) -> Campaign {
    let running = Arc::new(Mutex::new(Vec::new()));
    let (done, outcome) = mpsc::channel();
    let shared = Arc::clone(&running);
    // As small as a host's may be: what needs more stack for what was sent is found here.
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
        match outcome.recv_timeout(PATIENCE) {
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
                let case = running.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if case == before {
                    fs::write(place("fuzz-finding-endless.http"), &case).expect("a file in target/tmp");
                    eprintln!("a request is not answered in {PATIENCE:?}:\n{}", case.escape_ascii());
                    std::process::abort();
                }
                before = case;
            }
        }
    }
}

#[test]
fn whatever_is_sent_is_answered() {
    let campaign = campaign(length("FUZZ_SEED", 1), length("FUZZ_CPU_SECONDS", 5) as f64, false);
    let findings = campaign.findings.iter().enumerate();
    let findings: Vec<String> = findings.map(|(number, finding)| finding.kept(number)).collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n\n"));
    // Mutations that only ever made nonsense would find nothing.
    for status in [200, 201, 204, 400, 401, 403, 404, 405, 408, 415] {
        assert!(campaign.statuses.contains_key(&status), "no {status} among {:?}", campaign.statuses);
    }
}

/// A green campaign tells something only if a panic behind all the checks of a request is found and cut down.
#[test]
fn a_planted_panic_is_found() {
    // It ends when it has found it; how long that takes depends on chance, which each change of the seeds throws anew.
    let campaign = campaign(1, 300.0, true);
    let [finding] = &campaign.findings[..] else { panic!("{} findings", campaign.findings.len()) };
    assert!(finding.words.contains("the planted defect"), "{}", finding.words);
    assert!(finding.alone, "it needs nothing that was sent before");
    assert!(finding.case.body.len() < 1_000, "{} bytes are left of it", finding.case.body.len());
}

#[test]
fn what_was_found_stays_mended() {
    for (name, case) in seeds::kept() {
        if let Err(words) = caught(|| World::new().send(&case)) {
            panic!("{name}: {words}");
        }
    }
}
