//! `sign-in`: the providers that operators sign in with, by the console's own operations.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use ::console::{Command, Console, Grant};
use clap::{Args, Subcommand};
use http::Method;
use openapi_core::json::Json;
use serde_json::{Value, json};

use super::context::CommandContext;
use super::{input, operations};
use crate::assemble::Contents;
use crate::config::flags::OutboundArgs;
use crate::config::layers::FlagValues;
use crate::error::CliError;

/// The longest secret of a client, and the most bytes of its file.
const MAX_SECRET: u64 = 4_096;

#[derive(Debug, Subcommand)]
pub enum SignIn {
    /// List the providers
    #[command(after_help = "Examples:\n  openapi-server sign-in list")]
    List,
    /// Add a provider, or change one: what no flag names stays
    #[command(after_help = "Examples:\n  \
        openapi-server sign-in set acme --issuer https://id.example.com --client-id console\n  \
        openapi-server sign-in set acme --domain example.com --group support=inbox@acme\n  \
        openapi-server sign-in set acme --client-secret-file secret.txt --enable\n\n\
        At the provider, register a web application with the redirect URL that the command prints. --enable checks first \
        what the provider publishes. A provider in your own network has to be in outbound_allow.")]
    Set(Box<Set>),
    /// Check what a provider publishes, step by step
    #[command(after_help = "Examples:\n  openapi-server sign-in test acme\n\n\
        Exit status 1 means that a step failed. Whether the provider accepts the client shows a trial in the console, under \
        Settings → Sign-in.")]
    Test {
        /// The id of the provider
        id: String,
        #[command(flatten)]
        settings: OutboundArgs,
    },
    /// Remove a provider; operators keep their other ways to sign in
    #[command(after_help = "Examples:\n  openapi-server sign-in remove acme")]
    Remove {
        /// The id of the provider
        id: String,
    },
}

#[derive(Debug, Args)]
pub struct Set {
    /// The id of the provider: a-z, 0-9 and -
    id: String,
    /// What the button says: Continue with NAME; the id if a new provider has none
    #[arg(long)]
    name: Option<String>,
    /// The URL of the provider, exactly as its description names it
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
    /// The id of the console at the provider
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// A file with the secret of the client; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "no_client_secret")]
    client_secret_file: Option<PathBuf>,
    /// Remove the secret, for a client that has none
    #[arg(long)]
    no_client_secret: bool,
    /// What is asked for, besides openid; several are allowed [default: email, profile]
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// The claim that has the groups of a person [default: groups]
    #[arg(long, value_name = "CLAIM")]
    groups_claim: Option<String>,
    /// A role of a group, such as support=inbox@acme, or of everyone, *=viewer; replaces the former groups
    #[arg(long, value_name = "GROUP=ROLE", value_parser = group)]
    group: Vec<(String, Grant)>,
    /// Give no roles by groups any more
    #[arg(long, conflicts_with = "group")]
    no_groups: bool,
    /// A domain whose verified addresses get an account; replaces the former domains
    #[arg(long, value_name = "DOMAIN")]
    domain: Vec<String>,
    /// Make no accounts by address any more
    #[arg(long, conflicts_with = "domain")]
    no_domains: bool,
    /// Offer the provider on the sign-in page
    #[arg(long, conflicts_with = "disable")]
    enable: bool,
    /// Do not offer the provider
    #[arg(long)]
    disable: bool,
    #[command(flatten)]
    settings: OutboundArgs,
}

/// A role of a group. Roles contain no `=`, groups may.
fn group(text: &str) -> Result<(String, Grant), String> {
    let (name, role) = text.rsplit_once('=').ok_or("write GROUP=ROLE, such as support=inbox@acme")?;
    let grant = role.parse().map_err(|invalid: openapi_core::values::Invalid| invalid.to_string())?;
    Ok((name.to_owned(), grant))
}

impl SignIn {
    /// The settings flags of the command.
    pub fn settings(&self) -> Option<&FlagValues> {
        match self {
            SignIn::Set(set) => Some(&set.settings.values),
            SignIn::Test { settings, .. } => Some(&settings.values),
            SignIn::List | SignIn::Remove { .. } => None,
        }
    }

    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        context.with_conversations(Contents::Closed, async |chat| {
            let desk = Desk { console: operations::console(context, chat)?, context };
            match self {
                SignIn::List => desk.list().await,
                SignIn::Set(set) => desk.set(&set).await,
                SignIn::Test { id, .. } => desk.test(&id).await,
                SignIn::Remove { id } => {
                    desk.call(Method::DELETE, &path(&id)?, None).await?;
                    desk.context.info(&format!("the provider {id} is removed"));
                    Ok(())
                }
            }
        })
    }
}

/// The path of a provider, whose id needs no encoding.
fn path(id: &str) -> Result<String, CliError> {
    let is_word = id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if id.is_empty() || !is_word {
        return Err(CliError::new(format!("'{id}' is no id of a provider; use a-z, 0-9 and -")));
    }
    Ok(format!("/providers/{id}"))
}

struct Desk<'a> {
    console: Console,
    context: &'a CommandContext,
}

impl Desk<'_> {
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, CliError> {
        self.console.command(&self.context.operator(), method, path, body).await.map_err(CliError::new)
    }

    async fn all(&self) -> Result<Vec<Value>, CliError> {
        let all = self.call(Method::GET, "/providers", None).await?;
        Ok(all.as_array().cloned().unwrap_or_default())
    }

    async fn list(&self) -> Result<(), CliError> {
        let all = self.all().await?;
        let heads = ["id", "name", "issuer", "domains", "groups", "state"];
        self.context.print_table(self.context.json(), &all, &heads, |provider| {
            let state = if provider["isEnabled"] == true { "on" } else { "off" };
            vec![
                text(provider, "id"),
                text(provider, "name"),
                text(provider, "issuer"),
                words(&provider["domains"]),
                groups(provider),
                state.to_owned(),
            ]
        })
    }

    async fn set(&self, set: &Set) -> Result<(), CliError> {
        let path = path(&set.id)?;
        let known = self.all().await?.into_iter().find(|provider| provider["id"] == set.id.as_str());
        let mut body = match &known {
            Some(known) => json!({
                "name": known["name"], "issuer": known["issuer"], "clientId": known["clientId"],
                "scopes": known["scopes"], "groupsClaim": known["groupsClaim"], "groups": known["groups"],
                "domains": known["domains"], "isEnabled": known["isEnabled"],
            }),
            None => json!({ "name": set.id, "isEnabled": false }),
        };
        for (name, value) in [
            ("name", &set.name),
            ("issuer", &set.issuer),
            ("clientId", &set.client_id),
            ("groupsClaim", &set.groups_claim),
        ] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        if known.is_none() && (set.issuer.is_none() || set.client_id.is_none()) {
            return Err(CliError::usage(format!(
                "there is no provider {}; a new one needs --issuer and --client-id",
                set.id
            )));
        }
        if let Some(file) = &set.client_secret_file {
            body["clientSecret"] = json!(self.secret(file)?);
        } else if set.no_client_secret {
            body["clientSecret"] = Value::Null;
        }
        if !set.scope.is_empty() {
            body["scopes"] = json!(set.scope);
        }
        if !set.domain.is_empty() || set.no_domains {
            body["domains"] = json!(set.domain);
        }
        if !set.group.is_empty() || set.no_groups {
            let mut groups: BTreeMap<&str, Vec<&Grant>> = BTreeMap::new();
            for (name, grant) in &set.group {
                groups.entry(name).or_default().push(grant);
            }
            body["groups"] = json!(groups);
        }
        if set.enable || set.disable {
            body["isEnabled"] = json!(set.enable);
        }
        // What somebody else has changed since it was read is not written over.
        let tag = known.as_ref().and_then(|known| known["etag"].as_str()).unwrap_or("\"0\"");
        let body = Json::from(&body);
        let command = Command {
            method: &Method::PUT,
            path: &path,
            query: &[],
            if_match: Some(tag),
            body: body.as_object(),
        };
        let saved = self.console.run_command(&self.context.operator(), command).await;
        let saved = saved.map_err(|refused| CliError::new(refused.text))?.data.to_text();
        self.show(&serde_json::from_str(&saved).map_err(|error| CliError::new(error.to_string()))?)
    }

    /// The first line of a file.
    fn secret(&self, file: &Path) -> Result<String, CliError> {
        let mut text = String::new();
        let read = input::open(self.context, file)?.take(MAX_SECRET + 2).read_to_string(&mut text);
        read.map_err(|error| CliError::new(format!("cannot read {}: {error}", file.display())))?;
        let secret = text.trim_end_matches(['\r', '\n']);
        if secret.is_empty() || secret.contains(['\r', '\n']) {
            return Err(CliError::new(format!("{} must hold the secret on one line", file.display())));
        }
        Ok(secret.to_owned())
    }

    fn show(&self, provider: &Value) -> Result<(), CliError> {
        let secret = if provider["hasClientSecret"] == true { "stored" } else { "none" };
        let lines = [
            ("id", text(provider, "id")),
            ("name", text(provider, "name")),
            ("issuer", text(provider, "issuer")),
            ("client id", text(provider, "clientId")),
            ("client secret", secret.to_owned()),
            ("redirect URL", text(provider, "redirectUri")),
            ("scopes", words(&provider["scopes"])),
            ("groups", groups(provider)),
            ("domains", words(&provider["domains"])),
            ("state", if provider["isEnabled"] == true { "on" } else { "off" }.to_owned()),
        ];
        self.context.print_record(self.context.json(), provider, &lines)
    }

    async fn test(&self, id: &str) -> Result<(), CliError> {
        let tested = self.call(Method::POST, &format!("{}/test", path(id)?), None).await?;
        let steps = tested["steps"].as_array().cloned().unwrap_or_default();
        if self.context.json() {
            self.context.print_json(&tested)?;
        } else {
            self.context.print_table(false, &steps, &["step", "result", "detail"], |step| {
                let result = match step["passed"].as_bool() {
                    Some(true) => "passed",
                    Some(false) => "failed",
                    None => "not reached",
                };
                vec![text(step, "name"), result.to_owned(), text(step, "detail")]
            })?;
        }
        if tested["passed"] == true {
            return Ok(());
        }
        Err(CliError::new(format!("the provider {id} did not pass the check")))
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn words(value: &Value) -> String {
    let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    words.collect::<Vec<_>>().join(", ")
}

/// Groups with their roles, as the flag has them.
fn groups(provider: &Value) -> String {
    let groups = provider["groups"].as_object().into_iter().flatten();
    let pairs = groups.flat_map(|(name, roles)| {
        let roles = roles.as_array().into_iter().flatten().filter_map(Value::as_str);
        roles.map(move |role| format!("{name}={role}"))
    });
    pairs.collect::<Vec<_>>().join(", ")
}
