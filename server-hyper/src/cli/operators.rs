//! `operators`: links by which people sign in to the console.

use ::console::{AccountSettings, Console, ConsoleSettings};
use clap::Subcommand;
use conversations::Conversations;
use openapi_core::values::Email;

use super::context::CommandContext;
use crate::assemble::Contents;
use crate::config::Config;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Operators {
    /// Print the link by which the first owner of the console is made
    #[command(after_help = "Examples:\n  openapi-server operators setup-link\n\n\
        The link works once and for an hour; a newer one replaces it. With an operator in the store there is none.")]
    SetupLink,
    /// Print a link by which an operator gets another way to sign in to the console
    #[command(after_help = "Examples:\n  openapi-server operators recover zoe@example.com\n\n\
        The link works once and for an hour; a newer one replaces it. Pass it on by a way that you trust. Using it ends \
        all sessions of the operator.")]
    Recover {
        /// The operator's address
        email: Email,
    },
}

impl Operators {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let origin = origin(&*context.config()?);
        context.with_conversations(Contents::Closed, async |chat| {
            let settings = ConsoleSettings::with_accounts(&origin, AccountSettings::default());
            let console = Console::new(Conversations::clone(chat), settings);
            let by = context.operator();
            let link = match &self {
                Operators::SetupLink => console.setup_link(&by).await,
                Operators::Recover { email } => console.recovery_link(&by, &email.to_string()).await,
            };
            let link = link.map_err(|error| CliError::new(error.to_string()))?;
            match (link, &self) {
                (Some(link), _) => context.print(&format!("{link}\n")),
                (None, Operators::SetupLink) => {
                    Err(CliError::new("the console has an operator; see openapi-server operators recover"))
                }
                (None, Operators::Recover { email }) => {
                    Err(CliError::new(format!("no operator has the address {email}")))
                }
            }
        })
    }
}

/// The origin of the console.
fn origin(config: &Config) -> String {
    if let Some(url) = config.text("console_public_url").filter(|url| !url.is_empty()) {
        return url.trim_end_matches('/').to_owned();
    }
    let port = config.text("console_listen").and_then(|address| address.rsplit_once(':'));
    let scheme = if config.text("tls_cert").is_some_and(|file| !file.is_empty()) { "https" } else { "http" };
    format!("{scheme}://localhost:{}", port.map_or("8082", |(_, port)| port))
}
