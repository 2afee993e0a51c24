//! Requests of contacts.

use super::idempotency::Idempotency;
use super::page::PageRequest;
use super::tags::TagMatch;
use super::unvalidated::Unvalidated;
use crate::contacts::{Contact, ContactFields, ContactRef};
use crate::json::Object;
use crate::storage::{ContactSort, Order};
use crate::validation::ValidationIssue;
use crate::values::{Block, ContactId, ContactStatus, Email, ExternalId, TextValue, Timestamp};

/// How a request names a contact; the text is as sent, percent-decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContactTarget {
    /// By platform id.
    Id(String),
    /// By external id.
    External(String),
}

impl ContactTarget {
    /// The reference, if the text has the form of one.
    ///
    /// # Errors
    /// The error of the text: no contact can have this id.
    pub fn resolve(&self) -> Result<ContactRef, ValidationIssue> {
        match self {
            ContactTarget::Id(text) => {
                text.parse::<ContactId>().map(ContactRef::Id).map_err(|invalid| invalid.0)
            }
            ContactTarget::External(text) => ExternalId::parse(text).map(ContactRef::External),
        }
    }

    /// The text as sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            ContactTarget::Id(text) | ContactTarget::External(text) => text,
        }
    }
}

impl From<&ContactRef> for ContactTarget {
    fn from(contact: &ContactRef) -> Self {
        match contact {
            ContactRef::Id(id) => ContactTarget::Id(id.to_string()),
            ContactRef::External(id) => ContactTarget::External(id.to_string()),
        }
    }
}

/// `POST /contacts/chatbots/<A>`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateContact {
    /// The contact fields.
    pub fields: Unvalidated<Object>,
    /// Whether to run everything and store nothing (contract 4.2).
    pub dry_run: bool,
    /// The idempotency of the request; a dry run has none.
    pub idempotency: Option<Idempotency<Contact>>,
}

impl From<ContactFields> for CreateContact {
    fn from(fields: ContactFields) -> Self {
        CreateContact { fields: fields.to_object().into(), dry_run: false, idempotency: None }
    }
}

/// `GET /contacts/chatbots/<A>`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListContacts {
    /// The query.
    pub query: Unvalidated<ContactListQuery>,
}

/// The query of a contact list (contract 4.2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactListQuery {
    /// A text whose terms must all occur.
    pub search: Option<String>,
    /// Only this status.
    pub status: Option<ContactStatus>,
    /// Only contacts with this tag.
    pub tag: Option<String>,
    /// Whether archived contacts are shown as well.
    pub include_archived: bool,
    /// Only this address.
    pub primary_email: Option<Email>,
    /// Only contacts created at or after.
    pub created_since: Option<Timestamp>,
    /// Only contacts updated at or after.
    pub updated_since: Option<Timestamp>,
    /// What they are sorted by.
    pub sort: ContactSort,
    /// The direction.
    pub order: Order,
    /// Which part.
    pub page: PageRequest,
}

/// `PUT` of a contact.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateContact {
    /// Which contact.
    pub target: ContactTarget,
    /// The contact fields; what is absent stays.
    pub fields: Unvalidated<Object>,
    /// The `If-Match` header.
    pub if_match: Option<TagMatch>,
    /// Whether an unknown external id creates the contact, and whether a known one is refused.
    pub upsert: Option<Upsert>,
}

/// The mode of an upsert (contract 2.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upsert {
    /// Create or update.
    CreateOrUpdate,
    /// Create only: `If-None-Match: *`.
    CreateOnly,
}

/// `PATCH …/archive` and `PATCH …/unarchive`
#[derive(Clone, Debug, PartialEq)]
pub struct ArchiveContact {
    /// Which contact.
    pub target: ContactTarget,
    /// The reason, for the audit log only.
    pub reason: Unvalidated<Option<Block<500>>>,
    /// The `If-Match` header.
    pub if_match: Option<TagMatch>,
}
