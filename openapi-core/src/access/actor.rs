//! Who acts: the caller of a request, the operator at the command line.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ApiKey, Permissions};
use crate::json::JsonSchema;
use crate::values::AgentId;

/// An authenticated caller: what a service method learns of who is asking.
///
/// A host platform with its own authentication builds one itself and puts it into the extensions of the request; the
/// network cannot.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    /// The agent that the caller may act on.
    pub agent_id: AgentId,
    /// Who is noted in records and in the audit log; idempotency keys are bound to the actor.
    pub actor: Actor,
    /// What the caller may do.
    pub permissions: Permissions,
    /// The address the request came from.
    pub address: Option<IpAddr>,
    /// The id of the request.
    pub request_id: String,
}

impl Caller {
    /// A user of the host platform, whom the host has authenticated.
    #[must_use]
    pub fn user(agent_id: AgentId, name: impl Into<String>, permissions: Permissions) -> Self {
        let actor = Actor::User(name.into());
        Caller { agent_id, actor, permissions, address: None, request_id: String::new() }
    }
}

/// Who did something: `createdBy`, `uploadedBy`, the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "type", content = "id", rename_all = "camelCase")]
pub enum Actor {
    /// An API key, by its public string.
    ApiKey(ApiKey),
    /// The operator, by the name that the command line or the host platform gives.
    Operator(String),
    /// A user of the host platform that embeds the library.
    User(String),
    /// A visitor of the widget, by the visitor's id.
    Visitor(String),
    /// Somebody who did not authenticate.
    Anonymous(String),
}

impl JsonSchema for Actor {
    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["type", "id"],
            "properties": { "type": { "type": "string" }, "id": { "type": "string" } },
        })
    }

    fn or_null() -> Value {
        json!({ "anyOf": [Self::schema(), { "type": "null" }] })
    }
}
