//! The record of a submission and its JSON forms (contract 2.3.2).

use serde::Deserializer;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use sha2::{Digest, Sha256};

use super::SubmissionStatus;
use crate::access::Actor;
use crate::json::RawObject;
use crate::values::{
    AgentId, Block, ContactId, ExternalId, Line, Opaque, SubmissionId, TemplateId, Timestamp,
};

/// A submission as stored. Its serialised form is the contract's JSON without `statusHistory`, as lists and batches
/// answer it; [`WithHistory`] adds that.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The platform id.
    pub id: SubmissionId,
    /// The agent of contact and template.
    pub agent_id: AgentId,
    /// The template.
    pub template_id: TemplateId,
    /// The name of the template at that version.
    pub template_name: Line<100>,
    /// The version of the template that the data was checked against, then and ever after.
    pub template_version: u64,
    /// The contact.
    pub contact_id: ContactId,
    /// The contact's external id as it is now: no property of the submission, but shown with it.
    pub external_reference_id: Option<ExternalId>,
    /// The state.
    pub status: SubmissionStatus,
    /// The answers, keyed by the names of the template's fields.
    pub form_data: RawObject,
    /// Notes of the submitter.
    pub submission_notes: Option<Block<4000>>,
    /// Notes of the reviewer.
    pub review_notes: Option<Block<4000>>,
    /// A reference of the caller's own; never changes.
    pub client_id: Option<Opaque<128>>,
    /// 1, and one more than the submission that it supersedes.
    pub revision: u64,
    /// The submission that this one replaced.
    pub supersedes: Option<SubmissionId>,
    /// The submission that replaced this one.
    pub superseded_by: Option<SubmissionId>,
    /// When that was.
    pub superseded_at: Option<Timestamp>,
    /// Where the submission came from: `api`.
    pub source: String,
    /// Who created it.
    pub created_by: Actor,
    /// Who approved or rejected it.
    pub reviewed_by: Option<Actor>,
    /// When that was.
    pub reviewed_at: Option<Timestamp>,
    /// When it was handed in for the first time; drafts never were.
    pub submitted_at: Option<Timestamp>,
    /// Every change of status, oldest first.
    pub status_history: Vec<StatusChange>,
    /// When it was created; never changes.
    pub created_at: Timestamp,
    /// When a stored value last changed.
    pub updated_at: Timestamp,
    /// 1 at creation, one more with each change.
    pub version: u64,
}

/// A change of status.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StatusChange {
    /// The state before; none at creation.
    pub from: Option<SubmissionStatus>,
    /// The state after.
    pub to: SubmissionStatus,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Actor,
    /// The `reviewNotes` of the request.
    pub notes: Option<Block<4000>>,
}

/// `formData` as it was before a change: the internal revision log.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormDataRevision {
    /// The version of the submission that had it last.
    pub version: u64,
    /// When it was replaced.
    pub at: Timestamp,
    /// By whom.
    pub by: Actor,
    /// The data before.
    pub form_data: RawObject,
}

impl Submission {
    /// Whether a later submission replaced this one.
    #[must_use]
    pub fn is_superseded(&self) -> bool {
        self.superseded_by.is_some()
    }

    /// Whether it stands for its contact and template: handed in and not superseded.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.submitted_at.is_some() && !self.is_superseded()
    }

    /// The strong entity tag, quotes included (contract 5.4). The contact's external id is shown in the record, so it
    /// is part of the tag.
    #[must_use]
    pub fn etag(&self) -> String {
        let name = self.external_reference_id.as_ref().map_or("", |id| id.as_str());
        let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(name).into();
        let name = u32::from_be_bytes([a, b, c, d]);
        format!("\"{:x}-{:x}-{name:x}\"", self.version, self.updated_at.millis())
    }

    fn write<S: Serializer>(
        &self,
        serializer: S,
        stored: bool,
        history: Option<&[StatusChange]>,
    ) -> Result<S::Ok, S::Error> {
        let length = if history.is_some() { 25 } else { 24 };
        let mut record = serializer.serialize_struct("Submission", length)?;
        record.serialize_field("id", &stored.then_some(self.id))?;
        record.serialize_field("agentId", &self.agent_id)?;
        record.serialize_field("templateId", &self.template_id)?;
        record.serialize_field("templateName", &self.template_name)?;
        record.serialize_field("templateVersion", &self.template_version)?;
        record.serialize_field("contactId", &self.contact_id)?;
        record.serialize_field("externalReferenceId", &self.external_reference_id)?;
        record.serialize_field("status", &self.status)?;
        record.serialize_field("formData", &self.form_data)?;
        record.serialize_field("submissionNotes", &self.submission_notes)?;
        record.serialize_field("reviewNotes", &self.review_notes)?;
        record.serialize_field("clientId", &self.client_id)?;
        record.serialize_field("revision", &self.revision)?;
        record.serialize_field("supersedes", &self.supersedes)?;
        record.serialize_field("isSuperseded", &self.is_superseded())?;
        record.serialize_field("supersededBy", &self.superseded_by)?;
        record.serialize_field("supersededAt", &self.superseded_at)?;
        record.serialize_field("source", &self.source)?;
        record.serialize_field("createdBy", &self.created_by)?;
        record.serialize_field("reviewedBy", &self.reviewed_by)?;
        record.serialize_field("reviewedAt", &self.reviewed_at)?;
        record.serialize_field("submittedAt", &self.submitted_at.filter(|_| stored))?;
        if let Some(history) = history {
            record.serialize_field("statusHistory", history)?;
        }
        record.serialize_field("createdAt", &stored.then_some(self.created_at))?;
        record.serialize_field("updatedAt", &stored.then_some(self.updated_at))?;
        record.end()
    }
}

impl Serialize for Submission {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.write(serializer, true, None)
    }
}

/// A submission with its `statusHistory`, as the responses about one submission have it.
#[derive(Clone, Debug, PartialEq)]
pub struct WithHistory(pub Submission);

impl Serialize for WithHistory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer, true, Some(&self.0.status_history))
    }
}

/// A submission that a dry run would create: the id and every time set by the service are `null`; of one submission
/// `statusHistory` is `[]`, in a batch it is absent (contract 4.2).
#[derive(Clone, Debug, PartialEq)]
pub struct SubmissionPreview {
    /// What would be stored.
    pub submission: Submission,
    /// Whether it stands in a batch.
    pub in_batch: bool,
}

impl Serialize for SubmissionPreview {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let history: Option<&[StatusChange]> = if self.in_batch { None } else { Some(&[]) };
        self.submission.write(serializer, false, history)
    }
}

impl<'de> serde::Deserialize<'de> for Submission {
    /// Reads the contract's JSON, for clients and tests; `version`, which it does not hold, is 0.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            id: SubmissionId,
            agent_id: AgentId,
            template_id: TemplateId,
            template_name: Line<100>,
            template_version: u64,
            contact_id: ContactId,
            external_reference_id: Option<ExternalId>,
            status: SubmissionStatus,
            form_data: RawObject,
            submission_notes: Option<Block<4000>>,
            review_notes: Option<Block<4000>>,
            client_id: Option<Opaque<128>>,
            revision: u64,
            supersedes: Option<SubmissionId>,
            superseded_by: Option<SubmissionId>,
            superseded_at: Option<Timestamp>,
            source: String,
            created_by: Actor,
            reviewed_by: Option<Actor>,
            reviewed_at: Option<Timestamp>,
            submitted_at: Option<Timestamp>,
            #[serde(default)]
            status_history: Vec<StatusChange>,
            created_at: Timestamp,
            updated_at: Timestamp,
        }
        let wire = <Wire as serde::Deserialize>::deserialize(deserializer)?;
        Ok(Submission {
            id: wire.id,
            agent_id: wire.agent_id,
            template_id: wire.template_id,
            template_name: wire.template_name,
            template_version: wire.template_version,
            contact_id: wire.contact_id,
            external_reference_id: wire.external_reference_id,
            status: wire.status,
            form_data: wire.form_data,
            submission_notes: wire.submission_notes,
            review_notes: wire.review_notes,
            client_id: wire.client_id,
            revision: wire.revision,
            supersedes: wire.supersedes,
            superseded_by: wire.superseded_by,
            superseded_at: wire.superseded_at,
            source: wire.source,
            created_by: wire.created_by,
            reviewed_by: wire.reviewed_by,
            reviewed_at: wire.reviewed_at,
            submitted_at: wire.submitted_at,
            status_history: wire.status_history,
            created_at: wire.created_at,
            updated_at: wire.updated_at,
            version: 0,
        })
    }
}
