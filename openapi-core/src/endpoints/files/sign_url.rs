//! GET /files/chatbots/{agentId}/{contactId}/files/{fileId}/signed-url

use crate::access::{Action, Caller, Permission, Scope};
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::{self, SignedUrl};

/// Gives out a URL under which a file can be downloaded for a while.
pub struct SignUrl;

const MESSAGE: &str = "Signed URL created successfully";

impl Operation for SignUrl {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "signFileUrl",
        method: Method::Get,
        path: "/files/chatbots/{agentId}/{contactId}/files/{fileId}/signed-url",
        tag: "Files",
        summary: "Get a signed URL",
        description: "A URL under which anyone can download the file, as often as they like, until it ends. It ends early when the file is deleted or the key is revoked, disabled or expired; a new secret does not end it.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        errors: &[ErrorCode::ContactNotFound, ErrorCode::FileNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = service::SignUrl;
    type Output = SignedUrl;

    async fn run(cx: Context<'_, Caller>, input: service::SignUrl) -> Result<Reply<SignedUrl>, ApiError> {
        Ok(Reply::ok(MESSAGE, cx.service.sign_url(cx.caller, input).await?))
    }
}
