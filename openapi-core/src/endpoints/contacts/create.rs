//! POST /contacts/chatbots/{agentId}

use serde_json::Value;

use super::path;
use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::{Contact, Preview};
use crate::json::JsonSchema;
use crate::operation::{Access, Conditional, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, Creation, ErrorCode, Reply, StoredReply};
use crate::service::{CreateContact, Created, Replayable};
use crate::service_info::ServiceInfo;

/// Creates a contact.
pub struct Create;

const MESSAGE: &str = "Contact created successfully";

/// The data of the response: the contact, or what it would be.
pub type CreatedContact = Creation<Contact, Preview>;

/// The answer to a create as an idempotency key stores it: what a service of a host's own gives again as
/// [`Created::Replayed`] (contract 5.5).
///
/// # Errors
/// When the contact cannot be written as JSON.
pub fn stored_reply(service_info: &ServiceInfo, contact: &Contact) -> Result<StoredReply, ApiError> {
    StoredReply::new(201, Some(path(service_info, contact)), MESSAGE, contact)
}

impl Replayable for Contact {
    fn stored_reply(service_info: &ServiceInfo, contact: &Contact) -> Result<StoredReply, ApiError> {
        stored_reply(service_info, contact)
    }
}

impl Operation for Create {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "createContact",
        method: Method::Post,
        path: "/contacts/chatbots/{agentId}",
        tag: "Contacts",
        summary: "Create a contact",
        description: "Creates a contact. `primaryEmail` is required; which other fields are, and their rules, is in the contact schema. `null` equals absence.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Create)),
        success: &[200, 201],
        errors: &[
            ErrorCode::DuplicateExternalReferenceId,
            ErrorCode::DuplicateValue,
            ErrorCode::ConcurrentUpdate,
        ],
        conditional: Conditional::Tagged,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = CreateContact;
    type Output = CreatedContact;

    async fn run(cx: Context<'_, Caller>, input: CreateContact) -> Result<Reply<CreatedContact>, ApiError> {
        Ok(match cx.service.create_contact(cx.caller, input).await? {
            Created::New(contact) => {
                let (location, etag) = (path(cx.service_info, &contact), contact.etag());
                Reply::ok(MESSAGE, CreatedContact::Stored(contact)).created(location).with_etag(etag)
            }
            Created::Preview(contact) => {
                Reply::ok("Contact is valid; nothing was stored", CreatedContact::Preview(Preview(contact)))
            }
            Created::Replayed(stored) => Reply::replayed(stored),
        })
    }

    fn dry_run_schema() -> Option<Value> {
        Some(Preview::envelope())
    }
}
