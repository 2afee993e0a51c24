//! `copy`: everything of a store into another one.

use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use openapi_core::agents::Agent;
use openapi_core::ports::BlobStore;
use openapi_core::storage::TransferStore;
use openapi_core::transfer::{self, Contents, Copied, Step};
use openapi_core::values::AgentId;
use serde_json::json;
use tokio::task::JoinSet;

use super::output::{note, print, print_json};
use super::{Logged, on_runtime};
use crate::assemble::{self, StoreUrl};
use crate::config::Config;
use crate::config::flags::GlobalArgs;
use crate::error::CliError;
use crate::ports::monotonic;

/// Examples of `copy`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server copy --from sqlite:./data/openapi.db --to sqlite:./moved/openapi.db\n\n\
    Stop the servers first: what is written to either store meanwhile is found as a difference at the end. Each agent \
    is printed with the number of its records and a digest of them that both stores share. When a copy is interrupted, \
    run the same command again: it goes on where it ended.\n\n\
    Contents of files are copied from the place that goes with a SQLite file, or --from-blobs, to that of the other \
    store, or --to-blobs. With --records-only they stay where they are, for servers on the new store to use the same \
    place (--blobs).\n\n\
    Server keys are not copied: give the servers on the new store those of the old one (OPENAPI_SERVER_KEY, or the file \
    server-keys beside a SQLite file), without which no API secret is accepted.";

/// Agents that one look asks for.
const AGENTS: u32 = 1_000;

#[derive(Debug, Args)]
pub struct Copy {
    /// The store to copy: sqlite:PATH, postgres://…, mongodb://…
    #[arg(long, value_name = "URL")]
    from: String,
    /// The store to copy to, empty or begun by an earlier copy
    #[arg(long, value_name = "URL")]
    to: String,
    /// Where the contents of files are: file:PATH, s3://…, gs://…, az://… [default: beside a SQLite file]
    #[arg(long, value_name = "URL", conflicts_with = "records_only")]
    from_blobs: Option<String>,
    /// Where the contents of files are to be [default: beside a SQLite file]
    #[arg(long, value_name = "URL", conflicts_with = "records_only")]
    to_blobs: Option<String>,
    /// Leave the contents of files where they are
    #[arg(long)]
    records_only: bool,
    /// Only this agent; repeatable
    #[arg(long, value_name = "ID")]
    agent: Vec<AgentId>,
    /// Agents that are copied at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=32))]
    jobs: u8,
}

/// Both sides.
struct Sides {
    from: Arc<dyn TransferStore>,
    to: Arc<dyn TransferStore>,
    contents: Option<(Arc<dyn BlobStore>, Arc<dyn BlobStore>)>,
}

impl Copy {
    pub fn run(self, every: &GlobalArgs) -> Result<(), CliError> {
        let config = Config::read(every, None)?;
        let _log = Logged::install(&config)?;
        let (from, to) = (StoreUrl::parse(&self.from)?, StoreUrl::parse(&self.to)?);
        if from.is_in_memory() || to.is_in_memory() {
            return Err(CliError::usage("a store in memory is gone with its process; copy between others"));
        }
        if self.from == self.to {
            return Err(CliError::usage("--from and --to name the same store"));
        }
        if let StoreUrl::Sqlite(config) = &from
            && !config.path.exists()
        {
            return Err(CliError::new(format!("there is no store to copy at {}", config.path.display())));
        }
        on_runtime(self.copy(&from, &to, every.json))
    }

    async fn copy(&self, from: &StoreUrl, to: &StoreUrl, as_json: bool) -> Result<(), CliError> {
        let contents = if self.records_only {
            None
        } else {
            let source = assemble::blobs_to_move(self.from_blobs.as_deref(), from, "--from-blobs")?;
            let target = assemble::blobs_to_move(self.to_blobs.as_deref(), to, "--to-blobs")?;
            // What is there already need not move.
            if source == target { None } else { Some((source, target)) }
        };
        let open = |url| assemble::open_contents(url);
        let sides = Arc::new(Sides {
            from: assemble::open_to_move(from).await?,
            to: assemble::open_to_move(to).await?,
            contents: match &contents {
                Some((source, target)) => Some((open(source)?, open(target)?)),
                None => None,
            },
        });
        let mut copies = Copies::new(sides, self.jobs.into());
        let (mut after, mut told) = (None::<AgentId>, Vec::new());
        let mut missing = self.agent.clone();
        loop {
            let agents = copies.sides.from.agents_after(after.as_ref(), AGENTS).await?;
            let Some(last) = agents.last() else { break };
            after = Some(last.id.clone());
            for agent in agents {
                if self.agent.is_empty() || self.agent.contains(&agent.id) {
                    missing.retain(|id| *id != agent.id);
                    copies
                        .begin(agent)
                        .await?
                        .into_iter()
                        .try_for_each(|done| tell(done, as_json, &mut told))?;
                }
            }
        }
        while let Some(done) = copies.next().await? {
            tell(done, as_json, &mut told)?;
        }
        copies.progress.clear();
        if let Some(id) = missing.first() {
            return Err(CliError::new(format!("there is no agent '{id}' in the store that is copied from")));
        }
        let contents = copies.progress.contents.load(Ordering::Relaxed);
        if as_json {
            return print_json(&json!({ "agents": told, "contents": contents }));
        }
        note(&format!("both stores hold the same; {contents} content(s) of files were copied"));
        Ok(())
    }
}

/// Prints an agent that was copied, or keeps it for the one document.
fn tell(
    (agent, copied): (Agent, Copied),
    as_json: bool,
    told: &mut Vec<serde_json::Value>,
) -> Result<(), CliError> {
    let digest = copied.digest.to_string();
    let records = copied.digest.records();
    if as_json {
        told.push(json!({ "id": agent.id, "records": records, "copied": copied.records, "digest": digest }));
        return Ok(());
    }
    print(&format!("{}  {records} records, {} of them copied now, {digest}\n", agent.id, copied.records))
}

/// Agents on their way.
struct Copies {
    sides: Arc<Sides>,
    at_once: usize,
    running: JoinSet<Result<(Agent, Copied), CliError>>,
    waiting: VecDeque<Agent>,
    progress: Arc<Progress>,
}

impl Copies {
    fn new(sides: Arc<Sides>, at_once: usize) -> Self {
        Copies {
            sides,
            at_once,
            running: JoinSet::new(),
            waiting: VecDeque::new(),
            progress: Arc::new(Progress::new()),
        }
    }

    /// Begins with an agent, after waiting for another one where enough are running.
    async fn begin(&mut self, agent: Agent) -> Result<Option<(Agent, Copied)>, CliError> {
        self.waiting.push_back(agent);
        if self.running.len() < self.at_once {
            self.start();
            return Ok(None);
        }
        self.next().await
    }

    fn start(&mut self) {
        let Some(agent) = self.waiting.pop_front() else { return };
        let (sides, progress) = (Arc::clone(&self.sides), Arc::clone(&self.progress));
        self.running.spawn(async move {
            let contents = sides.contents.as_ref().map(|(from, to)| Contents { from: &**from, to: &**to });
            let mut tell = |step| progress.tell(step);
            let copied = transfer::copy_agent(&*sides.from, &*sides.to, &agent, contents, &mut tell).await?;
            Ok((agent, copied))
        });
    }

    /// The next agent that is done.
    async fn next(&mut self) -> Result<Option<(Agent, Copied)>, CliError> {
        let Some(done) = self.running.join_next().await else { return Ok(None) };
        let done = done.map_err(|error| CliError::new(format!("a copy broke off: {error}")))?;
        self.start();
        if done.is_err() {
            self.progress.clear();
        }
        done.map(Some)
    }
}

/// Tells on standard error how far the copy is.
struct Progress {
    begun: Instant,
    is_terminal: bool,
    records: AtomicU64,
    contents: AtomicU64,
    /// Milliseconds after the begin.
    told: AtomicU64,
}

impl Progress {
    fn new() -> Self {
        Progress {
            begun: monotonic(),
            is_terminal: std::io::stderr().is_terminal(),
            records: AtomicU64::new(0),
            contents: AtomicU64::new(0),
            told: AtomicU64::new(0),
        }
    }

    fn tell(&self, step: Step) {
        match step {
            Step::Records(_, count) => self.records.fetch_add(count, Ordering::Relaxed),
            Step::Content(_) => self.contents.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        let every = if self.is_terminal { Duration::from_millis(200) } else { Duration::from_secs(5) };
        let now = monotonic().duration_since(self.begun).as_millis() as u64;
        let told = self.told.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(told) >= every.as_millis() as u64;
        if !is_due || self.told.compare_exchange(told, now, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let (records, contents) =
            (self.records.load(Ordering::Relaxed), self.contents.load(Ordering::Relaxed));
        let words = format!("{records} records and {contents} contents copied");
        let line = if self.is_terminal { format!("\r{words}\x1b[K") } else { format!("{words}\n") };
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn clear(&self) {
        if self.is_terminal && self.told.load(Ordering::Relaxed) > 0 {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}
