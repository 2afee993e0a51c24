//! Live updates.

use openapi_core::api::ApiBody;
use openapi_core::events::EventType;
use openapi_core::json::{Json, JsonSchema};
use openapi_core::operation::Method;
use openapi_core::reply::ApiError;
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::AgentId;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::input::{Member, input};
use crate::operation::{Access, Live, Metadata, Traits};
use crate::stream::{self, MAX_AGENTS, SUBJECTS};

/// The ids of agents, separated by commas: each once.
#[derive(Clone, Debug)]
pub struct Agents(pub Vec<AgentId>);

impl Member for Agents {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let text = value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string"))?;
        let mut agents: Vec<AgentId> = Vec::new();
        for id in text.split(',') {
            let agent = id.parse().map_err(|invalid: openapi_core::values::Invalid| invalid.0)?;
            if !agents.contains(&agent) {
                agents.push(agent);
            }
            if agents.len() > MAX_AGENTS {
                let text = format!("must have at most {MAX_AGENTS} agents");
                return Err(ValidationIssue::new(ValidationCode::MaxItems, text));
            }
        }
        Ok(Agents(agents))
    }

    fn schema() -> Value {
        json!({ "type": "string", "description": format!("Ids of up to {MAX_AGENTS} agents, separated by commas.") })
    }
}

input! {
    /// Of which agents.
    OpenStream { "agents" Query agents: Agents, }
}

/// What `data` of an event of a log holds.
pub struct LiveEvent;

impl JsonSchema for LiveEvent {
    const NAME: Option<&'static str> = Some("LiveEvent");

    fn schema() -> Value {
        let types: Vec<&str> = EventType::ALL.iter().map(|kind| kind.as_str()).collect();
        let subject: Map<String, Value> =
            SUBJECTS.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        json!({
            "type": "object",
            "required": ["agent", "seq", "type", "at", "actor", "subject", "changed"],
            "properties": {
                "agent": <AgentId as JsonSchema>::schema(),
                "seq": { "type": "integer", "description": "Its number in the event log of the agent." },
                "type": { "type": "string", "enum": types },
                "at": { "type": "string", "format": "date-time" },
                "actor": { "type": "string", "enum": ["apiKey", "operator", "user", "visitor", "system"] },
                "subject": {
                    "type": "object",
                    "properties": subject,
                    "additionalProperties": false,
                    "description": "The ids of what it is about; empty if a contact was erased.",
                },
                "changed": {
                    "type": ["array", "null"],
                    "items": { "type": "string" },
                    "description": "The names of the fields that changed.",
                },
            },
        })
    }
}

/// `stream.open`
pub struct Open;

impl Live for Open {
    const METADATA: Metadata = Metadata {
        name: "stream.open",
        summary: "Sends events of agents as they happen (`text/event-stream`); with `Last-Event-ID`, those since then.",
        method: Method::Get,
        path: "/stream",
        access: Access::SignedIn,
        step_up: false,
        audit: &[],
        command: "",
        traits: Traits::LIVE,
    };
    type Input = OpenStream;
    type Output = LiveEvent;

    async fn open(cx: Context<'_>, input: OpenStream) -> Result<ApiBody, ApiError> {
        stream::open(cx, input.agents.0).await
    }
}
