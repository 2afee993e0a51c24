//! `files`: the contents of deleted files.

use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::values::AgentId;
use serde_json::json;

use super::output::{print, print_json};
use super::with_platform;
use crate::assemble::{Contents, operator};
use crate::config::flags::GlobalArgs;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Files {
    /// Remove the contents of all deleted files and all kept documents now, before their time; there is no way back
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
    pub fn run(self, every: &GlobalArgs) -> Result<(), CliError> {
        let Files::Purge { agent } = self;
        let json = every.json;
        with_platform(every, Contents::Open, async |platform| {
            let purged = platform.purge_files(&operator(), &agent).await?;
            if json {
                return print_json(&json!({ "agentId": agent, "purged": purged }));
            }
            print(&format!("the contents of {purged} deleted file(s) and kept document(s) are gone\n"))
        })
    }
}
