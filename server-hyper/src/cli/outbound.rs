//! `outbound`: requests to URLs of tenants.

use ::outbound::{HttpOutbound, Parts};
use clap::{Args, Subcommand};
use openapi_core::ports::{OutboundError, OutboundSchemes};
use serde_json::json;

use super::context::CommandContext;
use crate::config::Config;
use crate::config::flags::OutboundArgs;
use crate::config::outbound::policy_of;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Outbound {
    /// Say whether a URL may be reached: its addresses, or the rule that refuses it
    #[command(after_help = "Examples:\n  \
        openapi-server outbound check https://192.0.2.7/hook --outbound-allow 192.0.2.0/24\n  \
        openapi-server outbound check http://198.51.100.7/page --with-http --outbound-allow 198.51.100.7 --json\n\n\
        The command resolves the name and judges all its addresses, as a server with the same settings does before it \
        sends a webhook. It connects to nothing. Exit status 1 means that the URL is refused or does not resolve.")]
    Check(Check),
}

#[derive(Debug, Args)]
pub struct Check {
    /// The URL
    url: String,
    /// Accept http too, as crawls do; webhooks accept https only
    #[arg(long)]
    with_http: bool,
    #[command(flatten)]
    settings: OutboundArgs,
}

impl Outbound {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let Outbound::Check(check) = self;
        let config = Config::read(context.flags(), Some(&check.settings.values))?;
        let parts = Parts::system().map_err(|error| CliError::new(error.to_string()))?;
        let client = HttpOutbound::new(policy_of(&config)?, parts);
        let schemes = if check.with_http { OutboundSchemes::HttpAndHttps } else { OutboundSchemes::Https };
        let resolved = context.run(async {
            match client.resolve(&check.url, schemes).await {
                Err(error) if !context.json() => Err(CliError::new(explain(&error))),
                outcome => Ok(outcome),
            }
        })?;
        match resolved {
            Ok(resolved) if context.json() => context.print_json(&json!({
                "allowed": true,
                "url": resolved.target.url(),
                "addresses": resolved.addresses,
            })),
            Ok(resolved) => {
                let lines: String =
                    resolved.addresses.iter().map(|address| format!("  {address}\n")).collect();
                context.print(&format!("allowed: {}\n{lines}", resolved.target.url()))
            }
            Err(error) => {
                let rule = match &error {
                    OutboundError::Refused { rule, .. } => Some(*rule),
                    _ => None,
                };
                context.print_json(&json!({
                    "allowed": false, "rule": rule, "error": error.word(), "reason": error.to_string(),
                }))?;
                Err(CliError::new(explain(&error)))
            }
        }
    }
}

/// The error with what an operator can do.
fn explain(error: &OutboundError) -> String {
    let advice = match error {
        OutboundError::Refused { rule: "scheme", .. } => "use https, or --with-http for what crawls may read",
        OutboundError::Refused { rule: "port", .. } => {
            "add the port to outbound_port, or host and port to outbound_allow"
        }
        OutboundError::Refused { rule: "url" | "userinfo", .. } => "correct the URL",
        OutboundError::Refused { .. } => {
            "if the target is yours and tenants may reach it, add its address or HOST:PORT to outbound_allow"
        }
        _ => "check the name, and the name server of this machine",
    };
    format!("{error}; {advice}")
}
