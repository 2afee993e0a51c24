//! `keys`: API keys.

use std::time::Duration;

use clap::{Args, Subcommand};
use openapi_core::access::{AllowedAddress, Key, KeySelector, KeyStatus, Permissions, RateLimits};
use openapi_core::admin::{Admin, IssuedKey, KeyEdit, NewKey};
use openapi_core::values::{AgentId, Block, Line, Timestamp};
use serde::Serialize;

use super::context::CommandContext;
use super::output::optional;
use crate::assemble::Contents;
use crate::config::values::duration;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Keys {
    /// Create a key and print its secret, which cannot be shown again
    #[command(after_help = "Examples:\n  \
        openapi-server keys create --agent acme --name CRM --allow contacts:all\n  \
        openapi-server keys create --agent acme --name Reports --allow contacts:read --allow forms:read\n  \
        openapi-server keys create --agent acme --name Nightly --allow contacts:read,create --per-minute 600 --per-hour 10000 \
        --ip 192.0.2.0/24 --expires 2999-12-31T00:00:00Z --json")]
    Create(Create),
    /// List the keys of an agent, oldest first
    #[command(after_help = "Examples:\n  openapi-server keys list --agent acme")]
    List {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Show one key
    #[command(after_help = "Examples:\n  openapi-server keys show $KEY")]
    Show {
        /// The key: its id or its public string
        key: KeySelector,
    },
    /// Change properties of a key
    #[command(after_help = "Examples:\n  \
        openapi-server keys edit $KEY --per-minute 120\n  \
        openapi-server keys edit $KEY --allow contacts:read --ip 192.0.2.7 --expires 2999-12-31T00:00:00Z\n  \
        openapi-server keys edit $KEY --ip any --expires never --description none")]
    Edit(Edit),
    /// Give a key a new secret; the old one stays valid for a while
    #[command(after_help = "Examples:\n  \
        openapi-server keys rotate $KEY\n  \
        openapi-server keys rotate $KEY --grace 7d --json\n  \
        openapi-server keys rotate $KEY --grace 0s\n\n\
        At most two secrets are valid at a time: with a third the oldest ends at once.")]
    Rotate {
        /// The key: its id or its public string
        key: KeySelector,
        /// How long the old secret stays valid, 0s to 7d
        #[arg(long, default_value = "24h", value_parser = duration)]
        grace: Duration,
    },
    /// Disable a key
    #[command(
        after_help = "Examples:\n  openapi-server keys disable $KEY\n  openapi-server keys enable $KEY"
    )]
    Disable {
        /// The key: its id or its public string
        key: KeySelector,
    },
    /// Enable a disabled key
    #[command(after_help = "Examples:\n  openapi-server keys enable $KEY")]
    Enable {
        /// The key: its id or its public string
        key: KeySelector,
    },
    /// Permanently revoke a key
    #[command(after_help = "Examples:\n  openapi-server keys revoke $KEY")]
    Revoke {
        /// The key: its id or its public string
        key: KeySelector,
    },
}

#[derive(Debug, Args)]
pub struct Create {
    /// The agent the key is for
    #[arg(long)]
    agent: AgentId,
    /// The name, 1 to 100 characters
    #[arg(long)]
    name: Line<100>,
    /// What the key may do: scope:action, scope:action,action, scope:all or all; repeatable
    #[arg(long = "allow", value_name = "PERMISSION", required = true)]
    allow: Vec<Permissions>,
    /// Requests per minute, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 60)]
    per_minute: u32,
    /// Requests per hour, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 1000)]
    per_hour: u32,
    /// Address or block of addresses that may use the key; repeatable [default: any]
    #[arg(long = "ip", value_name = "CIDR")]
    ip: Vec<AllowedAddress>,
    /// When the key expires
    #[arg(long, value_name = "RFC3339")]
    expires: Option<Timestamp>,
    /// What the key is for, up to 500 characters
    #[arg(long, value_name = "TEXT")]
    description: Option<Block<500>>,
}

#[derive(Debug, Args)]
pub struct Edit {
    /// The key: its id or its public string
    key: KeySelector,
    /// A new name
    #[arg(long)]
    name: Option<Line<100>>,
    /// New permissions, which replace the previous ones; repeatable
    #[arg(long = "allow", value_name = "PERMISSION")]
    allow: Vec<Permissions>,
    /// Requests per minute
    #[arg(long, value_name = "N")]
    per_minute: Option<u32>,
    /// Requests per hour
    #[arg(long, value_name = "N")]
    per_hour: Option<u32>,
    /// New addresses, which replace the previous ones; repeatable; or `any`
    #[arg(long = "ip", value_name = "CIDR", value_parser = address_or_any)]
    ip: Vec<AddressOrAny>,
    /// When the key expires, or `never`
    #[arg(long, value_name = "RFC3339", value_parser = or_nothing::<Timestamp>("never"))]
    expires: Option<OrNothing<Timestamp>>,
    /// A new description, or `none`
    #[arg(long, value_name = "TEXT", value_parser = or_nothing::<Block<500>>("none"))]
    description: Option<OrNothing<Block<500>>>,
}

#[derive(Clone, Debug)]
enum AddressOrAny {
    Any,
    Address(AllowedAddress),
}

fn address_or_any(text: &str) -> Result<AddressOrAny, String> {
    if text == "any" {
        return Ok(AddressOrAny::Any);
    }
    text.parse().map(AddressOrAny::Address).map_err(|error: openapi_core::values::Invalid| error.to_string())
}

/// A new value, or the keyword for no value.
#[derive(Clone, Debug)]
struct OrNothing<T>(Option<T>);

fn or_nothing<T>(nothing: &'static str) -> impl Fn(&str) -> Result<OrNothing<T>, String> + Clone + Send + Sync
where
    T: std::str::FromStr<Err = openapi_core::values::Invalid>,
{
    move |text| {
        if text == nothing {
            return Ok(OrNothing(None));
        }
        text.parse()
            .map(|value| OrNothing(Some(value)))
            .map_err(|error: openapi_core::values::Invalid| error.to_string())
    }
}

/// A new key with its secret.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Issued<'a> {
    #[serde(flatten)]
    key: &'a Key,
    api_secret: &'a str,
}

impl Keys {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        context.with_platform(Contents::Closed, async |platform| {
            let by = context.operator();
            let key = match self {
                Keys::Create(create) => {
                    let issued = platform.create_key(&by, create.into_new()?).await?;
                    return print_issued(context, json, &issued);
                }
                Keys::Rotate { key, grace } => {
                    let grace = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
                    let issued = platform.rotate_key(&by, &key, grace).await?;
                    return print_issued(context, json, &issued);
                }
                Keys::List { agent } => {
                    let keys = platform.keys(&agent).await?;
                    let heads = [
                        "id",
                        "key",
                        "name",
                        "status",
                        "permissions",
                        "a minute",
                        "an hour",
                        "expires",
                        "last used",
                    ];
                    return context.print_table(json, &keys, &heads, row);
                }
                Keys::Show { key } => platform.key(&key).await?,
                Keys::Edit(edit) => {
                    let (key, edit) = edit.into_edit()?;
                    platform.edit_key(&by, &key, edit).await?
                }
                Keys::Disable { key } => platform.disable_key(&by, &key).await?,
                Keys::Enable { key } => platform.enable_key(&by, &key).await?,
                Keys::Revoke { key } => platform.revoke_key(&by, &key).await?,
            };
            context.print_record(json, &key, &lines(&key))
        })
    }
}

impl Create {
    fn into_new(self) -> Result<NewKey, CliError> {
        let limits = RateLimits::new(self.per_minute, self.per_hour)
            .map_err(|error| CliError::usage(format!("{error}; change --per-minute or --per-hour")))?;
        Ok(NewKey {
            agent_id: self.agent,
            name: self.name,
            description: self.description,
            permissions: union(&self.allow),
            limits,
            allowed_addresses: self.ip,
            expires_at: self.expires,
        })
    }
}

impl Edit {
    fn into_edit(self) -> Result<(KeySelector, KeyEdit), CliError> {
        let addresses: Vec<_> = self
            .ip
            .iter()
            .filter_map(|address| match address {
                AddressOrAny::Any => None,
                AddressOrAny::Address(address) => Some(*address),
            })
            .collect();
        if !addresses.is_empty() && addresses.len() < self.ip.len() {
            return Err(CliError::usage("--ip any and an address contradict each other; give one"));
        }
        let edit = KeyEdit {
            name: self.name,
            description: self.description.map(|OrNothing(description)| description),
            permissions: (!self.allow.is_empty()).then(|| union(&self.allow)),
            per_minute: self.per_minute,
            per_hour: self.per_hour,
            allowed_addresses: (!self.ip.is_empty()).then_some(addresses),
            expires_at: self.expires.map(|OrNothing(expires)| expires),
        };
        Ok((self.key, edit))
    }
}

fn union(allowed: &[Permissions]) -> Permissions {
    allowed.iter().fold(Permissions::NONE, |all, some| all.with(*some))
}

fn print_issued(context: &CommandContext, json: bool, issued: &IssuedKey) -> Result<(), CliError> {
    let secret = issued.secret.expose();
    let mut lines = lines(&issued.key);
    lines.insert(2, ("secret", secret.to_owned()));
    context.print_record(json, &Issued { key: &issued.key, api_secret: secret }, &lines)?;
    if !json {
        context.info("Keep the secret now: it is stored as a hash only and cannot be shown again.");
    }
    Ok(())
}

fn status(key: &Key) -> &'static str {
    match key.status {
        KeyStatus::Active => "active",
        KeyStatus::Disabled => "disabled",
        KeyStatus::Revoked => "revoked",
    }
}

fn permissions(key: &Key) -> String {
    if key.permissions == Permissions::all() {
        return "all".to_owned();
    }
    key.permissions.iter().map(|permission| permission.to_string()).collect::<Vec<_>>().join(" ")
}

fn row(key: &Key) -> Vec<String> {
    vec![
        key.id.to_string(),
        key.api_key.to_string(),
        key.name.to_string(),
        status(key).to_owned(),
        permissions(key),
        key.limits.per_minute.to_string(),
        key.limits.per_hour.to_string(),
        optional(key.expires_at.as_ref()),
        optional(key.last_used_at.as_ref()),
    ]
}

fn lines(key: &Key) -> Vec<(&'static str, String)> {
    let addresses: Vec<_> = key.allowed_addresses.iter().map(ToString::to_string).collect();
    vec![
        ("id", key.id.to_string()),
        ("key", key.api_key.to_string()),
        ("agent", key.agent_id.to_string()),
        ("name", key.name.to_string()),
        ("description", optional(key.description.as_ref())),
        ("status", status(key).to_owned()),
        ("permissions", permissions(key)),
        ("a minute", key.limits.per_minute.to_string()),
        ("an hour", key.limits.per_hour.to_string()),
        ("addresses", if addresses.is_empty() { "any".to_owned() } else { addresses.join(" ") }),
        ("expires", optional(key.expires_at.as_ref())),
        ("created", key.created_at.to_string()),
        ("last used", optional(key.last_used_at.as_ref())),
        ("last used from", optional(key.last_used_address.as_ref())),
    ]
}
