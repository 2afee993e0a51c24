//! Extractions that run on their own: their records (contract 12.5).

use serde::{Deserialize, Serialize};

use super::DocumentFacts;
use crate::access::Actor;
use crate::json::{Constant, Json, Object, RawObject, json_object};
use crate::storage::{Job, JobState};
use crate::values::{AgentId, ContactId, FileId, JobId, PlatformId, Timestamp, text_words, words};

words! {
    /// Where an extraction stands.
    ExtractionStatus, 5 {
        /// Waits for a server.
        Queued = "queued",
        /// A server has it.
        Running = "running",
        /// Its result is there.
        Succeeded = "succeeded",
        /// It has no result, and `error` says why.
        Failed = "failed",
        /// Its caller ended it.
        Cancelled = "cancelled",
    }
}

text_words! { ExtractionStatus, }

impl ExtractionStatus {
    /// The states of the job.
    #[must_use]
    pub fn states(self) -> &'static [JobState] {
        match self {
            ExtractionStatus::Queued => &[JobState::Ready, JobState::Scheduled],
            ExtractionStatus::Running => &[JobState::Running],
            ExtractionStatus::Succeeded => &[JobState::Succeeded],
            ExtractionStatus::Failed => &[JobState::Failed],
            ExtractionStatus::Cancelled => &[JobState::Cancelled],
        }
    }

    /// The status of a job of this state.
    #[must_use]
    pub fn of(state: JobState) -> Self {
        let all = [
            ExtractionStatus::Queued,
            ExtractionStatus::Running,
            ExtractionStatus::Succeeded,
            ExtractionStatus::Failed,
        ];
        all.into_iter().find(|status| status.states().contains(&state)).unwrap_or(ExtractionStatus::Cancelled)
    }
}

/// What is stored of an extraction besides the columns of its job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobBody {
    /// The document.
    pub document: DocumentFacts,
    /// The contact whose file it is.
    pub contact: Option<ContactId>,
    /// That file.
    pub file: Option<FileId>,
    /// The content that the service holds for the job, where it is no file of a contact.
    pub content: Option<FileId>,
    /// Whether that content stays.
    pub save: bool,
    /// The schema, as it was sent.
    pub schema: String,
    /// Guidance of the caller.
    pub instructions: Option<String>,
    /// The webhook endpoint that alone receives the event of the end.
    #[serde(default)]
    pub notify: Option<PlatformId>,
    /// Who asked for it.
    pub actor: Actor,
    /// The id of that request.
    pub request_id: String,
    /// Why there is no result.
    pub error: Option<JobError>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// When it was queued again, if it was.
    #[serde(default)]
    pub retried_at: Option<Timestamp>,
}

/// Why an extraction has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobError {
    /// A code of the catalogue.
    pub code: String,
    /// What happened, for people.
    pub message: String,
}

/// An extraction that runs on its own.
#[derive(Clone, Debug)]
pub struct ExtractionJob {
    /// The agent.
    pub agent_id: AgentId,
    /// The job.
    pub job: Job,
    /// What is stored of it.
    pub body: JobBody,
}

impl ExtractionJob {
    /// The record of a job.
    ///
    /// # Errors
    /// When its body is not that of an extraction.
    pub fn of(agent_id: AgentId, job: Job) -> serde_json::Result<Self> {
        let body = serde_json::from_str(job.body.as_str())?;
        Ok(ExtractionJob { agent_id, job, body })
    }

    /// Where it stands.
    #[must_use]
    pub fn status(&self) -> ExtractionStatus {
        ExtractionStatus::of(self.job.state)
    }

    /// When it was queued last.
    #[must_use]
    pub fn queued_at(&self) -> Timestamp {
        self.body.retried_at.unwrap_or(self.job.created_at)
    }

    fn expires_at(&self) -> Option<Timestamp> {
        self.job.due_at.filter(|_| !self.job.state.is_unfinished())
    }

    fn error(&self) -> Json {
        let Some(error) = &self.body.error else { return Json::Null };
        let mut members = Object::new();
        members.insert("code", error.code.as_str().into());
        members.insert("message", error.message.as_str().into());
        Json::Object(members)
    }

    fn result(&self) -> Json {
        let members = self.job.result.as_ref().map(RawObject::members);
        members.map_or(Json::Null, |members| Json::Object(members.clone()))
    }
}

json_object! { ExtractionJob as "ExtractionJob" = |it| {
    "id": JobId = it.job.id,
    "agentId": AgentId = it.agent_id,
    "status": ExtractionStatus = it.status(),
    "batchId": Option<String> = it.job.batch.as_deref().map(str::to_owned),
    "clientId": Option<String> = it.job.client_id.as_deref().map(str::to_owned),
    "contactId": Option<ContactId> = it.body.contact,
    "fileId": Option<FileId> = it.body.file,
    "document": DocumentFacts = it.body.document,
    "attempts": u32 { "minimum": 0, "description": "How often a server has begun it." } = it.job.attempts,
    "creditsReserved": u64 { "minimum": 0 } = it.job.reserved.credits(),
    "createdAt": Timestamp = it.job.created_at,
    "startedAt": Option<Timestamp> = it.job.started_at,
    "finishedAt": Option<Timestamp> = it.body.finished_at,
    "expiresAt": Option<Timestamp> {
        "description": "When job and result are removed; `null` until the job has ended."
    } = it.expires_at(),
    "error": Json {
        "type": ["object", "null"],
        "required": ["code", "message"],
        "properties": { "code": { "type": "string" }, "message": { "type": "string" } },
        "description": "Why there is no result."
    } = it.error(),
    "result": Json {
        "type": ["object", "null"],
        "required": ["data", "metadata"],
        "properties": {
            "data": { "type": "object", "additionalProperties": true },
            "metadata": { "$ref": "#/components/schemas/ExtractionMetadata" }
        },
        "description": "`data` and `metadata` as `extract` answers them, of one job that has succeeded; lists leave it out."
    } = it.result(),
} }

/// How many jobs of a batch stand where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractionBatch {
    /// The batch.
    pub id: String,
    /// Its jobs by state.
    pub counts: Vec<(JobState, u64)>,
}

impl ExtractionBatch {
    fn count(&self, status: ExtractionStatus) -> u64 {
        let of = self.counts.iter().filter(|(state, _)| status.states().contains(state));
        of.map(|(_, count)| *count).sum()
    }

    fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| *count).sum()
    }
}

json_object! { ExtractionBatch as "ExtractionBatch" = |batch| {
    "id": String = batch.id,
    "total": u64 { "minimum": 1 } = batch.total(),
    "queued": u64 { "minimum": 0 } = batch.count(ExtractionStatus::Queued),
    "running": u64 { "minimum": 0 } = batch.count(ExtractionStatus::Running),
    "succeeded": u64 { "minimum": 0 } = batch.count(ExtractionStatus::Succeeded),
    "failed": u64 { "minimum": 0 } = batch.count(ExtractionStatus::Failed),
    "cancelled": u64 { "minimum": 0 } = batch.count(ExtractionStatus::Cancelled),
} }

/// A batch that was queued. It says nothing of what the documents are: it may be stored as the answer to a request, and
/// the erasure of a contact must not have to look for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedBatch {
    /// The batch.
    pub id: String,
    /// Its jobs, in the order of the documents.
    pub jobs: Vec<QueuedDocument>,
}

/// A job of a batch that was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedDocument {
    /// The job.
    pub id: JobId,
    /// The contact whose file it is.
    pub contact: Option<ContactId>,
    /// That file.
    pub file: Option<FileId>,
    /// The credits that are set aside for it.
    pub credits: u64,
}

impl QueuedBatch {
    /// The batch of these jobs.
    #[must_use]
    pub fn of(jobs: &[ExtractionJob]) -> Self {
        let id = jobs.first().and_then(|it| it.job.batch.as_deref()).unwrap_or_default().to_owned();
        let queued = |it: &ExtractionJob| QueuedDocument {
            id: it.job.id,
            contact: it.body.contact,
            file: it.body.file,
            credits: it.job.reserved.credits(),
        };
        QueuedBatch { id, jobs: jobs.iter().map(queued).collect() }
    }
}

json_object! { QueuedBatch as "QueuedBatch" = |batch| {
    "id": String { "description": "What `batchId` of the jobs is." } = batch.id,
    "total": u64 { "minimum": 1 } = batch.jobs.len() as u64,
    "creditsReserved": u64 { "minimum": 0 } = batch.jobs.iter().map(|job| job.credits).sum::<u64>(),
    "jobs": Vec<QueuedDocument> { "description": "One for each document or file, in their order." } = batch.jobs,
} }

json_object! { QueuedDocument as "QueuedDocument" = |job| {
    "id": JobId = job.id,
    "contactId": Option<ContactId> = job.contact,
    "fileId": Option<FileId> = job.file,
    "creditsReserved": u64 { "minimum": 0 } = job.credits,
} }

/// What remains of a job that was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletedJob {
    /// The job.
    pub id: JobId,
    /// When it was removed.
    pub at: Timestamp,
}

json_object! { DeletedJob as "DeletedJob" = |deleted| {
    "id": JobId = deleted.id,
    "deleted": Constant<true> = Constant(true),
    "deletedAt": Timestamp = deleted.at,
} }
