//! DELETE /files/chatbots/{agentId}/{contactId}/files/{fileId}

use serde_json::{Value, json};

use super::{shapes, target};
use crate::access::{Action, Caller, Permission, Scope};
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
    Parameter, if_match, reason_member,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::{DeleteFile, DeletedFile, Unvalidated};
use crate::validation::{ValidationCode, ValidationIssue, Violations};
use crate::values::Block;

/// Deletes a file.
pub struct Delete;

const MESSAGE: &str = "File deleted successfully";

impl Operation for Delete {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "deleteFile",
        method: Method::Delete,
        base: Base::OpenApi,
        path: "/files/chatbots/{agentId}/{contactId}/files/{fileId}",
        tag: "Files",
        summary: "Delete a file",
        description: "The file is absent from now on, and its signed URLs lead nowhere. Its content is retained for the operator's retention period, 30 days by default; a second deletion is 404.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Delete)),
        body: BodyKind::Optional,
        query: &[Parameter::REASON],
        success: &[200],
        errors: &[ErrorCode::ContactNotFound, ErrorCode::FileNotFound, ErrorCode::ContactArchived],
        idempotent: false,
        conditional: Conditional::Write,
    };
    type Caller = Caller;
    type Input = DeleteFile;
    type Output = DeletedFile;

    fn decode(incoming: &DecodedRequest<'_>) -> DeleteFile {
        let mut faults = Violations::new();
        let if_match = if_match(incoming, &mut faults);
        let query = incoming.query();
        let in_query: Option<Block<500>> = query.value("reason");
        let mut of_body = Violations::new();
        let in_body = reason_member(incoming, &mut of_body);
        if let (Some(one), Some(other)) = (&in_query, &in_body)
            && one != other
        {
            query.fault(
                "reason",
                ValidationIssue::new(ValidationCode::Conflict, "differs from the reason in the body"),
            );
        }
        faults.extend(query.into_faults());
        faults.extend(of_body);
        DeleteFile {
            target: target(incoming),
            reason: Unvalidated::new(Some(in_body.or(in_query)), faults),
            if_match,
        }
    }

    async fn run(cx: Context<'_, Caller>, input: DeleteFile) -> Result<Reply<DeletedFile>, ApiError> {
        Ok(Reply::ok(MESSAGE, cx.service.delete_file(cx.caller, input).await?))
    }

    fn request_schema() -> Option<Value> {
        Some(shapes::reference("DeleteRequest"))
    }

    fn request_example() -> Option<Value> {
        Some(json!({ "reason": "Uploaded twice" }))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("DeletedFile"))
    }

    fn response_example() -> Value {
        shapes::envelope_example(
            MESSAGE,
            json!({
                "id": "697dc94b74a1f572c54b78cf", "deleted": true, "deletedAt": "2026-01-31T13:00:00.000Z",
                "reason": "Uploaded twice",
            }),
        )
    }
}
