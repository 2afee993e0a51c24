//! Submitting several forms: all or none of them, or each on its own (contract 4.4).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::super::errors::{concurrent_update, contact_archived, template_inactive};
use super::super::idempotency::{Claim, Claimed, answer, claim, replay};
use super::super::{Platform, contacts};
use crate::access::Caller;
use crate::contacts::Contact;
use crate::forms::body::{ElementTemplate, NewForm, hands_in, template_of};
use crate::forms::{CompiledTemplate, Submission, SubmissionPolicy, TemplateStatus};
use crate::json::{Json, Object};
use crate::reply::ApiError;
use crate::schema::rules::{too_few_items, too_many_items};
use crate::service::{BatchItem, BatchResult, Created, SubmitForms};
use crate::storage::retry::{RetryOn, retry_on_conflict};
use crate::storage::{NewSubmission, StorageErrorKind};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{FileId, TemplateId, Timestamp};

/// The most elements of a batch.
const MAX_ELEMENTS: usize = 10;

/// The outer body of a batch.
struct Outer {
    elements: Vec<Json>,
    all_or_none: bool,
}

impl Outer {
    fn read(body: &Object) -> Result<Self, Violations> {
        let mut outer = Outer { elements: Vec::new(), all_or_none: true };
        let mut found = Violations::new();
        for (name, value) in body.iter() {
            let fault = match (name, value) {
                ("submissions", Json::Null) => ValidationIssue::required(),
                ("submissions", Json::Array(elements)) if elements.is_empty() => too_few_items(1),
                ("submissions", Json::Array(elements)) if elements.len() > MAX_ELEMENTS => {
                    too_many_items(MAX_ELEMENTS)
                }
                ("submissions", Json::Array(elements)) => {
                    outer.elements.clone_from(elements);
                    continue;
                }
                ("submissions", _) => ValidationIssue::wrong_type("an array of objects"),
                ("allOrNone", Json::Null) => continue,
                ("allOrNone", Json::Bool(all_or_none)) => {
                    outer.all_or_none = *all_or_none;
                    continue;
                }
                ("allOrNone", _) => ValidationIssue::wrong_type("true or false"),
                (name, _) if name.contains('\0') => ValidationIssue::invalid_characters(),
                _ => ValidationIssue::new(ValidationCode::Unknown, "is not a member of this request"),
            };
            found.push(ValidationError::new(Location::Body, name, Some(value), fault));
        }
        if body.get("submissions").is_none() {
            found.push(ValidationError::new(
                Location::Body,
                "submissions",
                None,
                ValidationIssue::required(),
            ));
        }
        if found.is_empty() { Ok(outer) } else { Err(found) }
    }
}

/// An element that was checked.
type Checked = Result<(NewForm, Arc<CompiledTemplate>), Violations>;

pub(in crate::platform) async fn submit_all(
    platform: &Platform,
    caller: &Caller,
    request: SubmitForms,
) -> Result<Created<BatchResult>, ApiError> {
    let agent = &caller.agent_id;
    let claimed = match claim(platform, caller, request.idempotency.as_ref()).await? {
        Claimed::Answered(stored) => return Ok(Created::Replayed(stored)),
        Claimed::Run(claim) => claim,
    };
    let (claimed, request) = (claimed.as_ref(), &request);
    retry_on_conflict(concurrent_update, |is_retry| async move {
        let contact = contacts::find(platform, agent, &request.contact).await?;
        // What is wrong around the elements is joined with their own faults where all or none is stored.
        let outer = request.body.peek().map(Outer::read);
        let (elements, all_or_none) = match outer {
            Some(Ok(outer)) => (outer.elements, outer.all_or_none),
            _ => {
                request.body.check_with(|body| Outer::read(body).map(|_| ()))?;
                return Err(ApiError::internal());
            }
        };
        if !all_or_none {
            request.body.check_with(|_| Ok(()))?;
        }
        let batch = Batch { platform, caller, contact: &contact };
        let checked = batch.check(&elements, is_retry).await?;
        if all_or_none {
            let mut found = Violations::new();
            checked
                .iter()
                .filter_map(|checked| checked.as_ref().err())
                .cloned()
                .for_each(|own| found.extend(own));
            request.body.check_with(|_| if found.is_empty() { Ok(()) } else { Err(found) })?;
        }
        if contact.is_archived() {
            return Err(contact_archived(&contact));
        }
        let now = platform.now();
        let outcomes = batch.outcomes(checked, all_or_none, now).await?;
        if request.dry_run {
            return Ok(Some(Created::Preview(result(outcomes, true))));
        }
        match batch.store(outcomes, claimed, now).await? {
            Some(result) => Ok(Some(Created::New(result))),
            // Another server may have been faster.
            None => answer(claimed, caller).await,
        }
    })
    .await
}

/// The result of what became of each element.
fn result(outcomes: Vec<Result<NewSubmission, ApiError>>, dry_run: bool) -> BatchResult {
    let item = |outcome: Result<NewSubmission, ApiError>| match outcome {
        Ok(new) if dry_run => BatchItem::Preview(Box::new(new.submission)),
        Ok(new) => BatchItem::Stored(Box::new(new.submission)),
        Err(error) => BatchItem::Failed(error),
    };
    BatchResult { results: outcomes.into_iter().map(item).collect() }
}

/// A batch of a contact.
struct Batch<'a> {
    platform: &'a Platform,
    caller: &'a Caller,
    contact: &'a Contact,
}

impl Batch<'_> {
    async fn check(&self, elements: &[Json], fresh: bool) -> Result<Vec<Checked>, ApiError> {
        let agent = &self.caller.agent_id;
        let mut templates: HashMap<TemplateId, Option<Arc<CompiledTemplate>>> = HashMap::new();
        let mut referred: Vec<FileId> = Vec::new();
        for members in elements.iter().filter_map(Json::as_object) {
            let Some(id) = template_of(members) else { continue };
            let template = match templates.entry(id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert(self.platform.compiled_template(agent, id, None, fresh).await?)
                }
            };
            if let (Some(template), Some(Json::Object(data))) = (template, members.get("formData")) {
                referred.extend(template.files(data));
            }
        }
        let files: HashSet<FileId> = self.platform.files_of(agent, self.contact.id, referred).await?;
        let has_file = |file: FileId| files.contains(&file);
        let mut handed_in: HashSet<TemplateId> = HashSet::new();
        let checked = elements.iter().enumerate().map(|(index, element)| {
            let root = format!("submissions[{index}]");
            let members = element.as_object();
            let template = members.and_then(template_of).and_then(|id| templates.get(&id).cloned().flatten());
            let supersedes = template
                .as_ref()
                .is_some_and(|template| template.template().submission_policy == SubmissionPolicy::Supersede);
            let is_entering = members.is_some_and(hands_in) && supersedes;
            let known = match &template {
                None => ElementTemplate::Missing,
                Some(template) if is_entering && !handed_in.insert(template.template().id) => {
                    ElementTemplate::Repeated(template)
                }
                Some(template) => ElementTemplate::Found(template),
            };
            let form = NewForm::read_element(element, &root, &known, &has_file)?;
            let template = template.clone().ok_or_else(Violations::new)?;
            Ok((form, template))
        });
        Ok(checked.collect())
    }

    /// What becomes of each element; where all or none is stored, the first one that is refused refuses the request.
    async fn outcomes(
        &self,
        checked: Vec<Checked>,
        all_or_none: bool,
        now: Timestamp,
    ) -> Result<Vec<Result<NewSubmission, ApiError>>, ApiError> {
        let mut outcomes = Vec::with_capacity(checked.len());
        for (index, checked) in checked.into_iter().enumerate() {
            let outcome = match checked {
                Err(violations) => Err(violations.into()),
                Ok((_, template)) if template.template().status != TemplateStatus::Active => {
                    Err(template_inactive(template.template(), Some(index).filter(|_| all_or_none)))
                }
                Ok((form, template)) => Ok(self.prepare(form, &template, now).await?),
            };
            if all_or_none {
                outcomes.push(Ok(outcome?));
            } else {
                outcomes.push(outcome);
            }
        }
        Ok(outcomes)
    }

    async fn prepare(
        &self,
        form: NewForm,
        template: &CompiledTemplate,
        now: Timestamp,
    ) -> Result<NewSubmission, ApiError> {
        let template = template.template();
        let (succession, revision) = match form.is_draft {
            true => (None, 1),
            false => self.platform.succession(&self.caller.agent_id, self.contact.id, template).await?,
        };
        let submission: Submission = self.platform.new_submission(
            self.caller,
            form,
            self.contact,
            template,
            succession,
            revision,
            now,
        );
        Ok(NewSubmission { template_generation: template.generation, succession, submission })
    }

    /// Stores what is to be stored, in one step with the answer; none when something has changed meanwhile.
    async fn store(
        &self,
        outcomes: Vec<Result<NewSubmission, ApiError>>,
        claim: Option<&Claim<'_, BatchResult>>,
        now: Timestamp,
    ) -> Result<Option<BatchResult>, ApiError> {
        let submissions: Vec<NewSubmission> =
            outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).cloned().collect();
        let result = result(outcomes, false);
        let replay = replay(claim, &result, Some(self.contact.id), now)?;
        if submissions.is_empty() && replay.is_none() {
            return Ok(Some(result));
        }
        let write = self.platform.submissions_write(self.caller, self.contact, submissions, replay, now);
        use StorageErrorKind::{AlreadyExists, Missing, ReplayExists, Stale};
        let stored = self.platform.storage.insert_submissions(&self.caller.agent_id, &write).await;
        Ok(stored.retry_on(&[Stale, Missing, AlreadyExists, ReplayExists])?.map(|()| result))
    }
}
