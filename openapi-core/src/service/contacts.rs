//! Requests of contacts.

use std::marker::PhantomData;

use http::header;
use serde_json::Value;

use super::idempotency::{DryRun, Idempotency, IdempotencyKey};
use super::page::{Paging, SORT_ORDER};
use super::tags::{IfMatch, TagMatch};
use super::unvalidated::{RawBody, Unvalidated};
use crate::contacts::{Contact, ContactChanges, ContactFields, ContactRef, NewContact};
use crate::json::{Json, JsonSchema, Object, object_schema};
use crate::request::rules::{Flag, FoldedTag, OneOf, Text, Trimmed, UnlessBlank};
use crate::request::{BodyKind, Parameter, Part, Reader, parameter, parameters, request};
use crate::storage::{ContactSort, Order};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue};
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

impl Part for ContactTarget {
    type Value = ContactTarget;

    /// A path names the contact by one of two parameters.
    fn read(request: &mut Reader<'_>) -> ContactTarget {
        match request.sent.path_value("contactId") {
            "" => ContactTarget::External(request.sent.path_value("externalReferenceId").to_owned()),
            id => ContactTarget::Id(id.to_owned()),
        }
    }
}

request! {
    /// `POST /contacts/chatbots/<A>`
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct CreateContact {
        /// Whether to run everything and store nothing (contract 4.2).
        pub dry_run: bool = DryRun,
        /// The idempotency of the request; a dry run has none.
        pub idempotency: Option<Idempotency<Contact>> = IdempotencyKey<Contact>,
        /// The contact fields.
        pub fields: Unvalidated<Object> = RawBody<NewContact>,
    }
}

impl From<ContactFields> for CreateContact {
    fn from(fields: ContactFields) -> Self {
        CreateContact { fields: fields.to_object().into(), dry_run: false, idempotency: None }
    }
}

request! {
    /// `GET /contacts/chatbots/<A>`
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ListContacts {
        /// The query.
        pub query: Unvalidated<ContactListQuery>,
    }
}

parameters! {
    /// The query of a contact list (contract 4.2).
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ContactListQuery {
        /// Terms, split at white space. Every term occurs, ignoring case and accents, in a name, the address, the phone,
        /// the external id, the postal address, a tag or a top-level text of `customFields`. There are no wildcards.
        "search" search: Option<String> = Trimmed(200),
        /// Only contacts of this status.
        "status" status: Option<ContactStatus> = Text,
        /// Only contacts with this whole tag, ignoring case.
        "tag" tag: Option<String> = FoldedTag,
        /// What contacts are sorted by; text by its case-folded, accent-stripped form, `null` last.
        "sortBy" sort: ContactSort = OneOf(ContactSort::ALL, ContactSort::as_str),
        /// The direction.
        "sortOrder" order: Order = SORT_ORDER,
        /// Whether archived contacts are shown as well.
        "includeArchived" include_archived: bool = Flag,
        /// Only contacts with exactly this address, ignoring case.
        "primaryEmail" primary_email: Option<Email> = UnlessBlank,
        /// Only contacts created at this time or later.
        "createdSince" created_since: Option<Timestamp> = Text,
        /// Only contacts updated at this time or later.
        "updatedSince" updated_since: Option<Timestamp> = Text,
        ..page: Paging<20>,
    }
}

request! {
    /// `PUT` of a contact.
    #[derive(Clone, Debug, PartialEq)]
    pub struct UpdateContact {
        /// Which contact.
        pub target: ContactTarget,
        /// The `If-Match` header.
        pub if_match: Option<TagMatch> = IfMatch,
        /// Whether an unknown external id creates the contact, and whether a known one is refused.
        pub upsert: Option<Upsert> = Upsert,
        /// The contact fields; what is absent stays.
        pub fields: Unvalidated<Object> = RawBody<ContactChanges>,
    }
}

/// The mode of an upsert (contract 2.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upsert {
    /// Create or update.
    CreateOrUpdate,
    /// Create only: `If-None-Match: *`.
    CreateOnly,
}

parameter! {
    /// Creates the contact when the external id is unknown. Needs `contacts:create` as well.
    UpsertFlag = "upsert": bool = Flag
}

/// With `If-None-Match: *` an upsert only creates.
impl Part for Upsert {
    type Value = Option<Upsert>;
    const PARAMETERS: &'static [Parameter] = UpsertFlag::PARAMETERS;

    fn read(request: &mut Reader<'_>) -> Option<Upsert> {
        UpsertFlag::read(request).then(|| {
            let create_only = request.sent.header(&header::IF_NONE_MATCH).ok().flatten();
            match create_only.as_deref().and_then(TagMatch::parse) {
                Some(TagMatch::Any) => Upsert::CreateOnly,
                _ => Upsert::CreateOrUpdate,
            }
        })
    }
}

request! {
    /// `PATCH …/archive` and `PATCH …/unarchive`
    #[derive(Clone, Debug, PartialEq)]
    pub struct ArchiveContact {
        /// Which contact.
        pub target: ContactTarget,
        /// The `If-Match` header.
        pub if_match: Option<TagMatch> = IfMatch,
        /// The reason, for the audit log only.
        pub reason: Unvalidated<Option<Block<500>>> = Unvalidated<Reason<ArchiveRequest>>,
    }
}

/// The body of an archival.
pub(crate) struct ArchiveRequest;

object_schema! { ArchiveRequest as "ArchiveRequest" { "additionalProperties": false } = {
    "reason" optional: Option<Block<500>> { "description": "Stored in the audit log only." },
} }

/// The member `reason` of a body that may be absent and may have no other: text of up to 500 characters, blank is none.
/// `S` is its schema.
pub(crate) struct Reason<S>(PhantomData<S>);

impl<S: JsonSchema> Part for Reason<S> {
    type Value = Option<Block<500>>;
    const BODY: BodyKind = BodyKind::Optional;

    fn body_schema() -> Option<Value> {
        Some(S::reference())
    }

    fn read(request: &mut Reader<'_>) -> Option<Block<500>> {
        let members = request.sent.members(&mut request.body);
        let mut reason = None;
        for (name, value) in members.iter().flat_map(|members| members.iter()) {
            let fault = match (name, value) {
                ("reason", Json::Null) => continue,
                ("reason", Json::String(text)) => match Block::parse(text) {
                    Ok(text) => {
                        reason = Some(text);
                        continue;
                    }
                    // Blank is none.
                    Err(fault) if fault.rule == ValidationCode::Required => continue,
                    Err(fault) => fault,
                },
                ("reason", _) => ValidationIssue::wrong_type("a string"),
                (name, _) if name.contains('\0') => ValidationIssue::invalid_characters(),
                _ => ValidationIssue::new(ValidationCode::Unknown, "is not a member of this request"),
            };
            request.body.push(ValidationError::new(Location::Body, name, Some(value), fault));
        }
        reason
    }
}
