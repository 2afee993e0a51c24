//! POST /files/chatbots/{agentId}/{contactId}

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{contact, path, shapes};
use crate::access::{Action, Caller, Permission, Scope};
use crate::files::ContactFile;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
    idempotency,
};
use crate::reply::{ApiError, ErrorCode, Reply, StoredReply, success_body};
use crate::service::{Created, ReplyEncoder, UploadFile};
use crate::service_info::ServiceInfo;
use crate::validation::Violations;

/// Takes in a file.
pub struct Upload;

const MESSAGE: &str = "File uploaded successfully";

/// What an upload answers: the record of the file, or nothing where a stored answer is given again.
#[derive(Clone, Debug, PartialEq)]
pub struct UploadedFile(pub Option<ContactFile>);

impl Serialize for UploadedFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The answer to an upload as an idempotency key stores it.
fn stored_reply(_: &ServiceInfo, file: &ContactFile) -> Result<StoredReply, ApiError> {
    let body = String::from_utf8(success_body(MESSAGE, file, None)?).map_err(|_| ApiError::internal())?;
    Ok(StoredReply { status: 201, location: Some(path(file)), body: body.into() })
}

impl Operation for Upload {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "uploadFile",
        method: Method::Post,
        base: Base::OpenApi,
        path: "/files/chatbots/{agentId}/{contactId}",
        tag: "Files",
        summary: "Upload a file",
        description: "Adds a file to a contact: one part named `file`. The type is decided by the content, for text formats by the extension; equal names never overwrite each other.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Create)),
        body: BodyKind::File,
        query: &[],
        success: &[201],
        errors: &[
            ErrorCode::StorageQuotaExceeded,
            ErrorCode::ContactNotFound,
            ErrorCode::ContactArchived,
            ErrorCode::FileTooLarge,
            ErrorCode::StorageUnavailable,
        ],
        idempotent: true,
        conditional: Conditional::Tagged,
    };
    type Caller = Caller;
    type Input = UploadFile;
    type Output = UploadedFile;

    fn decode(incoming: &DecodedRequest<'_>) -> UploadFile {
        let mut faults = Violations::new();
        let idempotency = idempotency(incoming, &mut faults, ReplyEncoder(stored_reply));
        faults.extend(incoming.query().into_faults());
        UploadFile { contact: contact(incoming), upload: incoming.take_upload(), idempotency, faults }
    }

    async fn run(cx: Context<'_, Caller>, input: UploadFile) -> Result<Reply<UploadedFile>, ApiError> {
        Ok(match cx.service.upload_file(cx.caller, input).await? {
            Created::New(file) | Created::Preview(file) => {
                let (location, etag) = (path(&file), file.etag());
                Reply::ok(MESSAGE, UploadedFile(Some(file))).created(location).with_etag(etag)
            }
            Created::Replayed(stored) => {
                Reply { replay: Some(stored), ..Reply::ok(MESSAGE, UploadedFile(None)) }
            }
        })
    }

    fn request_schema() -> Option<Value> {
        Some(shapes::reference("NewFile"))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("File"))
    }

    fn response_example() -> Value {
        shapes::envelope_example(MESSAGE, shapes::file_example())
    }
}
