//! PATCH /contacts/{externalReferenceId}/chatbots/{agentId}/archive, PATCH /contacts/platformid/{contactId}/chatbots/{agentId}/archive

use std::marker::PhantomData;

use serde_json::Value;

use super::{Addressing, archive_input, pick, shapes};
use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::Contact;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::ArchiveContact;

/// Archives a contact.
pub struct Archive<A>(PhantomData<A>);

const MESSAGE: &str = "Contact archived successfully";

impl<A: Addressing> Operation for Archive<A> {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: pick(A::BY_ID, "archiveContact", "archiveContactByPlatformId"),
        method: Method::Patch,
        base: Base::OpenApi,
        path: pick(
            A::BY_ID,
            "/contacts/{externalReferenceId}/chatbots/{agentId}/archive",
            "/contacts/platformid/{contactId}/chatbots/{agentId}/archive",
        ),
        tag: "Contacts",
        summary: pick(A::BY_ID, "Archive a contact", "Archive a contact by platform id"),
        description: "Hides the contact from lists and closes it to changes; its `status` stays. Repeating changes nothing.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Update)),
        body: BodyKind::Optional,
        query: &[],
        success: &[200],
        errors: &[ErrorCode::ContactNotFound],
        idempotent: false,
        conditional: Conditional::Write,
    };
    type Caller = Caller;
    type Input = ArchiveContact;
    type Output = Contact;

    fn decode(incoming: &DecodedRequest<'_>) -> ArchiveContact {
        archive_input::<A>(incoming)
    }

    async fn run(cx: Context<'_, Caller>, input: ArchiveContact) -> Result<Reply<Contact>, ApiError> {
        let contact = cx.service.archive_contact(cx.caller, input).await?;
        let etag = contact.etag();
        Ok(Reply::ok(MESSAGE, contact).with_etag(etag))
    }

    fn request_schema() -> Option<Value> {
        Some(shapes::reference("ArchiveRequest"))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("Contact"))
    }

    fn request_example() -> Option<Value> {
        Some(serde_json::json!({ "reason": "Moved away" }))
    }

    fn response_example() -> Value {
        shapes::envelope_example(MESSAGE, shapes::archived_example())
    }
}
