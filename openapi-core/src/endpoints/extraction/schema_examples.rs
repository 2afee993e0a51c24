//! GET /document-extraction/schema-examples

use serde_json::Value;

use super::shapes;
use crate::access::{Action, Caller, Permission, Scope};
use crate::extraction;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
};
use crate::reply::{ApiError, Reply};
use crate::validation::Violations;

/// Shows schemas to begin with.
pub struct SchemaExamples;

const MESSAGE: &str = "Schema examples retrieved successfully";

impl Operation for SchemaExamples {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getSchemaExamples",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/document-extraction/schema-examples",
        tag: "Document extraction",
        summary: "Schema examples",
        description: "Extraction schemas for common kinds of documents, by id. Each can be sent as it is. Costs no credits.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Read)),
        body: BodyKind::None,
        query: &[],
        success: &[200],
        errors: &[],
        idempotent: false,
        conditional: Conditional::No,
    };
    type Caller = Caller;
    type Input = Violations;
    type Output = extraction::SchemaExamples;

    fn decode(incoming: &DecodedRequest<'_>) -> Violations {
        incoming.query().into_faults()
    }

    async fn run(
        _: Context<'_, Caller>,
        faults: Violations,
    ) -> Result<Reply<extraction::SchemaExamples>, ApiError> {
        if !faults.is_empty() {
            return Err(faults.into());
        }
        Ok(Reply::ok(MESSAGE, extraction::SchemaExamples))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("SchemaExamples"))
    }

    fn response_example() -> Value {
        shapes::envelope_example(MESSAGE, shapes::schema_examples_example())
    }
}
