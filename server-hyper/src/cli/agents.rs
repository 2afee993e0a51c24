//! `agents`: the tenants.

use clap::Subcommand;
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::platform::Platform;
use openapi_core::values::{AgentId, Line};

use super::output::{print_record, print_table};
use super::with_platform;
use crate::assemble::{Contents, operator};
use crate::config::flags::EveryFlags;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub enum Agents {
    /// Create an agent with the built-in contact schema
    #[command(after_help = "Examples:\n  \
        openapi-server agents create \"Front desk\"\n  \
        openapi-server agents create \"Second desk\" --id second --json\n\n\
        The id stands in every path of the Open API and never changes. Next: `openapi-server keys create`.")]
    Create {
        /// The name, 1 to 100 characters
        name: Line<100>,
        /// The id, 1 to 64 of A-Z a-z 0-9 _ -; made up when not given
        #[arg(long)]
        id: Option<AgentId>,
    },
    /// List the agents, oldest first
    #[command(after_help = "Examples:\n  openapi-server agents list\n  openapi-server agents list --json")]
    List,
    /// Show one agent
    #[command(after_help = "Examples:\n  openapi-server agents show acme")]
    Show {
        /// The agent
        id: AgentId,
    },
    /// Switch an agent off: all its keys are answered INVALID_CREDENTIALS
    #[command(
        after_help = "Examples:\n  openapi-server agents disable acme\n  openapi-server agents enable acme"
    )]
    Disable {
        /// The agent
        id: AgentId,
    },
    /// Switch a disabled agent on again
    #[command(after_help = "Examples:\n  openapi-server agents enable acme")]
    Enable {
        /// The agent
        id: AgentId,
    },
    /// Delete an agent with its contacts, keys and schemas; there is no way back, and the id is never given again
    #[command(after_help = "Examples:\n  \
        openapi-server contacts export --agent second > second.ndjson\n  \
        openapi-server agents delete second")]
    Delete {
        /// The agent
        id: AgentId,
    },
}

impl Agents {
    pub fn run(self, every: &EveryFlags) -> Result<(), Failure> {
        let json = every.json;
        // Deleting an agent removes contents of files, the rest needs none.
        let removes = matches!(self, Agents::Delete { .. });
        let contents = if removes { Contents::Open } else { Contents::Closed };
        with_platform(every, contents, async |platform: &Platform| {
            let by = operator();
            let agent = match self {
                Agents::Create { name, id } => platform.create_agent(&by, NewAgent { id, name }).await?,
                Agents::List => {
                    let agents = platform.agents().await?;
                    return print_table(json, &agents, &["id", "name", "status", "created"], |agent| {
                        vec![
                            agent.id.to_string(),
                            agent.name.to_string(),
                            status(agent).to_owned(),
                            agent.created_at.to_string(),
                        ]
                    });
                }
                Agents::Show { id } => platform.agent(&id).await?,
                Agents::Disable { id } => platform.disable_agent(&by, &id).await?,
                Agents::Enable { id } => platform.enable_agent(&by, &id).await?,
                Agents::Delete { id } => platform.delete_agent(&by, &id).await?,
            };
            print_record(
                json,
                &agent,
                &[
                    ("id", agent.id.to_string()),
                    ("name", agent.name.to_string()),
                    ("status", status(&agent).to_owned()),
                    ("created", agent.created_at.to_string()),
                    ("updated", agent.updated_at.to_string()),
                ],
            )
        })
    }
}

fn status(agent: &Agent) -> &'static str {
    match agent.status {
        AgentStatus::Active => "active",
        AgentStatus::Disabled => "disabled",
        AgentStatus::Deleted => "deleted",
    }
}
