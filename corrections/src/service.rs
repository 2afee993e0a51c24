//! What an operator does with corrections.

use openapi_core::access::Caller;
use openapi_core::audit::{AuditAction, SealedEntry};
use openapi_core::extraction::{ExtractionJob, ExtractionSchema};
use openapi_core::json::{Json, Object, RawObject};
use openapi_core::platform::{Platform, concurrent_update, not_found, quota_exceeded};
use openapi_core::ports::BlobStream;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::service::{ExtractionWait, GetExtraction, OpenApiService};
use openapi_core::storage::retry::retry_on_conflict;
use openapi_core::storage::{
    DocumentWrite, Effects, Job, JobChange, JobsWrite, RecordChange, RecordKind, StorageErrorKind,
    StoredRecord,
};
use openapi_core::values::{AgentId, JobId};

use crate::check::check;
use crate::correction::{Correction, id_of, key_of};
use crate::document;

/// The corrections of a platform's agents.
#[derive(Clone, Copy)]
pub struct Corrections<'a>(&'a Platform);

impl<'a> Corrections<'a> {
    /// Those of a platform.
    #[must_use]
    pub const fn of(platform: &'a Platform) -> Self {
        Corrections(platform)
    }

    /// Notes what the document of an extraction that has ended really says: `values` by the names of the schema's fields,
    /// over those of the result. The correction has the document, apart from the job, and replaces an earlier one.
    ///
    /// # Errors
    /// 404 JOB_NOT_FOUND; 409 CONFLICT of a job that has not ended; 400 VALIDATION_ERROR with every value that does not fit
    /// the schema; 404 FILE_NOT_FOUND where the document is gone, as one that was sent without `saveToStorage` is; 403
    /// STORAGE_QUOTA_EXCEEDED where the agent has no room for it.
    pub async fn correct(&self, caller: &Caller, id: &str, values: &Object) -> Result<Correction, ApiError> {
        retry_on_conflict(concurrent_update, |_| self.attempt(caller, id, values)).await
    }

    /// Corrects an extraction as it is now; none where another change was faster.
    async fn attempt(
        &self,
        caller: &Caller,
        id: &str,
        values: &Object,
    ) -> Result<Option<Correction>, ApiError> {
        let Corrections(platform) = *self;
        let agent = &caller.agent_id;
        let query = ExtractionWait::default().into();
        let found = platform.extraction(caller, GetExtraction { id: id.to_owned(), query }).await?;
        if found.job.state.is_unfinished() {
            return Err(unfinished(&found));
        }
        let schema = ExtractionSchema::parse(found.body.schema.as_bytes())?;
        check(&schema, values)?;
        let stored = platform.storage().record(Some(agent), &key_of(found.job.id)).await?;
        let former = stored.as_ref().map(Correction::of).transpose()?;
        let copy = self.copy(caller, &found, former.as_ref()).await?;
        let (now, body) = (platform.now(), &found.body);
        let correction = Correction {
            job: found.job.id,
            document: body.document.clone(),
            contact: body.contact,
            file: body.file,
            copy: copy.as_ref().map(|copy| copy.document.id).or_else(|| former?.copy),
            schema: RawObject::from_text(body.schema.as_str()).map_err(|_| ApiError::internal())?,
            instructions: body.instructions.clone(),
            expected: RawObject::new(&expected(&found, &schema, values)),
            by: caller.actor.clone(),
            at: now,
        };
        let record = correction.record(stored.map_or(0, |stored| stored.version) + 1)?;
        // The job is written as it was read: one that is erased or removed meanwhile gets no correction.
        let job = Job { version: found.job.version + 1, ..found.job };
        let mut write = JobsWrite::new(now, vec![JobChange::Save(Box::new(job))]);
        write.records = vec![RecordChange::Save(record)];
        write.documents = copy.iter().cloned().collect();
        let mut details = Object::new();
        details.insert("changed", Json::Array(values.iter().map(|(name, _)| name.into()).collect()));
        let action = AuditAction::DocumentCorrect;
        write.effects = Effects::audited(self.audit(caller, action, &correction, &details));
        let saved = self.save(agent, &write).await;
        // After an error of the store the record may be there, and its content has to stay.
        let is_refused = saved.as_ref().map_or_else(|error| error.code().status() < 500, |saved| !saved);
        if let Some(copy) = copy.filter(|_| is_refused) {
            document::forget(platform, agent, &copy).await;
        }
        Ok(saved?.then_some(correction))
    }

    /// A copy of the document that the service holds for a job; none where the correction has one already, or the document
    /// is a file of a contact.
    async fn copy(
        &self,
        caller: &Caller,
        found: &ExtractionJob,
        former: Option<&Correction>,
    ) -> Result<Option<DocumentWrite>, ApiError> {
        let Corrections(platform) = *self;
        let (agent, body) = (&caller.agent_id, &found.body);
        if let Some(copy) = former.and_then(|former| former.copy)
            && platform.storage().document(agent, copy).await?.is_some()
        {
            return Ok(None);
        }
        let content = document::content(platform, agent, body.content, body.file.zip(body.contact)).await?;
        let content = content.ok_or_else(|| document_gone(found))?;
        match body.content {
            Some(_) => document::copy(platform, caller, found, content).await.map(Some),
            None => Ok(None),
        }
    }

    /// Stores a change of a correction; false where another one was faster.
    async fn save(&self, agent: &AgentId, write: &JobsWrite) -> Result<bool, ApiError> {
        let Err(error) = self.0.storage().save_jobs(Some(agent), write).await else { return Ok(true) };
        match error.kind {
            // What is gone is missed when it is read again.
            StorageErrorKind::Stale | StorageErrorKind::Missing => Ok(false),
            StorageErrorKind::QuotaExceeded(excess) => Err(quota_exceeded(excess)),
            _ => Err(error.into()),
        }
    }

    fn audit(&self, caller: &Caller, action: AuditAction, of: &Correction, details: &Object) -> SealedEntry {
        self.0.caller_audit(caller, action, of.job.to_string(), of.contact, details, self.0.now())
    }

    /// Up to `at_most` corrections of an agent, by the ids of their extractions, after `after`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(
        &self,
        agent: &AgentId,
        after: Option<JobId>,
        at_most: u32,
    ) -> Result<Vec<Correction>, ApiError> {
        let (kind, after) = (RecordKind::Correction, after.map(id_of));
        let found = self.0.storage().records_of(Some(agent), kind, after.as_ref(), at_most).await?;
        found.iter().map(Correction::of).collect()
    }

    /// The correction of an extraction.
    ///
    /// # Errors
    /// 404 JOB_NOT_FOUND without one.
    pub async fn find(&self, agent: &AgentId, job: &str) -> Result<Correction, ApiError> {
        Correction::of(&self.record(agent, job).await?)
    }

    async fn record(&self, agent: &AgentId, job: &str) -> Result<StoredRecord, ApiError> {
        let id: JobId = job.parse().map_err(|_| correction_not_found(job))?;
        let found = self.0.storage().record(Some(agent), &key_of(id)).await?;
        found.ok_or_else(|| correction_not_found(job))
    }

    /// Removes the correction of an extraction with its copy of the document, and returns it.
    ///
    /// # Errors
    /// 404 JOB_NOT_FOUND without one.
    pub async fn remove(&self, caller: &Caller, job: &str) -> Result<Correction, ApiError> {
        retry_on_conflict(concurrent_update, |_| async move {
            let agent = &caller.agent_id;
            let record = self.record(agent, job).await?;
            let correction = Correction::of(&record)?;
            let mut write = JobsWrite::new(self.0.now(), Vec::new());
            write.records = vec![RecordChange::Remove { key: record.key, version: record.version }];
            write.discard = correction.copy.into_iter().collect();
            let action = AuditAction::DocumentCorrectionRemove;
            write.effects = Effects::audited(self.audit(caller, action, &correction, &Object::new()));
            Ok(self.save(agent, &write).await?.then_some(correction))
        })
        .await
    }

    /// The document of a correction; none if it is gone: its contact's file was deleted, or the stored documents purged.
    ///
    /// # Errors
    /// When a store fails.
    pub async fn document(&self, agent: &AgentId, of: &Correction) -> Result<Option<BlobStream>, ApiError> {
        document::content(self.0, agent, of.copy, of.file.zip(of.contact)).await
    }
}

/// The values that the document has: those of the result, or none, and over them those that a person states.
fn expected(job: &ExtractionJob, schema: &ExtractionSchema, values: &Object) -> Object {
    let result = job.job.result.as_ref().and_then(|result| result.get("data"));
    let found = result.as_ref().and_then(Json::as_object);
    let fields = schema.fields().iter().map(|(name, _)| {
        let value = values.get(name).or_else(|| found?.get(name)).unwrap_or(&Json::Null);
        (name.clone(), value.clone())
    });
    fields.collect()
}

/// 404 of an extraction that nobody has corrected.
fn correction_not_found(sent: &str) -> ApiError {
    not_found(ErrorCode::JobNotFound, "Correction", sent, sent.parse::<JobId>().is_err())
}

/// 404 of an extraction that is to be corrected without its document.
fn document_gone(job: &ExtractionJob) -> ApiError {
    let id = job.body.content.or(job.body.file).map(|id| id.to_string()).unwrap_or_default();
    let text = "The document of the extraction is gone; a correction needs a file of a contact, or a document that was \
                sent with saveToStorage";
    ApiError::new(ErrorCode::FileNotFound, text)
        .with_detail("resource", "file")
        .with_detail("id", id.as_str())
}

/// 409 of a job that is to be corrected before it has ended.
fn unfinished(job: &ExtractionJob) -> ApiError {
    let text = format!("Only an extraction that has ended can be corrected; this one is {}", job.status());
    ApiError::new(ErrorCode::Conflict, text)
}
