//! GET /files/chatbots/{agentId}/{contactId}/files/{fileId}

use serde_json::Value;

use super::{shapes, target};
use crate::access::{Action, Caller, Permission, Scope};
use crate::files::ContactFile;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::FileTarget;
use crate::validation::Violations;

/// Answers the record of one file.
pub struct Get;

const MESSAGE: &str = "File retrieved successfully";

impl Operation for Get {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getFile",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/files/chatbots/{agentId}/{contactId}/files/{fileId}",
        tag: "Files",
        summary: "Get a file",
        description: "The record of one file; a signed URL gives its content.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        body: BodyKind::None,
        query: &[],
        success: &[200],
        errors: &[ErrorCode::ContactNotFound, ErrorCode::FileNotFound],
        idempotent: false,
        conditional: Conditional::Read,
    };
    type Caller = Caller;
    type Input = (FileTarget, Violations);
    type Output = ContactFile;

    fn decode(incoming: &DecodedRequest<'_>) -> Self::Input {
        (target(incoming), incoming.query().into_faults())
    }

    async fn run(
        cx: Context<'_, Caller>,
        (target, faults): Self::Input,
    ) -> Result<Reply<ContactFile>, ApiError> {
        let file = cx.service.file(cx.caller, &target).await?;
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let etag = file.etag();
        Ok(Reply::ok(MESSAGE, file).with_etag(etag))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("File"))
    }

    fn response_example() -> Value {
        shapes::envelope_example(MESSAGE, shapes::file_example())
    }
}
