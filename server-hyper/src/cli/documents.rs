//! `documents`: what was sent to extraction with `saveToStorage`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::storage::StoredDocument;
use openapi_core::values::{AgentId, FileId};

use super::output::{note, print_json, print_table};
use super::with_platform;
use crate::assemble::Contents;
use crate::config::flags::GlobalArgs;
use crate::error::CliError;

/// Documents read at a time.
const PAGE: u32 = 500;

#[derive(Debug, Subcommand)]
pub enum Documents {
    /// List the documents that are kept
    #[command(after_help = "Examples:\n  \
        openapi-server documents list --agent acme\n\n\
        `openapi-server files purge` removes all of them at once.")]
    List {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Write a document into a file
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
    pub fn run(self, every: &GlobalArgs) -> Result<(), CliError> {
        let json = every.json;
        match self {
            Documents::List { agent } => with_platform(every, Contents::Closed, async |platform| {
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
                let heads = ["document", "name", "type", "octets", "kept since", "goes at"];
                print_table(json, &documents, &heads, row)
            }),
            Documents::Get { document, agent, out } => {
                with_platform(every, Contents::Open, async |platform| {
                    let (document, content) = platform.document(&agent, document).await?;
                    write(&out, &content)
                        .map_err(|error| CliError::new(format!("cannot write {}: {error}", out.display())))?;
                    if json {
                        return print_json(&document);
                    }
                    note(&format!("{} octets written to {}", content.len(), out.display()));
                    Ok(())
                })
            }
        }
    }
}

fn write(path: &PathBuf, content: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(content)
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
