//! `server-key`: the server keys.

use clap::Subcommand;
use openapi_core::audit::AuditAction;
use serde::Serialize;

use super::context::CommandContext;
use super::output::optional;
use crate::assemble::{Contents, StoreUrl};
use crate::error::CliError;
use crate::ports::{SystemClock, SystemRandom};
use crate::server_keys::{Entry, KeySource};

#[derive(Debug, Subcommand)]
pub enum ServerKeyCommand {
    /// List the keys by their ids, the current one first
    #[command(after_help = "Examples:\n  openapi-server server-key list")]
    List,
    /// Add a new current key; the previous keys continue to verify
    #[command(after_help = "Examples:\n  \
        openapi-server server-key rotate\n\n\
        The secret of an API key is hashed with the server key of its time: it changes to the new one when it is rotated \
        (`openapi-server keys rotate`). Running servers take the new key over within 5 s.")]
    Rotate,
}

/// The printed form of a server key.
#[derive(Serialize)]
struct Shown {
    id: String,
    current: bool,
    made: Option<String>,
}

impl ServerKeyCommand {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let config = context.config()?;
        let source = StoreUrl::parse(config.store())?.key_source(&config);
        let entries = match self {
            ServerKeyCommand::List => match &source {
                KeySource::File(path) if !path.exists() => {
                    context.info(&format!(
                        "{} is made when a server or a command first needs it",
                        path.display()
                    ));
                    Vec::new()
                }
                source => source.entries(&SystemClock, &SystemRandom)?,
            },
            ServerKeyCommand::Rotate => rotate(context, &source)?,
        };
        let shown: Vec<Shown> = entries.iter().enumerate().map(|(at, entry)| shown(at, entry)).collect();
        context.print_table(context.json(), &shown, &["id", "use", "made"], |key| {
            let usage = if key.current { "hashes and verifies" } else { "verifies" };
            vec![key.id.clone(), usage.to_owned(), optional(key.made.as_ref())]
        })
    }
}

/// Adds a key, and notes in the audit log that it was added.
fn rotate(context: &CommandContext, source: &KeySource) -> Result<Vec<Entry>, CliError> {
    // Opens the store first: a key is not added without its entry.
    context.run(async {
        let store = context.store().await?;
        let entries = source.rotate(&SystemClock, &SystemRandom)?;
        let conversations = context.conversations(&store, Contents::Closed)?;
        let resource = entries.first().map(Entry::id).unwrap_or_default();
        let platform = conversations.platform();
        context.note(platform, AuditAction::ServerKeyRotate, None, &resource, []).await?;
        Ok(entries)
    })
}

fn shown(at: usize, entry: &Entry) -> Shown {
    Shown { id: entry.id(), current: at == 0, made: entry.made.map(|made| made.to_string()) }
}
