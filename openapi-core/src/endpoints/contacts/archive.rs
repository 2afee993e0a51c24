//! PATCH /contacts/{externalReferenceId}/chatbots/{agentId}/archive, PATCH /contacts/platformid/{contactId}/chatbots/{agentId}/archive

use std::marker::PhantomData;

use super::{Addressing, pick};
use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::Contact;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::ArchiveContact;

/// Archives a contact.
pub struct Archive<A>(PhantomData<A>);

const MESSAGE: &str = "Contact archived successfully";

impl<A: Addressing> Operation for Archive<A> {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: pick(A::BY_ID, "archiveContact", "archiveContactByPlatformId"),
        method: Method::Patch,
        path: pick(
            A::BY_ID,
            "/contacts/{externalReferenceId}/chatbots/{agentId}/archive",
            "/contacts/platformid/{contactId}/chatbots/{agentId}/archive",
        ),
        tag: "Contacts",
        summary: pick(A::BY_ID, "Archive a contact", "Archive a contact by platform id"),
        description: "Hides the contact from lists and closes it to changes; its `status` stays. Repeating changes nothing.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Update)),
        errors: &[ErrorCode::ContactNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ArchiveContact;
    type Output = Contact;

    async fn run(cx: Context<'_, Caller>, input: ArchiveContact) -> Result<Reply<Contact>, ApiError> {
        let contact = cx.service.archive_contact(cx.caller, input).await?;
        let etag = contact.etag();
        Ok(Reply::ok(MESSAGE, contact).with_etag(etag))
    }
}
