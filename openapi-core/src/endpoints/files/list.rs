//! GET /files/chatbots/{agentId}/{contactId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::files::ContactFile;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::ListFiles;

/// Lists the files of a contact.
pub struct List;

impl Operation for List {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listFiles",
        method: Method::Get,
        path: "/files/chatbots/{agentId}/{contactId}",
        tag: "Files",
        summary: "List files",
        description: "Files of a contact, newest first; totals are exact.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        errors: &[ErrorCode::ContactNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ListFiles;
    type Output = Vec<ContactFile>;

    async fn run(cx: Context<'_, Caller>, input: ListFiles) -> Result<Reply<Vec<ContactFile>>, ApiError> {
        let page = cx.service.list_files(cx.caller, input).await?;
        let reply = Reply::ok("Files retrieved successfully", page.items);
        Ok(Reply { pagination: Some(page.pagination), ..reply })
    }
}
