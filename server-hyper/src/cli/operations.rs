//! The console's operations, as commands call them.

use std::sync::Arc;

use ::console::{AccountSettings, Console, ConsoleSettings};
use ::outbound::{HttpOutbound, Parts};
use conversations::Conversations;

use super::context::CommandContext;
use crate::config::Config;
use crate::config::outbound::policy_of;
use crate::error::CliError;

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
