//! GET /forms/templates/{templateId}/schema/chatbots/{agentId}

use std::sync::Arc;

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::{Value, json};

use super::example_template;
use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::{CompiledTemplate, TemplateDocument};
use crate::json::same_schema;
use crate::operation::{Access, Conditional, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::validation::Violations;

/// Answers the fields of a template.
pub struct Schema;

/// A template with the JSON Schema made from it.
#[derive(Clone, Debug)]
pub struct SchemaDocument(pub Arc<CompiledTemplate>);

same_schema! { SchemaDocument => TemplateDocument<'_>, }

impl Serialize for SchemaDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TemplateDocument(self.0.template()).serialize(serializer)
    }
}

const MESSAGE: &str = "Template schema retrieved successfully";

impl Operation for Schema {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getTemplateSchema",
        method: Method::Get,
        path: "/forms/templates/{templateId}/schema/chatbots/{agentId}",
        tag: "Forms",
        summary: "Template schema",
        description: "The fields of a template in any status, and the same as JSON Schema of `formData`, which expresses everything but conditions, references to files and bounds of dates.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        errors: &[ErrorCode::TemplateNotFound],
        conditional: Conditional::Read,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = (String, Violations);
    type Output = SchemaDocument;

    async fn run(
        cx: Context<'_, Caller>,
        (id, faults): Self::Input,
    ) -> Result<Reply<SchemaDocument>, ApiError> {
        let template = cx.service.template(cx.caller, &id).await?;
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let etag = template.template().etag();
        Ok(Reply::ok(MESSAGE, SchemaDocument(template)).with_etag(etag))
    }

    fn response_example() -> Value {
        let template = example_template();
        json!({ "success": true, "message": MESSAGE, "data": template.as_ref().map(TemplateDocument) })
    }
}
