//! The Open API over the ports.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;

use super::errors::agent_gone;
use super::extraction::jobs;
use super::state::Platform;
use super::{contacts, events, extraction, files, forms};
use crate::access::Caller;
use crate::contacts::{Contact, SharedContact};
use crate::extraction::{DeletedJob, ExtractionBatch, ExtractionJob, QueuedBatch};
use crate::files::ContactFile;
use crate::forms::{CompiledTemplate, Submission, TemplateSummary};
use crate::ports::timeout;
use crate::reply::{ApiBody, ApiError};
use crate::schema::ContactSchema;
use crate::service::{
    ArchiveContact, BatchResult, ContactTarget, CreateContact, Created, DeleteFile, DeletedFile,
    DownloadFile, EventPage, ExtractDocument, Extracted, FileContent, FileTarget, GetExtraction,
    LatestSubmission, ListContacts, ListExtractions, ListFiles, ListSubmissions, ListTemplates,
    OpenApiService, Page, PullEvents, QueueBatch, QueueExtraction, SignUrl, SignedUrl, StreamEvents,
    SubmitForm, SubmitForms, UpdateContact, UpdateSubmission, Updated, UploadFile,
};

/// How long the data store may take to answer the health check (contract 4.1).
const HEALTH_MILLIS: u64 = 1_000;

/// How long a healthy store is not asked again: anyone may send health checks, and some stores answer them with a write.
const HEALTHY_MILLIS: i64 = 1_000;

#[async_trait]
impl OpenApiService for Platform {
    async fn health(&self) -> Result<(), ApiError> {
        let now = self.ports.clock.now().millis();
        let healthy_at = self.healthy_at.load(Ordering::Relaxed);
        if (0..HEALTHY_MILLIS).contains(&now.saturating_sub(healthy_at)) {
            return Ok(());
        }
        match timeout(&*self.ports.timer, HEALTH_MILLIS, self.storage.probe()).await {
            Some(Ok(())) => {
                self.healthy_at.store(now, Ordering::Relaxed);
                Ok(())
            }
            Some(Err(error)) => {
                tracing::warn!(%error, source = ?error.source, "the data store failed the health check");
                Err(ApiError::unavailable())
            }
            None => Err(ApiError::unavailable()),
        }
    }

    async fn events(&self, caller: &Caller, request: PullEvents) -> Result<EventPage, ApiError> {
        events::pull(self, caller, &request.query.check()?).await
    }

    async fn event_stream(&self, caller: &Caller, request: StreamEvents) -> Result<ApiBody, ApiError> {
        events::stream(self, caller, request).await
    }

    async fn contact_schema(&self, caller: &Caller) -> Result<ContactSchema, ApiError> {
        self.storage.contact_schema(&caller.agent_id).await?.ok_or_else(agent_gone)
    }

    async fn create_contact(
        &self,
        caller: &Caller,
        request: CreateContact,
    ) -> Result<Created<Contact>, ApiError> {
        contacts::create(self, caller, request).await
    }

    async fn list_contacts(&self, caller: &Caller, request: ListContacts) -> Result<Page<Contact>, ApiError> {
        contacts::list(self, caller, request).await
    }

    async fn contact(&self, caller: &Caller, target: &ContactTarget) -> Result<SharedContact, ApiError> {
        contacts::find(self, &caller.agent_id, target).await
    }

    async fn update_contact(
        &self,
        caller: &Caller,
        request: UpdateContact,
    ) -> Result<Updated<Contact>, ApiError> {
        contacts::update(self, caller, request).await
    }

    async fn archive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError> {
        contacts::set_archived(self, caller, request, true).await
    }

    async fn unarchive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError> {
        contacts::set_archived(self, caller, request, false).await
    }

    async fn upload_file(
        &self,
        caller: &Caller,
        request: UploadFile,
    ) -> Result<Created<ContactFile>, ApiError> {
        files::upload(self, caller, request).await
    }

    async fn list_files(&self, caller: &Caller, request: ListFiles) -> Result<Page<ContactFile>, ApiError> {
        files::list(self, caller, request).await
    }

    async fn file(&self, caller: &Caller, target: &FileTarget) -> Result<ContactFile, ApiError> {
        files::find(self, caller, target).await
    }

    async fn sign_url(&self, caller: &Caller, request: SignUrl) -> Result<SignedUrl, ApiError> {
        files::sign_url(self, caller, request).await
    }

    async fn delete_file(&self, caller: &Caller, request: DeleteFile) -> Result<DeletedFile, ApiError> {
        files::delete(self, caller, request).await
    }

    async fn download_file(&self, request: DownloadFile) -> Result<FileContent, ApiError> {
        files::download(self, request).await
    }

    async fn submit_form(
        &self,
        caller: &Caller,
        request: SubmitForm,
    ) -> Result<Created<Submission>, ApiError> {
        forms::submit(self, caller, request).await
    }

    async fn submit_forms(
        &self,
        caller: &Caller,
        request: SubmitForms,
    ) -> Result<Created<BatchResult>, ApiError> {
        forms::submit_all(self, caller, request).await
    }

    async fn list_submissions(
        &self,
        caller: &Caller,
        request: ListSubmissions,
    ) -> Result<Page<Submission>, ApiError> {
        forms::list(self, caller, request).await
    }

    async fn submission(&self, caller: &Caller, id: &str) -> Result<Submission, ApiError> {
        forms::find(self, caller, id).await
    }

    async fn update_submission(
        &self,
        caller: &Caller,
        request: UpdateSubmission,
    ) -> Result<Submission, ApiError> {
        forms::update(self, caller, request).await
    }

    async fn latest_submission(
        &self,
        caller: &Caller,
        request: LatestSubmission,
    ) -> Result<Submission, ApiError> {
        forms::latest(self, caller, request).await
    }

    async fn list_templates(
        &self,
        caller: &Caller,
        request: ListTemplates,
    ) -> Result<Page<TemplateSummary>, ApiError> {
        forms::list_templates(self, caller, request).await
    }

    async fn template(&self, caller: &Caller, id: &str) -> Result<Arc<CompiledTemplate>, ApiError> {
        self.path_template(&caller.agent_id, id, true).await
    }

    async fn extract_document(
        &self,
        caller: &Caller,
        request: ExtractDocument,
    ) -> Result<Extracted, ApiError> {
        extraction::extract(self, caller, request).await
    }

    async fn queue_extraction(
        &self,
        caller: &Caller,
        request: QueueExtraction,
    ) -> Result<Created<ExtractionJob>, ApiError> {
        jobs::queue(self, caller, request).await
    }

    async fn queue_extraction_batch(
        &self,
        caller: &Caller,
        request: QueueBatch,
    ) -> Result<Created<QueuedBatch>, ApiError> {
        jobs::queue_batch(self, caller, request).await
    }

    async fn list_extractions(
        &self,
        caller: &Caller,
        request: ListExtractions,
    ) -> Result<Page<ExtractionJob>, ApiError> {
        jobs::list(self, caller, request).await
    }

    async fn extraction(&self, caller: &Caller, request: GetExtraction) -> Result<ExtractionJob, ApiError> {
        jobs::find(self, caller, request).await
    }

    async fn extraction_batch(&self, caller: &Caller, id: &str) -> Result<ExtractionBatch, ApiError> {
        jobs::batch(self, caller, id).await
    }

    async fn cancel_extraction(&self, caller: &Caller, id: &str) -> Result<ExtractionJob, ApiError> {
        jobs::cancel(self, caller, id).await
    }

    async fn delete_extraction(&self, caller: &Caller, id: &str) -> Result<DeletedJob, ApiError> {
        jobs::delete(self, caller, id).await
    }
}
