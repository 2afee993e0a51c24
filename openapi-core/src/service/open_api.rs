//! The service trait.

use std::sync::Arc;

use async_trait::async_trait;

use super::contacts::{ArchiveContact, ContactTarget, CreateContact, ListContacts, UpdateContact};
use super::events::{EventPage, PullEvents, StreamEvents};
use super::extraction::{
    ExtractDocument, Extracted, GetExtraction, ListExtractions, QueueBatch, QueueExtraction,
};
use super::files::{
    DeleteFile, DeletedFile, DownloadFile, FileContent, FileTarget, ListFiles, SignUrl, SignedUrl, UploadFile,
};
use super::forms::{
    BatchResult, LatestSubmission, ListSubmissions, ListTemplates, SubmitForm, SubmitForms, UpdateSubmission,
};
use super::idempotency::{Created, Updated};
use super::page::Page;
use crate::access::Caller;
use crate::contacts::{Contact, SharedContact};
use crate::extraction::{DeletedJob, ExtractionBatch, ExtractionJob, QueuedBatch};
use crate::files::ContactFile;
use crate::forms::{CompiledTemplate, Submission, TemplateSummary};
use crate::reply::{ApiBody, ApiError, ErrorCode};
use crate::schema::ContactSchema;

/// The operations of the Open API, without transport, access control and encoding. [`crate::platform::Platform`] is the
/// implementation over the storage ports; a host platform may implement it over its own CRM, or wrap the shipped one.
///
/// # Contract
/// - A method sees only the caller's agent.
/// - Requests that may be invalid come as [`Unvalidated`](super::Unvalidated): a check gives access to their content,
///   and returns all validation errors at once. A missing resource of the path takes precedence
///   (contract 6.3).
/// - Errors carry the codes that the contract names for the endpoint:
///   [`EndpointMetadata::error_codes`](crate::operation::EndpointMetadata) of its row in
///   [`crate::endpoints::ENDPOINTS`].
#[async_trait]
pub trait OpenApiService: Send + Sync {
    /// The health check: `GET /health`.
    async fn health(&self) -> Result<(), ApiError>;

    /// The contact schema of the agent.
    async fn contact_schema(&self, caller: &Caller) -> Result<ContactSchema, ApiError>;

    /// Creates a contact.
    async fn create_contact(
        &self,
        caller: &Caller,
        request: CreateContact,
    ) -> Result<Created<Contact>, ApiError>;

    /// Lists contacts.
    async fn list_contacts(&self, caller: &Caller, request: ListContacts) -> Result<Page<Contact>, ApiError>;

    /// One contact.
    async fn contact(&self, caller: &Caller, target: &ContactTarget) -> Result<SharedContact, ApiError>;

    /// Changes a contact, or creates it where the request is an upsert.
    async fn update_contact(
        &self,
        caller: &Caller,
        request: UpdateContact,
    ) -> Result<Updated<Contact>, ApiError>;

    /// Archives a contact.
    async fn archive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError>;

    /// Unarchives a contact.
    async fn unarchive_contact(&self, caller: &Caller, request: ArchiveContact) -> Result<Contact, ApiError>;

    /// Stores a file of a contact from a stream. All of the body is read before anything but a failure to read it is
    /// answered; nothing of a failed upload is stored.
    async fn upload_file(
        &self,
        caller: &Caller,
        request: UploadFile,
    ) -> Result<Created<ContactFile>, ApiError>;

    /// Lists the files of a contact.
    async fn list_files(&self, caller: &Caller, request: ListFiles) -> Result<Page<ContactFile>, ApiError>;

    /// One file of a contact.
    async fn file(&self, caller: &Caller, target: &FileTarget) -> Result<ContactFile, ApiError>;

    /// Issues a URL under which anyone can download a file until it expires.
    async fn sign_url(&self, caller: &Caller, request: SignUrl) -> Result<SignedUrl, ApiError>;

    /// Deletes a file.
    async fn delete_file(&self, caller: &Caller, request: DeleteFile) -> Result<DeletedFile, ApiError>;

    /// The content of a file, for any client with a signed URL.
    async fn download_file(&self, request: DownloadFile) -> Result<FileContent, ApiError>;

    /// Submits a form for a contact, or stores a draft of one.
    async fn submit_form(
        &self,
        caller: &Caller,
        request: SubmitForm,
    ) -> Result<Created<Submission>, ApiError>;

    /// Submits several forms for a contact: all or none of them, or each on its own.
    async fn submit_forms(
        &self,
        caller: &Caller,
        request: SubmitForms,
    ) -> Result<Created<BatchResult>, ApiError>;

    /// Lists the submissions of a contact; their `status_history` is not shown.
    async fn list_submissions(
        &self,
        caller: &Caller,
        request: ListSubmissions,
    ) -> Result<Page<Submission>, ApiError>;

    /// One submission; `id` as sent.
    async fn submission(&self, caller: &Caller, id: &str) -> Result<Submission, ApiError>;

    /// Changes a submission: its data, its notes, its status.
    async fn update_submission(
        &self,
        caller: &Caller,
        request: UpdateSubmission,
    ) -> Result<Submission, ApiError>;

    /// The latest submission of a contact under a template.
    async fn latest_submission(
        &self,
        caller: &Caller,
        request: LatestSubmission,
    ) -> Result<Submission, ApiError>;

    /// Lists the active templates of the agent, by name.
    async fn list_templates(
        &self,
        caller: &Caller,
        request: ListTemplates,
    ) -> Result<Page<TemplateSummary>, ApiError>;

    /// One template in whatever state, with what is made of it; `id` as sent.
    async fn template(&self, caller: &Caller, id: &str) -> Result<Arc<CompiledTemplate>, ApiError>;

    /// Finds the values of fields in a document. Dropping the future ends the work and costs nothing.
    async fn extract_document(
        &self,
        caller: &Caller,
        request: ExtractDocument,
    ) -> Result<Extracted, ApiError>;

    /// Queues an extraction. By default there is no queue.
    async fn queue_extraction(
        &self,
        _caller: &Caller,
        _request: QueueExtraction,
    ) -> Result<Created<ExtractionJob>, ApiError> {
        Err(no_queue())
    }

    /// Queues extractions of several documents, all or none. By default there is no queue.
    async fn queue_extraction_batch(
        &self,
        _caller: &Caller,
        _request: QueueBatch,
    ) -> Result<Created<QueuedBatch>, ApiError> {
        Err(no_queue())
    }

    /// Lists extractions, the newest first, without their results.
    async fn list_extractions(
        &self,
        _caller: &Caller,
        _request: ListExtractions,
    ) -> Result<Page<ExtractionJob>, ApiError> {
        Err(no_queue())
    }

    /// One extraction with its result.
    async fn extraction(&self, _caller: &Caller, _request: GetExtraction) -> Result<ExtractionJob, ApiError> {
        Err(no_queue())
    }

    /// How the extractions of a batch stand; `id` as sent.
    async fn extraction_batch(&self, _caller: &Caller, _id: &str) -> Result<ExtractionBatch, ApiError> {
        Err(no_queue())
    }

    /// Cancels an extraction; `id` as sent.
    async fn cancel_extraction(&self, _caller: &Caller, _id: &str) -> Result<ExtractionJob, ApiError> {
        Err(no_queue())
    }

    /// Removes an extraction with its result and its document; `id` as sent.
    async fn delete_extraction(&self, _caller: &Caller, _id: &str) -> Result<DeletedJob, ApiError> {
        Err(no_queue())
    }

    /// A part of the event log of the agent. By default there is none.
    async fn events(&self, _caller: &Caller, _request: PullEvents) -> Result<EventPage, ApiError> {
        Err(ApiError::new(ErrorCode::EventsUnavailable, "This service has no events"))
    }

    /// The events of the agent as they happen, as the text of server-sent events. By default there are none.
    async fn event_stream(&self, _caller: &Caller, _request: StreamEvents) -> Result<ApiBody, ApiError> {
        Err(ApiError::new(ErrorCode::EventsUnavailable, "This service has no event streams"))
    }
}

fn no_queue() -> ApiError {
    ApiError::new(ErrorCode::ExtractionUnavailable, "This service queues no extractions")
}
