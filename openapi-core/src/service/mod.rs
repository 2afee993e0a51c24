//! The service under the API: one method for each endpoint, typed in, typed out.

mod contacts;
mod events;
mod extraction;
mod files;
mod forms;
mod idempotency;
mod open_api;
mod page;
mod tags;
mod unvalidated;

pub(crate) use contacts::ArchiveRequest;
pub use contacts::{
    ArchiveContact, ContactListQuery, ContactTarget, CreateContact, ListContacts, UpdateContact, Upsert,
};
pub use events::{
    EventFilter, EventPage, EventQuery, EventStream, EventStreamQuery, PullEvents, StreamEvents,
};
pub use extraction::{
    ExtractDocument, Extracted, ExtractedDocument, ExtractionListQuery, ExtractionWait, GetExtraction,
    ListExtractions, QueueBatch, QueueExtraction,
};
pub(crate) use extraction::{NewExtraction, NewExtractionBatch, NewExtractionJob};
pub use files::{
    ContentSource, DeleteFile, DeletedFile, DownloadFile, FileContent, FileListQuery, FileTarget, ListFiles,
    SignUrl, SignUrlQuery, SignedUrl, UploadFile,
};
pub(crate) use files::{DeleteRequest, NewFile};
pub use forms::{
    BatchItem, BatchResult, LatestSubmission, ListSubmissions, ListTemplates, SubmissionListQuery,
    SubmitForm, SubmitForms, UpdateSubmission,
};
pub use idempotency::{Created, Idempotency, IdempotencyKey, Replayable, ReplyEncoder, Updated};
pub use open_api::OpenApiService;
pub use page::{Page, PageRequest, PageStart, Paging};
pub(crate) use tags::is_not_modified;
pub use tags::{IfMatch, TagMatch};
pub use unvalidated::{RawBody, Unvalidated};
