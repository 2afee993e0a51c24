//! POST /files/chatbots/{agentId}/{contactId}

use super::path;
use crate::access::{Action, Caller, Permission, Scope};
use crate::files::ContactFile;
use crate::operation::{Access, Conditional, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, Creation, ErrorCode, Reply, StoredReply};
use crate::service::{Created, Replayable, UploadFile};
use crate::service_info::ServiceInfo;

/// Takes in a file.
pub struct Upload;

const MESSAGE: &str = "File uploaded successfully";

impl Replayable for ContactFile {
    fn stored_reply(_: &ServiceInfo, file: &ContactFile) -> Result<StoredReply, ApiError> {
        StoredReply::new(201, Some(path(file)), MESSAGE, file)
    }
}

impl Operation for Upload {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "uploadFile",
        method: Method::Post,
        path: "/files/chatbots/{agentId}/{contactId}",
        tag: "Files",
        summary: "Upload a file",
        description: "Adds a file to a contact: one part named `file`. The type is decided by the content, for text formats by the extension; equal names never overwrite each other.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Create)),
        success: &[201],
        errors: &[
            ErrorCode::StorageQuotaExceeded,
            ErrorCode::ContactNotFound,
            ErrorCode::ContactArchived,
            ErrorCode::FileTooLarge,
            ErrorCode::StorageUnavailable,
        ],
        conditional: Conditional::Tagged,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = UploadFile;
    type Output = Creation<ContactFile>;

    async fn run(
        cx: Context<'_, Caller>,
        input: UploadFile,
    ) -> Result<Reply<Creation<ContactFile>>, ApiError> {
        Ok(match cx.service.upload_file(cx.caller, input).await? {
            Created::New(file) | Created::Preview(file) => {
                let (location, etag) = (path(&file), file.etag());
                Reply::ok(MESSAGE, Creation::Stored(file)).created(location).with_etag(etag)
            }
            Created::Replayed(stored) => Reply::replayed(stored),
        })
    }
}
