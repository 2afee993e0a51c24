//! The console's operations, as commands call them: in the process that has the store, or at a console elsewhere.

use std::sync::Arc;

use ::console::{AccountSettings, Command, CommandAnswer, CommandRefused, Console, ConsoleSettings};
use ::outbound::{HttpOutbound, Parts};
use conversations::Conversations;
use openapi_core::access::Actor;
use openapi_core::platform::Platform;

use super::context::CommandContext;
use super::remote::Remote;
use crate::assemble::Contents;
use crate::config::Config;
use crate::config::outbound::policy_of;
use crate::error::CliError;

/// The operations of a console.
pub enum Operations {
    /// Over the store of this process.
    Here { console: Console, by: Actor, platform: Arc<Platform> },
    /// Elsewhere.
    There(Arc<Remote>),
}

impl Operations {
    /// Calls an operation.
    ///
    /// # Errors
    /// Why the operation was refused or failed.
    pub async fn run(&self, command: Command<'_>) -> Result<CommandAnswer, CommandRefused> {
        match self {
            Operations::Here { console, by, .. } => console.run_command(by, command).await,
            Operations::There(remote) => remote.run(command).await,
        }
    }
}

impl From<CommandRefused> for CliError {
    fn from(refused: CommandRefused) -> Self {
        CliError::new(refused.text)
    }
}

/// Runs work on the operations of the console that the command is for.
///
/// # Errors
/// When the store cannot be opened, and those of the work.
pub fn with(
    context: &CommandContext,
    work: impl AsyncFnOnce(&Operations) -> Result<(), CliError>,
) -> Result<(), CliError> {
    if let Some(remote) = context.remote() {
        return context.run(work(&Operations::There(Arc::clone(remote))));
    }
    context.with_conversations(Contents::Closed, async |chat| {
        let platform = Arc::clone(chat.platform());
        let operations =
            Operations::Here { console: console(context, chat)?, by: context.operator(), platform };
        work(&operations).await
    })
}

/// The console over the chat, for the operations that a command calls.
///
/// # Errors
/// When the settings cannot be read.
pub fn console(context: &CommandContext, chat: &Conversations) -> Result<Console, CliError> {
    let mut settings = ConsoleSettings::with_accounts(&origin(context)?, AccountSettings::default());
    // Without certificates of the system, no provider can be checked.
    if let Ok(parts) = Parts::system() {
        settings.outbound = Arc::new(HttpOutbound::new(policy_of(&*context.config()?)?, parts));
    }
    Ok(Console::new(chat.clone(), settings))
}

/// Refuses to make a link where no console is known that it leads to.
///
/// # Errors
/// When `console_listen` is off without `console_public_url`, which may name the console of another server; and when the
/// port is chosen at the start of a server, and this command runs in none.
pub fn refuse_unknown_console(context: &CommandContext) -> Result<(), CliError> {
    if context.console_origin().is_none() {
        let config = context.config()?;
        if public_url(&config).is_none() && config.text("console_listen") == Some("off") {
            return Err(CliError::new(
                "console_listen is off, so there is no console that a link could lead to; set console_listen to an \
                 address, or console_public_url to the console of another server on the same database",
            ));
        }
    }
    if !origin(context)?.ends_with(":0") {
        return Ok(());
    }
    Err(CliError::new(
        "console_listen leaves the port of the console to the system, so this command cannot know it; run the command \
         next to the server on the same SQLite file, or set console_public_url",
    ))
}

/// The origin of the console: of the server that runs the command, or of the settings.
fn origin(context: &CommandContext) -> Result<String, CliError> {
    let configured = || Ok::<_, CliError>(configured_origin(&*context.config()?));
    context.console_origin().map_or_else(configured, Ok)
}

fn public_url(config: &Config) -> Option<String> {
    let url = config.text("console_public_url").filter(|url| !url.is_empty());
    url.map(|url| url.trim_end_matches('/').to_owned())
}

fn configured_origin(config: &Config) -> String {
    if let Some(url) = public_url(config) {
        return url;
    }
    let port = config.text("console_listen").and_then(|address| address.rsplit_once(':'));
    let scheme = if config.text("tls_cert").is_some_and(|file| !file.is_empty()) { "https" } else { "http" };
    format!("{scheme}://localhost:{}", port.map_or("8082", |(_, port)| port))
}
