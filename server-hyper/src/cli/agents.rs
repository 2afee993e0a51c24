//! `agents`: the tenants.

use std::time::Duration;

use ::conversations::admin::ChatAdmin;
use clap::Subcommand;
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::values::{AgentId, Line};
use serde::Serialize;
use widget::Widget;

use super::agent_settings::{self, Configure};
use super::context::CommandContext;
use crate::assemble::Contents;
use crate::config::typed::Names;
use crate::config::values::duration;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Agents {
    /// Create an agent with the built-in contact schema
    #[command(after_help = "Examples:\n  \
        openapi-server agents create \"Front desk\"\n  \
        openapi-server agents create \"Second desk\" --id second --json\n\n\
        The id stands in every path of the Open API and never changes. Next: `openapi-server keys create`.")]
    Create {
        /// The name, 1 to 100 characters
        name: Line<100>,
        /// The id, 1 to 64 of A-Z a-z 0-9 _ -; made up when not given
        #[arg(long)]
        id: Option<AgentId>,
    },
    /// List the agents, oldest first
    #[command(after_help = "Examples:\n  openapi-server agents list\n  openapi-server agents list --json")]
    List,
    /// Show one agent, with the tag that puts its chat on a page
    #[command(after_help = "Examples:\n  \
        openapi-server agents show acme\n  \
        openapi-server agents show acme --widget-public-url https://widget.example.com --json\n\n\
        The pinned tag loads exactly this build, whatever the server is upgraded to; its integrity value lets browsers \
        refuse any other. The policy is what a page's Content-Security-Policy needs to let the widget in.")]
    Show {
        /// The agent
        id: AgentId,
    },
    /// Change the settings of an agent's widget and chat, or show them
    #[command(after_help = agent_settings::EXAMPLES)]
    Configure(Configure),
    /// Show the secret with which your server vouches for users who are signed in, or make a new one
    #[command(after_help = "Examples:\n  \
        openapi-server agents identity-secret acme --rotate\n  \
        openapi-server agents identity-secret acme\n  \
        openapi-server agents identity-secret acme --rotate --grace 0s --json\n\n\
        Your server signs who a user is with it, and never gives it to a page. At most two are valid at a time: with a \
        third the oldest ends at once.")]
    IdentitySecret {
        /// The agent
        id: AgentId,
        /// Make a new one
        #[arg(long)]
        rotate: bool,
        /// How long the one before stays valid, 0s to 7d
        #[arg(long, default_value = "24h", value_parser = duration, requires = "rotate")]
        grace: Duration,
    },
    /// Switch an agent off: all its keys are answered INVALID_CREDENTIALS
    #[command(
        after_help = "Examples:\n  openapi-server agents disable acme\n  openapi-server agents enable acme"
    )]
    Disable {
        /// The agent
        id: AgentId,
    },
    /// Switch a disabled agent on again
    #[command(after_help = "Examples:\n  openapi-server agents enable acme")]
    Enable {
        /// The agent
        id: AgentId,
    },
    /// Delete an agent with its contacts, keys and schemas; there is no way back, and the id is never given again
    #[command(after_help = "Examples:\n  \
        openapi-server contacts export --agent second > second.ndjson\n  \
        openapi-server agents delete second")]
    Delete {
        /// The agent
        id: AgentId,
    },
}

impl Agents {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        // Deleting an agent removes contents of files, the rest needs none.
        let removes = matches!(self, Agents::Delete { .. });
        let contents = if removes { Contents::Open } else { Contents::Closed };
        context.with_conversations(contents, async |conversations| {
            let platform = conversations.platform();
            let by = context.operator();
            let agent = match self {
                Agents::Create { name, id } => platform.create_agent(&by, NewAgent { id, name }).await?,
                Agents::List => {
                    let agents = platform.agents().await?;
                    return context.print_table(
                        json,
                        &agents,
                        &["id", "name", "status", "created"],
                        |agent| {
                            vec![
                                agent.id.to_string(),
                                agent.name.to_string(),
                                status(agent).to_owned(),
                                agent.created_at.to_string(),
                            ]
                        },
                    );
                }
                Agents::Show { id } => {
                    let agent = platform.agent(&id).await?;
                    return show(
                        context,
                        json,
                        &agent,
                        platform.service_info().service_name(),
                        &widget_host(context)?,
                    );
                }
                Agents::Configure(configure) => return configure.run(context, conversations, json).await,
                Agents::IdentitySecret { id, rotate, grace } => {
                    if rotate {
                        let grace = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
                        conversations.rotate_identity_secret(&by, &id, grace).await?;
                    }
                    return show_secrets(context, json, &id, &conversations.identity_secrets(&id).await?);
                }
                Agents::Disable { id } => platform.disable_agent(&by, &id).await?,
                Agents::Enable { id } => platform.enable_agent(&by, &id).await?,
                Agents::Delete { id } => platform.delete_agent(&by, &id).await?,
            };
            context.print_record(json, &agent, &lines(&agent))
        })
    }
}

fn lines(agent: &Agent) -> Vec<(&'static str, String)> {
    vec![
        ("id", agent.id.to_string()),
        ("name", agent.name.to_string()),
        ("status", status(agent).to_owned()),
        ("created", agent.created_at.to_string()),
        ("updated", agent.updated_at.to_string()),
    ]
}

/// An agent with what a site's owner needs.
#[derive(Serialize)]
struct WithWidget<'a> {
    #[serde(flatten)]
    agent: &'a Agent,
    widget: OnPages<'a>,
}

/// How the widget gets onto a page.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OnPages<'a> {
    tag: String,
    pinned_tag: String,
    integrity: &'a str,
    content_security_policy: String,
}

fn show(
    context: &CommandContext,
    json: bool,
    agent: &Agent,
    service_name: &str,
    host: &str,
) -> Result<(), CliError> {
    let widget = Widget::new(service_name).map_err(|error| CliError::new(error.to_string()))?;
    let id = agent.id.as_str();
    let on_pages = OnPages {
        tag: widget.tag(host, id),
        pinned_tag: widget.pinned_tag(host, id),
        integrity: widget.integrity(),
        content_security_policy: widget.policy(host),
    };
    let mut lines = lines(agent);
    lines.push(("widget", on_pages.tag.clone()));
    lines.push(("pinned", on_pages.pinned_tag.clone()));
    lines.push(("policy", on_pages.content_security_policy.clone()));
    context.print_record(json, &WithWidget { agent, widget: on_pages }, &lines)
}

/// Where pages reach the widget. Commands do not know where a server listens: by default it is the address of the guides.
fn widget_host(context: &CommandContext) -> Result<String, CliError> {
    let config = context.config()?;
    Ok(Names::of(&config)?.widget_public_url.unwrap_or_else(|| {
        context.note("widget_public_url is not set: the tags are for a server on this machine");
        "http://127.0.0.1:8081".to_owned()
    }))
}

/// The identity secrets of an agent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IdentitySecrets<'a> {
    agent_id: &'a AgentId,
    /// The one to sign with.
    identity_secret: Option<&'a String>,
    /// The one before, while it is valid.
    previous: Option<&'a String>,
}

fn show_secrets(
    context: &CommandContext,
    json: bool,
    agent: &AgentId,
    secrets: &[String],
) -> Result<(), CliError> {
    let (current, previous) = (secrets.first(), secrets.get(1));
    if !json && current.is_none() {
        context.note(&format!(
            "there is none; make one with `openapi-server agents identity-secret {agent} --rotate`"
        ));
        return Ok(());
    }
    let shown = IdentitySecrets { agent_id: agent, identity_secret: current, previous };
    let lines = [
        ("secret", current.cloned().unwrap_or_default()),
        ("the one before", previous.cloned().unwrap_or_default()),
    ];
    context.print_record(json, &shown, &lines)?;
    if !json {
        context.note(
            "Keep it on your server: whoever has it can pass for any of your users. It belongs in no page.",
        );
    }
    Ok(())
}

fn status(agent: &Agent) -> &'static str {
    match agent.status {
        AgentStatus::Active => "active",
        AgentStatus::Disabled => "disabled",
        AgentStatus::Deleted => "deleted",
    }
}
