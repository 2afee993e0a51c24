//! `audit`: the audit log.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::time::Duration;

use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::audit::AuditEntry;
use openapi_core::platform::Platform;
use openapi_core::storage::AuditQuery;
use openapi_core::values::{AgentId, AuditId, Timestamp};

use super::context::CommandContext;
use super::output::{optional, who};
use crate::assemble::Contents;
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
                if !follow {
                    let heads = ["at", "agent", "who", "what", "resource", "address", "details"];
                    return context.print_table(json, &entries, &heads, row);
                }
                self::follow(context, platform, agent, entries, json).await
            }
            Audit::Export { agent } => match export(context, platform, agent).await {
                Err(Stop::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                Err(Stop::Output(error)) => Err(error.into()),
                Err(Stop::Failed(failure)) => Err(failure),
                Ok(()) => Ok(()),
            },
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

async fn follow(
    context: &CommandContext,
    platform: &Platform,
    agent: Option<AgentId>,
    mut entries: Vec<AuditEntry>,
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

fn position(entry: &AuditEntry) -> (Timestamp, AuditId) {
    (entry.at, entry.id)
}

fn row(entry: &AuditEntry) -> Vec<String> {
    let details = serde_json::to_string(&entry.details).unwrap_or_default();
    vec![
        entry.at.to_string(),
        optional(entry.agent_id.as_ref()),
        who(&entry.actor),
        entry.action.as_str().to_owned(),
        entry.resource.clone().unwrap_or_default(),
        optional(entry.address.as_ref()),
        if details == "{}" { String::new() } else { details },
    ]
}
