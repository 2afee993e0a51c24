//! `contacts`: import, export, erase.

pub mod csv;
mod export;
pub mod format;
mod import;

use std::path::PathBuf;

use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::contacts::ContactRef;
use openapi_core::values::AgentId;

use format::Format;

use super::context::CommandContext;
use super::erasure;
use super::output::optional;
use crate::assemble::Contents;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Contacts {
    /// Create or update contacts from a file
    #[command(after_help = "Examples:\n  \
        openapi-server contacts import --agent acme contacts.ndjson\n  \
        openapi-server contacts import --agent acme contacts.csv\n  \
        openapi-server contacts import --agent acme - --format ndjson < contacts.ndjson\n\n\
        NDJSON: one contact per line, in the form of the Open API's create request. CSV: the first line names the fields; \
        `tags` are separated by semicolons, custom fields are columns such as `customFields.plan` or one column \
        `customFields` with JSON; an empty cell is an absent value.\n\n\
        Contacts with an externalReferenceId are created or updated by it. One without is created, unless a contact without \
        external id and with the same content is there already. So an import can be run twice.\n\n\
        Invalid lines are reported with their numbers, and the other lines are still imported; the exit \
        status is then 1.")]
    Import {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// The file; - for standard input
        file: PathBuf,
        /// Format of the file [default: by its extension]
        #[arg(long)]
        format: Option<Format>,
    },
    /// Print all contacts, archived ones included, oldest first
    #[command(after_help = "Examples:\n  \
        openapi-server contacts export --agent acme > contacts.ndjson\n  \
        openapi-server contacts export --agent acme --format csv > contacts.csv\n\n\
        In CSV, an apostrophe precedes each cell that a spreadsheet would interpret as a formula; import removes it.")]
    Export {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// Output format
        #[arg(long, default_value = "ndjson")]
        format: Format,
    },
    /// Permanently erase a contact with everything that belongs to it
    #[command(after_help = "Examples:\n  \
        openapi-server contacts erase --agent acme crm-1001\n  \
        openapi-server contacts erase --agent acme --external crm-1002\n\n\
        Its files go with it, contents included. The audit log keeps that something happened to the contact, emptied of \
        what it was. The command returns when no file of an SQLite store contains the contact; it waits at most a minute.")]
    Erase {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// The contact: its platform id, or its external id
        contact: String,
        /// Treat the contact as an external id even if it looks like a platform id
        #[arg(long)]
        external: bool,
    },
}

impl Contacts {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        match self {
            Contacts::Import { agent, file, format } => {
                let format = format.map_or_else(|| Format::of(&file), Ok)?;
                import::run(context, agent, &file, format)
            }
            Contacts::Export { agent, format } => context.with_platform(Contents::Closed, async |platform| {
                export::run(context, platform, &agent, format).await
            }),
            Contacts::Erase { agent, contact, external } => {
                let by_id = if external { None } else { contact.parse().ok().map(ContactRef::Id) };
                let target = match by_id {
                    Some(target) => target,
                    None => ContactRef::External(
                        contact.parse().map_err(|error| CliError::usage(format!("'{contact}' {error}")))?,
                    ),
                };
                context.with_platform(Contents::Open, async |platform| {
                    let erased = platform.erase_contact(&context.operator(), &agent, &target).await?;
                    let lines = [
                        ("erased", erased.id.to_string()),
                        ("external id", optional(erased.external_reference_id.as_ref())),
                    ];
                    context.print_record(json, &erased, &lines)?;
                    erasure::wait(context, &**platform).await
                })
            }
        }
    }
}
