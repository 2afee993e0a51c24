//! GET /contacts/schema/chatbots/{agentId}

use serde_json::{Value, json};

use crate::access::{Action, Caller, Permission, Scope};
use crate::json::json_object;
use crate::operation::{Access, Conditional, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, Reply};
use crate::schema::{ContactSchema, FieldDefinition};
use crate::validation::Violations;
use crate::values::{AgentId, TextValue, Timestamp};

/// The contact schema of the agent.
pub struct Schema;

/// The schema with the JSON Schema made from it.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaDocument(pub ContactSchema);

json_object! { SchemaDocument as "ContactSchema" = |document| {
    "agentId": AgentId = document.0.agent_id,
    "version": u64 { "minimum": 1 } = document.0.version,
    "updatedAt": Timestamp = document.0.updated_at,
    "fields": Vec<FieldDefinition> = document.0.fields,
    "customFields": Vec<FieldDefinition> = document.0.custom_fields,
    "allowUndeclaredCustomFields": bool = document.0.allow_undeclared_custom_fields,
    "jsonSchema": Value {
        "type": "object", "additionalProperties": true, "description": "JSON Schema 2020-12 of the create body."
    } = document.0.json_schema(),
} }

const MESSAGE: &str = "Contact schema retrieved successfully";

/// The agent of the examples.
const EXAMPLE_AGENT: &str = "695b6f80de7378c4412112d3";

impl Operation for Schema {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getContactSchema",
        method: Method::Get,
        path: "/contacts/schema/chatbots/{agentId}",
        tag: "Contacts",
        summary: "Contact schema",
        description: "The fields that the agent's contacts have: standard fields with their rules, declared custom fields, and the same as JSON Schema of the create body (for an update its `required` lists are ignored).",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        conditional: Conditional::Read,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = Violations;
    type Output = SchemaDocument;

    async fn run(cx: Context<'_, Caller>, faults: Violations) -> Result<Reply<SchemaDocument>, ApiError> {
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let schema = cx.service.contact_schema(cx.caller).await?;
        let etag = format!("\"s{:x}-{:x}\"", schema.version, schema.updated_at.millis());
        Ok(Reply::ok(MESSAGE, SchemaDocument(schema)).with_etag(etag))
    }

    fn response_example() -> Value {
        let at = Timestamp::from_millis(1_767_952_800_000);
        let schema =
            AgentId::parse(EXAMPLE_AGENT).map(|agent| SchemaDocument(ContactSchema::builtin(agent, at)));
        json!({ "success": true, "message": MESSAGE, "data": schema.ok() })
    }
}
