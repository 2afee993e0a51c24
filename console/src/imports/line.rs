//! One line of an import: what it is about, and its effect.

use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::admin::{Admin, AdminError, Imported};
use openapi_core::contacts::Contact;
use openapi_core::json::{Json, Object};
use openapi_core::platform::Platform;
use openapi_core::schema::CompiledSchema;
use openapi_core::service::{
    ContactListQuery, ContactTarget, CreateContact, Created, ListContacts, OpenApiService, PageRequest,
    PageStart,
};
use openapi_core::values::{AgentId, ContactId, Timestamp};

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
            // As the service stores it: without blanks around it.
            None => Identity::Email(text("primaryEmail").unwrap_or_default().trim().to_lowercase()),
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

/// What [`import`] would do with a contact, nothing stored. `earlier` is the contact as an earlier line of the file
/// leaves it. Whether an identical contact without an external id exists is the caller's to find out.
pub(super) async fn preview(
    platform: &Platform,
    caller: &Caller,
    schema: &CompiledSchema,
    contact: &Object,
    earlier: Option<&Contact>,
) -> Result<Imported, AdminError> {
    let agent = &caller.agent_id;
    let external = contact.get("externalReferenceId").and_then(Json::as_str);
    let target = external.and_then(|id| ContactTarget::External(id.to_owned()).resolve().ok());
    let stored = match (earlier, &target) {
        (None, Some(target)) => platform.storage().contact(agent, target).await?,
        _ => None,
    };
    let Some(current) = earlier.or(stored.as_deref()) else {
        let dry_run = CreateContact { fields: contact.clone().into(), dry_run: true, idempotency: None };
        return match platform.create_contact(caller, dry_run).await {
            Ok(Created::New(new) | Created::Preview(new)) => Ok(Imported::Created(new)),
            Ok(Created::Replayed(_)) => {
                Err(AdminError::Conflict("the import was answered before".to_owned()))
            }
            Err(error) => Err(AdminError::from(&error)),
        };
    };
    let now = platform.now().max(current.updated_at);
    let next = schema.update(current, contact, now).map_err(AdminError::Invalid)?;
    if current.is_archived() {
        return Err(AdminError::Conflict("The contact is archived".to_owned()));
    }
    if next == *current {
        return Ok(Imported::Unchanged(next));
    }
    let unique = schema.schema().unique_values(&next);
    let external = next.external_reference_id.as_ref();
    match platform.storage().duplicate_contact(agent, Some(current.id), external, &unique).await? {
        Some(found) => {
            Err(AdminError::Conflict(format!("{} is already used by another contact", found.field)))
        }
        None => Ok(Imported::Updated(next)),
    }
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

/// A contact without the fields that the service sets. What is equal is the same contact.
pub(super) fn content_of(contact: &Contact) -> String {
    let start = Timestamp::from_millis(0);
    let plain = Contact {
        id: ContactId::from_bytes([0; 12]),
        created_at: start,
        updated_at: start,
        version: 0,
        ..contact.clone()
    };
    serde_json::to_string(&plain).unwrap_or_default()
}

/// The contacts with one address that are compared with a new one, in pages of [`PAGE`].
const MOST_PAGES: u64 = 10;
const PAGE: u32 = 100;

/// A stored contact that is the same as a new one, among the first 1,000 with its address: a file whose contacts all have
/// one address must not read all of them for each line.
pub(super) async fn stored_like(platform: &Platform, caller: &Caller, new: &Contact) -> Option<Contact> {
    let content = content_of(new);
    for page in 1..=MOST_PAGES {
        let query = ContactListQuery {
            primary_email: Some(new.primary_email.clone()),
            page: PageRequest { limit: PAGE, start: PageStart::Page(page) },
            ..ContactListQuery::default()
        };
        let found = platform.list_contacts(caller, ListContacts { query: query.into() }).await.ok()?;
        let same = found.items.into_iter().find(|stored| content_of(stored) == content);
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
