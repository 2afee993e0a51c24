//! GET /contacts/chatbots/{agentId}

use serde_json::Value;

use super::shapes;
use crate::access::{Action, Caller, Permission, Scope};
use crate::contacts::Contact;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
    Parameter, page_request, sort_order,
};
use crate::reply::{ApiError, Reply};
use crate::service::{ContactListQuery, ListContacts, Unvalidated};
use crate::storage::ContactSort;
use crate::validation::ValidationIssue;
use crate::values::{ContactStatus, Email, Tag, TextValue, Timestamp, refuse_longer};

/// Lists contacts.
pub struct List;

impl Operation for List {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listContacts",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/contacts/chatbots/{agentId}",
        tag: "Contacts",
        summary: "List contacts",
        description: "Contacts of the agent, newest first. Filters combine with AND; totals are exact.",
        access: Access::Key(Permission::new(Scope::Contacts, Action::Read)),
        body: BodyKind::None,
        query: &[
            Parameter::PAGE,
            Parameter::LIMIT,
            Parameter::CURSOR,
            Parameter::SEARCH,
            Parameter::STATUS,
            Parameter::TAG,
            Parameter::CONTACT_SORT,
            Parameter::SORT_ORDER,
            Parameter::INCLUDE_ARCHIVED,
            Parameter::PRIMARY_EMAIL,
            Parameter::CREATED_SINCE,
            Parameter::UPDATED_SINCE,
        ],
        success: &[200],
        errors: &[],
        idempotent: false,
        conditional: Conditional::No,
    };
    type Caller = Caller;
    type Input = ListContacts;
    type Output = Vec<Contact>;

    fn decode(incoming: &DecodedRequest<'_>) -> ListContacts {
        let query = incoming.query();
        let trimmed = |most: usize| {
            move |text: &str| {
                let text = text.trim();
                refuse_longer(text, most)?;
                Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
            }
        };
        let parsed = ContactListQuery {
            search: query.read("search", trimmed(200)).flatten(),
            status: query.read("status", ContactStatus::parse),
            tag: query.read("tag", trimmed(64)).flatten().map(|tag| Tag::fold(&tag)),
            include_archived: query.boolean("includeArchived").unwrap_or(false),
            primary_email: query.value::<Email>("primaryEmail"),
            created_since: query.read("createdSince", Timestamp::parse),
            updated_since: query.read("updatedSince", Timestamp::parse),
            sort: query.read("sortBy", sort).unwrap_or_default(),
            order: query.read("sortOrder", sort_order).unwrap_or_default(),
            page: page_request(&query, 20),
        };
        ListContacts { query: Unvalidated::new(Some(parsed), query.into_faults()) }
    }

    async fn run(cx: Context<'_, Caller>, input: ListContacts) -> Result<Reply<Vec<Contact>>, ApiError> {
        let page = cx.service.list_contacts(cx.caller, input).await?;
        let reply = Reply::ok("Contacts retrieved successfully", page.items);
        Ok(Reply { pagination: Some(page.pagination), ..reply })
    }

    fn response_schema() -> Value {
        shapes::list_envelope(shapes::reference("Contact"))
    }

    fn response_example() -> Value {
        shapes::list_example("Contacts retrieved successfully", shapes::contact_example())
    }
}

fn sort(text: &str) -> Result<ContactSort, ValidationIssue> {
    let known = ContactSort::ALL.into_iter().find(|sort| sort.as_str() == text);
    known.ok_or_else(|| ValidationIssue::not_one_of(&ContactSort::ALL.map(ContactSort::as_str)))
}
