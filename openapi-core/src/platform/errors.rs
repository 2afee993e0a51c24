//! Errors that the platform answers, worded by the contract.

use http::{HeaderValue, header};

use crate::contacts::Contact;
use crate::json::Json;
use crate::reply::{ApiError, ErrorCode};
use crate::schema::ContactSchema;
use crate::service::ContactTarget;
use crate::storage::Duplicate;
use crate::values::ContactId;
use crate::violation::Rule;

pub(super) fn contact_not_found(target: &ContactTarget) -> ApiError {
    let malformed = matches!(target, ContactTarget::Id(text) if text.parse::<ContactId>().is_err());
    let message = if malformed {
        "Contact not found; platform ids are 24 hexadecimal characters"
    } else {
        "Contact not found"
    };
    ApiError::new(ErrorCode::ContactNotFound, message)
        .with_detail("resource", "contact")
        .with_detail("id", target.as_str())
}

pub(super) fn contact_archived(contact: &Contact) -> ApiError {
    let archived_at = contact.archived_at.map_or(Json::Null, |at| Json::String(at.to_string()));
    ApiError::new(ErrorCode::ContactArchived, "The contact is archived")
        .with_detail("resource", "contact")
        .with_detail("id", contact.id.to_string().as_str())
        .with_detail("archivedAt", archived_at)
}

/// 409 of a value that another contact has; `contact` is the one that was to be stored.
pub(super) fn duplicate(found: &Duplicate, contact: &Contact, schema: &ContactSchema) -> ApiError {
    let value = if schema.is_sensitive(&found.field) { Json::Null } else { value_of(contact, &found.field) };
    let is_external = found.field == "externalReferenceId";
    let error = if is_external {
        let id = contact.external_reference_id.as_ref().filter(|_| value != Json::Null);
        let named = id.map(|id| format!(" '{id}'")).unwrap_or_default();
        ApiError::new(
            ErrorCode::DuplicateExternalReferenceId,
            format!("externalReferenceId{named} is already used by another contact"),
        )
    } else {
        ApiError::new(
            ErrorCode::DuplicateValue,
            format!("{} is already used by another contact", found.field),
        )
        .with_detail("field", found.field.as_str())
    };
    error
        .with_violation(&found.field, value, Rule::Unique, "is already used")
        .with_detail("existingContactId", found.existing.to_string().as_str())
        .with_detail("archived", found.archived)
}

/// The value of a field as it was to be stored.
fn value_of(contact: &Contact, field: &str) -> Json {
    if let Some(name) = field.strip_prefix("customFields.") {
        return contact.custom_fields.get(name).unwrap_or(Json::Null);
    }
    let value = serde_json::to_value(contact).ok().and_then(|contact| contact.get(field).map(Json::from));
    value.unwrap_or(Json::Null)
}

pub(super) fn precondition_failed(current: Option<&Contact>) -> ApiError {
    let error = ApiError::new(ErrorCode::PreconditionFailed, "The contact has changed since it was read");
    match current.and_then(|contact| HeaderValue::from_str(&contact.etag()).ok()) {
        Some(etag) => error.with_header(header::ETAG, etag),
        None => error,
    }
}

pub(super) fn concurrent_update() -> ApiError {
    ApiError::new(ErrorCode::ConcurrentUpdate, "The contact is being changed by others; try again")
}

/// The agent went away while its key was at work: what its keys are answered from now on.
pub(super) fn agent_gone() -> ApiError {
    ApiError::new(ErrorCode::InvalidCredentials, "The API key or secret is not valid")
}
