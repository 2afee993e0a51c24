//! GET /events/types

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use crate::access::{Action, Caller, Permission, Scope};
use crate::events::EventType;
use crate::json::JsonSchema;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, Reply};
use crate::validation::Violations;

/// Describes the types of events.
pub struct Types;

const MESSAGE: &str = "Event types retrieved successfully";

/// Every type by its name.
pub struct EventTypes;

impl Serialize for EventTypes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut types = serializer.serialize_map(Some(EventType::ALL.len()))?;
        for kind in EventType::ALL {
            let about = json!({
                "description": kind.description(),
                "schema": kind.schema(),
                "example": kind.example(),
            });
            types.serialize_entry(kind.as_str(), &about)?;
        }
        types.end()
    }
}

impl JsonSchema for EventTypes {
    fn schema() -> Value {
        json!({
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["description", "schema", "example"],
                "properties": {
                    "description": { "type": "string" },
                    "schema": { "type": "object", "additionalProperties": true, "description": "The JSON Schema of `data`." },
                    "example": { "type": "object", "additionalProperties": true, "description": "Example `data`." },
                },
            },
        })
    }
}

impl Operation for Types {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getEventTypes",
        method: Method::Get,
        path: "/events/types",
        tag: "Events",
        summary: "Event types",
        description: "Every type of events, by name, with the JSON Schema of its `data` and an example. Types are only added: ignore those that you do not know.",
        access: Access::Key(Permission::new(Scope::Events, Action::Read)),
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = Violations;
    type Output = EventTypes;

    async fn run(_: Context<'_, Caller>, faults: Violations) -> Result<Reply<EventTypes>, ApiError> {
        if !faults.is_empty() {
            return Err(faults.into());
        }
        Ok(Reply::ok(MESSAGE, EventTypes))
    }

    fn response_example() -> Value {
        json!({ "success": true, "message": MESSAGE, "data": EventTypes })
    }
}
