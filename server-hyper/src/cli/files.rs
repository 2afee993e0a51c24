//! `files`: the contents of deleted files.

use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::values::AgentId;
use serde_json::json;

use super::context::CommandContext;
use crate::assemble::Contents;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Files {
    /// Permanently remove the contents of all deleted files and all stored documents before their retention ends
    #[command(after_help = "Examples:\n  \
        openapi-server files purge --agent acme\n\n\
        Files that are not deleted stay as they are. The audit log keeps that files were deleted, by whom and why.")]
    Purge {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
}

impl Files {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let Files::Purge { agent } = self;
        let json = context.json();
        context.with_platform(Contents::Open, async |platform| {
            let purged = platform.purge_files(&context.operator(), &agent).await?;
            if json {
                return context.print_json(&json!({ "agentId": agent, "purged": purged }));
            }
            context
                .print(&format!("removed the contents of {purged} deleted file(s) and stored document(s)\n"))
        })
    }
}
