//! Requests and outcomes about forms.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::{ContactTarget, Idempotency, PageRequest, TagMatch, Unvalidated};
use crate::forms::{Submission, SubmissionPreview, SubmissionStatus};
use crate::json::Object;
use crate::reply::ApiError;
use crate::values::TemplateId;

/// `POST /forms/submit/<tid>/contacts/<ext>`
#[derive(Clone, Debug, PartialEq)]
pub struct SubmitForm {
    /// The template, as sent.
    pub template: String,
    /// The contact, by external id.
    pub contact: ContactTarget,
    /// The body: `formData`, `submissionNotes`, `clientId`, `status`.
    pub body: Unvalidated<Object>,
    /// Whether to run everything and store nothing (contract 4.2).
    pub dry_run: bool,
    /// The idempotency of the request; a dry run has none.
    pub idempotency: Option<Idempotency<Submission>>,
}

/// `POST /forms/batch/contacts/<ext>/chatbots/<A>`
#[derive(Clone, Debug, PartialEq)]
pub struct SubmitForms {
    /// The contact, by external id.
    pub contact: ContactTarget,
    /// The body: `submissions`, `allOrNone`.
    pub body: Unvalidated<Object>,
    /// Whether to run everything and store nothing.
    pub dry_run: bool,
    /// The idempotency of the request; a dry run has none.
    pub idempotency: Option<Idempotency<BatchResult>>,
}

/// The result of a batch (contract 4.4).
#[derive(Clone, Debug, PartialEq)]
pub struct BatchResult {
    /// One for each element, in order.
    pub results: Vec<BatchItem>,
}

/// The result of an element of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchItem {
    /// It is stored.
    Stored(Box<Submission>),
    /// It would be stored: a dry run.
    Preview(Box<Submission>),
    /// It was rejected.
    Failed(ApiError),
}

impl BatchItem {
    /// Whether it was accepted.
    #[must_use]
    pub fn is_success(&self) -> bool {
        !matches!(self, BatchItem::Failed(_))
    }
}

impl BatchResult {
    /// How many elements were accepted.
    #[must_use]
    pub fn succeeded(&self) -> usize {
        self.results.iter().filter(|item| item.is_success()).count()
    }

    /// How many elements were rejected.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.results.len() - self.succeeded()
    }

    /// The message of the response.
    #[must_use]
    pub fn message(&self) -> String {
        format!("Batch processed: {} succeeded, {} failed", self.succeeded(), self.failed())
    }
}

impl Serialize for BatchResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let indexed: Vec<Indexed<'_>> =
            self.results.iter().enumerate().map(|(index, item)| Indexed { index, item }).collect();
        let mut result = serializer.serialize_struct("BatchResult", 4)?;
        result.serialize_field("total", &self.results.len())?;
        result.serialize_field("succeeded", &self.succeeded())?;
        result.serialize_field("failed", &self.failed())?;
        result.serialize_field("results", &indexed)?;
        result.end()
    }
}

struct Indexed<'a> {
    index: usize,
    item: &'a BatchItem,
}

impl Serialize for Indexed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let status = match self.item {
            BatchItem::Stored(_) => 201,
            BatchItem::Preview(_) => 200,
            BatchItem::Failed(error) => error.code().status(),
        };
        let mut result = serializer.serialize_struct("BatchItem", 4)?;
        result.serialize_field("index", &self.index)?;
        result.serialize_field("success", &self.item.is_success())?;
        result.serialize_field("status", &status)?;
        match self.item {
            BatchItem::Stored(submission) => result.serialize_field("submission", &**submission)?,
            BatchItem::Preview(submission) => {
                let preview = SubmissionPreview { submission: (**submission).clone(), in_batch: true };
                result.serialize_field("submission", &preview)?;
            }
            BatchItem::Failed(error) => result.serialize_field("error", &error.in_batch())?,
        }
        result.end()
    }
}

/// `GET /forms/contacts/<ext>/chatbots/<A>`
#[derive(Clone, Debug, PartialEq)]
pub struct ListSubmissions {
    /// The contact, by external id.
    pub contact: ContactTarget,
    /// The query.
    pub query: Unvalidated<SubmissionListQuery>,
}

/// The query of a list of submissions (contract 4.4).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubmissionListQuery {
    /// Only those of this template.
    pub template: Option<TemplateId>,
    /// Only those in this state.
    pub status: Option<SubmissionStatus>,
    /// Whether superseded ones are shown as well.
    pub include_superseded: bool,
    /// Only those with this reference of the caller's.
    pub client_id: Option<String>,
    /// Which part.
    pub page: PageRequest,
}

/// `PUT /forms/submissions/<sid>/chatbots/<A>`
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateSubmission {
    /// The submission, as sent.
    pub submission: String,
    /// The body: `formData`, `submissionNotes`, `status`, `reviewNotes`.
    pub body: Unvalidated<Object>,
    /// The `If-Match` header.
    pub if_match: Option<TagMatch>,
}

/// `GET /forms/contacts/<ext>/templates/<tid>/latest/chatbots/<A>`
#[derive(Clone, Debug, PartialEq)]
pub struct LatestSubmission {
    /// The contact, by external id.
    pub contact: ContactTarget,
    /// The template, as sent.
    pub template: String,
    /// Whether drafts count.
    pub include_drafts: Unvalidated<bool>,
}

/// `GET /forms/templates/chatbots/<A>`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListTemplates {
    /// Which part.
    pub page: Unvalidated<PageRequest>,
}
