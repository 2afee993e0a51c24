//! PUT /contacts/{externalReferenceId}/chatbots/{agentId}, PUT /contacts/platformid/{contactId}/chatbots/{agentId}

use std::marker::PhantomData;

use super::{Addressing, path, pick};
use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::Contact;
use crate::operation::{Access, Context, DecodedRequest, EndpointMetadata, Method, Operation, lacks};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::request::Part;
use crate::request::rules::Flag;
use crate::service::{UpdateContact, Updated};

/// Changes a contact: what is sent is merged, what is absent stays.
pub struct Update<A>(PhantomData<A>);

/// What an upsert needs besides.
const CREATE: Permission = Permission::new(Scope::Contacts, Action::Create);

const DESCRIPTION: &str = "Merges the fields sent into the contact: omitted fields stay, `null` clears, arrays are replaced, `customFields` merges member by member (RFC 7396).";

impl<A: Addressing> Operation for Update<A> {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: pick(A::BY_ID, "updateContact", "updateContactByPlatformId"),
        method: Method::Put,
        path: pick(
            A::BY_ID,
            "/contacts/{externalReferenceId}/chatbots/{agentId}",
            "/contacts/platformid/{contactId}/chatbots/{agentId}",
        ),
        tag: "Contacts",
        summary: pick(A::BY_ID, "Update a contact", "Update a contact by platform id"),
        description: DESCRIPTION,
        access: Access::Key(Permission::new(Scope::Contacts, Action::Update)),
        query: if A::BY_ID { &[] } else { UpdateContact::PARAMETERS },
        success: if A::BY_ID { &[200] } else { &[200, 201] },
        errors: &[
            ErrorCode::ContactNotFound,
            ErrorCode::ContactArchived,
            ErrorCode::DuplicateExternalReferenceId,
            ErrorCode::DuplicateValue,
        ],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = UpdateContact;
    type Output = Contact;

    fn additional_permission(incoming: &DecodedRequest<'_>) -> Option<Permission> {
        incoming.query().peek("upsert", &Flag).then_some(CREATE)
    }

    async fn run(cx: Context<'_, Caller>, input: UpdateContact) -> Result<Reply<Contact>, ApiError> {
        // A request was asked for it before its body was read; a typed call comes here straight.
        if input.upsert.is_some() && !cx.caller.permissions.allows(CREATE) {
            return Err(lacks(CREATE));
        }
        Ok(match cx.service.update_contact(cx.caller, input).await? {
            Updated::Changed { value, renamed } => {
                let location = renamed.then(|| path(cx.service_info, &value));
                let etag = value.etag();
                Reply { location, ..Reply::ok("Contact updated successfully", value).with_etag(etag) }
            }
            Updated::Created(value) => {
                let (location, etag) = (path(cx.service_info, &value), value.etag());
                Reply::ok("Contact created successfully", value).created(location).with_etag(etag)
            }
        })
    }
}
