//! GET /files/chatbots/{agentId}/{contactId}/files/{fileId}/signed-url

use serde_json::{Value, json};

use super::{shapes, target};
use crate::access::{Action, Caller, Permission, Scope};
use crate::files::{Disposition, Link};
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
    Parameter,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::{self, SignUrlQuery, SignedUrl, Unvalidated};
use crate::validation::ValidationIssue;

/// Gives out a URL under which a file can be downloaded for a while.
pub struct SignUrl;

const MESSAGE: &str = "Signed URL created successfully";

impl Operation for SignUrl {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "signFileUrl",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/files/chatbots/{agentId}/{contactId}/files/{fileId}/signed-url",
        tag: "Files",
        summary: "Get a signed URL",
        description: "A URL under which anyone can download the file, as often as they like, until it ends. It ends early when the file is deleted or the key is revoked, disabled or expired; a new secret does not end it.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        body: BodyKind::None,
        query: &[Parameter::EXPIRES_IN, Parameter::DISPOSITION],
        success: &[200],
        errors: &[ErrorCode::ContactNotFound, ErrorCode::FileNotFound],
        idempotent: false,
        conditional: Conditional::No,
    };
    type Caller = Caller;
    type Input = service::SignUrl;
    type Output = SignedUrl;

    fn decode(incoming: &DecodedRequest<'_>) -> service::SignUrl {
        let query = incoming.query();
        let lifetimes = Link::LIFETIMES;
        let parsed = SignUrlQuery {
            expires_in: query
                .integer("expiresIn", *lifetimes.start(), *lifetimes.end())
                .unwrap_or(Link::USUAL_LIFETIME),
            disposition: query.read("disposition", disposition).unwrap_or(Disposition::Attachment),
        };
        service::SignUrl {
            target: target(incoming),
            query: Unvalidated::new(Some(parsed), query.into_faults()),
        }
    }

    async fn run(cx: Context<'_, Caller>, input: service::SignUrl) -> Result<Reply<SignedUrl>, ApiError> {
        Ok(Reply::ok(MESSAGE, cx.service.sign_url(cx.caller, input).await?))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("SignedUrl"))
    }

    fn response_example() -> Value {
        shapes::envelope_example(
            MESSAGE,
            json!({
                "url": "https://api.example.com/download/files/697dc94b74a1f572c54b78cf?exp=1769852400&kid=svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ&d=attachment&sig=mwCIf58PyFOq5fxkO03_dHSb4bdUMWXOd_xwEONeoao",
                "method": "GET", "expiresAt": "2026-01-31T09:40:00.000Z", "expiresIn": 900,
                "fileName": "referral.pdf", "contentType": "application/pdf", "fileSize": 48213,
            }),
        )
    }
}

fn disposition(text: &str) -> Result<Disposition, ValidationIssue> {
    Disposition::of_word(text).ok_or_else(|| ValidationIssue::not_one_of(&["attachment", "inline"]))
}
