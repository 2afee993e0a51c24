//! GET /contacts/{externalReferenceId}/chatbots/{agentId}, GET /contacts/platformid/{contactId}/chatbots/{agentId}

use std::marker::PhantomData;

use super::{Addressing, pick};
use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::SharedContact;
use crate::operation::{
    Access, Conditional, Context, EncodedResponse, EndpointMetadata, Method, Operation, Payload,
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
        path: pick(
            A::BY_ID,
            "/contacts/{externalReferenceId}/chatbots/{agentId}",
            "/contacts/platformid/{contactId}/chatbots/{agentId}",
        ),
        tag: "Contacts",
        summary: pick(A::BY_ID, "Get a contact", "Get a contact by platform id"),
        description: "One contact, archived or not.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        errors: &[ErrorCode::ContactNotFound],
        conditional: Conditional::Read,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = (ContactTarget, Violations);
    type Output = SharedContact;

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
}
