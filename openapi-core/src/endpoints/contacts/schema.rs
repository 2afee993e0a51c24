//! GET /contacts/schema/chatbots/{agentId}

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::Value;

use super::shapes;
use crate::access::{Action, Caller, Permission, Scope};
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
};
use crate::reply::{ApiError, Reply};
use crate::schema::ContactSchema;
use crate::validation::Violations;

/// The contact schema of the agent.
pub struct Schema;

/// The schema with the JSON Schema made from it.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaDocument(pub ContactSchema);

impl Serialize for SchemaDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let schema = &self.0;
        let mut document = serializer.serialize_struct("ContactSchema", 7)?;
        document.serialize_field("agentId", &schema.agent_id)?;
        document.serialize_field("version", &schema.version)?;
        document.serialize_field("updatedAt", &schema.updated_at)?;
        document.serialize_field("fields", &schema.fields)?;
        document.serialize_field("customFields", &schema.custom_fields)?;
        document.serialize_field("allowUndeclaredCustomFields", &schema.allow_undeclared_custom_fields)?;
        document.serialize_field("jsonSchema", &schema.json_schema())?;
        document.end()
    }
}

impl Operation for Schema {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getContactSchema",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/contacts/schema/chatbots/{agentId}",
        tag: "Contacts",
        summary: "Contact schema",
        description: "The fields that the agent's contacts have: standard fields with their rules, declared custom fields, and the same as JSON Schema of the create body (for an update its `required` lists are ignored).",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        body: BodyKind::None,
        query: &[],
        success: &[200],
        errors: &[],
        idempotent: false,
        conditional: Conditional::Read,
    };
    type Caller = Caller;
    type Input = Violations;
    type Output = SchemaDocument;

    fn decode(incoming: &DecodedRequest<'_>) -> Violations {
        incoming.query().into_faults()
    }

    async fn run(cx: Context<'_, Caller>, faults: Violations) -> Result<Reply<SchemaDocument>, ApiError> {
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let schema = cx.service.contact_schema(cx.caller).await?;
        let etag = format!("\"s{:x}-{:x}\"", schema.version, schema.updated_at.millis());
        Ok(Reply::ok("Contact schema retrieved successfully", SchemaDocument(schema)).with_etag(etag))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("ContactSchema"))
    }

    fn response_example() -> Value {
        shapes::envelope_example("Contact schema retrieved successfully", shapes::schema_example())
    }
}
