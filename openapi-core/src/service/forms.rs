//! Requests and outcomes about forms.

use serde::Serialize;
use serde_json::{Value, json};

use super::contacts::ContactTarget;
use super::idempotency::{DryRun, Idempotency, IdempotencyKey};
use super::page::{PageRequest, Paging};
use super::tags::{IfMatch, TagMatch};
use super::unvalidated::{RawBody, Unvalidated};
use crate::forms::body::{Batch, Change, NewForm};
use crate::forms::{Submission, SubmissionPreview, SubmissionStatus};
use crate::json::{JsonSchema, Object, json_object, without};
use crate::reply::{ApiError, BatchError};
use crate::request::rules::{AsSent, Flag, Id, Text};
use crate::request::{parameter, parameters, request};
use crate::values::TemplateId;

request! {
    /// `POST /forms/submit/<tid>/contacts/<ext>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct SubmitForm {
        /// The template, as sent.
        pub template: String,
        /// The contact, by external id.
        pub contact: ContactTarget,
        /// Whether to run everything and store nothing (contract 4.2).
        pub dry_run: bool = DryRun,
        /// The idempotency of the request; a dry run has none.
        pub idempotency: Option<Idempotency<Submission>> = IdempotencyKey<Submission>,
        /// The body: `formData`, `submissionNotes`, `clientId`, `status`.
        pub body: Unvalidated<Object> = RawBody<NewForm>,
    }
}

request! {
    /// `POST /forms/batch/contacts/<ext>/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct SubmitForms {
        /// The contact, by external id.
        pub contact: ContactTarget,
        /// Whether to run everything and store nothing.
        pub dry_run: bool = DryRun,
        /// The idempotency of the request; a dry run has none.
        pub idempotency: Option<Idempotency<BatchResult>> = IdempotencyKey<BatchResult>,
        /// The body: `submissions`, `allOrNone`.
        pub body: Unvalidated<Object> = RawBody<Batch>,
    }
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

json_object! { BatchResult as "BatchResult" = |batch| {
    "total": usize { "minimum": 1, "maximum": 10 } = batch.results.len(),
    "succeeded": usize { "minimum": 0 } = batch.succeeded(),
    "failed": usize { "minimum": 0 } = batch.failed(),
    "results": Vec<Indexed<'_>> =
        batch.results.iter().enumerate().map(|(index, item)| Indexed { index, item }).collect::<Vec<_>>(),
} }

struct Indexed<'a> {
    index: usize,
    item: &'a BatchItem,
}

json_object! { Indexed<'_> = |element| {
    "index": usize { "minimum": 0 } = element.index,
    "success": bool = element.item.is_success(),
    "status": u16 {
        "description": "The status that the element would have been answered alone."
    } = element.item.status(),
    "submission" optional: Shown<'_> = element.item.submission().as_ref(),
    "error" optional: BatchError<'_> = element.item.error().as_ref(),
} }

/// The submission of an element.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Stored(&'a Submission),
    Preview(Box<SubmissionPreview>),
}

impl JsonSchema for Shown<'_> {
    fn schema() -> Value {
        json!({ "anyOf": [Submission::reference(), without(SubmissionPreview::schema(), "statusHistory")] })
    }
}

impl BatchItem {
    /// The status that the element would have been answered alone.
    fn status(&self) -> u16 {
        match self {
            BatchItem::Stored(_) => 201,
            BatchItem::Preview(_) => 200,
            BatchItem::Failed(error) => error.code().status(),
        }
    }

    fn submission(&self) -> Option<Shown<'_>> {
        match self {
            BatchItem::Stored(submission) => Some(Shown::Stored(submission)),
            BatchItem::Preview(submission) => {
                let submission = Submission::clone(submission);
                Some(Shown::Preview(Box::new(SubmissionPreview { submission, in_batch: true })))
            }
            BatchItem::Failed(_) => None,
        }
    }

    fn error(&self) -> Option<BatchError<'_>> {
        match self {
            BatchItem::Failed(error) => Some(error.in_batch()),
            _ => None,
        }
    }
}

request! {
    /// `GET /forms/contacts/<ext>/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct ListSubmissions {
        /// The contact, by external id.
        pub contact: ContactTarget,
        /// The query.
        pub query: Unvalidated<SubmissionListQuery>,
    }
}

parameters! {
    /// The query of a list of submissions (contract 4.4).
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct SubmissionListQuery {
        /// Only submissions under this template; an unknown one gives an empty list.
        "templateId" template: Option<TemplateId> = Id,
        /// Only submissions in this status.
        "status" status: Option<SubmissionStatus> = Text,
        /// Whether superseded submissions are shown as well.
        "includeSuperseded" include_superseded: bool = Flag,
        /// Only submissions with exactly this reference of your own.
        "clientId" client_id: Option<String> = AsSent(128),
        ..page: Paging<20>,
    }
}

request! {
    /// `PUT /forms/submissions/<sid>/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct UpdateSubmission {
        /// The submission, as sent.
        pub submission: String,
        /// The `If-Match` header.
        pub if_match: Option<TagMatch> = IfMatch,
        /// The body: `formData`, `submissionNotes`, `status`, `reviewNotes`.
        pub body: Unvalidated<Object> = RawBody<Change>,
    }
}

request! {
    /// `GET /forms/contacts/<ext>/templates/<tid>/latest/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct LatestSubmission {
        /// The contact, by external id.
        pub contact: ContactTarget,
        /// The template, as sent.
        pub template: String,
        /// Whether drafts count.
        pub include_drafts: Unvalidated<bool> = Unvalidated<IncludeDrafts>,
    }
}

parameter! {
    /// Whether drafts take part, by the time they were created.
    IncludeDrafts = "includeDrafts": bool = Flag
}

request! {
    /// `GET /forms/templates/chatbots/<A>`
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ListTemplates {
        /// Which part.
        pub page: Unvalidated<PageRequest> = Unvalidated<Paging<100>>,
    }
}
