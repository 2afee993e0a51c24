//! GET /forms/templates/{templateId}/schema/chatbots/{agentId}

use std::sync::Arc;

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::Value;

use super::shapes;
use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::{CompiledTemplate, TemplateDocument};
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::validation::Violations;

/// Answers the fields of a template.
pub struct Schema;

/// A template with the JSON Schema made from it.
#[derive(Clone, Debug)]
pub struct SchemaDocument(pub Arc<CompiledTemplate>);

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
        base: Base::OpenApi,
        path: "/forms/templates/{templateId}/schema/chatbots/{agentId}",
        tag: "Forms",
        summary: "Template schema",
        description: "The fields of a template in any status, and the same as JSON Schema of `formData`, which expresses everything but conditions, references to files and bounds of dates.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        body: BodyKind::None,
        query: &[],
        success: &[200],
        errors: &[ErrorCode::TemplateNotFound],
        idempotent: false,
        conditional: Conditional::Read,
    };
    type Caller = Caller;
    type Input = (String, Violations);
    type Output = SchemaDocument;

    fn decode(incoming: &DecodedRequest<'_>) -> Self::Input {
        (incoming.path_value("templateId").to_owned(), incoming.query().into_faults())
    }

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

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("TemplateSchema"))
    }

    fn response_example() -> Value {
        shapes::envelope_example(MESSAGE, shapes::schema_example())
    }
}
