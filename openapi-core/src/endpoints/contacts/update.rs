//! PUT /contacts/{externalReferenceId}/chatbots/{agentId}, PUT /contacts/platformid/{contactId}/chatbots/{agentId}

use std::marker::PhantomData;

use http::header;
use serde_json::Value;

use super::{Addressing, if_match, path, pick, shapes, target};
use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::Contact;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
    Parameter, lacks,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::{TagMatch, Unvalidated, UpdateContact, Updated, Upsert};
use crate::validation::Violations;

/// Changes a contact: what is sent is merged, what is absent stays.
pub struct Update<A>(PhantomData<A>);

/// What an upsert needs besides.
const CREATE: Permission = Permission::new(Scope::Contacts, Action::Create);

const DESCRIPTION: &str = "Merges the fields sent into the contact: omitted fields stay, `null` clears, arrays are replaced, `customFields` merges member by member (RFC 7396).";

impl<A: Addressing> Operation for Update<A> {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: pick(A::BY_ID, "updateContact", "updateContactByPlatformId"),
        method: Method::Put,
        base: Base::OpenApi,
        path: pick(
            A::BY_ID,
            "/contacts/{externalReferenceId}/chatbots/{agentId}",
            "/contacts/platformid/{contactId}/chatbots/{agentId}",
        ),
        tag: "Contacts",
        summary: pick(A::BY_ID, "Update a contact", "Update a contact by platform id"),
        description: DESCRIPTION,
        access: Access::Key(Permission::new(Scope::Contacts, Action::Update)),
        body: BodyKind::Required,
        query: if A::BY_ID { &[] } else { &[Parameter::UPSERT] },
        success: if A::BY_ID { &[200] } else { &[200, 201] },
        errors: &[
            ErrorCode::ContactNotFound,
            ErrorCode::ContactArchived,
            ErrorCode::DuplicateExternalReferenceId,
            ErrorCode::DuplicateValue,
        ],
        idempotent: false,
        conditional: Conditional::Write,
    };
    type Caller = Caller;
    type Input = UpdateContact;
    type Output = Contact;

    fn decode(incoming: &DecodedRequest<'_>) -> UpdateContact {
        let mut faults = Violations::new();
        let if_match = if_match(incoming, &mut faults);
        let query = incoming.query();
        let upsert = (!A::BY_ID && query.boolean("upsert").unwrap_or(false)).then(|| {
            let create_only = incoming.header(&header::IF_NONE_MATCH).ok().flatten();
            match create_only.as_deref().and_then(TagMatch::parse) {
                Some(TagMatch::Any) => Upsert::CreateOnly,
                _ => Upsert::CreateOrUpdate,
            }
        });
        faults.extend(query.into_faults());
        let members = incoming.members(&mut faults);
        UpdateContact {
            target: target::<A>(incoming),
            fields: Unvalidated::new(members, faults),
            if_match,
            upsert,
        }
    }

    fn additional_permission(incoming: &DecodedRequest<'_>) -> Option<Permission> {
        let upsert = !A::BY_ID && incoming.query().boolean("upsert").unwrap_or(false);
        upsert.then_some(CREATE)
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

    fn request_schema() -> Option<Value> {
        Some(shapes::reference("ContactChanges"))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("Contact"))
    }

    fn request_example() -> Option<Value> {
        Some(shapes::update_example())
    }

    fn response_example() -> Value {
        shapes::envelope_example("Contact updated successfully", shapes::contact_example())
    }
}
