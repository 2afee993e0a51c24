//! POST /contacts/chatbots/{agentId}

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::Value;

use super::{path, shapes};
use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::{Contact, Preview};
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, Creation, DecodedRequest, EndpointMetadata, Method,
    Operation, Parameter, creation,
};
use crate::reply::{ApiError, ErrorCode, Reply, StoredReply, success_body};
use crate::service::{CreateContact, Created, ReplyEncoder};
use crate::service_info::ServiceInfo;

/// Creates a contact.
pub struct Create;

const MESSAGE: &str = "Contact created successfully";

/// What a create answers: the contact, or what it would be.
#[derive(Clone, Debug, PartialEq)]
pub enum CreatedContact {
    /// The stored contact.
    Stored(Contact),
    /// The contact of a dry run.
    Preview(Preview),
    /// Nothing: a stored answer is given again.
    Replayed,
}

impl Serialize for CreatedContact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            CreatedContact::Stored(contact) => contact.serialize(serializer),
            CreatedContact::Preview(contact) => contact.serialize(serializer),
            CreatedContact::Replayed => serializer.serialize_unit(),
        }
    }
}

/// The answer to a create as an idempotency key stores it: what a service of a host's own gives again as
/// [`Created::Replayed`] (contract 5.5).
///
/// # Errors
/// When the contact cannot be written as JSON.
pub fn stored_reply(service_info: &ServiceInfo, contact: &Contact) -> Result<StoredReply, ApiError> {
    let body = String::from_utf8(success_body(MESSAGE, contact, None)?).map_err(|_| ApiError::internal())?;
    Ok(StoredReply { status: 201, location: Some(path(service_info, contact)), body: body.into() })
}

impl Operation for Create {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "createContact",
        method: Method::Post,
        base: Base::OpenApi,
        path: "/contacts/chatbots/{agentId}",
        tag: "Contacts",
        summary: "Create a contact",
        description: "Creates a contact. `primaryEmail` is required; which other fields are, and their rules, is in the contact schema. `null` equals absence.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Create)),
        body: BodyKind::Required,
        query: &[Parameter::DRY_RUN],
        success: &[200, 201],
        errors: &[
            ErrorCode::DuplicateExternalReferenceId,
            ErrorCode::DuplicateValue,
            ErrorCode::ConcurrentUpdate,
        ],
        idempotent: true,
        conditional: Conditional::Tagged,
    };
    type Caller = Caller;
    type Input = CreateContact;
    type Output = CreatedContact;

    fn decode(incoming: &DecodedRequest<'_>) -> CreateContact {
        let Creation { body, dry_run, idempotency } = creation(incoming, ReplyEncoder(stored_reply));
        CreateContact { fields: body, dry_run, idempotency }
    }

    async fn run(cx: Context<'_, Caller>, input: CreateContact) -> Result<Reply<CreatedContact>, ApiError> {
        Ok(match cx.service.create_contact(cx.caller, input).await? {
            Created::New(contact) => {
                let (location, etag) = (path(cx.service_info, &contact), contact.etag());
                Reply::ok(MESSAGE, CreatedContact::Stored(contact)).created(location).with_etag(etag)
            }
            Created::Preview(contact) => {
                Reply::ok("Contact is valid; nothing was stored", CreatedContact::Preview(Preview(contact)))
            }
            Created::Replayed(stored) => {
                Reply { replay: Some(stored), ..Reply::ok(MESSAGE, CreatedContact::Replayed) }
            }
        })
    }

    fn request_schema() -> Option<Value> {
        Some(shapes::reference("NewContact"))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("Contact"))
    }

    fn dry_run_schema() -> Option<Value> {
        Some(shapes::envelope(shapes::reference("ContactPreview")))
    }

    fn request_example() -> Option<Value> {
        Some(shapes::create_example())
    }

    fn response_example() -> Value {
        shapes::envelope_example(MESSAGE, shapes::contact_example())
    }
}
