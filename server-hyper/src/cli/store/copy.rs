//! `copy`: moves the data of a store to another one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use openapi_core::agents::Agent;
use openapi_core::audit::AuditAction;
use openapi_core::json::Json;
use openapi_core::ports::BlobStore;
use openapi_core::server_keys::ServerKeys;
use openapi_core::values::AgentId;
use serde_json::json;
use storage_common::transfer;
use storage_common::transfer::{Contents, Copied, Step, TransferStore};
use tokio::task::JoinSet;

use crate::assemble::{self, OpenStore, Ownership, StoreUrl};
use crate::cli::context::CommandContext;
use crate::cli::process::Logged;
use crate::config::values::without_password;
use crate::config::{Config, exposure, variable};
use crate::console::caller::{Caller, Stream};
use crate::console::entry::{Entry, Wish, enter, wait_for_store};
use crate::error::CliError;
use crate::ports::monotonic;

/// Examples of `copy`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server copy --from sqlite:./data/openapi.db --to sqlite:./moved/openapi.db\n\n\
    Stop the servers first: a write to either store during the copy is reported as a difference at the end. Each agent \
    is printed with the number of its records and a digest of them that both stores share. When a copy is interrupted, \
    run the same command again: it continues where it ended.\n\n\
    Contents of files are copied from the folder next to the SQLite file, or from --from-blobs, to that of the other \
    store, or --to-blobs. With --records-only they stay where they are, and servers on the new store use the same \
    location (--blobs).\n\n\
    The audit log moves along, and `audit verify` proves it in the new store. With --agent, the entries that belong to \
    no agent stay in the old store.\n\n\
    Server keys are not copied: give the servers on the new store those of the old one (OPENAPI_SERVER_KEY, or the file \
    server-keys next to a SQLite file), without which no API secret is accepted.";

/// Agents per page of a listing.
const AGENTS: u32 = 1_000;

#[derive(Debug, Args)]
pub struct Copy {
    /// The store to copy: sqlite:PATH, postgres://…, mongodb://…
    #[arg(long, value_name = "URL")]
    from: String,
    /// The store to copy to: empty, or the target of an interrupted copy
    #[arg(long, value_name = "URL")]
    to: String,
    /// Where the contents of files are: file:PATH, s3://…, gs://…, az://… [default: next to a SQLite file]
    #[arg(long, value_name = "URL", conflicts_with = "records_only")]
    from_blobs: Option<String>,
    /// Where to copy the contents of files [default: next to a SQLite file]
    #[arg(long, value_name = "URL", conflicts_with = "records_only")]
    to_blobs: Option<String>,
    /// Leave the contents of files where they are
    #[arg(long)]
    records_only: bool,
    /// Only this agent; repeatable
    #[arg(long, value_name = "ID")]
    agent: Vec<AgentId>,
    /// Agents to copy concurrently
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=32))]
    jobs: u8,
}

/// The two stores.
struct Sides {
    from: Arc<dyn TransferStore>,
    to: Arc<dyn TransferStore>,
    contents: Option<(Arc<dyn BlobStore>, Arc<dyn BlobStore>)>,
    /// The server keys of either store.
    keys: Option<ServerKeys>,
}

impl Copy {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let config = Config::read(context.flags(), None)?;
        let _log = Logged::install(&config)?;
        let (from, to) = (StoreUrl::parse(&self.from)?, StoreUrl::parse(&self.to)?);
        self.warn(context);
        if from.is_in_memory() || to.is_in_memory() {
            return Err(CliError::usage("a store in memory ends with its process and cannot be copied"));
        }
        if self.from == self.to {
            return Err(CliError::usage("--from and --to name the same store"));
        }
        if let StoreUrl::Sqlite(config) = &from
            && !config.path.exists()
        {
            return Err(CliError::new(format!("there is no store to copy at {}", config.path.display())));
        }
        let wait = wait_for_store(&config)?;
        let own = |url| match enter(url, wait, "copy", Wish::Own)? {
            Entry::Open(ownership) => Ok(ownership),
            Entry::Ran(_) => Err(CliError::new("the store is in use")),
        };
        let owned = (own(&from)?, own(&to)?);
        context.run(self.copy(context, &config, (&from, owned.0), (&to, owned.1)))
    }

    /// Notes the copy in the audit log of a store, if its server keys are there: once, or for each agent that is named.
    /// Returns whether it did.
    async fn note(
        &self,
        context: &CommandContext,
        config: &Config,
        store: &OpenStore,
    ) -> Result<bool, CliError> {
        if !store.url().key_source(config).is_there() {
            return Ok(false);
        }
        let conversations = context.conversations_of(config, store)?;
        let shown = |url: &str| Json::from(without_password(url).as_str());
        let details = || [("from", shown(&self.from)), ("to", shown(&self.to))];
        let note =
            |agent| context.note(conversations.platform(), AuditAction::StoreCopy, agent, "", details());
        if self.agent.is_empty() {
            note(None).await?;
        }
        for agent in &self.agent {
            if store.storage().agent(agent).await?.is_none() {
                return Err(CliError::new(format!("there is no agent '{agent}' in the store to copy")));
            }
            note(Some(agent)).await?;
        }
        Ok(true)
    }

    /// Copies the entries of the audit log without an agent, unless agents are named; returns how many. The copy is noted in
    /// the source before, so that the entry moves along, and both stores have the same chain.
    async fn copy_chain(
        &self,
        context: &CommandContext,
        config: &Config,
        (source, target): (&OpenStore, &OpenStore),
    ) -> Result<u64, CliError> {
        let is_noted = self.note(context, config, source).await?;
        let copied = if self.agent.is_empty() {
            transfer::copy_chain_without_agent(&*source.transfer(), &*target.transfer(), &mut |_| {}).await?
        } else {
            0
        };
        if !is_noted && self.agent.is_empty() {
            self.note(context, config, target).await?;
        }
        Ok(copied)
    }

    /// Warns about URLs that expose passwords or records.
    fn warn(&self, context: &CommandContext) {
        for (flag, url) in [("--from", &self.from), ("--to", &self.to)] {
            if exposure::has_password(url) {
                context
                    .error(&format!("warning: {flag}: other users can see the password on the command line"));
            }
            if let Some(warning) = exposure::of_store(url, &variable) {
                context.error(&format!("warning: {flag}: {warning}"));
            }
        }
    }

    async fn copy(
        &self,
        context: &CommandContext,
        config: &Config,
        (from, from_owned): (&StoreUrl, Option<Ownership>),
        (to, to_owned): (&StoreUrl, Option<Ownership>),
    ) -> Result<(), CliError> {
        let as_json = context.json();
        let contents = if self.records_only {
            None
        } else {
            let source = assemble::blobs_to_move(self.from_blobs.as_deref(), from, "--from-blobs")?;
            let target = assemble::blobs_to_move(self.to_blobs.as_deref(), to, "--to-blobs")?;
            // Skip what is already there.
            if source == target { None } else { Some((source, target)) }
        };
        let open = |url| assemble::open_contents(url);
        let (source, target) = (assemble::open(from, from_owned).await?, assemble::open(to, to_owned).await?);
        let audit_entries = self.copy_chain(context, config, (&source, &target)).await?;
        let sides = Arc::new(Sides {
            from: source.transfer(),
            to: target.transfer(),
            contents: match &contents {
                Some((source, target)) => Some((open(source)?, open(target)?)),
                None => None,
            },
            keys: match from.key_source(config).existing()? {
                None => to.key_source(config).existing()?,
                keys => keys,
            },
        });
        let mut copies = Copies::new(sides, self.jobs.into(), context);
        let (mut after, mut printed) = (None::<AgentId>, Vec::new());
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
                        .try_for_each(|done| print_agent(context, done, as_json, &mut printed))?;
                }
            }
        }
        while let Some(done) = copies.next().await? {
            print_agent(context, done, as_json, &mut printed)?;
        }
        copies.progress.clear();
        if let Some(id) = missing.first() {
            return Err(CliError::new(format!("there is no agent '{id}' in the store to copy")));
        }
        let contents = copies.progress.contents.load(Ordering::Relaxed);
        if as_json {
            let copied = json!({ "agents": printed, "contents": contents, "auditEntries": audit_entries });
            return context.print_json(&copied);
        }
        context.info(&format!(
            "both stores hold the same; {contents} content(s) of files and {audit_entries} audit entries without an agent \
             were copied"
        ));
        Ok(())
    }
}

/// Prints an agent that was copied, or adds it to the JSON document.
fn print_agent(
    context: &CommandContext,
    (agent, copied): (Agent, Copied),
    as_json: bool,
    printed: &mut Vec<serde_json::Value>,
) -> Result<(), CliError> {
    let digest = copied.digest.to_string();
    let records = copied.digest.records();
    if as_json {
        printed
            .push(json!({ "id": agent.id, "records": records, "copied": copied.records, "digest": digest }));
        return Ok(());
    }
    context
        .print(&format!("{}  {records} records, {} of them copied now, {digest}\n", agent.id, copied.records))
}

/// Agents being copied.
struct Copies {
    sides: Arc<Sides>,
    at_once: usize,
    running: JoinSet<Result<(Agent, Copied), CliError>>,
    waiting: VecDeque<Agent>,
    progress: Arc<Progress>,
}

impl Copies {
    fn new(sides: Arc<Sides>, at_once: usize, context: &CommandContext) -> Self {
        Copies {
            sides,
            at_once,
            running: JoinSet::new(),
            waiting: VecDeque::new(),
            progress: Arc::new(Progress::new(context)),
        }
    }

    /// Starts to copy an agent; waits for another one first if the maximum is running.
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
            let contents = sides.contents.as_ref().map(|(from, to)| {
                let keys = sides.keys.as_ref();
                Contents { from: &**from, to: &**to, keys }
            });
            let mut report = |step| progress.record(step);
            let copied =
                transfer::copy_agent(&*sides.from, &*sides.to, &agent, contents, &mut report).await?;
            Ok((agent, copied))
        });
    }

    /// The next agent that was copied.
    async fn next(&mut self) -> Result<Option<(Agent, Copied)>, CliError> {
        let Some(done) = self.running.join_next().await else { return Ok(None) };
        let done = done.map_err(|error| CliError::new(format!("a copy was aborted: {error}")))?;
        self.start();
        if done.is_err() {
            self.progress.clear();
        }
        done.map(Some)
    }
}

/// Reports the progress of the copy on standard error.
struct Progress {
    caller: Arc<dyn Caller>,
    begun: Instant,
    is_terminal: bool,
    records: AtomicU64,
    contents: AtomicU64,
    /// Milliseconds since the start, at the last report.
    reported: AtomicU64,
}

impl Progress {
    fn new(context: &CommandContext) -> Self {
        Progress {
            caller: Arc::clone(context.caller()),
            begun: monotonic(),
            is_terminal: context.facts().is_error_terminal,
            records: AtomicU64::new(0),
            contents: AtomicU64::new(0),
            reported: AtomicU64::new(0),
        }
    }

    fn record(&self, step: Step) {
        match step {
            Step::Records(_, count) => self.records.fetch_add(count, Ordering::Relaxed),
            Step::Content(_) => self.contents.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        let every = if self.is_terminal { Duration::from_millis(200) } else { Duration::from_secs(5) };
        let now = monotonic().duration_since(self.begun).as_millis() as u64;
        let reported = self.reported.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(reported) >= every.as_millis() as u64;
        if !is_due
            || self.reported.compare_exchange(reported, now, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        let (records, contents) =
            (self.records.load(Ordering::Relaxed), self.contents.load(Ordering::Relaxed));
        let text = format!("{records} records and {contents} contents copied");
        let line = if self.is_terminal { format!("\r{text}\x1b[K") } else { format!("{text}\n") };
        let _ = self.caller.write(Stream::Error, line.as_bytes());
    }

    fn clear(&self) {
        if self.is_terminal && self.reported.load(Ordering::Relaxed) > 0 {
            let _ = self.caller.write(Stream::Error, b"\r\x1b[K");
        }
    }
}
