//! `documents`: documents that were sent to extraction with `saveToStorage`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::storage::StoredDocument;
use openapi_core::values::{AgentId, FileId};

use super::context::CommandContext;
use crate::assemble::Contents;
use crate::error::CliError;

/// Documents read at a time.
const PAGE: u32 = 500;

#[derive(Debug, Subcommand)]
pub enum Documents {
    /// List the stored documents
    #[command(after_help = "Examples:\n  \
        openapi-server documents list --agent acme\n\n\
        `openapi-server files purge` removes all of them at once.")]
    List {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Write a document to a file
    #[command(after_help = "Examples:\n  \
        openapi-server documents get \"$DOCUMENT\" --agent acme --out invoice.pdf\n\n\
        The file must not exist; only its owner may read it.")]
    Get {
        /// The document: `fileId` of the extraction
        document: FileId,
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// The file
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

impl Documents {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        match self {
            Documents::List { agent } => context.with_platform(Contents::Closed, async |platform| {
                let mut documents: Vec<StoredDocument> = Vec::new();
                loop {
                    let after = documents.last().map(|last| last.id);
                    let more = platform.documents(&agent, after, PAGE).await?;
                    let is_last = more.len() < PAGE as usize;
                    documents.extend(more);
                    if is_last {
                        break;
                    }
                }
                context.note_bulk(platform, Some(&agent), "documents", documents.len()).await?;
                let heads = ["document", "name", "type", "bytes", "stored", "expires"];
                context.print_table(json, &documents, &heads, row)
            }),
            Documents::Get { document, agent, out } => {
                context.with_platform(Contents::Open, async |platform| {
                    let (document, content) = platform.document(&agent, document).await?;
                    let resource = document.id.to_string();
                    context.note(platform, AuditAction::DocumentRead, Some(&agent), &resource, []).await?;
                    write(context, &out, &content)
                        .map_err(|error| CliError::new(format!("cannot write {}: {error}", out.display())))?;
                    if json {
                        return context.print_json(&document);
                    }
                    context.info(&format!("{} bytes written to {}", content.len(), out.display()));
                    Ok(())
                })
            }
        }
    }
}

fn write(context: &CommandContext, path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = context.caller().create(path)?;
    file.write_all(content)?;
    file.flush()
}

fn row(document: &StoredDocument) -> Vec<String> {
    vec![
        document.id.to_string(),
        document.file_name.clone(),
        document.content_type.clone(),
        document.file_size.to_string(),
        document.created_at.to_string(),
        document.expires_at.to_string(),
    ]
}
