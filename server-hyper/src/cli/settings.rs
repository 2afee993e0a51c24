//! `config`, `openapi`, `completions`: the settings, the API description, shell completion.

use clap::Subcommand;
use serde::Serialize;

use super::context::CommandContext;
use crate::assemble::{self, StoreUrl};
use crate::config::Config;
use crate::config::flags::ServeArgs;
use crate::config::typed::{Logging, Names, Serving};
use crate::console::entry::wait_for_store;
use crate::error::CliError;
use crate::serve::tls::Tls;

/// Examples of `openapi`.
pub const OPENAPI_EXAMPLES: &str = "Examples:\n  openapi-server openapi > openapi.json";

/// Examples of `completions`.
pub const COMPLETIONS_EXAMPLES: &str = "Examples:\n  \
    openapi-server completions bash > openapi-server.bash\n  \
    openapi-server completions zsh > _openapi-server";

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show every setting with its value and its source; secrets are masked
    #[command(after_help = "Examples:\n  \
        openapi-server config show\n  \
        openapi-server config show --config openapi.toml --json\n\n\
        A flag beats the environment, the environment the file, the file the default.")]
    Show(ServeArgs),
    /// Check the settings without starting the server
    #[command(after_help = "Examples:\n  openapi-server config check --config openapi.toml")]
    Check(ServeArgs),
}

/// The printed form of a setting.
#[derive(Serialize)]
struct Shown<'a> {
    setting: &'a str,
    value: String,
    origin: String,
}

impl ConfigCommand {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        match self {
            ConfigCommand::Show(flags) => {
                let config = Config::read(context.flags(), Some(&flags.values))?;
                let shown: Vec<Shown<'_>> = config
                    .values()
                    .iter()
                    .map(|value| Shown {
                        setting: &value.key,
                        value: value.shown(),
                        origin: value.origin.to_string(),
                    })
                    .collect();
                warn(context, &config);
                context.print_table(context.json(), &shown, &["setting", "value", "origin"], |shown| {
                    vec![shown.setting.to_owned(), shown.value.clone(), shown.origin.clone()]
                })
            }
            ConfigCommand::Check(flags) => {
                let config = Config::read(context.flags(), Some(&flags.values))?;
                warn(context, &config);
                let serving = Serving::of(&config)?;
                Names::of(&config)?;
                Logging::of(&config)?;
                wait_for_store(&config)?;
                let store = StoreUrl::parse(config.store())?;
                assemble::blobs_url(&config, &store)?;
                store.key_source(&config).check()?;
                if let Some((certificate, key)) = &serving.tls {
                    Tls::load(certificate, key, serving.http2)?;
                }
                if context.json() {
                    context.print_json(&serde_json::json!({ "ok": true }))
                } else {
                    context.print("the settings are sound\n")
                }
            }
        }
    }
}

fn warn(context: &CommandContext, config: &Config) {
    for warning in &config.warnings {
        context.error(&format!("warning: {warning}"));
    }
}

/// Prints the OpenAPI document with the configured names.
pub fn print_document(context: &CommandContext) -> Result<(), CliError> {
    let config = Config::read(context.flags(), None)?;
    let names = Names::of(&config)?;
    context.print_json(&openapi_core::openapi::document(
        &names.brand_without_listener(),
        events::endpoints::GROUPS,
    ))
}

/// Prints a completion script.
pub fn print_completions(
    context: &CommandContext,
    shell: clap_complete::Shell,
    command: &mut clap::Command,
) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "openapi-server", &mut script);
    context.print(&String::from_utf8_lossy(&script))
}
