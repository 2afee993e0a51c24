//! GET /document-extraction/schema-examples

use serde_json::{Value, json};

use crate::access::{Action, Caller, Permission, Scope};
use crate::extraction;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, Reply};
use crate::validation::Violations;

/// Shows schemas to begin with.
pub struct SchemaExamples;

const MESSAGE: &str = "Schema examples retrieved successfully";

impl Operation for SchemaExamples {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getSchemaExamples",
        method: Method::Get,
        path: "/document-extraction/schema-examples",
        tag: "Document extraction",
        summary: "Schema examples",
        description: "Extraction schemas for common kinds of documents, by id. Each can be sent as it is. Costs no credits.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Read)),
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = Violations;
    type Output = extraction::SchemaExamples;

    async fn run(
        _: Context<'_, Caller>,
        faults: Violations,
    ) -> Result<Reply<extraction::SchemaExamples>, ApiError> {
        if !faults.is_empty() {
            return Err(faults.into());
        }
        Ok(Reply::ok(MESSAGE, extraction::SchemaExamples))
    }

    fn response_example() -> Value {
        json!({ "success": true, "message": MESSAGE, "data": extraction::SchemaExamples })
    }
}
