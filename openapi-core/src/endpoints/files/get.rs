//! GET /files/chatbots/{agentId}/{contactId}/files/{fileId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::files::ContactFile;
use crate::operation::{Access, Conditional, Context, EndpointMetadata, Method, Operation};
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
        path: "/files/chatbots/{agentId}/{contactId}/files/{fileId}",
        tag: "Files",
        summary: "Get a file",
        description: "The record of one file; a signed URL gives its content.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        errors: &[ErrorCode::ContactNotFound, ErrorCode::FileNotFound],
        conditional: Conditional::Read,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = (FileTarget, Violations);
    type Output = ContactFile;

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
}
