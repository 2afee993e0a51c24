//! GET /contacts/{externalReferenceId}/chatbots/{agentId}, GET /contacts/platformid/{contactId}/chatbots/{agentId}

use std::marker::PhantomData;

use serde_json::Value;

use super::{Addressing, pick, shapes, target};
use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::SharedContact;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EncodedResponse, EndpointMetadata, Method,
    Operation, Payload,
};
use crate::reply::{ApiError, ErrorCode, Reply, success_body, success_body_around};
use crate::service::ContactTarget;
use crate::validation::Violations;

/// Answers one contact.
pub struct Get<A>(PhantomData<A>);

impl<A: Addressing> Operation for Get<A> {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: pick(A::BY_ID, "getContact", "getContactByPlatformId"),
        method: Method::Get,
        base: Base::OpenApi,
        path: pick(
            A::BY_ID,
            "/contacts/{externalReferenceId}/chatbots/{agentId}",
            "/contacts/platformid/{contactId}/chatbots/{agentId}",
        ),
        tag: "Contacts",
        summary: pick(A::BY_ID, "Get a contact", "Get a contact by platform id"),
        description: "One contact, archived or not.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        body: BodyKind::None,
        query: &[],
        success: &[200],
        errors: &[ErrorCode::ContactNotFound],
        idempotent: false,
        conditional: Conditional::Read,
    };
    type Caller = Caller;
    type Input = (ContactTarget, Violations);
    type Output = SharedContact;

    fn decode(incoming: &DecodedRequest<'_>) -> Self::Input {
        (target::<A>(incoming), incoming.query().into_faults())
    }

    async fn run(
        cx: Context<'_, Caller>,
        (target, faults): Self::Input,
    ) -> Result<Reply<SharedContact>, ApiError> {
        let contact = cx.service.contact(cx.caller, &target).await?;
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let etag = contact.etag();
        Ok(Reply::ok("Contact retrieved successfully", contact).with_etag(etag))
    }

    fn encode(reply: Reply<SharedContact>) -> Result<EncodedResponse, ApiError> {
        let body = match reply.data.json() {
            Some(json) => success_body_around(&reply.message, json)?,
            None => success_body(&reply.message, &reply.data, None)?,
        };
        Ok(EncodedResponse { reply: reply.map(|_| ()), body: Payload::Json(body) })
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("Contact"))
    }

    fn response_example() -> Value {
        shapes::envelope_example("Contact retrieved successfully", shapes::contact_example())
    }
}
