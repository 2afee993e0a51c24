//! `webhooks`: endpoints that events are sent to.

use std::sync::Arc;
use std::time::Duration;

use ::outbound::{HttpOutbound, Parts};
use clap::{Args, Subcommand};
use events::webhooks::{
    AttemptQuery, AttemptView, CreateEndpoint, DeleteEndpoint, EditEndpoint, Endpoint, EndpointStatus,
    EndpointTarget, ListAttempts, ReplayEvents, RotateSecret, SecretView, SendTest, TestResult,
};
use events::{WebhookSettings, Webhooks as Service};
use openapi_core::access::Caller;
use openapi_core::json::{Json, Object};
use openapi_core::reply::ApiError;
use openapi_core::service::Created;
use openapi_core::validation::Violations;
use openapi_core::values::{AgentId, Timestamp};
use serde::Serialize;
use serde_json::json;

use super::context::CommandContext;
use super::output::optional;
use crate::assemble::Contents;
use crate::config::flags::OutboundArgs;
use crate::config::layers::FlagValues;
use crate::config::outbound::policy_of;
use crate::config::values::duration;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Webhooks {
    /// Create an endpoint; `secret` shows what signs its messages
    #[command(after_help = "Examples:\n  \
        openapi-server webhooks create https://192.0.2.7/events --agent acme --outbound-allow 192.0.2.0/24\n  \
        openapi-server webhooks create https://192.0.2.7/orders --agent acme --type 'contact.*' --outbound-allow 192.0.2.0/24")]
    Create(Create),
    /// List the endpoints of an agent, oldest first
    #[command(after_help = "Examples:\n  openapi-server webhooks list --agent acme")]
    List {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Show one endpoint with its progress
    #[command(after_help = "Examples:\n  openapi-server webhooks show $ENDPOINT --agent acme")]
    Show(Which),
    /// Change properties of an endpoint
    #[command(after_help = "Examples:\n  \
        openapi-server webhooks edit $ENDPOINT --agent acme --type '*' --description 'CRM of the head office'\n  \
        openapi-server webhooks edit $ENDPOINT --agent acme --mode parallel")]
    Edit(Edit),
    /// Enable a disabled endpoint: it gets what it has missed, as far as that is retained
    #[command(after_help = "Examples:\n  \
        openapi-server webhooks enable $ENDPOINT --agent acme\n  \
        openapi-server webhooks enable $ENDPOINT --agent acme --resume now")]
    Enable {
        #[command(flatten)]
        which: Which,
        /// With which event it goes on: cursor, the first that it has not got; or now, the next one
        #[arg(long, value_name = "FROM", default_value = "cursor")]
        resume: String,
    },
    /// Disable an endpoint
    #[command(after_help = "Examples:\n  openapi-server webhooks disable $ENDPOINT --agent acme")]
    Disable(Which),
    /// Delete an endpoint with its log of attempts
    #[command(after_help = "Examples:\n  openapi-server webhooks delete $ENDPOINT --agent acme")]
    Delete(Which),
    /// Show the secret of an endpoint, which its receiver needs; noted in the audit log
    #[command(after_help = "Examples:\n  openapi-server webhooks secret $ENDPOINT --agent acme")]
    Secret(Which),
    /// Give an endpoint a new secret; the old one signs too for a while
    #[command(after_help = "Examples:\n  \
        openapi-server webhooks rotate $ENDPOINT --agent acme\n  \
        openapi-server webhooks rotate $ENDPOINT --agent acme --grace 0s")]
    Rotate {
        #[command(flatten)]
        which: Which,
        /// How long the old secret signs too, 0s to 7d
        #[arg(long, default_value = "24h", value_parser = duration)]
        grace: Duration,
    },
    /// Send an example of an event
    #[command(
        after_help = "Examples:\n  openapi-server webhooks test $ENDPOINT --agent acme --type contact.updated"
    )]
    Test {
        #[command(flatten)]
        which: Which,
        /// The type of the event
        #[arg(long = "type", value_name = "TYPE", default_value = "contact.created")]
        kind: String,
        #[command(flatten)]
        settings: OutboundArgs,
    },
    /// List attempts to deliver, newest first
    #[command(after_help = "Examples:\n  openapi-server webhooks attempts $ENDPOINT --agent acme --failed")]
    Attempts {
        #[command(flatten)]
        which: Which,
        /// Only attempts that failed
        #[arg(long)]
        failed: bool,
        /// How many at most, 1 to 100
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u64,
    },
    /// Send events again
    #[command(after_help = "Examples:\n  \
        openapi-server webhooks replay $ENDPOINT --agent acme --after 0\n  \
        openapi-server webhooks replay $ENDPOINT --agent acme --since 2026-01-31T09:00:00Z")]
    Replay(Replay),
    /// Pass over an event that fails, so that an ordered endpoint goes on
    #[command(after_help = "Examples:\n  openapi-server webhooks skip $ENDPOINT --agent acme")]
    Skip {
        #[command(flatten)]
        which: Which,
        /// The number of the event [default: the oldest that fails]
        #[arg(long, value_name = "SEQ")]
        seq: Option<u64>,
    },
}

/// An endpoint of an agent.
#[derive(Debug, Args)]
pub struct Which {
    /// The id of the endpoint
    endpoint: String,
    /// The agent
    #[arg(long)]
    agent: AgentId,
}

#[derive(Debug, Args)]
pub struct Create {
    /// Where events are sent
    url: String,
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// From which event on: now, or oldest, the oldest that is retained
    #[arg(long, value_name = "FROM", default_value = "now")]
    from: String,
    #[command(flatten)]
    properties: Properties,
    #[command(flatten)]
    settings: OutboundArgs,
}

#[derive(Debug, Args)]
pub struct Edit {
    #[command(flatten)]
    which: Which,
    /// A new URL
    #[arg(long)]
    url: Option<String>,
    #[command(flatten)]
    properties: Properties,
    #[command(flatten)]
    settings: OutboundArgs,
}

#[derive(Debug, Args)]
struct Properties {
    /// Types of events: a name, `contact.*` or `*`; repeatable
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// parallel: as fast as possible; ordered: one event at a time, none before the one before it is accepted
    #[arg(long)]
    mode: Option<String>,
    /// What the endpoint is for, up to 200 characters
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

#[derive(Debug, Args)]
#[group(id = "selection", required = true, multiple = false)]
pub struct Selection {
    /// All events after this cursor or number
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// All events since this time
    #[arg(long, value_name = "RFC3339")]
    since: Option<Timestamp>,
    /// Single events by their ids; repeatable
    #[arg(long = "id", value_name = "ID")]
    ids: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Replay {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    selection: Selection,
}

impl Webhooks {
    /// The settings flags that only this command has.
    pub fn settings(&self) -> Option<&FlagValues> {
        match self {
            Webhooks::Create(Create { settings, .. })
            | Webhooks::Edit(Edit { settings, .. })
            | Webhooks::Test { settings, .. } => Some(&settings.values),
            _ => None,
        }
    }

    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let policy = policy_of(&*context.config()?)?;
        let parts = Parts::system().map_err(|error| CliError::new(error.to_string()))?;
        context.with_platform(Contents::Closed, async |platform| {
            let outbound = Arc::new(HttpOutbound::new(policy, parts));
            // The server decides how many an agent may have; an operator may go beyond.
            let settings = WebhookSettings {
                max_endpoints: WebhookSettings::MAX_ENDPOINTS,
                ..WebhookSettings::default()
            };
            let service = Service::new(Arc::clone(platform), outbound, settings);
            self.work(context, &service).await
        })
    }

    fn agent(&self) -> &AgentId {
        match self {
            Webhooks::Create(Create { agent, .. }) | Webhooks::List { agent } => agent,
            Webhooks::Edit(Edit { which, .. })
            | Webhooks::Replay(Replay { which, .. })
            | Webhooks::Show(which)
            | Webhooks::Disable(which)
            | Webhooks::Delete(which)
            | Webhooks::Secret(which)
            | Webhooks::Enable { which, .. }
            | Webhooks::Rotate { which, .. }
            | Webhooks::Test { which, .. }
            | Webhooks::Attempts { which, .. }
            | Webhooks::Skip { which, .. } => &which.agent,
        }
    }

    async fn work(self, context: &CommandContext, service: &Service) -> Result<(), CliError> {
        let caller = service.platform().operator(&context.operator(), self.agent());
        let json = context.json();
        let print = |endpoint: &Endpoint| context.print_record(json, endpoint, &lines(endpoint));
        match self {
            Webhooks::Create(create) => {
                let created = service.create(&caller, create.into_request()).await.map_err(failed)?;
                let (Created::New(endpoint) | Created::Preview(endpoint)) = created else { return Ok(()) };
                print(&endpoint)
            }
            Webhooks::List { .. } => {
                let endpoints = service.all(&caller).await.map_err(failed)?;
                let heads = ["id", "url", "types", "mode", "status", "pending", "failing since"];
                context.print_table(json, &endpoints, &heads, row)
            }
            Webhooks::Show(which) => print(&service.get(&caller, &which.target()).await.map_err(failed)?),
            Webhooks::Edit(edit) => {
                let target = edit.which.target();
                print(&change(service, &caller, target, edit.into_fields()).await?)
            }
            Webhooks::Enable { which, resume } => {
                let mut fields = member("status", "enabled");
                fields.insert("resume", resume.as_str().into());
                print(&change(service, &caller, which.target(), fields).await?)
            }
            Webhooks::Disable(which) => {
                let fields = member("status", "disabled");
                print(&change(service, &caller, which.target(), fields).await?)
            }
            Webhooks::Delete(which) => {
                let request = DeleteEndpoint { target: which.target(), faults: Violations::new() };
                let deleted = service.delete(&caller, request).await.map_err(failed)?;
                let lines = [("deleted", deleted.id.to_string())];
                context.print_record(json, &deleted, &lines)
            }
            Webhooks::Secret(which) => {
                let secret =
                    service.secret(&caller, &which.target(), Violations::new()).await.map_err(failed)?;
                print_secret(context, &secret)
            }
            Webhooks::Rotate { which, grace } => {
                let fields = member("graceSeconds", grace.as_secs());
                let request = RotateSecret { target: which.target(), fields: fields.into() };
                print_secret(context, &service.rotate(&caller, request).await.map_err(failed)?)
            }
            Webhooks::Test { which, kind, .. } => {
                let fields = member("type", kind.as_str());
                let request = SendTest { target: which.target(), fields: fields.into() };
                print_result(context, &service.test(&caller, request).await.map_err(failed)?)
            }
            Webhooks::Attempts { which, failed: only_failed, limit } => {
                let query = AttemptQuery { limit: limit.clamp(1, 100), cursor: None, failed: only_failed };
                let request = ListAttempts { target: which.target(), query: query.into() };
                let found = service.attempts(&caller, request).await.map_err(failed)?;
                let heads = ["at", "result", "event", "attempt", "status", "error", "ms", "body"];
                context.print_table(json, &found.attempts, &heads, attempt_row)
            }
            Webhooks::Replay(replay) => {
                let replayed = service.replay(&caller, replay.into_request()).await.map_err(failed)?;
                let lines = [("from", replayed.from.to_string()), ("to", replayed.to.to_string())];
                context.print_record(json, &replayed, &lines)
            }
            Webhooks::Skip { which, seq } => {
                let skipped = service.skip(&caller, &which.target(), seq).await.map_err(failed)?;
                context.print_record(
                    json,
                    &json!({ "skipped": skipped.seq }),
                    &[("skipped", skipped.seq.to_string())],
                )
            }
        }
    }
}

impl Which {
    fn target(&self) -> EndpointTarget {
        self.endpoint.clone().into()
    }
}

impl Properties {
    fn fields(self) -> Object {
        let mut fields = Object::new();
        if !self.types.is_empty() {
            fields.insert("types", texts(&self.types));
        }
        for (name, value) in [("mode", self.mode), ("description", self.description)] {
            if let Some(value) = value {
                fields.insert(name, value.as_str().into());
            }
        }
        fields
    }
}

impl Create {
    fn into_request(self) -> CreateEndpoint {
        let mut fields = self.properties.fields();
        fields.insert("url", self.url.as_str().into());
        fields.insert("from", self.from.as_str().into());
        CreateEndpoint { idempotency: None, fields: fields.into() }
    }
}

impl Edit {
    fn into_fields(self) -> Object {
        let mut fields = self.properties.fields();
        if let Some(url) = self.url {
            fields.insert("url", url.as_str().into());
        }
        fields
    }
}

impl Replay {
    fn into_request(self) -> ReplayEvents {
        let mut fields = Object::new();
        let Selection { after, since, ids } = self.selection;
        if let Some(after) = after {
            fields.insert("after", after.as_str().into());
        }
        if let Some(since) = since {
            fields.insert("since", since.to_string().as_str().into());
        }
        if !ids.is_empty() {
            fields.insert("ids", texts(&ids));
        }
        ReplayEvents { target: self.which.target(), fields: fields.into() }
    }
}

fn texts(texts: &[String]) -> Json {
    Json::Array(texts.iter().map(|text| text.as_str().into()).collect())
}

/// The members of a body that has only this one.
fn member(name: &str, value: impl Into<Json>) -> Object {
    let mut fields = Object::new();
    fields.insert(name, value.into());
    fields
}

async fn change(
    service: &Service,
    caller: &Caller,
    target: EndpointTarget,
    fields: Object,
) -> Result<Endpoint, CliError> {
    let request = EditEndpoint { target, if_match: None, fields: fields.into() };
    service.edit(caller, request).await.map_err(failed)
}

/// An error of the API with all that is wrong.
fn failed(error: ApiError) -> CliError {
    let faults: Vec<&str> = error.violations().iter().map(|fault| fault.message.as_str()).collect();
    let text = if faults.is_empty() { error.message().to_owned() } else { faults.join("; ") };
    CliError::new(text)
}

fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn row(endpoint: &Endpoint) -> Vec<String> {
    vec![
        endpoint.id.to_string(),
        endpoint.record.url.clone(),
        endpoint.record.types.join(" "),
        word(&endpoint.record.mode),
        shown_status(endpoint),
        endpoint.pending().to_string(),
        optional(endpoint.state.failing_since.as_ref()),
    ]
}

fn shown_status(endpoint: &Endpoint) -> String {
    match (endpoint.record.status, &endpoint.record.status_reason) {
        (EndpointStatus::Enabled, _) => "enabled".to_owned(),
        (EndpointStatus::Disabled, None) => "disabled".to_owned(),
        (EndpointStatus::Disabled, Some(reason)) => format!("disabled ({})", word(reason)),
    }
}

fn lines(endpoint: &Endpoint) -> Vec<(&'static str, String)> {
    vec![
        ("id", endpoint.id.to_string()),
        ("agent", endpoint.agent_id.to_string()),
        ("url", endpoint.record.url.clone()),
        ("description", optional(endpoint.record.description.as_ref())),
        ("types", endpoint.record.types.join(" ")),
        ("mode", word(&endpoint.record.mode)),
        ("status", shown_status(endpoint)),
        ("cursor", endpoint.state.cursor.to_string()),
        ("pending", endpoint.pending().to_string()),
        ("failing since", optional(endpoint.state.failing_since.as_ref())),
        ("last success", optional(endpoint.state.succeeded_at.as_ref())),
        ("last failure", optional(endpoint.state.failed_at.as_ref())),
        ("created", endpoint.record.created_at.to_string()),
        ("updated", endpoint.record.updated_at.to_string()),
    ]
}

fn attempt_row(AttemptView(attempt): &AttemptView) -> Vec<String> {
    vec![
        attempt.at.to_string(),
        word(&attempt.result),
        attempt.upto.map_or_else(|| attempt.seq.to_string(), |upto| format!("{}-{upto}", attempt.seq)),
        attempt.attempt.to_string(),
        optional(attempt.status.as_ref()),
        optional(attempt.error.as_ref()),
        attempt.millis.to_string(),
        attempt.text.clone(),
    ]
}

fn print_secret(context: &CommandContext, secret: &SecretView) -> Result<(), CliError> {
    let lines = [
        ("secret", optional(secret.secret().as_ref())),
        ("previous", optional(secret.previous().as_ref())),
        ("previous until", optional(secret.previous_until().as_ref())),
    ];
    context.print_record(context.json(), secret, &lines)
}

fn print_result(context: &CommandContext, result: &TestResult) -> Result<(), CliError> {
    let lines = [
        ("status", optional(result.status.as_ref())),
        ("milliseconds", result.millis.to_string()),
        ("error", optional(result.error.as_ref())),
        ("body", optional(result.body.as_ref())),
    ];
    context.print_record(context.json(), result, &lines)
}
