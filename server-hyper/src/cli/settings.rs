//! `config`, `openapi`, `completions`: what the server is set to, what it offers.

use clap::Subcommand;
use serde::Serialize;

use super::output::{complain, print, print_json, print_table};
use crate::assemble::{self, StoreUrl};
use crate::config::Config;
use crate::config::flags::{GlobalArgs, ServeArgs};
use crate::config::typed::{Logging, Names, Serving};
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
    /// Show every setting with its value and where it comes from; secrets are masked
    #[command(after_help = "Examples:\n  \
        openapi-server config show\n  \
        openapi-server config show --config openapi.toml --json\n\n\
        A flag beats the environment, the environment the file, the file the default.")]
    Show(ServeArgs),
    /// Look for faults in the settings without starting anything
    #[command(after_help = "Examples:\n  openapi-server config check --config openapi.toml")]
    Check(ServeArgs),
}

/// A setting as it is shown.
#[derive(Serialize)]
struct Shown<'a> {
    setting: &'a str,
    value: String,
    origin: String,
}

impl ConfigCommand {
    pub fn run(self, every: &GlobalArgs) -> Result<(), CliError> {
        match self {
            ConfigCommand::Show(flags) => {
                let config = Config::read(every, Some(&flags.values))?;
                let shown: Vec<Shown<'_>> = config
                    .values()
                    .iter()
                    .map(|value| Shown {
                        setting: &value.key,
                        value: value.shown(),
                        origin: value.origin.to_string(),
                    })
                    .collect();
                warn(&config);
                print_table(every.json, &shown, &["setting", "value", "origin"], |shown| {
                    vec![shown.setting.to_owned(), shown.value.clone(), shown.origin.clone()]
                })
            }
            ConfigCommand::Check(flags) => {
                let config = Config::read(every, Some(&flags.values))?;
                warn(&config);
                let serving = Serving::of(&config)?;
                Names::of(&config)?;
                Logging::of(&config)?;
                assemble::blobs_url(&config, &StoreUrl::parse(config.store())?)?;
                if let Some((certificate, key)) = &serving.tls {
                    Tls::load(certificate, key, serving.http2)?;
                }
                if every.json {
                    print_json(&serde_json::json!({ "ok": true }))
                } else {
                    print("the settings are sound\n")
                }
            }
        }
    }
}

fn warn(config: &Config) {
    for warning in &config.warnings {
        complain(&format!("warning: {warning}"));
    }
}

/// Prints the OpenAPI document of the configured names.
pub fn print_document(every: &GlobalArgs) -> Result<(), CliError> {
    let config = Config::read(every, None)?;
    let names = Names::of(&config)?;
    print_json(&openapi_core::openapi::document(&names.brand_without_listener()))
}

/// Prints a completion script.
pub fn print_completions(shell: clap_complete::Shell, command: &mut clap::Command) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "openapi-server", &mut script);
    print(&String::from_utf8_lossy(&script))
}
