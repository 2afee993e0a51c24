//! `audit`: the audit log.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::time::Duration;

use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::audit::{AuditAction, ChainedEntry, OsUser};
use openapi_core::platform::Platform;
use openapi_core::storage::AuditQuery;
use openapi_core::values::{AgentId, AuditId, Timestamp};
use serde_json::json;

use super::context::CommandContext;
use super::output::{optional, who};
use crate::anchors::{self, Anchors};
use crate::assemble::{Contents, StoreUrl};
use crate::error::CliError;

/// Entries read at a time.
const PAGE: u32 = 500;

#[derive(Debug, Subcommand)]
pub enum Audit {
    /// Show the newest entries, the newest last
    #[command(after_help = "Examples:\n  \
        openapi-server audit tail --agent acme\n  \
        openapi-server audit tail --lines 5 --json")]
    Tail {
        /// Only this agent's entries; all by default, failed authentications with unknown keys included
        #[arg(long)]
        agent: Option<AgentId>,
        /// Number of entries
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        lines: u32,
        /// Continue with new entries as they arrive, one JSON object or line each
        #[arg(long, short)]
        follow: bool,
    },
    /// Print all entries as NDJSON, oldest first
    #[command(after_help = "Examples:\n  openapi-server audit export --agent acme > audit.ndjson")]
    Export {
        /// Only this agent's entries; all by default
        #[arg(long)]
        agent: Option<AgentId>,
    },
    /// Verify that no entry was changed, removed or inserted, and name the first that was
    #[command(after_help = "Examples:\n  \
        openapi-server audit verify\n  \
        openapi-server audit verify --json\n\n\
        Each entry has a number and a MAC under a server key over the entry before. The command reads all entries and \
        compares the ends of the chains with those that the server has appended to the anchor file (audit_anchors). \
        Entries after the last anchor could have been cut off unseen. Exit status 1: the log was tampered with.")]
    Verify,
    /// Remove entries that are older than a date; the rest of the log remains verifiable
    #[command(after_help = "Examples:\n  \
        openapi-server audit purge --before 2026-01-01\n  \
        openapi-server audit purge --before 2026-01-01T00:00:00Z --agent acme\n\n\
        The removal leaves an entry of its own. The setting audit_retention removes old entries by itself.")]
    Purge {
        /// The date or time (UTC) of the oldest entry to keep
        #[arg(long, value_name = "DATE", value_parser = instant)]
        before: Timestamp,
        /// Only this agent's entries; all by default
        #[arg(long)]
        agent: Option<AgentId>,
    },
}

/// Reads a time, or the first moment of a date.
fn instant(text: &str) -> Result<Timestamp, String> {
    let day = format!("{text}T00:00:00Z");
    let read = text.parse().or_else(|_| day.parse::<Timestamp>());
    read.map_err(|_| format!("'{text}' is not a date; write 2026-01-31 or 2026-01-31T12:00:00Z"))
}

impl Audit {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        context.with_platform(Contents::Closed, async |platform| match self {
            Audit::Tail { agent, lines, follow } => {
                if let Some(agent) = &agent {
                    // A mistyped agent would look like one without entries.
                    platform.agent(agent).await?;
                }
                let query =
                    AuditQuery { agent: agent.clone(), after: None, newest_first: true, limit: lines };
                let mut entries = platform.audit(&query).await?;
                entries.reverse();
                context.note_bulk(platform, query.agent.as_ref(), "audit", entries.len()).await?;
                if !follow {
                    let heads = ["at", "agent", "who", "what", "resource", "address", "details"];
                    return context.print_table(json, &entries, &heads, row);
                }
                self::follow(context, platform, agent, entries, json).await
            }
            Audit::Export { agent } => {
                if let Some(agent) = &agent {
                    platform.agent(agent).await?;
                }
                context.note(platform, AuditAction::AuditExport, agent.as_ref(), "", []).await?;
                match export(context, platform, agent).await {
                    Err(Stop::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                    Err(Stop::Output(error)) => Err(error.into()),
                    Err(Stop::Failed(failure)) => Err(failure),
                    Ok(()) => Ok(()),
                }
            }
            Audit::Verify => verify(context, platform).await,
            Audit::Purge { before, agent } => {
                if before > platform.now() {
                    return Err(CliError::usage("--before lies in the future; every entry would be removed"));
                }
                if let Some(agent) = &agent {
                    platform.agent(agent).await?;
                }
                let removed = platform.purge_audit(&context.operator(), agent.as_ref(), before).await?;
                if json {
                    return context.print_json(&json!({ "removed": removed }));
                }
                context.print(&format!("{removed} entries removed\n"))
            }
        })
    }
}

enum Stop {
    Output(io::Error),
    Failed(CliError),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Output(error)
    }
}

async fn export(context: &CommandContext, platform: &Platform, agent: Option<AgentId>) -> Result<(), Stop> {
    let failed = |error| Stop::Failed(CliError::from(error));
    let mut output = BufWriter::new(context.output());
    let mut query = AuditQuery { agent, after: None, newest_first: false, limit: PAGE };
    loop {
        let entries = platform.audit(&query).await.map_err(failed)?;
        let Some(last) = entries.last() else { break };
        query.after = Some(position(last));
        for entry in &entries {
            let line = serde_json::to_string(entry).map_err(|error| Stop::Failed(error.into()))?;
            writeln!(output, "{line}")?;
        }
    }
    Ok(output.flush()?)
}

/// Verifies all chains, and prints what was found.
async fn verify(context: &CommandContext, platform: &Platform) -> Result<(), CliError> {
    let config = context.config()?;
    let keys = StoreUrl::parse(config.store())?.key_source(&config);
    let path = anchors::path_of(&config, &keys);
    let anchors = match &path {
        Some(path) => Anchors::read(path)?,
        None => Anchors::default(),
    };
    let report = platform.verify_audit(&anchors.heads).await?;
    if context.json() {
        let heads = report.heads.iter().map(
            |(agent, head)| json!({ "agentId": agent, "sequence": head.sequence, "mac": head.mac_text() }),
        );
        context.print_json(&json!({
            "sound": report.breaks.is_empty(),
            "entries": report.entries,
            "olderThanTheChains": report.earlier,
            "breaks": report.breaks,
            "heads": heads.collect::<Vec<_>>(),
            "anchors": anchors.at.map(|at| json!({ "file": path, "at": at })),
        }))?;
    } else {
        for broken in &report.breaks {
            let agent = broken.agent_id.as_ref().map_or("(no agent)", AgentId::as_str);
            let entry = broken.entry.map_or_else(String::new, |entry| format!(" ({entry})"));
            context.print(&format!("{agent}: entry {}{entry}: {}\n", broken.sequence, broken.problem))?;
        }
        context.print(&format!(
            "entries verified: {}, in chains: {}\n",
            report.entries,
            report.heads.len() + report.breaks.len()
        ))?;
        if report.earlier > 0 {
            context.info(&format!(
                "{} entries are older than the chains: what was done, by whom and when is proven from the begin of the \
                 chains on, their details are not",
                report.earlier
            ));
        }
        context.info(&match (anchors.at, &path) {
            (Some(at), Some(path)) => format!(
                "the last anchor in {} is of {at}: later entries could have been cut off unseen",
                path.display()
            ),
            _ => "there is no anchor file (audit_anchors): the newest entries could have been cut off unseen"
                .to_owned(),
        });
    }
    match report.breaks.len() {
        0 => Ok(()),
        count => Err(CliError::new(format!("the audit log is broken in {count} chain(s)"))),
    }
}

async fn follow(
    context: &CommandContext,
    platform: &Platform,
    agent: Option<AgentId>,
    mut entries: Vec<ChainedEntry>,
    json: bool,
) -> Result<(), CliError> {
    context.caller().run_until_interrupted();
    let mut query = AuditQuery { agent, after: None, newest_first: false, limit: PAGE };
    loop {
        for entry in &entries {
            let line = if json {
                serde_json::to_string(entry)?
            } else {
                row(entry).into_iter().filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("  ")
            };
            if !context.print_unless_closed(&format!("{line}\n"))? {
                return Ok(());
            }
        }
        if let Some(last) = entries.last() {
            query.after = Some(position(last));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        entries = platform.audit(&query).await?;
    }
}

fn position(entry: &ChainedEntry) -> (Timestamp, AuditId) {
    (entry.at, entry.id)
}

fn row(entry: &ChainedEntry) -> Vec<String> {
    let details = serde_json::to_string(&entry.details).unwrap_or_default();
    vec![
        entry.at.to_string(),
        optional(entry.agent_id.as_ref()),
        who_ran(entry),
        entry.action.as_str().to_owned(),
        entry.resource.clone().unwrap_or_default(),
        optional(entry.address.as_ref()),
        if details == "{}" { String::new() } else { details },
    ]
}

/// The actor, with the user of the operating system who ran the command.
fn who_ran(entry: &ChainedEntry) -> String {
    match &entry.os_user {
        Some(OsUser { uid, name: Some(name) }) => format!("{} (uid {uid}, {name})", who(&entry.actor)),
        Some(OsUser { uid, name: None }) => format!("{} (uid {uid})", who(&entry.actor)),
        None => who(&entry.actor),
    }
}
