//! `server-key`: the keys of the server itself.

use clap::Subcommand;
use serde::Serialize;

use super::output::{note, optional, print_table};
use crate::assemble::StoreUrl;
use crate::config::Config;
use crate::config::flags::GlobalArgs;
use crate::error::CliError;
use crate::ports::{SystemClock, SystemRandom};
use crate::server_keys::{Entry, KeySource};

#[derive(Debug, Subcommand)]
pub enum ServerKeyCommand {
    /// List the keys by their ids, the current one first
    #[command(after_help = "Examples:\n  openapi-server server-key list")]
    List,
    /// Add a new current key; the former ones go on verifying
    #[command(after_help = "Examples:\n  \
        openapi-server server-key rotate\n\n\
        The secret of an API key is hashed with the server key of its time: it changes to the new one when it is rotated \
        (`openapi-server keys rotate`). Running servers take the new key over within 5 s.")]
    Rotate,
}

/// A server key as it may be shown.
#[derive(Serialize)]
struct Shown {
    id: String,
    current: bool,
    made: Option<String>,
}

impl ServerKeyCommand {
    pub fn run(self, every: &GlobalArgs) -> Result<(), CliError> {
        let config = Config::read(every, None)?;
        let source = StoreUrl::parse(config.store())?.key_source(&config);
        let entries = match self {
            ServerKeyCommand::List => match &source {
                KeySource::File(path) if !path.exists() => {
                    note(&format!("{} is made when a server or a command first needs it", path.display()));
                    Vec::new()
                }
                source => source.entries(&SystemClock, &SystemRandom)?,
            },
            ServerKeyCommand::Rotate => source.rotate(&SystemClock, &SystemRandom)?,
        };
        let shown: Vec<Shown> = entries.iter().enumerate().map(|(at, entry)| shown(at, entry)).collect();
        print_table(every.json, &shown, &["id", "use", "made"], |key| {
            let usage = if key.current { "hashes and verifies" } else { "verifies" };
            vec![key.id.clone(), usage.to_owned(), optional(key.made.as_ref())]
        })
    }
}

fn shown(at: usize, entry: &Entry) -> Shown {
    Shown { id: entry.id(), current: at == 0, made: entry.made.map(|made| made.to_string()) }
}
