//! DELETE /files/chatbots/{agentId}/{contactId}/files/{fileId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::{DeleteFile, DeletedFile};

/// Deletes a file.
pub struct Delete;

const MESSAGE: &str = "File deleted successfully";

impl Operation for Delete {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "deleteFile",
        method: Method::Delete,
        path: "/files/chatbots/{agentId}/{contactId}/files/{fileId}",
        tag: "Files",
        summary: "Delete a file",
        description: "The file is absent from now on, and its signed URLs lead nowhere. Its content is retained for the operator's retention period, 30 days by default; a second deletion is 404.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Delete)),
        errors: &[ErrorCode::ContactNotFound, ErrorCode::FileNotFound, ErrorCode::ContactArchived],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = DeleteFile;
    type Output = DeletedFile;

    async fn run(cx: Context<'_, Caller>, input: DeleteFile) -> Result<Reply<DeletedFile>, ApiError> {
        Ok(Reply::ok(MESSAGE, cx.service.delete_file(cx.caller, input).await?))
    }
}
