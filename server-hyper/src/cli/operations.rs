//! The console's operations, as commands call them.

use ::console::{AccountSettings, Console, ConsoleSettings};
use conversations::Conversations;

use super::context::CommandContext;
use crate::config::Config;
use crate::error::CliError;

/// The console over the chat, for the operations that a command calls.
///
/// # Errors
/// When the settings cannot be read.
pub fn console(context: &CommandContext, chat: &Conversations) -> Result<Console, CliError> {
    let settings = ConsoleSettings::with_accounts(&origin(context)?, AccountSettings::default());
    Ok(Console::new(chat.clone(), settings))
}

/// Refuses to make a link where nobody knows the port that it leads to.
///
/// # Errors
/// When the port is chosen at the start of a server, and this command runs in none.
pub fn refuse_unknown_port(context: &CommandContext) -> Result<(), CliError> {
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

fn configured_origin(config: &Config) -> String {
    if let Some(url) = config.text("console_public_url").filter(|url| !url.is_empty()) {
        return url.trim_end_matches('/').to_owned();
    }
    let port = config.text("console_listen").and_then(|address| address.rsplit_once(':'));
    let scheme = if config.text("tls_cert").is_some_and(|file| !file.is_empty()) { "https" } else { "http" };
    format!("{scheme}://localhost:{}", port.map_or("8082", |(_, port)| port))
}
