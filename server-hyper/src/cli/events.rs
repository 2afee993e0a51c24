//! `events`: the event log of an agent.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use clap::{Args, Subcommand};
use events::streams::EventHub;
use futures_core::Stream;
use openapi_core::admin::Admin;
use openapi_core::events::{Event, EventActor, EventCursor, EventType};
use openapi_core::platform::{Platform, read_events};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::service::{EventFilter, EventQuery, EventStreamQuery};
use openapi_core::values::AgentId;
use serde_json::json;

use super::context::CommandContext;
use crate::assemble::Contents;
use crate::error::CliError;

/// The pause before a store that does not answer is read again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Subcommand)]
pub enum Events {
    /// Show events after a cursor, oldest first
    #[command(after_help = "Examples:\n  \
        openapi-server events list --agent acme\n  \
        openapi-server events list --agent acme --after 7 --type 'contact.*' --json\n\n\
        The last line says where the next page begins. Events older than event_retention are gone.")]
    List {
        #[command(flatten)]
        which: Which,
        /// Number of events
        #[arg(long, short = 'n', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=500))]
        lines: u32,
    },
    /// Print events as they happen, until it is interrupted
    #[command(after_help = "Examples:\n  \
        openapi-server events tail --agent acme\n  \
        openapi-server events tail --agent acme --type 'submission.*,lead.created' --json\n  \
        openapi-server events tail --agent acme --after 0\n\n\
        Without --after it begins with the next event; --after 0 begins with the oldest one. It prints each event once and \
        in order. A restart of the server on an SQLite store does not end it: it goes on after the last event that it has \
        printed. With --json each line is an event as GET /events/chatbots/<agent> returns it.")]
    Tail {
        #[command(flatten)]
        which: Which,
    },
    /// Describe the types of events
    #[command(after_help = "Examples:\n  \
        openapi-server events types\n  \
        openapi-server events types --json")]
    Types,
}

/// Which events.
#[derive(Debug, Args)]
pub struct Which {
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// Only events after this one: a cursor or a number
    #[arg(long, value_name = "CURSOR", value_parser = cursor, overrides_with = "after")]
    after: Option<EventCursor>,
    /// Only events of these types: names separated by commas; contact.* is every type of a group
    #[arg(long = "type", value_name = "TYPES", value_parser = filter)]
    types: Option<EventFilter>,
}

fn cursor(text: &str) -> Result<EventCursor, String> {
    text.parse().map_err(|()| "not the cursor or the number of an event, such as 7".to_owned())
}

fn filter(text: &str) -> Result<EventFilter, String> {
    EventFilter::read(text).map_err(|issue| {
        let text = issue.to_string();
        text.replace("GET /events/types lists them", "`openapi-server events types` lists them")
    })
}

impl Events {
    /// Whether it needs the store.
    pub const fn is_on_store(&self) -> bool {
        !matches!(self, Events::Types)
    }

    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        match self {
            Events::List { which, lines } => context.with_platform(Contents::Closed, async |platform| {
                list(context, platform, which, u64::from(lines)).await
            }),
            Events::Tail { which } => {
                context.with_platform(Contents::Closed, async |platform| tail(context, platform, which).await)
            }
            Events::Types => types(context),
        }
    }
}

fn types(context: &CommandContext) -> Result<(), CliError> {
    if context.json() {
        let about = |kind: &EventType| {
            json!({
                "type": kind.as_str(),
                "description": kind.description(),
                "schema": kind.schema(),
                "example": kind.example(),
            })
        };
        return context.print_json(&EventType::ALL.iter().map(about).collect::<Vec<_>>());
    }
    context.print_table(false, EventType::ALL, &["type", "description"], |kind| {
        vec![kind.as_str().to_owned(), kind.description().to_owned()]
    })
}

async fn list(
    context: &CommandContext,
    platform: &Platform,
    which: Which,
    limit: u64,
) -> Result<(), CliError> {
    // A mistyped agent would look like one without events.
    platform.agent(&which.agent).await?;
    let query = EventQuery { after: which.after, types: which.types.unwrap_or_default(), limit, wait: 0 };
    let page = read_events(&**platform.storage(), &which.agent, &query, query.after).await.map_err(lost)?;
    context.note_bulk(platform, Some(&which.agent), "events", page.events.len()).await?;
    context.print_table(context.json(), &page.events, &["cursor", "at", "type", "who", "data"], row)?;
    if page.stream.has_more {
        context.info(&format!("there are more events: --after {}", page.stream.cursor));
    }
    Ok(())
}

async fn tail(context: &CommandContext, platform: &Platform, which: Which) -> Result<(), CliError> {
    platform.agent(&which.agent).await?;
    context.caller().run_until_interrupted();
    let newest = head(platform, &which.agent).await?;
    let after = which.after.unwrap_or(EventCursor { seq: newest, id: None });
    let earlier = usize::try_from(newest.saturating_sub(after.seq)).unwrap_or(usize::MAX);
    context.note_bulk(platform, Some(&which.agent), "events", earlier).await?;
    let mut query = EventStreamQuery { after: Some(after), types: which.types.unwrap_or_default() };
    context.print_resumable("", &after.to_string())?;
    let hub = EventHub::default();
    let mut is_waiting = false;
    loop {
        let mut events = pin!(hub.stream(platform.event_source(), &which.agent, query.clone()));
        let error = loop {
            let Some(next) = poll_fn(|cx| events.as_mut().poll_next(cx)).await else { return Ok(()) };
            let event = match next {
                Ok(event) => event,
                Err(error) => break error,
            };
            is_waiting = false;
            let line = if context.json() { serde_json::to_string(&event)? } else { row(&event).join("  ") };
            if !context.print_resumable(&format!("{line}\n"), &event.cursor.to_string())? {
                return Ok(());
            }
            query.after = Some(event.cursor);
        };
        if error.code() != ErrorCode::ServiceUnavailable {
            return Err(lost(error));
        }
        if !std::mem::replace(&mut is_waiting, true) {
            context.info("the store does not answer; waiting for it");
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// The number of the newest event.
async fn head(platform: &Platform, agent: &AgentId) -> Result<u64, CliError> {
    let heads = platform.storage().log_heads(std::slice::from_ref(agent)).await?;
    Ok(heads.first().copied().unwrap_or_default())
}

/// What became of events that are gone, and how to go on.
fn lost(error: ApiError) -> CliError {
    if error.code() != ErrorCode::EventsLost {
        return CliError::new(error.message());
    }
    let detail =
        |name| error.detail(name).and_then(|value| serde_json::to_string(value).ok()).unwrap_or_default();
    let why = if detail("reason").contains("expired") {
        "they are older than event_retention"
    } else {
        "the cursor is of another log; the store was restored"
    };
    let (oldest, head) = (detail("oldest"), detail("head"));
    CliError::new(format!(
        "events after the cursor are gone: {why}. The oldest is {oldest}, the newest {head}; go on with --after {head}"
    ))
}

fn row(event: &Event) -> Vec<String> {
    let who = match &event.actor {
        EventActor::ApiKey(key) => key.to_string(),
        EventActor::Operator => "operator".to_owned(),
        EventActor::User => "user".to_owned(),
        EventActor::Visitor => "visitor".to_owned(),
        EventActor::System => "system".to_owned(),
    };
    vec![
        event.cursor.to_string(),
        event.timestamp.to_string(),
        event.r#type.as_str().to_owned(),
        who,
        event.data.get().to_owned(),
    ]
}
