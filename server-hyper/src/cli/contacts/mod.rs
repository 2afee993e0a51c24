//! `contacts`: import, export, erase.

pub mod csv;
pub mod escape;
mod export;
pub mod format;
mod header;
mod import;
#[cfg(test)]
mod round_trips;
mod source;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use encoding_rs::Encoding;
use openapi_core::admin::Admin;
use openapi_core::contacts::ContactRef;
use openapi_core::values::AgentId;

use format::{ExportArgs, ImportFormat, parse_delimiter};
use header::Mapping;
use source::Given;

use super::context::CommandContext;
use super::erasure;
use super::output::optional;
use crate::assemble::Contents;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Contacts {
    /// Create or update contacts from a file
    #[command(after_help = "Examples:\n  \
        openapi-server contacts import --agent acme contacts.csv\n  \
        openapi-server contacts import --agent acme contacts.xlsx --map 'E-Mail=primaryEmail' --map 'Notes='\n  \
        openapi-server contacts import --agent acme export.csv --delimiter ';' --encoding windows-1252\n  \
        openapi-server contacts import --agent acme - --format ndjson < contacts.ndjson\n\n\
        CSV and Excel workbooks (.xlsx): the first row names the fields; case, blanks, _ and - do not matter. \
        `tags` are separated by semicolons, custom fields are columns such as `customFields.plan` or one column \
        `customFields` with JSON; an empty cell is an absent value. Delimiter and encoding of CSV are detected. NDJSON and \
        JSON arrays: contacts in the form of the Open API's create request.\n\n\
        Contacts with an externalReferenceId are created or updated by it. One without is created, unless a contact without \
        external id and with the same content is there already. So an import can be run twice.\n\n\
        Invalid lines are reported with their numbers, and the other lines are still imported; the exit \
        status is then 1. A file with columns that are not fields, or with a field twice, is refused as a whole.")]
    Import(ImportArgs),
    /// Print all contacts, archived ones included, oldest first
    #[command(after_help = "Examples:\n  \
        openapi-server contacts export --agent acme > contacts.ndjson\n  \
        openapi-server contacts export --agent acme --format csv > contacts.csv\n  \
        openapi-server contacts export --agent acme --excel --delimiter ';' > contacts.csv\n\n\
        In CSV, an apostrophe precedes each cell that a spreadsheet would interpret as a formula; import removes it.")]
    Export {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        #[command(flatten)]
        output: ExportArgs,
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

/// The arguments of `contacts import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// The file; - for standard input
    file: PathBuf,
    /// Format of the file [default: by its extension]
    #[arg(long)]
    format: Option<ImportFormat>,
    /// Delimiter of CSV: one character, or tab [default: detected]
    #[arg(long, value_parser = parse_delimiter)]
    delimiter: Option<u8>,
    /// Encoding of text, such as windows-1252 [default: detected]
    #[arg(long, value_parser = source::parse_encoding)]
    encoding: Option<&'static Encoding>,
    /// Field of a column that has another name; COLUMN= leaves the column out (repeatable)
    #[arg(long, value_name = "COLUMN=FIELD")]
    map: Vec<Mapping>,
    /// Sheet of a workbook [default: the first one with cells]
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
}

impl Contacts {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        match self {
            Contacts::Import(ImportArgs { agent, file, format, delimiter, encoding, map, sheet }) => {
                let given = Given { format, delimiter, encoding, sheet, mappings: map };
                import::run(context, agent, &file, &given)
            }
            Contacts::Export { agent, output } => {
                let style = output.csv(context)?;
                context.with_platform(Contents::Closed, async |platform| {
                    export::run(context, platform, &agent, style).await
                })
            }
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
