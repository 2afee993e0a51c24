//! One line of an import: what it is about, and its effect.

use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::admin::{Admin, AdminError, Imported};
use openapi_core::contacts::Contact;
use openapi_core::json::{Json, Object};
use openapi_core::platform::Platform;
use openapi_core::service::{
    ContactListQuery, CreateContact, Created, ListContacts, OpenApiService, PageRequest, PageStart,
};
use openapi_core::values::AgentId;

/// What identifies a contact within the file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// Its external id.
    External(String),
    /// Its address in lower case, if it has no external id.
    Email(String),
}

impl Identity {
    /// The identity of a contact as it stands in the file.
    #[must_use]
    pub fn of(contact: &Object) -> Self {
        let text = |name| contact.get(name).and_then(Json::as_str);
        match text("externalReferenceId") {
            Some(id) => Identity::External(id.to_owned()),
            None => Identity::Email(text("primaryEmail").unwrap_or_default().to_lowercase()),
        }
    }
}

/// Imports one contact. A contact without an external id is created, unless an identical contact without an external
/// id exists.
///
/// # Errors
/// As [`Admin::import_contact`].
pub async fn import(
    platform: &Platform,
    by: &Actor,
    agent: &AgentId,
    contact: &Object,
) -> Result<Imported, AdminError> {
    if let Identity::Email(_) = Identity::of(contact)
        && let Some(same) = same_contact(platform, by, agent, contact).await
    {
        return Ok(Imported::Unchanged(same));
    }
    platform.import_contact(by, agent, contact).await
}

/// A stored contact that differs from the new one only in fields that the service sets. Errors are ignored here: the
/// creation reports them.
async fn same_contact(platform: &Platform, by: &Actor, agent: &AgentId, contact: &Object) -> Option<Contact> {
    let caller = caller(by, agent);
    let dry_run = CreateContact { fields: contact.clone().into(), dry_run: true, idempotency: None };
    let Ok(Created::Preview(preview)) = platform.create_contact(&caller, dry_run).await else { return None };
    stored_like(platform, &caller, &preview).await
}

pub(super) fn caller(by: &Actor, agent: &AgentId) -> Caller {
    Caller {
        agent_id: agent.clone(),
        actor: by.clone(),
        permissions: Permissions::all(),
        address: None,
        request_id: String::new(),
    }
}

/// Whether two contacts differ only in fields that the service sets.
pub(super) fn is_same(one: &Contact, other: &Contact) -> bool {
    let as_other = Contact {
        id: other.id,
        created_at: other.created_at,
        updated_at: other.updated_at,
        version: other.version,
        ..one.clone()
    };
    as_other == *other
}

/// A stored contact that is the same as a new one.
pub(super) async fn stored_like(platform: &Platform, caller: &Caller, new: &Contact) -> Option<Contact> {
    for page in 1.. {
        let query = ContactListQuery {
            primary_email: Some(new.primary_email.clone()),
            page: PageRequest { limit: 100, start: PageStart::Page(page) },
            ..ContactListQuery::default()
        };
        let found = platform.list_contacts(caller, ListContacts { query: query.into() }).await.ok()?;
        let same = found.items.into_iter().find(|stored| is_same(stored, new));
        if same.is_some() || !found.pagination.has_next_page {
            return same;
        }
    }
    None
}

/// The message of an error, without duplicates.
#[must_use]
pub fn message_of(error: &AdminError) -> String {
    let AdminError::Invalid(violations) = error else { return error.to_string() };
    let mut messages: Vec<&str> = Vec::new();
    for violation in violations.listed() {
        if !messages.contains(&violation.message.as_str()) {
            messages.push(&violation.message);
        }
    }
    messages.join("; ")
}
