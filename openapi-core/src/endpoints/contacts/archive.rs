//! PATCH …/archive and …/unarchive of /contacts/{externalReferenceId}/chatbots/{agentId}, and of
//! /contacts/platformid/{contactId}/chatbots/{agentId}

use std::marker::PhantomData;

use super::{Addressing, pick};
use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::Contact;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::ArchiveContact;

/// Archives a contact.
pub struct Archive<A>(PhantomData<A>);

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
        Ok(Reply::ok("Contact archived successfully", contact).with_etag(etag))
    }
}

/// Takes a contact out of the archive.
pub struct Unarchive<A>(PhantomData<A>);

impl<A: Addressing> Operation for Unarchive<A> {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: pick(A::BY_ID, "unarchiveContact", "unarchiveContactByPlatformId"),
        method: Method::Patch,
        path: pick(
            A::BY_ID,
            "/contacts/{externalReferenceId}/chatbots/{agentId}/unarchive",
            "/contacts/platformid/{contactId}/chatbots/{agentId}/unarchive",
        ),
        tag: "Contacts",
        summary: pick(A::BY_ID, "Unarchive a contact", "Unarchive a contact by platform id"),
        description: "Takes the contact out of the archive. Repeating changes nothing.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Update)),
        errors: &[ErrorCode::ContactNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ArchiveContact;
    type Output = Contact;

    async fn run(cx: Context<'_, Caller>, input: ArchiveContact) -> Result<Reply<Contact>, ApiError> {
        let contact = cx.service.unarchive_contact(cx.caller, input).await?;
        let etag = contact.etag();
        Ok(Reply::ok("Contact unarchived successfully", contact).with_etag(etag))
    }
}
