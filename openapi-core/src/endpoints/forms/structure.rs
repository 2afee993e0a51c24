//! GET /forms/templates/{templateId}/structure/chatbots/{agentId}

use std::sync::Arc;

use http::{HeaderName, HeaderValue, header};
use serde::Serialize;
use serde::ser::Serializer;
use serde_json::{Value, json};

use super::example_template;
use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::{CompiledTemplate, Structure as ExampleStructure};
use crate::json::same_schema;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, BASE_PATH, ErrorCode, Reply};
use crate::validation::Violations;

/// Answers the fields of a template with example values: the forerunner of the schema.
pub struct Structure;

/// A template's fields with examples.
#[derive(Clone, Debug)]
pub struct StructureDocument(pub Arc<CompiledTemplate>);

same_schema! { StructureDocument => ExampleStructure<'_>, }

impl Serialize for StructureDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ExampleStructure(&self.0).serialize(serializer)
    }
}

const MESSAGE: &str = "Template structure retrieved successfully";

/// Since when the endpoint is deprecated (RFC 9745).
const DEPRECATION: HeaderValue = HeaderValue::from_static("@1767225600");

impl Operation for Structure {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getTemplateStructure",
        method: Method::Get,
        path: "/forms/templates/{templateId}/structure/chatbots/{agentId}",
        tag: "Forms",
        summary: "Template structure",
        description: "Deprecated: use the template schema. The fields of a template in any status with example values; `formData` passes validation when it is sent back, unless a file is required.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        errors: &[ErrorCode::TemplateNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    const DEPRECATED: bool = true;
    type Caller = Caller;
    type Input = (String, Violations);
    type Output = StructureDocument;

    async fn run(
        cx: Context<'_, Caller>,
        (id, faults): Self::Input,
    ) -> Result<Reply<StructureDocument>, ApiError> {
        let template = cx.service.template(cx.caller, &id).await?;
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let (origin, id, agent) = (cx.service_info.public_url(), template.template().id, &cx.caller.agent_id);
        let successor = format!(
            "<{origin}{BASE_PATH}/forms/templates/{id}/schema/chatbots/{agent}>; rel=\"successor-version\""
        );
        let reply = Reply::ok(MESSAGE, StructureDocument(template))
            .with_header(HeaderName::from_static("deprecation"), DEPRECATION);
        Ok(match HeaderValue::from_str(&successor) {
            Ok(successor) => reply.with_header(header::LINK, successor),
            Err(_) => reply,
        })
    }

    fn response_example() -> Value {
        let compiled = example_template().and_then(|template| CompiledTemplate::new(template).ok());
        json!({ "success": true, "message": MESSAGE, "data": compiled.as_ref().map(ExampleStructure) })
    }
}
