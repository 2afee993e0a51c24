//! The operator's command line.

mod agent_settings;
mod agents;
mod audit;
mod contacts;
mod contacts_csv;
mod contacts_export;
mod contacts_import;
mod conversations;
mod conversations_live;
mod conversations_read;
mod copy;
mod credits;
mod demo;
mod documents;
mod export;
mod extract;
mod files;
mod input;
mod keys;
mod knowledge;
mod knowledge_add;
mod output;
mod schema;
mod serve;
mod server_keys;
mod settings;
mod store;
mod submissions;
mod templates;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser, Subcommand};
use openapi_core::platform::Platform;
use openapi_core::ports::NoBlobs;
use openapi_core::storage::Storage;
use tracing_subscriber::filter::Targets;

use crate::assemble::{self, Contents, Decisions};
use crate::config::flags::{GlobalArgs, ServeArgs};
use crate::config::layers::FlagValues;
use crate::error::CliError;

/// The Open API of AI chat agents with a built-in CRM: the server and what its operator does.
#[derive(Debug, Parser)]
#[command(
    name = "openapi-server",
    version,
    propagate_version = true,
    after_help = "Without a command the service runs: `openapi-server` is `openapi-server serve`.\n\n\
        Examples:\n  \
        openapi-server demo\n  \
        openapi-server agents create \"Front desk\" --id acme\n  \
        openapi-server keys create --agent acme --name CRM --allow contacts:all\n  \
        openapi-server --listen 127.0.0.1:8080 --store sqlite:./data/openapi.db\n\n\
        Exit status: 0 done, 1 failed (the reason is on standard error), 2 wrong usage."
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
    /// Run the service; in an empty store make an agent, a key, two form templates and ten contacts to try it with
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
    /// Contacts: import, export, erase
    #[command(subcommand)]
    Contacts(contacts::Contacts),
    /// Contact files: the contents of deleted ones
    #[command(subcommand)]
    Files(files::Files),
    /// Form templates
    #[command(subcommand)]
    Templates(templates::Templates),
    /// What was submitted under form templates
    #[command(subcommand)]
    Submissions(submissions::Submissions),
    /// Credits of agents: what extractions are paid with
    #[command(subcommand)]
    Credits(credits::Credits),
    /// Documents that were kept of extractions
    #[command(subcommand)]
    Documents(documents::Documents),
    /// What agents answer visitors from: documents
    #[command(subcommand)]
    Knowledge(knowledge::Knowledge),
    /// What visitors and agents said: read, answer, export, erase
    #[command(subcommand)]
    Conversations(conversations::Conversations),
    /// The audit log
    #[command(subcommand)]
    Audit(audit::Audit),
    /// The keys of the server itself, with which secrets are hashed and cursors signed
    #[command(subcommand)]
    ServerKey(server_keys::ServerKeyCommand),
    /// Bring the store to this version's schema; a server does so at its start
    #[command(after_help = store::MIGRATE_EXAMPLES)]
    Migrate(store::Migrate),
    /// Look whether the store is sound
    #[command(after_help = store::CHECK_EXAMPLES)]
    Check(store::Check),
    /// Copy the store, contents of files included, into a new folder, while servers may run
    #[command(after_help = store::BACKUP_EXAMPLES)]
    Backup(store::Backup),
    /// Put a backup in the place of the store; no server may run
    #[command(after_help = store::RESTORE_EXAMPLES)]
    Restore(store::Restore),
    /// Find the fields of a schema in a document of this machine
    #[command(after_help = extract::EXAMPLES)]
    Extract(extract::Extract),
    /// Copy everything into another store, on whatever engine, and prove that both then hold the same
    #[command(after_help = copy::EXAMPLES)]
    Copy(copy::Copy),
    /// Settings
    #[command(subcommand)]
    Config(settings::ConfigCommand),
    /// Print the OpenAPI 3.1 document
    #[command(after_help = settings::OPENAPI_EXAMPLES)]
    Openapi,
    /// Print a script that completes commands in a shell
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
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output, faults to standard error.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            for line in failure.to_string().lines() {
                output::complain(line);
            }
            failure.exit_code()
        }
    }
}

impl Cli {
    fn run(self) -> Result<(), CliError> {
        let every = &self.every;
        match self.command {
            Command::Serve(flags) => serve::run(every, &flags, false),
            Command::Demo(flags) => serve::run(every, &flags, true),
            Command::Agents(command) => command.run(every),
            Command::Keys(command) => command.run(every),
            Command::ContactSchema(command) => command.run(every),
            Command::Contacts(command) => command.run(every),
            Command::Files(command) => command.run(every),
            Command::Templates(command) => command.run(every),
            Command::Submissions(command) => command.run(every),
            Command::Credits(command) => command.run(every),
            Command::Documents(command) => command.run(every),
            Command::Knowledge(command) => command.run(every),
            Command::Conversations(command) => command.run(every),
            Command::Audit(command) => command.run(every),
            Command::ServerKey(command) => command.run(every),
            Command::Migrate(command) => command.run(every),
            Command::Check(command) => command.run(every),
            Command::Backup(command) => command.run(every),
            Command::Restore(command) => command.run(every),
            Command::Extract(command) => command.run(every),
            Command::Copy(command) => command.run(every),
            Command::Config(command) => command.run(every),
            Command::Openapi => settings::print_document(every),
            Command::Completions { shell } => settings::print_completions(shell, &mut Cli::command()),
        }
    }
}

/// Puts `serve` where no command is named, so that `openapi-server --listen …` runs the service.
fn with_default_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(argument) = arguments.get(at).and_then(|argument| argument.to_str()) {
        match argument {
            "-h" | "--help" | "-V" | "--version" => return arguments,
            flag if flag.starts_with('-') => {
                let name = flag.trim_start_matches('-').replace('-', "_");
                let every = name == "config"
                    || crate::config::registry::SETTINGS.iter().any(|setting| {
                        setting.scope == crate::config::registry::Scope::Global
                            && (name == setting.key || name == format!("{}_file", setting.key))
                    });
                // A flag that every command takes may stand in front of the command, with its value.
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

/// Runs an operator's command on a platform over the configured stores.
fn with_platform(
    every: &GlobalArgs,
    contents: Contents,
    work: impl AsyncFnOnce(&Platform) -> Result<(), CliError>,
) -> Result<(), CliError> {
    with_platform_by(every, None, contents, work)
}

/// The same for a command that has flags of further settings.
fn with_platform_by(
    every: &GlobalArgs,
    further: Option<&FlagValues>,
    contents: Contents,
    work: impl AsyncFnOnce(&Platform) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let config = crate::config::Config::read(every, further)?;
    let names = crate::config::typed::Names::of(&config)?;
    let _log = Logged::install(&config)?;
    on_runtime(async {
        let brand = names.brand_without_listener();
        work(&*assemble::platform(&config, brand, contents).await?).await
    })
}

/// The same for a command that reads the store itself as well.
fn with_store(
    every: &GlobalArgs,
    work: impl AsyncFnOnce(&Platform, Arc<dyn Storage>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let config = crate::config::Config::read(every, None)?;
    let names = crate::config::typed::Names::of(&config)?;
    let _log = Logged::install(&config)?;
    on_runtime(async {
        let url = assemble::StoreUrl::parse(config.store())?;
        let storage = assemble::open(&url).await?;
        let stores = assemble::Stores { storage: Arc::clone(&storage), blobs: Arc::new(NoBlobs) };
        let brand = names.brand_without_listener();
        let platform =
            assemble::platform_over(&stores, &url.key_source(&config), brand, Decisions::default())?;
        work(&platform, storage).await
    })
}

/// Runs a future to its end.
fn on_runtime<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(work);
    // What still runs in the background, such as cut connections, does not hold up the end.
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    result
}

/// The log of a command; flushed at its end.
struct Logged(Arc<crate::logging::LogWriter>);

impl Logged {
    /// The log of `serve`.
    fn install_for_service(config: &crate::config::Config) -> Result<Self, CliError> {
        Ok(Logged(crate::logging::install(&crate::config::typed::Logging::of(config)?)))
    }

    fn sink(&self) -> &crate::logging::LogWriter {
        &self.0
    }

    fn install(config: &crate::config::Config) -> Result<Self, CliError> {
        let mut logging = crate::config::typed::Logging::of(config)?;
        if config.value("log").origin == crate::config::layers::Origin::Default {
            // A command says what it did by itself.
            logging.filter = Targets::new().with_default(tracing::Level::WARN);
        }
        Ok(Logged(crate::logging::install(&logging)))
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        self.0.flush();
    }
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
