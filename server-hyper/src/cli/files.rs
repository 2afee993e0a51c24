//! `files`: the contents of files.

use std::future::poll_fn;
use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::platform::{Platform, SealProgress};
use openapi_core::values::{AgentId, FileId};
use serde_json::json;

use super::context::CommandContext;
use crate::assemble::Contents;
use crate::error::CliError;

/// Contents between two progress reports.
const PROGRESS_INTERVAL: u64 = 100;

#[derive(Debug, Subcommand)]
pub enum Files {
    /// Write the content of a file, or of a deleted file whose content is retained, to a file
    #[command(after_help = "Examples:\n  \
        openapi-server files get \"$FILE\" --agent acme --out referral.pdf\n\n\
        The file must not exist; only its owner may read it.")]
    Get {
        /// The file
        file: FileId,
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// Where to write the content
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Seal the contents of files that are not sealed with the current server key
    #[command(after_help = "Examples:\n  \
        openapi-server files seal\n\n\
        A release before the sealing of contents has stored them as they came. Contents that were sealed with a former \
        server key are sealed with the current one, so that the former one can be dropped. Servers may run meanwhile. An \
        interrupted command continues when it is called again. The contents of deleted files stay as they are until \
        their retention ends, or `openapi-server files purge` removes them.")]
    Seal,
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
        let json = context.json();
        context.with_platform(Contents::Open, async |platform| match self {
            Files::Get { file, agent, out } => {
                let mut content = platform.file_content(&agent, file).await?;
                context.note(platform, AuditAction::FileRead, Some(&agent), &file.to_string(), []).await?;
                let failed = |error| CliError::new(format!("cannot write {}: {error}", out.display()));
                let mut target = context.caller().create(&out).map_err(failed)?;
                let mut count = 0;
                while let Some(bytes) = poll_fn(|cx| content.as_mut().poll_next(cx)).await.transpose()? {
                    target.write_all(&bytes).map_err(failed)?;
                    count += bytes.len();
                }
                target.flush().map_err(failed)?;
                if json {
                    return context.print_json(&json!({ "fileId": file, "agentId": agent, "bytes": count }));
                }
                context.info(&format!("{count} bytes written to {}", out.display()));
                Ok(())
            }
            Files::Seal => seal(context, platform).await,
            Files::Purge { agent } => {
                let purged = platform.purge_files(&context.operator(), &agent).await?;
                if json {
                    return context.print_json(&json!({ "agentId": agent, "purged": purged }));
                }
                context.print(&format!(
                    "removed the contents of {purged} deleted file(s) and stored document(s)\n"
                ))
            }
        })
    }
}

async fn seal(context: &CommandContext, platform: &Platform) -> Result<(), CliError> {
    context.note(platform, AuditAction::FilesSeal, None, "", []).await?;
    let mut report = |progress: &SealProgress| {
        if progress.sealed.is_multiple_of(PROGRESS_INTERVAL) {
            context.info(&format!("{} contents sealed, {} bytes", progress.sealed, progress.bytes));
        }
    };
    let SealProgress { files, sealed, bytes, faults } = platform.seal_contents(&mut report).await?;
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    if context.json() {
        let done = json!({ "files": files, "sealed": sealed, "bytes": bytes, "faults": faults });
        context.print_json(&done)?;
    } else {
        context.print(&faults.iter().map(|fault| format!("{fault}\n")).collect::<String>())?;
        context.print(&format!("sealed {sealed} of {files} content(s), {bytes} bytes\n"))?;
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(CliError::new(format!(
        "{} content(s) stay as they are; `openapi-server check --repair` deletes files whose content is lost, else \
         restore a backup",
        faults.len()
    )))
}
