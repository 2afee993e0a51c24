//! Inputs and results of the storage of forms.

use crate::forms::{FormDataRevision, Submission, SubmissionStatus, TemplateSummary};
use crate::values::{ContactId, SubmissionId, TemplateId, Timestamp};

use super::{Effects, Window};

/// A list of templates, by [`FormTemplate::name_key`](crate::forms::FormTemplate::name_key), then id, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateQuery {
    /// Whether only active ones are shown.
    pub only_active: bool,
    /// Which part of them.
    pub window: Window<TemplatePosition>,
}

/// A position in a list of templates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplatePosition {
    /// The name's key of the template at that position.
    pub name_key: String,
    /// Its id.
    pub id: TemplateId,
}

impl TemplatePosition {
    /// The position of a template.
    #[must_use]
    pub fn of(template: &TemplateSummary) -> Self {
        TemplatePosition { name_key: values::fold(template.name.as_str()), id: template.id }
    }
}

/// A page of templates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplatePage {
    /// The templates of the window, in order.
    pub templates: Vec<TemplateSummary>,
    /// How many there are.
    pub total: u64,
}

/// Submissions of a contact to be stored as one, with everything that goes into the same transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmissionsWrite {
    /// The contact.
    pub contact: ContactId,
    /// The version of the contact that the caller has seen, unarchived.
    pub contact_version: u64,
    /// The submissions, in order; no two of them enter the succession of one template.
    pub submissions: Vec<NewSubmission>,
    /// When this is written.
    pub at: Timestamp,
    /// What else is written.
    pub effects: Effects,
}

/// A new submission.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSubmission {
    /// The record.
    pub submission: Submission,
    /// The generation of the template that the caller has seen.
    pub template_generation: u64,
    /// How it replaces the others; none for a draft and where all stay.
    pub succession: Option<Supersession>,
}

/// How a submission replaces those before it: every other one of its contact and template that has
/// `submittedAt` and is not superseded becomes superseded by it, at the time of its entry ([`Submission::updated_at`]
/// of the new one), with `updated_at` at that time, unless it is later already, and one version more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supersession {
    /// The head that the caller has seen ([`FormStore::head_submission`](super::FormStore::head_submission)): when
    /// another one is stored, the write is stale.
    pub head: Option<SubmissionId>,
}

/// A change of a submission, with everything that goes into the same transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmissionChange {
    /// The complete record after the change. What identifies it (contact, template, version of the template,
    /// `client_id`, creation) is as it was.
    pub submission: Submission,
    /// The version that the caller has seen.
    pub expected_version: u64,
    /// The version of the contact that the caller has seen, unarchived.
    pub contact_version: u64,
    /// The generation of the template that the caller has seen, where the change depends on its policy or its
    /// transitions: where the status changes.
    pub template_generation: Option<u64>,
    /// How it replaces the others when it is submitted.
    pub succession: Option<Supersession>,
    /// The data before, where it changes.
    pub replaced: Option<FormDataRevision>,
    /// What else is written.
    pub effects: Effects,
}

/// A list of submissions, newest first: by `created_at`, then id, descending.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmissionQuery {
    /// Which ones.
    pub filter: SubmissionFilter,
    /// Which part of them.
    pub window: Window<SubmissionPosition>,
}

/// Which submissions a list shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubmissionFilter {
    /// Only those of this contact; none is every contact's.
    pub contact: Option<ContactId>,
    /// Only those of this template.
    pub template: Option<TemplateId>,
    /// Only those in this state.
    pub status: Option<SubmissionStatus>,
    /// Whether superseded ones are shown as well.
    pub include_superseded: bool,
    /// Only those with this reference of the caller's.
    pub client_id: Option<String>,
}

impl SubmissionFilter {
    /// Whether the filter lets a submission through: the definition that backends follow.
    #[must_use]
    pub fn admits(&self, submission: &Submission) -> bool {
        self.contact.is_none_or(|contact| submission.contact_id == contact)
            && self.template.is_none_or(|template| submission.template_id == template)
            && self.status.is_none_or(|status| submission.status == status)
            && (self.include_superseded || !submission.is_superseded())
            && self.client_id.as_deref().is_none_or(|known| {
                submission.client_id.as_ref().is_some_and(|client_id| client_id.as_str() == known)
            })
    }
}

/// A position in a list of submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubmissionPosition {
    /// The creation time of the submission at that position.
    pub created_at: Timestamp,
    /// Its id.
    pub id: SubmissionId,
}

impl SubmissionPosition {
    /// The position of a submission.
    #[must_use]
    pub fn of(submission: &Submission) -> Self {
        SubmissionPosition { created_at: submission.created_at, id: submission.id }
    }
}

/// A page of submissions; their `status_history` is left empty, which no list shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubmissionPage {
    /// The submissions of the window, in order.
    pub submissions: Vec<Submission>,
    /// How many the filter lets through, exactly.
    pub total: u64,
}

/// Which submission of a contact and a template is the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatestQuery {
    /// The contact.
    pub contact: ContactId,
    /// The template.
    pub template: TemplateId,
    /// Whether drafts take part, by `created_at`.
    pub include_drafts: bool,
}

impl LatestQuery {
    /// Where a submission stands among those that may be the latest, the greatest being it; none for one that takes no
    /// part: the definition that backends follow (contract 2.3.2).
    #[must_use]
    pub fn rank(&self, submission: &Submission) -> Option<(Timestamp, SubmissionId)> {
        let is_pair = submission.contact_id == self.contact && submission.template_id == self.template;
        let takes_part =
            is_pair && !submission.is_superseded() && submission.status != SubmissionStatus::Archived;
        let at = match submission.submitted_at {
            Some(at) => Some(at),
            None if self.include_drafts => Some(submission.created_at),
            None => None,
        };
        at.filter(|_| takes_part).map(|at| (at, submission.id))
    }
}
