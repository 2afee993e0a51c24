//! The operator's command line.

mod agents;
mod audit;
mod characters;
mod contacts;
mod context;
mod conversations;
mod credits;
mod demo;
mod documents;
mod erasure;
mod events;
mod export;
mod extract;
mod extractions;
mod files;
#[cfg(test)]
mod guides;
mod input;
mod insights;
mod keys;
mod knowledge;
mod mail;
mod operations;
mod operators;
mod outbound;
mod output;
mod process;
mod remote;
mod schema;
mod serve;
mod server;
mod server_keys;
mod settings;
mod sign_in;
mod store;
mod submissions;
mod templates;
mod tokens;
mod webhooks;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use crate::assemble::StoreUrl;
use crate::config::Config;
use crate::config::flags::{GlobalArgs, ServeArgs};
use crate::config::layers::FlagValues;
use crate::config::registry::flag_of;
use crate::config::typed::Names;
use crate::console::Lent;
use crate::console::caller::{Caller, CallerFacts, Stream};
use crate::console::entry::{Entry, Wish, enter, wait_for_store};
use crate::error::CliError;
use clap::{CommandFactory, Parser, Subcommand};
use context::CommandContext;
use process::Logged;
use remote::Remote;

/// The Open API of AI chat agents with a built-in CRM: the server and its operator's commands.
#[derive(Debug, Parser)]
#[command(
    name = "openapi-server",
    version,
    propagate_version = true,
    after_help = "Without a command, `openapi-server` runs `openapi-server serve`.\n\n\
        Examples:\n  \
        openapi-server demo\n  \
        openapi-server agents create \"Front desk\" --id acme\n  \
        openapi-server keys create --agent acme --name CRM --allow contacts:all\n  \
        openapi-server --listen 127.0.0.1:8080 --store sqlite:./data/openapi.db\n\n\
        Exit status: 0 success, 1 failure (the reason is on standard error), 2 wrong usage."
)]
struct Cli {
    #[command(flatten)]
    every: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service
    #[command(after_help = serve::EXAMPLES)]
    Serve(ServeArgs),
    /// Run the service; in an empty store, create an agent, a key, two form templates and ten contacts to try
    #[command(after_help = demo::EXAMPLES)]
    Demo(ServeArgs),
    /// Agents: the tenants
    #[command(subcommand)]
    Agents(agents::Agents),
    /// API keys
    #[command(subcommand)]
    Keys(keys::Keys),
    /// The contact schema of an agent
    #[command(subcommand)]
    ContactSchema(schema::ContactSchema),
    /// Contacts: list, show, create, update, archive, import, export, erase
    #[command(subcommand)]
    Contacts(contacts::Contacts),
    /// Contact files: the contents of deleted ones
    #[command(subcommand)]
    Files(files::Files),
    /// Form templates
    #[command(subcommand)]
    Templates(templates::Templates),
    /// Submissions of forms
    #[command(subcommand)]
    Submissions(submissions::Submissions),
    /// Credits of agents, which extractions and chat replies consume
    #[command(subcommand)]
    Credits(credits::Credits),
    /// Stored documents of extractions
    #[command(subcommand)]
    Documents(documents::Documents),
    /// Extractions that run in the background: list, show, cancel
    #[command(subcommand)]
    Extractions(extractions::Extractions),
    /// Documents that agents reply from
    #[command(subcommand)]
    Knowledge(knowledge::Knowledge),
    /// Conversations with visitors: read, answer, export, erase
    #[command(subcommand)]
    Conversations(conversations::Conversations),
    /// What visitors ask that an agent cannot answer
    #[command(subcommand)]
    Insights(insights::Insights),
    /// Webhook endpoints, which get the events of an agent
    #[command(subcommand)]
    Webhooks(webhooks::Webhooks),
    /// People who sign in to the console: links to set it up, and to recover an account
    #[command(subcommand)]
    Operators(operators::Operators),
    /// Service tokens, by which scripts and commands elsewhere call the console
    #[command(subcommand)]
    Tokens(tokens::Tokens),
    /// Providers that operators sign in to the console with: list, set, test, remove
    #[command(subcommand)]
    SignIn(sign_in::SignIn),
    /// The event log: list, tail, types
    #[command(subcommand)]
    Events(events::Events),
    /// The audit log
    #[command(subcommand)]
    Audit(audit::Audit),
    /// The state of the server
    #[command(subcommand)]
    Server(server::Server),
    /// Server keys, which key the hashes of secrets and sign cursors
    #[command(subcommand)]
    ServerKey(server_keys::ServerKeyCommand),
    /// Migrate the store to this version's schema; a server does so at its start
    #[command(after_help = store::MIGRATE_EXAMPLES)]
    Migrate(store::Migrate),
    /// Check the store for damage
    #[command(after_help = store::CHECK_EXAMPLES)]
    Check(store::Check),
    /// Copy the store and the contents of files to a new folder; servers may run
    #[command(after_help = store::BACKUP_EXAMPLES)]
    Backup(store::Backup),
    /// Backups that were made: list, verify
    #[command(subcommand)]
    Backups(store::backups::Backups),
    /// Replace the store with a backup; no server may run
    #[command(after_help = store::RESTORE_EXAMPLES)]
    Restore(store::Restore),
    /// Extract the fields of a schema from a local document
    #[command(after_help = extract::EXAMPLES)]
    Extract(extract::Extract),
    /// Copy everything to another store on any engine, and verify that both have the same content
    #[command(after_help = store::copy::EXAMPLES)]
    Copy(store::copy::Copy),
    /// Requests to URLs of tenants, such as webhooks
    #[command(subcommand)]
    Outbound(outbound::Outbound),
    /// E-mail to visitors
    #[command(subcommand)]
    Mail(mail::Mail),
    /// Settings
    #[command(subcommand)]
    Config(settings::ConfigCommand),
    /// Print the OpenAPI 3.1 document
    #[command(after_help = settings::OPENAPI_EXAMPLES)]
    Openapi,
    /// Print a completion script for a shell
    #[command(after_help = settings::COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Runs the command line and returns the exit status.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = with_default_command(arguments.into_iter().collect());
    let Cli { every, command } = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output, errors to standard error.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mut context = CommandContext::of_process(every);
    ExitCode::from(match prepare(&mut context, &command, &arguments) {
        Ok(Prepared::Ran(status)) => status,
        Ok(Prepared::Ready(_log)) => command.finish(&context),
        Err(failure) => {
            context.fail(&failure);
            failure.status()
        }
    })
}

/// Runs a command for a caller in the server that owns the store, and returns the exit status.
#[must_use]
pub fn run_in_server(
    arguments: Vec<OsString>,
    caller: Arc<dyn Caller>,
    facts: CallerFacts,
    lent: Lent,
) -> u8 {
    let cli = Cli::try_parse_from(arguments);
    let Some(Cli { every, command }) = cli.ok().filter(|cli| cli.command.on_store().is_some()) else {
        let _ = caller.write(Stream::Error, b"openapi-server: this command does not run in a server\n");
        return 2;
    };
    let differing = differing_flags(&every.values, &lent.config);
    let context = CommandContext::in_server(every, command.settings(), caller, facts, lent);
    if let Err(failure) = differing {
        context.fail(&failure);
        return failure.status();
    }
    command.finish(&context)
}

/// Refuses flags that the caller gave and that the server which runs the command cannot follow, because its own settings
/// say otherwise. The store is the server's, and the caller itself waits and writes the log of its process.
fn differing_flags(given: &FlagValues, server: &Config) -> Result<(), CliError> {
    const OF_THE_CALLER: [&str; 5] = ["store", "store_file", "wait_for_store", "log", "log_format"];
    let differing =
        given.iter().filter(|(key, _)| !OF_THE_CALLER.contains(&key.as_str())).find_map(|(key, texts)| {
            let of_server = server.values().iter().find(|value| value.key == *key);
            of_server.is_none_or(|value| value.texts != *texts).then_some((key, of_server))
        });
    let Some((key, of_server)) = differing else { return Ok(()) };
    let of_server = match of_server {
        Some(value) if value.texts.is_empty() => "has no such setting".to_owned(),
        Some(value) => format!("has {}", value.shown()),
        None => "has settings of its own".to_owned(),
    };
    Err(CliError::usage(format!(
        "--{}: this command runs in the server that owns the store, and the server {of_server}; leave the flag out, or \
         stop the server",
        flag_of(key)
    )))
}

/// The commands that [`Command::runs_elsewhere`] admits, as a message names them.
const ELSEWHERE: &str = "agents list, contacts list, show, create, update, archive, unarchive, note and notes, \
    contact-schema check, knowledge sources, insights, and server health";

/// The outcome of the preparation of a command.
enum Prepared {
    /// It can run in this process, with this log.
    Ready(Option<Logged>),
    /// It ran in the server that owns the store, with this exit status.
    Ran(u8),
}

/// Reads the settings of a command on the store, and finds out who owns the store.
fn prepare(
    context: &mut CommandContext,
    command: &Command,
    arguments: &[OsString],
) -> Result<Prepared, CliError> {
    if let Some(url) = context.flags().server.clone() {
        if !command.runs_elsewhere() {
            return Err(CliError::usage(format!(
                "this command needs the store, so it runs on the server's machine; --server is for {ELSEWHERE}"
            )));
        }
        let token = remote::token(context.flags().token_file.as_deref())?;
        let remote = Remote::new(&url, &token)?;
        context.send_to(remote);
        return Ok(Prepared::Ready(None));
    }
    if context.flags().token_file.is_some() {
        return Err(CliError::usage("--token-file goes with --server"));
    }
    let Some(name) = command.on_store() else { return Ok(Prepared::Ready(None)) };
    let config = Config::read(context.flags(), command.settings())?;
    Names::of(&config)?;
    let log = Logged::install(&config)?;
    let store = StoreUrl::parse(config.store())?;
    let is_absent = store.file().is_some_and(|file| !file.exists());
    let entry = if is_absent && matches!(command, Command::Migrate(migrate) if migrate.plan) {
        // A plan creates nothing.
        Entry::Open(None)
    } else {
        enter(&store, wait_for_store(&config)?, name, Wish::Run(arguments, context.facts()))?
    };
    match entry {
        Entry::Ran(status) => Ok(Prepared::Ran(status)),
        Entry::Open(ownership) => {
            context.prepare(config, ownership);
            Ok(Prepared::Ready(Some(log)))
        }
    }
}

impl Command {
    /// The name of a command that works on the configured store, in this process or in the server that owns the store.
    fn on_store(&self) -> Option<&'static str> {
        match self {
            Command::Agents(_) => Some("agents"),
            Command::Keys(_) => Some("keys"),
            Command::ContactSchema(_) => Some("contact-schema"),
            Command::Contacts(_) => Some("contacts"),
            Command::Files(_) => Some("files"),
            Command::Templates(_) => Some("templates"),
            Command::Submissions(_) => Some("submissions"),
            Command::Credits(_) => Some("credits"),
            Command::Documents(_) => Some("documents"),
            Command::Extractions(_) => Some("extractions"),
            Command::Knowledge(_) => Some("knowledge"),
            Command::Conversations(_) => Some("conversations"),
            Command::Insights(_) => Some("insights"),
            Command::Webhooks(_) => Some("webhooks"),
            Command::Operators(_) => Some("operators"),
            Command::Tokens(_) => Some("tokens"),
            Command::SignIn(_) => Some("sign-in"),
            Command::Audit(_) => Some("audit"),
            Command::Events(command) => command.is_on_store().then_some("events"),
            Command::Migrate(_) => Some("migrate"),
            Command::Check(_) => Some("check"),
            Command::Backup(_) => Some("backup"),
            Command::Server(_) => Some("server"),
            Command::ServerKey(_) => Some("server-key"),
            // A server, a command that replaces or reads whole stores, or one that needs no store.
            Command::Serve(_)
            | Command::Demo(_)
            | Command::Backups(_)
            | Command::Restore(_)
            | Command::Copy(_)
            | Command::Extract(_)
            | Command::Outbound(_)
            | Command::Mail(_)
            | Command::Config(_)
            | Command::Openapi
            | Command::Completions { .. } => None,
        }
    }

    /// Whether all that the command does is operations that a service token may call.
    fn runs_elsewhere(&self) -> bool {
        match self {
            Command::Agents(command) => command.runs_elsewhere(),
            Command::Contacts(command) => command.runs_elsewhere(),
            Command::ContactSchema(command) => command.runs_elsewhere(),
            Command::Knowledge(command) => matches!(command, knowledge::Knowledge::Sources(_)),
            Command::Insights(_) | Command::Server(_) => true,
            _ => false,
        }
    }

    /// The settings flags that only this command has.
    fn settings(&self) -> Option<&FlagValues> {
        match self {
            Command::Knowledge(knowledge::Knowledge::Add(add)) => Some(&add.limits.values),
            Command::Webhooks(command) => command.settings(),
            Command::SignIn(command) => command.settings(),
            _ => None,
        }
    }

    /// Runs the command, prints why it failed, and returns the exit status.
    fn finish(self, context: &CommandContext) -> u8 {
        match self.run(context) {
            Ok(()) => 0,
            Err(failure) => {
                context.fail(&failure);
                failure.status()
            }
        }
    }

    fn run(self, context: &CommandContext) -> Result<(), CliError> {
        match self {
            Command::Serve(flags) => serve::run(context, &flags, false),
            Command::Demo(flags) => serve::run(context, &flags, true),
            Command::Agents(command) => command.run(context),
            Command::Keys(command) => command.run(context),
            Command::ContactSchema(command) => command.run(context),
            Command::Contacts(command) => command.run(context),
            Command::Files(command) => command.run(context),
            Command::Templates(command) => command.run(context),
            Command::Submissions(command) => command.run(context),
            Command::Credits(command) => command.run(context),
            Command::Documents(command) => command.run(context),
            Command::Extractions(command) => command.run(context),
            Command::Knowledge(command) => command.run(context),
            Command::Conversations(command) => command.run(context),
            Command::Insights(command) => command.run(context),
            Command::Webhooks(command) => command.run(context),
            Command::Operators(command) => command.run(context),
            Command::Tokens(command) => command.run(context),
            Command::SignIn(command) => command.run(context),
            Command::Audit(command) => command.run(context),
            Command::Events(command) => command.run(context),
            Command::Server(command) => command.run(context),
            Command::ServerKey(command) => command.run(context),
            Command::Migrate(command) => command.run(context),
            Command::Check(command) => command.run(context),
            Command::Backup(command) => command.run(context),
            Command::Backups(command) => command.run(context),
            Command::Restore(command) => command.run(context),
            Command::Extract(command) => command.run(context),
            Command::Copy(command) => command.run(context),
            Command::Outbound(command) => command.run(context),
            Command::Mail(command) => command.run(context),
            Command::Config(command) => command.run(context),
            Command::Openapi => settings::print_document(context),
            Command::Completions { shell } => {
                settings::print_completions(context, shell, &mut Cli::command())
            }
        }
    }
}

/// Inserts `serve` if there is no command, so that `openapi-server --listen …` runs the service.
fn with_default_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(argument) = arguments.get(at).and_then(|argument| argument.to_str()) {
        match argument {
            "-h" | "--help" | "-V" | "--version" => return arguments,
            flag if flag.starts_with('-') => {
                let name = flag.trim_start_matches('-').replace('-', "_");
                let every = matches!(name.as_str(), "config" | "server" | "token_file")
                    || crate::config::registry::SETTINGS.iter().any(|setting| {
                        setting.scope == crate::config::registry::Scope::Global
                            && (name == setting.key || name == format!("{}_file", setting.key))
                    });
                // A flag of every command may precede the command, with its value.
                at += match () {
                    () if every => 2,
                    () if flag == "--json" || flag.contains('=') => 1,
                    () => break,
                };
            }
            _ => return arguments,
        }
    }
    let at = at.min(arguments.len());
    arguments.insert(at, "serve".into());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn without_a_command_the_service_runs() {
        let put = |line: &str| {
            let arguments = line.split(' ').map(OsString::from).collect();
            let arguments: Vec<_> = with_default_command(arguments)
                .into_iter()
                .map(|argument| argument.into_string().unwrap())
                .collect();
            arguments.join(" ")
        };
        for (line, expected) in [
            ("o", "o serve"),
            ("o --listen :80", "o serve --listen :80"),
            ("o --store memory: --listen :80", "o --store memory: serve --listen :80"),
            ("o --store=memory: --json", "o --store=memory: --json serve"),
            ("o --store memory:", "o --store memory: serve"),
            ("o --store memory: agents list", "o --store memory: agents list"),
            ("o agents list", "o agents list"),
            ("o --help", "o --help"),
            ("o --config f --version", "o --config f --version"),
            ("o --store", "o --store serve"),
        ] {
            assert_eq!(put(line), expected, "{line}");
        }
    }
}
