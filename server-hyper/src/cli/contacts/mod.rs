//! `contacts`: list, show, create, update, archive, note, import, export, erase.

mod export;
mod fields;
pub mod format;
mod import;
mod notes;
mod records;
#[cfg(test)]
mod round_trips;

use std::path::PathBuf;

use ::console::imports::{Given, Mapping, parse_delimiter, parse_encoding};
use clap::{ArgGroup, Args, Subcommand};
use encoding_rs::Encoding;
use openapi_core::admin::Admin;
use openapi_core::contacts::ContactRef;
use openapi_core::values::AgentId;

use fields::Fields;
use format::{ExportArgs, ImportFormat};
use records::{List, State};

use super::context::CommandContext;
use super::erasure;
use super::output::optional;
use crate::assemble::Contents;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Contacts {
    /// List, search and filter contacts, the newest first
    #[command(after_help = "Examples:\n  \
        openapi-server contacts list --agent acme\n  \
        openapi-server contacts list --agent acme --search \"ada leeds\" --tag vip\n  \
        openapi-server contacts list --agent acme --sort-by lastName --sort-order asc --page 2 --limit 50\n  \
        openapi-server contacts list --agent acme --include-archived --updated-since 2026-01-31T00:00:00Z --json\n\n\
        Every term of a search occurs, ignoring case and accents, in a name, the e-mail address, the phone, the external \
        id, the postal address, a tag or a text of customFields. Long values are cut off; `contacts show` and --json have \
        them whole. Values of sensitive fields are hidden; see `contacts show --reveal`.")]
    List(List),
    /// Create a contact
    #[command(after_help = "Examples:\n  \
        openapi-server contacts create --agent acme --file contact.json --json\n  \
        openapi-server contacts create --agent acme --set primaryEmail=ada@example.com --set lastName=King\n  \
        openapi-server contacts create --agent acme --set primaryEmail=b@example.com --set lastName=B --set 'tags=vip; news'\n\n\
        `contact-schema show` lists the fields with their rules; primaryEmail is always required. Tags are separated by \
        semicolons. The file has the form of the Open API's create request, and --set changes single fields of it, such \
        as customFields.plan=gold. A custom field that the schema does not declare is text; for other types use the file.")]
    Create {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        #[command(flatten)]
        fields: Fields,
    },
    /// Show a contact
    #[command(after_help = "Examples:\n  \
        openapi-server contacts show crm-1001 --agent acme\n  \
        openapi-server contacts show crm-1001 --agent acme --external --json\n  \
        openapi-server contacts show crm-1001 --agent acme --reveal\n\n\
        Values of fields that the contact schema calls sensitive are hidden; --json names them in `masked`. The audit log \
        notes who has revealed them. `etag` names this state of the contact; see --if-match of `contacts update`.")]
    Show {
        #[command(flatten)]
        which: Which,
        /// Show the values of sensitive fields too; noted in the audit log
        #[arg(long)]
        reveal: bool,
    },
    /// Change fields of a contact
    #[command(after_help = "Examples:\n  \
        openapi-server contacts update crm-1001 --agent acme --set lastName=Byron --unset dob\n  \
        openapi-server contacts update crm-1001 --agent acme --set customFields.plan=gold --unset gender\n  \
        openapi-server contacts update crm-1001 --agent acme --file contact.json\n\n\
        Fields that are not named stay as they are; tags are replaced as a whole. With --if-match and the `etag` of \
        `contacts show`, nothing changes if somebody else has changed the contact since. An archived contact cannot be \
        changed: unarchive it first.")]
    #[command(group(ArgGroup::new("change").args(["file", "set", "unset"]).multiple(true).required(true)))]
    Update {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        fields: Fields,
        /// Clear a field; repeatable
        #[arg(long, value_name = "FIELD")]
        unset: Vec<String>,
        #[command(flatten)]
        state: State,
    },
    /// Hide a contact from lists, and close it to changes
    #[command(after_help = "Examples:\n  \
        openapi-server contacts archive crm-1001 --agent acme\n\n\
        Nothing is lost: `contacts unarchive` takes it out again, and `contacts erase` removes it for good.")]
    Archive {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        state: State,
    },
    /// Take a contact out of the archive
    #[command(after_help = "Examples:\n  openapi-server contacts unarchive crm-1001 --agent acme")]
    Unarchive {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        state: State,
    },
    /// Add a note to a contact, which only operators see
    #[command(after_help = "Examples:\n  \
        openapi-server contacts note crm-1001 'Prefers mornings.' --agent acme\n\n\
        A note has up to 4,000 characters. It goes when the contact is erased. A contact that is archived takes no notes.")]
    Note {
        #[command(flatten)]
        which: Which,
        /// The text
        text: String,
    },
    /// List the notes on a contact, newest first
    #[command(after_help = "Examples:\n  \
        openapi-server contacts notes crm-1001 --agent acme\n  \
        openapi-server contacts notes crm-1001 --agent acme --json\n\n\
        Long texts are cut off; --json has them whole, and who has changed them.")]
    Notes(Which),
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
    Erase(Which),
}

/// One contact of an agent.
#[derive(Debug, Args)]
pub struct Which {
    /// The contact: its platform id, or its external id
    contact: String,
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// Treat the contact as an external id even if it looks like a platform id
    #[arg(long)]
    external: bool,
}

impl Which {
    /// The reference that the text is.
    fn target(&self) -> Result<ContactRef, CliError> {
        let contact = &self.contact;
        let by_id = if self.external { None } else { contact.parse().ok().map(ContactRef::Id) };
        match by_id {
            Some(target) => Ok(target),
            None => {
                let external =
                    contact.parse().map_err(|error| CliError::usage(format!("'{contact}' {error}")));
                Ok(ContactRef::External(external?))
            }
        }
    }
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
    #[arg(long, value_parser = parse_encoding)]
    encoding: Option<&'static Encoding>,
    /// Field of a column that has another name; COLUMN= leaves the column out (repeatable)
    #[arg(long, value_name = "COLUMN=FIELD")]
    map: Vec<Mapping>,
    /// Sheet of a workbook [default: the first one with cells]
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
}

impl Contacts {
    /// Whether the command runs at a console elsewhere.
    pub const fn runs_elsewhere(&self) -> bool {
        !matches!(self, Contacts::Import(_) | Contacts::Export { .. } | Contacts::Erase(_))
    }

    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        match self {
            Contacts::Import(ImportArgs { agent, file, format, delimiter, encoding, map, sheet }) => {
                let given = Given { delimiter, encoding, sheet, prefix: "--" };
                import::run(context, agent, &file, format, &given, &map)
            }
            Contacts::Export { agent, output } => {
                let style = output.csv(context)?;
                context.with_platform(Contents::Closed, async |platform| {
                    export::run(context, platform, &agent, style).await
                })
            }
            Contacts::List(list) => records::list(context, &list),
            Contacts::Show { which, reveal } => records::show(context, &which, reveal),
            Contacts::Create { agent, fields } => records::create(context, &agent, &fields),
            Contacts::Update { which, fields, unset, state } => {
                records::update(context, &which, &fields, &unset, &state)
            }
            Contacts::Archive { which, state } => records::archive(context, &which, &state, "archive"),
            Contacts::Unarchive { which, state } => records::archive(context, &which, &state, "unarchive"),
            Contacts::Note { which, text } => notes::add(context, &which, &text),
            Contacts::Notes(which) => notes::list(context, &which),
            Contacts::Erase(which) => {
                let target = which.target()?;
                context.with_platform(Contents::Open, async |platform| {
                    let erased = platform.erase_contact(&context.operator(), &which.agent, &target).await?;
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
