//! Reading whole records, and the columns of the SQL stores.
//!
//! Each function asks for the values in the order of the columns that its macro names. A document has them under the
//! names that the functions pass.

mod shapes;

use conversations::Passage;
use openapi_core::access::{Actor, StoredKey};
use openapi_core::agents::Agent;
use openapi_core::audit::{AuditAction, AuditEntry, ChainLink, ChainedEntry, OsUser};
use openapi_core::contacts::Contact;
use openapi_core::files::{ContactFile, FileKind, Sha256Digest};
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission, TemplateSummary};
use openapi_core::ports::BlobKey;
use openapi_core::storage::{FileBlob, FileTombstone, IdempotencyKey, IdempotencyRecord};
use openapi_core::values::{
    AgentId, AuditId, ContactId, FileId, KnowledgeId, StoredText, SubmissionId, Tag, TemplateId,
};
use serde::{Deserialize, Serialize};

pub use shapes::{job, listed_job, log_entry, stored_record, stored_record_after_key};

use crate::error::StoreError;
use crate::fields::{FieldReader, json_text};

/// The columns that [`contact`] reads, of a table with the alias `c`.
#[macro_export]
macro_rules! contact_columns {
    () => {
        "c.id, c.external_reference_id, c.salutation, c.first_name, c.middle_name, c.last_name, c.dob, c.gender, \
         c.primary_email, c.primary_phone, c.primary_phone_code, c.full_address, c.tags, c.status, c.source, \
         c.last_contacted_at, c.custom_fields, c.archived_at, c.created_at, c.updated_at, c.version"
    };
}

/// The columns that [`file()`] reads, of a table with the alias `f`.
#[macro_export]
macro_rules! file_columns {
    () => {
        "f.id, f.contact, f.name, f.size, f.content_type, f.sha256, f.source, f.uploaded_by, f.created_at, f.updated_at, \
         f.server_key"
    };
}

/// The columns that [`file_or_tombstone`] reads, of a table with the alias `f`.
#[macro_export]
macro_rules! file_or_tombstone_columns {
    () => {
        concat!($crate::file_columns!(), ", f.deleted_at, f.deleted_by, f.reason")
    };
}

/// The columns that [`submission`] reads, of a table with the alias `s`, with the contact's current external id.
#[macro_export]
macro_rules! submission_columns {
    () => {
        "s.id, s.contact, s.template, s.status, s.superseded_by, s.superseded_at, s.submitted_at, s.created_at, \
         s.updated_at, s.version, s.template_version, s.template_name, s.revision, s.supersedes, s.client_id, \
         s.source, s.created_by, s.reviewed_by, s.reviewed_at, s.submission_notes, s.review_notes, \
         (SELECT c.external_reference_id FROM contact c WHERE c.agent = s.agent AND c.id = s.contact), s.form_data"
    };
}

/// The columns that [`submission_with_history`] reads, of a table with the alias `s`.
#[macro_export]
macro_rules! submission_and_history_columns {
    () => {
        concat!($crate::submission_columns!(), ", s.status_history")
    };
}

/// The columns that [`revision`] reads, of a table with the alias `r`.
#[macro_export]
macro_rules! revision_columns {
    () => {
        "r.version, r.at, r.by, r.form_data"
    };
}

/// The columns that [`stored_record`] reads, of a table with the alias `r`.
#[macro_export]
macro_rules! record_columns {
    () => {
        "r.kind, r.id, r.version, r.subject, r.unique_value, r.due_at, r.body"
    };
}

/// The columns that [`job`] reads, of a table with the alias `j`.
#[macro_export]
macro_rules! job_columns {
    () => {
        concat!($crate::job_columns!(listed), ", j.result")
    };
    // All but the result, which reads as absent.
    (listed) => {
        "j.id, j.queue, j.state, j.version, j.turn, j.due_at, j.lease_owner, j.lease_until, j.attempts, j.lost, \
         j.batch, j.client_id, j.subject, j.reserved_plan, j.reserved_top_up, j.created_at, j.started_at, j.body"
    };
}

/// The columns that [`log_entry`] reads, of a table with the alias `l`. Events of erased contacts show neither contact
/// nor body, although both are stored until the log is scrubbed.
#[macro_export]
macro_rules! log_columns {
    () => {
        concat!(
            "l.seq, l.id, l.at, l.kind, ",
            $crate::log_columns!("l.contact"),
            ", ",
            $crate::log_columns!("l.body")
        )
    };
    ($column:literal) => {
        concat!(
            "CASE WHEN l.contact IS NOT NULL AND EXISTS (SELECT 1 FROM log_erased e WHERE e.agent = l.agent AND \
             e.contact = l.contact AND e.upto >= l.seq) THEN NULL ELSE ",
            $column,
            " END"
        )
    };
}

/// The columns that [`replay`] reads, of a table with the alias `r`.
#[macro_export]
macro_rules! replay_columns {
    () => {
        "r.fingerprint, r.status, r.location, r.body, r.resource, r.expires_at"
    };
}

/// The columns that [`audit_entry`] reads.
#[macro_export]
macro_rules! audit_columns {
    () => {
        "at, id, agent, resource, contact, action, actor, address, request_id, details, sequence, server_key, salt, digest, mac"
    };
}

/// The columns of a template that do not depend on its version, of a table with the alias `t`.
#[macro_export]
macro_rules! template_base_columns {
    () => {
        "t.id, t.status, t.submission_policy, t.created_at, t.updated_at"
    };
}

/// The columns that [`template`] reads, with the content under the alias `v`.
#[macro_export]
macro_rules! template_columns {
    () => {
        concat!(
            $crate::template_base_columns!(),
            ", t.disabled_transitions, t.generation, v.version, v.name, v.description, v.fields"
        )
    };
}

/// The columns that [`template_summary`] reads, with the content under the alias `v`.
#[macro_export]
macro_rules! template_summary_columns {
    () => {
        concat!($crate::template_base_columns!(), ", t.version, v.name, v.description, v.field_count")
    };
}

/// The columns that [`agent`] reads.
#[macro_export]
macro_rules! agent_columns {
    () => {
        "id, name, status, created_at, updated_at"
    };
}

/// The columns that [`key`] reads, of a table with the alias `k`.
#[macro_export]
macro_rules! key_columns {
    () => {
        "k.body, k.last_used_at, k.last_used_address"
    };
}

/// Reads a tenant.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn agent<'r, R: FieldReader<'r>>(r: &mut R) -> Result<Agent, R::Error> {
    Ok(Agent {
        id: r.text("_id")?,
        name: r.text("name")?,
        status: r.code("status")?,
        created_at: r.time("createdAt")?,
        updated_at: r.time("updatedAt")?,
    })
}

/// Reads a contact from a row of [`contact_columns`].
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn contact<'r, R: FieldReader<'r>>(agent: &AgentId, r: &mut R) -> Result<Contact, R::Error> {
    Ok(Contact {
        id: ContactId::from_bytes(r.bytes("_id.id")?),
        agent_id: agent.clone(),
        external_reference_id: r.optional_text("externalReferenceId")?,
        salutation: r.optional_text("salutation")?,
        first_name: r.optional_text("firstName")?,
        middle_name: r.optional_text("middleName")?,
        last_name: r.optional_text("lastName")?,
        dob: r.optional_text("dob")?,
        gender: r.optional_text("gender")?,
        primary_email: r.text("primaryEmail")?,
        primary_phone: r.optional_text("primaryPhone")?,
        primary_phone_code: r.optional_text("primaryPhoneCode")?,
        full_address: r.optional_text("fullAddress")?,
        tags: r
            .optional_str("tags")?
            .map_or_else(Vec::new, |tags| tags.split('\n').map(StoredText::from_stored).collect()),
        status: r.code("status")?,
        source: r.text("source")?,
        last_contacted_at: r.optional_time("lastContactedAt")?,
        custom_fields: r.object("customFields")?,
        archived_at: r.optional_time("archivedAt")?,
        created_at: r.time("createdAt")?,
        updated_at: r.time("updatedAt")?,
        version: r.count("version")?,
    })
}

/// Reads a file, deleted or not.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn file<'r, R: FieldReader<'r>>(agent: &AgentId, r: &mut R) -> Result<ContactFile, R::Error> {
    Ok(ContactFile {
        id: FileId::from_bytes(r.bytes("_id.id")?),
        agent_id: agent.clone(),
        contact_id: ContactId::from_bytes(r.bytes("contact")?),
        file_name: r.text("name")?,
        file_size: r.count("size")?,
        content_type: FileKind::of_media_type(r.str("contentType")?),
        sha256: Sha256Digest(r.bytes("sha256")?),
        source: r.str("source")?.to_owned(),
        uploaded_by: r.json("uploadedBy")?,
        created_at: r.time("createdAt")?,
        updated_at: r.time("updatedAt")?,
        server_key: r.optional_string("serverKey")?,
    })
}

/// Reads the key, the size and the server key of a file's content.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn file_blob<'r, R: FieldReader<'r>>(r: &mut R) -> Result<FileBlob, R::Error> {
    Ok(FileBlob { key: blob_key(r)?, size: r.count("size")?, server_key: r.optional_string("serverKey")? })
}

/// Reads when, by whom and why a file was deleted.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn tombstone<'r, R: FieldReader<'r>>(file: FileId, r: &mut R) -> Result<FileTombstone, R::Error> {
    Ok(FileTombstone {
        file,
        at: r.time("deletedAt")?,
        by: r.json("deletedBy")?,
        reason: r.optional_text("reason")?,
    })
}

/// Reads a file, and its tombstone if it is deleted.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn file_or_tombstone<'r, R: FieldReader<'r>>(
    agent: &AgentId,
    r: &mut R,
) -> Result<(ContactFile, Option<FileTombstone>), R::Error> {
    let file = file(agent, r)?;
    let Some(at) = r.optional_time("deletedAt")? else { return Ok((file, None)) };
    let (by, reason) = (r.json("deletedBy")?, r.optional_text("reason")?);
    let tombstone = FileTombstone { file: file.id, at, by, reason };
    Ok((file, Some(tombstone)))
}

/// Reads the key of a content: a tenant, and a file or document.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn blob_key<'r, R: FieldReader<'r>>(r: &mut R) -> Result<BlobKey, R::Error> {
    Ok(BlobKey::new(r.text("_id.agent")?, FileId::from_bytes(r.bytes("_id.id")?)))
}

/// Reads a contact's id and tags, folded, which a change needs.
///
/// # Errors
/// When the value cannot be one.
pub fn folded_tags<'r, C: FromIterator<String> + Default, R: FieldReader<'r>>(
    r: &mut R,
) -> Result<C, R::Error> {
    let tags = r.optional_str("tags")?;
    Ok(tags.map(|tags| tags.split('\n').map(Tag::fold).collect()).unwrap_or_default())
}

/// The text of a contact's tags; `None` when there are none.
#[must_use]
pub fn tags_text(contact: &Contact) -> Option<String> {
    let tags: Vec<&str> = contact.tags.iter().map(|tag| tag.as_str()).collect();
    (!tags.is_empty()).then(|| tags.join("\n"))
}

/// Reads a submission; its history is empty.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn submission<'r, R: FieldReader<'r>>(agent: &AgentId, r: &mut R) -> Result<Submission, R::Error> {
    Ok(Submission {
        id: SubmissionId::from_bytes(r.bytes("_id.id")?),
        agent_id: agent.clone(),
        contact_id: ContactId::from_bytes(r.bytes("contact")?),
        template_id: TemplateId::from_bytes(r.bytes("template")?),
        status: r.code("status")?,
        superseded_by: r.optional_bytes("supersededBy")?.map(SubmissionId::from_bytes),
        superseded_at: r.optional_time("supersededAt")?,
        submitted_at: r.optional_time("submittedAt")?,
        created_at: r.time("createdAt")?,
        updated_at: r.time("updatedAt")?,
        version: r.count("version")?,
        template_version: r.count("templateVersion")?,
        template_name: r.text("templateName")?,
        revision: r.count("revision")?,
        supersedes: r.optional_bytes("supersedes")?.map(SubmissionId::from_bytes),
        client_id: r.optional_text("clientId")?,
        source: r.str("source")?.to_owned(),
        created_by: r.json("createdBy")?,
        reviewed_by: r.optional_json("reviewedBy")?,
        reviewed_at: r.optional_time("reviewedAt")?,
        submission_notes: r.optional_text("submissionNotes")?,
        review_notes: r.optional_text("reviewNotes")?,
        external_reference_id: r.optional_text("externalReferenceId")?,
        form_data: r.object("formData")?,
        status_history: Vec::new(),
    })
}

/// Reads a submission with its history.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn submission_with_history<'r, R: FieldReader<'r>>(
    agent: &AgentId,
    r: &mut R,
) -> Result<Submission, R::Error> {
    let submission = submission(agent, r)?;
    Ok(Submission { status_history: r.optional_json("statusHistory")?.unwrap_or_default(), ..submission })
}

/// The text of a list; `None` for an empty one.
///
/// # Errors
/// When a value has no JSON.
pub fn list_text<E: StoreError>(list: &[impl Serialize]) -> Result<Option<String>, E> {
    (!list.is_empty()).then(|| json_text(&list)).transpose()
}

/// Reads an earlier version of the data of a submission.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn revision<'r, R: FieldReader<'r>>(r: &mut R) -> Result<FormDataRevision, R::Error> {
    Ok(FormDataRevision {
        version: r.count("_id.version")?,
        at: r.time("at")?,
        by: r.json("by")?,
        form_data: r.object("formData")?,
    })
}

/// Reads a template: a row of [`template_columns`], or the documents of the template and of its content. For a row
/// `content` is `None`, because `r` goes on with the content.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn template<'r, 'a, R: FieldReader<'r>>(
    agent: &AgentId,
    mut r: &'a mut R,
    content: Option<&'a mut R>,
) -> Result<FormTemplate, R::Error> {
    Ok(FormTemplate {
        id: TemplateId::from_bytes(r.bytes("_id.id")?),
        agent_id: agent.clone(),
        status: r.code("status")?,
        submission_policy: r.code("submissionPolicy")?,
        created_at: r.time("createdAt")?,
        updated_at: r.time("updatedAt")?,
        disabled_transitions: r.optional_json("disabledTransitions")?.unwrap_or_default(),
        generation: r.count("generation")?,
        version: {
            r = content.unwrap_or(r);
            r.count("_id.version")?
        },
        name: r.text("name")?,
        description: r.optional_text("description")?,
        fields: r.json("fields")?,
    })
}

/// Reads the summary of a template: a row of [`template_summary_columns`], or two documents as [`template`].
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn template_summary<'r, 'a, R: FieldReader<'r>>(
    agent: &AgentId,
    mut r: &'a mut R,
    content: Option<&'a mut R>,
) -> Result<TemplateSummary, R::Error> {
    Ok(TemplateSummary {
        id: TemplateId::from_bytes(r.bytes("_id.id")?),
        agent_id: agent.clone(),
        status: r.code("status")?,
        submission_policy: r.code("submissionPolicy")?,
        created_at: r.time("createdAt")?,
        updated_at: r.time("updatedAt")?,
        version: r.count("version")?,
        name: {
            r = content.unwrap_or(r);
            r.text("name")?
        },
        description: r.optional_text("description")?,
        field_count: r.count("fieldCount")?,
    })
}

/// Reads the stored response of an idempotent request.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn replay<'r, R: FieldReader<'r>>(key: IdempotencyKey, r: &mut R) -> Result<IdempotencyRecord, R::Error> {
    Ok(IdempotencyRecord {
        key,
        fingerprint: r.bytes("fingerprint")?,
        status: u16::try_from(r.code_number("status")?).map_err(R::Error::corrupt)?,
        location: r.optional_string("location")?,
        body: r.str("body")?.into(),
        resource: r.optional_bytes("resource")?.map(ContactId::from_bytes),
        expires_at: r.time("expiresAt")?,
    })
}

/// Reads a passage after the id of its document.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn passage<'r, R: FieldReader<'r>>(r: &mut R) -> Result<(KnowledgeId, Passage), R::Error> {
    Ok((KnowledgeId::from_bytes(r.bytes("_id.id")?), r.json("body")?))
}

/// Reads an API key: its record, and the columns that change on their own.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn key<'r, R: FieldReader<'r>>(r: &mut R) -> Result<StoredKey, R::Error> {
    let mut stored: StoredKey = r.json("body")?;
    stored.key.last_used_at = r.optional_time("lastUsedAt")?;
    stored.key.last_used_address = r.optional_address("lastUsedAddress")?;
    Ok(stored)
}

/// Reads an entry of the audit log. The empty text and no tenant are one.
///
/// # Errors
/// When a value is absent or cannot be one.
pub fn audit_entry<'r, R: FieldReader<'r>>(r: &mut R) -> Result<ChainedEntry, R::Error> {
    let (at, id) = (r.time("_id.at")?, AuditId::from_bytes(r.bytes("_id.id")?));
    let agent_id = r.optional_str("_id.agent")?.filter(|agent| !agent.is_empty());
    let agent_id = agent_id.map(StoredText::from_stored);
    let resource = r.optional_string("resource")?;
    let contact_id = r.optional_bytes("contact")?.map(ContactId::from_bytes);
    let action = action::<R::Error>(r.str("action")?)?;
    let AuditActor { actor, os_user } = r.json("actor")?;
    let entry = AuditEntry {
        id,
        agent_id,
        at,
        actor,
        os_user,
        action,
        resource,
        contact_id,
        address: r.optional_address("address")?,
        request_id: r.optional_string("requestId")?,
        details: r.object("details")?,
    };
    let sequence = r.count("sequence")?;
    let (server_key, salt) = (r.optional_string("serverKey")?, r.optional_bytes("salt")?);
    let (digest, mac) = (r.optional_bytes("digest")?, r.optional_bytes("mac")?);
    let link = match (server_key, digest, mac) {
        (Some(server_key), Some(digest), Some(mac)) => {
            Some(ChainLink { sequence, server_key, salt, digest, mac })
        }
        _ => None,
    };
    Ok(ChainedEntry { entry, link })
}

/// The actor of an audit entry as it is stored: with the user of the operating system, where there is one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditActor {
    #[serde(flatten)]
    actor: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    os_user: Option<OsUser>,
}

impl AuditActor {
    /// The actor of an entry.
    #[must_use]
    pub fn of(entry: &AuditEntry) -> Self {
        AuditActor { actor: entry.actor.clone(), os_user: entry.os_user.clone() }
    }
}

fn action<E: StoreError>(name: &str) -> Result<AuditAction, E> {
    let known = AuditAction::ALL.iter().find(|action| action.as_str() == name);
    known.copied().ok_or_else(|| E::corrupt(format_args!("'{name}' is no action of the audit log")))
}

/// The contact that an audit entry is about, directly or through one of its records. Erasing the contact looks for it.
#[must_use]
pub fn audit_subject(entry: &AuditEntry) -> Option<ContactId> {
    entry.contact_id.or_else(|| entry.resource.as_deref()?.parse().ok())
}
