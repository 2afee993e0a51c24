//! GET /contacts/chatbots/{agentId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::Contact;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, Reply};
use crate::service::ListContacts;

/// Lists contacts.
pub struct List;

impl Operation for List {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listContacts",
        method: Method::Get,
        path: "/contacts/chatbots/{agentId}",
        tag: "Contacts",
        summary: "List contacts",
        description: "Contacts of the agent, newest first. Filters combine with AND; totals are exact.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ListContacts;
    type Output = Vec<Contact>;

    async fn run(cx: Context<'_, Caller>, input: ListContacts) -> Result<Reply<Vec<Contact>>, ApiError> {
        let page = cx.service.list_contacts(cx.caller, input).await?;
        let reply = Reply::ok("Contacts retrieved successfully", page.items);
        Ok(Reply { pagination: Some(page.pagination), ..reply })
    }
}
