//! `tokens`: service tokens, by which scripts call the console.

use std::time::Duration;

use ::console::{Command, Grant};
use clap::Subcommand;
use http::Method;
use openapi_core::access::AllowedAddress;
use openapi_core::json::{Json, Object};
use openapi_core::values::Line;

use super::context::CommandContext;
use super::operations::{self, Operations};
use crate::config::values::duration;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Tokens {
    /// List the service tokens; for 30 days also those that have ended
    #[command(after_help = "Examples:\n  openapi-server tokens list\n  openapi-server tokens list --json")]
    List,
    /// Create a service token, and print it once
    #[command(after_help = "Examples:\n  \
        openapi-server tokens create \"Nightly sync\" --role inbox@acme --expires 30d\n  \
        openapi-server tokens create CI --role developer --dangerous keys.create --address 192.0.2.0/24\n\n\
        The token goes to standard output, everything else to standard error. A script sends it to the console as \
        `Authorization: Bearer TOKEN`; a command takes it from OPENAPI_TOKEN with --server. A token is never an owner, \
        and manages neither people nor tokens. It works until it ends or is revoked, also when its author has left.")]
    Create {
        /// What it is for
        name: Line<100>,
        /// A role on one agent, such as inbox@acme, or on all, such as viewer; several are allowed
        #[arg(long, value_name = "ROLE", required = true)]
        role: Vec<Grant>,
        /// How long it works: 1h to 366d
        #[arg(long, default_value = "90d", value_parser = duration)]
        expires: Duration,
        /// An operation that asks people for a proof of identity, such as contacts.erase; several are allowed
        #[arg(long, value_name = "OPERATION")]
        dangerous: Vec<String>,
        /// An address or a block that it may be used from; several are allowed, none means any
        #[arg(long, value_name = "CIDR")]
        address: Vec<AllowedAddress>,
    },
    /// Revoke a service token for good: its requests are refused at once
    #[command(after_help = "Examples:\n  openapi-server tokens revoke \"Nightly sync\"\n\n\
        A token that was found somewhere can be given as it is, or by its beginning.")]
    Revoke {
        /// The id, the name or the beginning of the token, as `tokens list` shows them, or the token itself
        token: String,
    },
}

const GET: Command<'static> =
    Command { method: &Method::GET, path: "/tokens", query: &[], if_match: None, body: None };

impl Tokens {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        operations::with(context, async |operations| self.act(context, operations).await)
    }

    async fn act(self, context: &CommandContext, operations: &Operations) -> Result<(), CliError> {
        match self {
            Tokens::List => list(context, operations).await,
            Tokens::Create { name, role, expires, dangerous, address } => {
                let list = |words: Vec<String>| {
                    Json::Array(words.iter().map(|word| Json::from(word.as_str())).collect())
                };
                let mut body = Object::new();
                body.insert("name", name.as_str().into());
                body.insert("grants", list(role.iter().map(ToString::to_string).collect()));
                body.insert("validForSeconds", Json::from(expires.as_secs()));
                body.insert("dangerous", list(dangerous));
                body.insert("addresses", list(address.iter().map(ToString::to_string).collect()));
                let create = Command { method: &Method::POST, body: Some(&body), ..GET };
                let made = operations.run(create).await?.data;
                if context.json() {
                    return context.print_json(&made);
                }
                let token = member(&made, "token");
                context.info(&format!(
                    "the token is shown this once; it works until {}, and `tokens revoke {}` ends it",
                    text(&token, "expiresAt"),
                    text(&token, "id")
                ));
                context.print(&format!("{}\n", text(&made, "secret")))
            }
            Tokens::Revoke { token } => {
                let all = operations.run(GET).await?.data;
                let Json::Array(all) = all else { return Err(CliError::new("the answer is malformed")) };
                let found = find(&all, &token)?;
                let (id, name) = (text(found, "id"), text(found, "name"));
                let mut body = Object::new();
                body.insert("confirm", name.as_str().into());
                let path = format!("/tokens/{id}");
                let revoke = Command { method: &Method::DELETE, path: &path, body: Some(&body), ..GET };
                let revoked = operations.run(revoke).await?.data;
                if context.json() {
                    return context.print_json(&revoked);
                }
                context.info(&format!("{name} is {}", text(&revoked, "state")));
                Ok(())
            }
        }
    }
}

async fn list(context: &CommandContext, operations: &Operations) -> Result<(), CliError> {
    let Json::Array(all) = operations.run(GET).await?.data else {
        return Err(CliError::new("the answer is malformed"));
    };
    let heads = ["id", "name", "begins with", "roles", "dangerous", "last use", "ends", "state"];
    context.print_table(context.json(), &all, &heads, |token| {
        let last = [text(token, "lastUsedAt"), text(token, "lastUsedAddress")].join(" ");
        let end = Some(text(token, "revokedAt")).filter(|at| !at.is_empty());
        vec![
            text(token, "id"),
            text(token, "name"),
            text(token, "start"),
            words(token, "grants"),
            words(token, "dangerous"),
            last.trim().to_owned(),
            end.unwrap_or_else(|| text(token, "expiresAt")),
            text(token, "state"),
        ]
    })
}

/// The token that is meant. A leaked one ends fastest when it can be pasted as it was found.
fn find<'a>(all: &'a [Json], meant: &str) -> Result<&'a Json, CliError> {
    let is_it = |known: &&Json| {
        let start = text(known, "start");
        text(known, "id") == meant || !start.is_empty() && meant.starts_with(&start)
    };
    if let Some(found) = all.iter().find(is_it) {
        return Ok(found);
    }
    let named: Vec<&Json> =
        all.iter().filter(|known| text(known, "name") == meant && text(known, "state") == "active").collect();
    match named[..] {
        [one] => Ok(one),
        [] => Err(CliError::new(format!("there is no token '{}'; see `tokens list`", shortened(meant)))),
        _ => Err(CliError::new(format!("{} tokens are called '{meant}'; give the id of one", named.len()))),
    }
}

/// What of a token may be repeated in a message.
fn shortened(token: &str) -> String {
    token.chars().take(24).collect()
}

fn member(value: &Json, name: &str) -> Json {
    value.as_object().and_then(|members| members.get(name)).cloned().unwrap_or(Json::Null)
}

fn text(value: &Json, name: &str) -> String {
    member(value, name).as_str().unwrap_or_default().to_owned()
}

fn words(value: &Json, name: &str) -> String {
    let Json::Array(words) = member(value, name) else { return String::new() };
    words.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", ")
}
