//! The messages that endpoints get, as the OpenAPI document shows them.

use openapi_core::events::{Event, EventType};
use openapi_core::json::JsonSchema;
use serde_json::{Map, Value, json};

/// One webhook for each type of events.
pub(super) fn webhooks() -> Value {
    let webhooks: Map<String, Value> =
        EventType::ALL.iter().map(|kind| (kind.as_str().to_owned(), webhook(*kind))).collect();
    webhooks.into()
}

fn webhook(kind: EventType) -> Value {
    let header = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "header", "required": true, "description": description, "schema": schema });
    json!({ "post": {
        "summary": kind.description(),
        "operationId": format!("receive{}", operation(kind)),
        "tags": ["Webhooks"],
        "parameters": [
            header("webhook-id", "The id of the event, the same at every attempt.", json!({ "type": "string", "pattern": "^[0-9a-f]{24}$" })),
            header("webhook-timestamp", "When the attempt began, in seconds.", json!({ "type": "string", "pattern": "^[0-9]+$" })),
            header("webhook-signature", "A signature for each live secret, as Standard Webhooks says.", json!({ "type": "string" })),
        ],
        "requestBody": { "required": true, "content": { "application/json": { "schema": {
            "allOf": [Event::reference(), { "properties": { "type": { "const": kind.as_str() }, "data": kind.schema() } }],
        } } } },
        "responses": {
            "2XX": { "description": "The event is accepted." },
            "410": { "description": "The receiver is gone: the endpoint is disabled." },
            "default": { "description": "The event is sent again." },
        },
        "security": [],
    } })
}

/// `contact.created` as `ContactCreated`.
fn operation(kind: EventType) -> String {
    let words = kind.as_str().split(['.', '_']);
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}
