//! The record of a submission and its JSON forms (contract 2.3.2).

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::SubmissionStatus;
use crate::access::Actor;
use crate::json::{JsonSchema, OnceStored, RawObject, json_object, preview_of, without};
use crate::values::{
    AgentId, Block, ContactId, ExternalId, Line, Opaque, SubmissionId, TemplateId, Timestamp,
};

/// A submission as stored. Its serialised form is the contract's JSON without `statusHistory`, as lists and batches
/// answer it; [`WithHistory`] adds that. For clients and tests it is read from that JSON, with version 0.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    #[serde(default)]
    pub status_history: Vec<StatusChange>,
    /// When it was created; never changes.
    pub created_at: Timestamp,
    /// When a stored value last changed.
    pub updated_at: Timestamp,
    /// 1 at creation, one more with each change.
    #[serde(skip)]
    pub version: u64,
}

/// A change of status.
#[derive(Clone, Debug, PartialEq, Deserialize)]
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

json_object! { StatusChange = |change| {
    "from": Option<SubmissionStatus> = change.from,
    "to": SubmissionStatus = change.to,
    "at": Timestamp = change.at,
    "by": Actor = change.by,
    "notes": Option<Block<4000>> = change.notes,
} }

/// `formData` as it was before a change: the internal revision log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
}

/// A submission, stored or as a dry run would store it, with its history or without.
struct View<'a> {
    submission: &'a Submission,
    stored: bool,
    history: Option<&'a [StatusChange]>,
}

json_object! { View<'_> {
    "description": "A submission. Every field is always present; what is unset is `null`."
} = |view| {
    "id": OnceStored<SubmissionId> = OnceStored(view.stored.then_some(view.submission.id)),
    "agentId": AgentId = view.submission.agent_id,
    "templateId": TemplateId = view.submission.template_id,
    "templateName": Line<100> { "description": "The name of the template at that version." } = view.submission.template_name,
    "templateVersion": u64 {
        "minimum": 1, "description": "The version of the template that the data is checked against."
    } = view.submission.template_version,
    "contactId": ContactId = view.submission.contact_id,
    "externalReferenceId": Option<ExternalId> {
        "description": "The contact's external id as it is now."
    } = view.submission.external_reference_id,
    "status": SubmissionStatus = view.submission.status,
    "formData": RawObject {
        "description": "The answers, keyed by the names of the template's fields. Numbers come back exactly as written."
    } = view.submission.form_data,
    "submissionNotes": Option<Block<4000>> = view.submission.submission_notes,
    "reviewNotes": Option<Block<4000>> = view.submission.review_notes,
    "clientId": Option<Opaque<128>> {
        "description": "A reference of your own; not unique, never changes."
    } = view.submission.client_id,
    "revision": u64 {
        "minimum": 1, "description": "One more than that of the submission it superseded."
    } = view.submission.revision,
    "supersedes": Option<SubmissionId> = view.submission.supersedes,
    "isSuperseded": bool = view.submission.is_superseded(),
    "supersededBy": Option<SubmissionId> = view.submission.superseded_by,
    "supersededAt": Option<Timestamp> = view.submission.superseded_at,
    "source": String = view.submission.source,
    "createdBy": Actor = view.submission.created_by,
    "reviewedBy": Option<Actor> = view.submission.reviewed_by,
    "reviewedAt": Option<Timestamp> = view.submission.reviewed_at,
    "submittedAt": Option<Timestamp> {
        "description": "When it was handed in for the first time."
    } = view.submission.submitted_at.filter(|_| view.stored),
    "statusHistory" optional: [StatusChange] { "description": "Every change of status, oldest first." } = view.history,
    "createdAt": OnceStored<Timestamp> = OnceStored(view.stored.then_some(view.submission.created_at)),
    "updatedAt": OnceStored<Timestamp> {
        "description": "Moves only when a stored value changes."
    } = OnceStored(view.stored.then_some(view.submission.updated_at)),
} }

impl Serialize for Submission {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        View { submission: self, stored: true, history: None }.serialize(serializer)
    }
}

/// A submission with its `statusHistory`, as the responses about one submission have it.
#[derive(Clone, Debug, PartialEq)]
pub struct WithHistory(pub Submission);

impl Serialize for WithHistory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        View { submission: &self.0, stored: true, history: Some(&self.0.status_history) }
            .serialize(serializer)
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
        View { submission: &self.submission, stored: false, history }.serialize(serializer)
    }
}

impl JsonSchema for WithHistory {
    const NAME: Option<&'static str> = Some("Submission");

    fn schema() -> Value {
        let mut schema = View::schema();
        if let Some(required) = schema["required"].as_array_mut() {
            required.push("statusHistory".into());
        }
        schema
    }
}

impl JsonSchema for Submission {
    const NAME: Option<&'static str> = Some("ListedSubmission");

    fn schema() -> Value {
        without(View::schema(), "statusHistory")
    }
}

impl JsonSchema for SubmissionPreview {
    const NAME: Option<&'static str> = Some("SubmissionPreview");

    fn schema() -> Value {
        let mut schema = preview_of::<WithHistory>(
            "A submission as it would be stored: what the service would set is `null`.",
            &["id", "createdAt", "updatedAt"],
        );
        schema["properties"]["statusHistory"] = json!({ "type": "array", "items": {}, "maxItems": 0 });
        schema
    }
}
