//! Contacts over the storage ports: the steps 9 to 16 of contract 6.3.

use std::sync::Arc;

use super::cursor::ContactCursors;
use super::errors::{concurrent_update, contact_archived, contact_not_found, duplicate, precondition_failed};
use super::events::changed_in;
use super::idempotency::{Claimed, answer, claim, replay};
use super::paging::Part;
use super::{Platform, audit};
use crate::access::Caller;
use crate::audit::AuditAction;
use crate::contacts::{Contact, ContactKeys, SearchTerm, SharedContact};
use crate::events::EventData;
use crate::json::Object;
use crate::reply::ApiError;
use crate::schema::{CompiledSchema, Identity};
use crate::service::{
    ArchiveContact, ContactListQuery, ContactTarget, CreateContact, Created, ListContacts, Page,
    UpdateContact, Updated, Upsert,
};
use crate::storage::retry::{RetryOn, retry_on_conflict};
use crate::storage::{ContactFilter, ContactQuery, ContactWrite, Effects, StorageErrorKind};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{AgentId, Timestamp};

pub(super) async fn find(
    platform: &Platform,
    agent: &AgentId,
    target: &ContactTarget,
) -> Result<SharedContact, ApiError> {
    let not_found = || contact_not_found(target);
    let contact = target.resolve().map_err(|_| not_found())?;
    platform.storage.contact(agent, &contact).await?.ok_or_else(not_found)
}

/// A new contact's id, agent and time.
fn identity(platform: &Platform, agent: &AgentId) -> Identity {
    let now = platform.now();
    Identity { id: platform.ports.ids.platform_id(now).into(), agent_id: agent.clone(), now }
}

fn write(
    platform: &Platform,
    caller: &Caller,
    schema: &CompiledSchema,
    contact: Contact,
    action: AuditAction,
    details: &Object,
    now: Timestamp,
) -> ContactWrite {
    let contact_id = contact.id;
    let data = match action {
        AuditAction::ContactCreate => EventData::ContactCreated { contact_id },
        AuditAction::ContactArchive => EventData::ContactArchived { contact_id },
        AuditAction::ContactUnarchive => EventData::ContactUnarchived { contact_id },
        _ => EventData::ContactUpdated { contact_id, changed: changed_in(details) },
    };
    let event = platform.event(&caller.actor, Some(contact_id), data, now);
    let audit = platform.caller_audit(caller, action, contact_id.to_string(), None, details, now);
    let keys = ContactKeys::of(&contact, schema.schema());
    ContactWrite {
        contact,
        keys,
        schema_version: schema.schema().version,
        at: now,
        effects: Effects::audited(audit).with_event(event),
    }
}

pub(super) async fn create(
    platform: &Platform,
    caller: &Caller,
    request: CreateContact,
) -> Result<Created<Contact>, ApiError> {
    let claimed = match claim(platform, caller, request.idempotency.as_ref()).await? {
        Claimed::Answered(stored) => return Ok(Created::Replayed(stored)),
        Claimed::Run(claim) => claim,
    };
    let (claimed, request) = (&claimed, &request);
    retry_on_conflict(concurrent_update, |is_retry| async move {
        let schema = platform.schema(&caller.agent_id, is_retry).await?;
        let identity = identity(platform, &caller.agent_id);
        let now = identity.now;
        let contact = request.fields.check_with(|fields| schema.create(fields, identity))?;
        if request.dry_run {
            refuse_duplicate(platform, &schema, &contact).await?;
            return Ok(Some(Created::Preview(contact)));
        }
        let replay = replay(claimed.as_ref(), &contact, Some(contact.id), now)?;
        let mut write =
            write(platform, caller, &schema, contact, AuditAction::ContactCreate, &Object::new(), now);
        write.effects.replay = replay;
        let Err(error) = platform.storage.insert_contact(&caller.agent_id, &write).await else {
            return Ok(Some(Created::New(write.contact)));
        };
        match error.kind {
            StorageErrorKind::Stale | StorageErrorKind::AlreadyExists => Ok(None),
            StorageErrorKind::Missing => Err(super::errors::agent_gone()),
            StorageErrorKind::Duplicate(found) => Err(duplicate(&found, &write.contact, schema.schema())),
            // Another server was faster.
            StorageErrorKind::ReplayExists => answer(claimed.as_ref(), caller).await,
            _ => Err(error.into()),
        }
    })
    .await
}

/// The uniqueness check of a dry run.
async fn refuse_duplicate(
    platform: &Platform,
    schema: &CompiledSchema,
    contact: &Contact,
) -> Result<(), ApiError> {
    let unique = schema.schema().unique_values(contact);
    let external = contact.external_reference_id.as_ref();
    match platform.storage.duplicate_contact(&contact.agent_id, None, external, &unique).await? {
        Some(found) => Err(duplicate(&found, contact, schema.schema())),
        None => Ok(()),
    }
}

pub(super) async fn update(
    platform: &Platform,
    caller: &Caller,
    request: UpdateContact,
) -> Result<Updated<Contact>, ApiError> {
    let request = &request;
    retry_on_conflict(concurrent_update, |is_retry| async move {
        let schema = platform.schema(&caller.agent_id, is_retry).await?;
        let current = match request.target.resolve() {
            Ok(contact) => platform.storage.contact(&caller.agent_id, &contact).await?,
            Err(_) => None,
        };
        match (current, request.upsert) {
            (Some(current), upsert) => change(platform, caller, request, &schema, current, upsert).await,
            (None, Some(_)) => create_by_upsert(platform, caller, request, &schema).await,
            (None, None) => Err(contact_not_found(&request.target)),
        }
    })
    .await
}

/// Changes a contact that is there; `None` after losing a race.
async fn change(
    platform: &Platform,
    caller: &Caller,
    request: &UpdateContact,
    schema: &Arc<CompiledSchema>,
    current: SharedContact,
    upsert: Option<Upsert>,
) -> Result<Option<Updated<Contact>>, ApiError> {
    let now = platform.now().max(current.updated_at);
    let mut contact = request.fields.check_with(|fields| {
        let changed = schema.update(&current, fields, now);
        if upsert.is_some() { same_external_id(&request.target, fields, changed) } else { changed }
    })?;
    let matches = request.if_match.as_ref().is_none_or(|tags| tags.matches_strongly(&current.etag()));
    if !matches || upsert == Some(Upsert::CreateOnly) {
        return Err(precondition_failed(Some(&current)));
    }
    if current.is_archived() {
        return Err(contact_archived(&current));
    }
    let renamed = contact.external_reference_id != current.external_reference_id;
    if contact == *current {
        return Ok(Some(Updated::Changed { value: contact, renamed }));
    }
    contact.version += 1;
    contact.updated_at = now;
    let details = audit::changed_fields(&current, &contact);
    let write = write(platform, caller, schema, contact, AuditAction::ContactUpdate, &details, now);
    match platform.storage.update_contact(&caller.agent_id, current.version, &write).await {
        Ok(()) => Ok(Some(Updated::Changed { value: write.contact, renamed })),
        Err(error) => match error.kind {
            StorageErrorKind::Duplicate(found) => Err(duplicate(&found, &write.contact, schema.schema())),
            StorageErrorKind::Stale | StorageErrorKind::Missing => Ok(None),
            _ => Err(error.into()),
        },
    }
}

/// Creates the contact of an upsert; `None` after losing a race.
async fn create_by_upsert(
    platform: &Platform,
    caller: &Caller,
    request: &UpdateContact,
    schema: &Arc<CompiledSchema>,
) -> Result<Option<Updated<Contact>>, ApiError> {
    let identity = identity(platform, &caller.agent_id);
    let now = identity.now;
    let contact = request.fields.check_with(|fields| {
        // Where the body does not repeat the external id, it stands in the path, and so do its faults.
        let in_body = fields.get("externalReferenceId").is_some();
        let mut named = fields.clone();
        if !in_body {
            named.insert("externalReferenceId", request.target.as_str().into());
        }
        let created = schema.create(&named, identity);

        if in_body {
            same_external_id(&request.target, fields, created).map_err(|violations| {
                match invalid_path(&request.target) {
                    Some(fault) => fault.joined(violations),
                    None => violations,
                }
            })
        } else {
            created.map_err(|violations| violations.moved("externalReferenceId", Location::Path))
        }
    })?;
    if request.if_match.is_some() {
        return Err(precondition_failed(None));
    }
    let write = write(platform, caller, schema, contact, AuditAction::ContactCreate, &Object::new(), now);
    match platform.storage.insert_contact(&caller.agent_id, &write).await {
        Ok(()) => Ok(Some(Updated::Created(write.contact))),
        Err(error) => match error.kind {
            // Somebody else has created the contact meanwhile: it is there to be updated.
            StorageErrorKind::Duplicate(found) if found.field == "externalReferenceId" => Ok(None),
            StorageErrorKind::Duplicate(found) => Err(duplicate(&found, &write.contact, schema.schema())),
            StorageErrorKind::Stale | StorageErrorKind::AlreadyExists => Ok(None),
            StorageErrorKind::Missing => Err(super::errors::agent_gone()),
            _ => Err(error.into()),
        },
    }
}

/// The fault of an external id in the path that is none (contract 2.1.3).
fn invalid_path(target: &ContactTarget) -> Option<Violations> {
    let fault = target.resolve().err()?;
    let mut violations = Violations::new();
    violations.push(ValidationError::new(
        Location::Path,
        "externalReferenceId",
        Some(&target.as_str().into()),
        fault,
    ));
    Some(violations)
}

/// In an upsert the body may repeat the external id of the path, and nothing else (contract 2.1.3).
fn same_external_id<T>(
    target: &ContactTarget,
    fields: &Object,
    checked: Result<T, Violations>,
) -> Result<T, Violations> {
    let other = fields.get("externalReferenceId").filter(|id| id.as_str() != Some(target.as_str()));
    let Some(other) = other else { return checked };
    let mut violations = checked.err().unwrap_or_default();
    if !violations
        .listed()
        .iter()
        .any(|violation| violation.field == "externalReferenceId" && violation.location == Location::Body)
    {
        let fault = ValidationIssue::new(ValidationCode::Conflict, "must be the external id of the path");
        violations.body("externalReferenceId", Some(other), fault);
    }
    Err(violations)
}

pub(super) async fn set_archived(
    platform: &Platform,
    caller: &Caller,
    request: ArchiveContact,
    archived: bool,
) -> Result<Contact, ApiError> {
    let request = &request;
    retry_on_conflict(concurrent_update, |is_retry| async move {
        let schema = platform.schema(&caller.agent_id, is_retry).await?;
        let current = find(platform, &caller.agent_id, &request.target).await?;
        let reason = request.reason.clone().check()?;
        if !request.if_match.as_ref().is_none_or(|tags| tags.matches_strongly(&current.etag())) {
            return Err(precondition_failed(Some(&current)));
        }
        if current.is_archived() == archived {
            return Ok(Some(current.into_contact()));
        }
        let now = platform.now().max(current.updated_at);
        let mut contact = Contact::clone(&current);
        contact.archived_at = archived.then_some(now);
        contact.updated_at = now;
        contact.version += 1;
        let mut details = Object::new();
        if let Some(reason) = reason {
            details.insert("reason", reason.as_str().into());
        }
        let action = if archived { AuditAction::ContactArchive } else { AuditAction::ContactUnarchive };
        let write = write(platform, caller, &schema, contact, action, &details, now);
        let updated = platform.storage.update_contact(&caller.agent_id, current.version, &write).await;
        let updated = updated.retry_on(&[StorageErrorKind::Stale, StorageErrorKind::Missing])?;
        Ok(updated.map(|()| write.contact))
    })
    .await
}

pub(super) async fn list(
    platform: &Platform,
    caller: &Caller,
    request: ListContacts,
) -> Result<Page<Contact>, ApiError> {
    let agent = &caller.agent_id;
    let query = request.query.check()?;
    let cursors = ContactCursors { keys: &platform.ports.server_keys, agent, query: &query };
    let part = Part::of(&query.page, |text| cursors.read(text))?;
    let stored =
        ContactQuery { filter: filter(&query), sort: query.sort, order: query.order, window: part.window() };
    let found = platform.storage.contacts(agent, &stored).await?;
    Ok(part.page(found.contacts, found.total, |last, page| cursors.issue(last, page)))
}

fn filter(query: &ContactListQuery) -> ContactFilter {
    ContactFilter {
        search: query.search.as_deref().map(SearchTerm::split).unwrap_or_default(),
        status: query.status,
        tag: query.tag.clone(),
        include_archived: query.include_archived,
        primary_email: query.primary_email.as_ref().map(|email| email.normalized()),
        created_since: query.created_since,
        updated_since: query.updated_since,
    }
}
