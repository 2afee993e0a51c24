//! Templates and submissions as they are stored: the steps 9 to 16 of contract 6.3.

use std::collections::HashSet;
use std::sync::Arc;

use crate::access::Caller;
use crate::audit::{AuditAction, SealedEntry};
use crate::contacts::SharedContact;
use crate::forms::{CompiledTemplate, FormTemplate, Submission, SubmissionPolicy, TemplateSummary};
use crate::json::Object;
use crate::platform::cursor::{SubmissionCursors, TemplateCursors};
use crate::platform::errors::{submission_not_found, template_not_found};
use crate::platform::paging::Part;
use crate::platform::{Platform, contacts};
use crate::reply::ApiError;
use crate::service::{LatestSubmission, ListSubmissions, ListTemplates, Page};
use crate::storage::{LatestQuery, SubmissionFilter, SubmissionQuery, Supersession, TemplateQuery};
use crate::values::{AgentId, ContactId, FileId, SubmissionId, TemplateId, Timestamp};

impl Platform {
    /// A template ready to check data; read again if `fresh` or old. None when there is none.
    pub(super) async fn compiled_template(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: Option<u64>,
        fresh: bool,
    ) -> Result<Option<Arc<CompiledTemplate>>, ApiError> {
        let now = self.now();
        let key = (agent.clone(), template, version);
        if !fresh && let Some(known) = self.templates.fresh(&key, now) {
            return Ok(Some(known));
        }
        let read = match version {
            Some(version) => self.storage.template_version(agent, template, version).await?,
            None => self.storage.template(agent, template).await?,
        };
        read.map(|read| self.keep_template(key, read, now)).transpose()
    }

    pub(super) fn keep_template(
        &self,
        key: (AgentId, TemplateId, Option<u64>),
        template: FormTemplate,
        now: Timestamp,
    ) -> Result<Arc<CompiledTemplate>, ApiError> {
        let id = template.id;
        let same = template.clone();
        let compile = || CompiledTemplate::new(template);
        self.templates.keep(key, now, |known| *known.template() == same, compile).map_err(|error| {
            tracing::error!(template = %id, %error, "a stored template has a pattern that does not compile");
            ApiError::internal()
        })
    }

    /// The template of a path.
    pub(in crate::platform) async fn path_template(
        &self,
        agent: &AgentId,
        sent: &str,
        fresh: bool,
    ) -> Result<Arc<CompiledTemplate>, ApiError> {
        let not_found = || template_not_found(sent);
        let id: TemplateId = sent.parse().map_err(|_| not_found())?;
        self.compiled_template(agent, id, None, fresh).await?.ok_or_else(not_found)
    }

    /// Which of these files are the contact's.
    pub(super) async fn files_of(
        &self,
        agent: &AgentId,
        contact: ContactId,
        mut files: Vec<FileId>,
    ) -> Result<HashSet<FileId>, ApiError> {
        files.sort_unstable();
        files.dedup();
        if files.is_empty() {
            return Ok(HashSet::new());
        }
        let own = self.storage.files_of_contact(agent, contact, &files).await?;
        Ok(files.into_iter().zip(own).filter(|(_, own)| *own).map(|(file, _)| file).collect())
    }

    /// How a submission replaces earlier ones when it is submitted, and the number it gets.
    pub(super) async fn succession(
        &self,
        agent: &AgentId,
        contact: ContactId,
        template: &FormTemplate,
    ) -> Result<(Option<Supersession>, u64), ApiError> {
        if template.submission_policy == SubmissionPolicy::KeepAll {
            return Ok((None, 1));
        }
        let head = self.storage.head_submission(agent, contact, template.id).await?;
        let revision = head.as_ref().map_or(1, |head| head.revision + 1);
        Ok((Some(Supersession { head: head.map(|head| head.id) }), revision))
    }

    /// An entry about what a caller did to a submission.
    pub(super) fn submission_audit(
        &self,
        caller: &Caller,
        action: AuditAction,
        submission: &Submission,
        details: &Object,
        now: Timestamp,
    ) -> SealedEntry {
        let resource = submission.id.to_string();
        self.caller_audit(caller, action, resource, Some(submission.contact_id), details, now)
    }
}

/// The submission of a path.
pub(in crate::platform) async fn find(
    platform: &Platform,
    caller: &Caller,
    sent: &str,
) -> Result<Submission, ApiError> {
    let not_found = || submission_not_found(sent);
    let id: SubmissionId = sent.parse().map_err(|_| not_found())?;
    platform.storage.submission(&caller.agent_id, id).await?.ok_or_else(not_found)
}

/// The contact of a submission, which is there as long as the submission is.
pub(super) async fn contact_of(
    platform: &Platform,
    submission: &Submission,
) -> Result<Option<SharedContact>, ApiError> {
    let contact = crate::contacts::ContactRef::Id(submission.contact_id);
    Ok(platform.storage.contact(&submission.agent_id, &contact).await?)
}

pub(in crate::platform) async fn list(
    platform: &Platform,
    caller: &Caller,
    request: ListSubmissions,
) -> Result<Page<Submission>, ApiError> {
    let agent = &caller.agent_id;
    let contact = contacts::find(platform, agent, &request.contact).await?.id;
    let query = request.query.check()?;
    let cursors = SubmissionCursors { keys: &platform.ports.server_keys, agent, contact, query: &query };
    let part = Part::of(&query.page, |text| cursors.read(text))?;
    let filter = SubmissionFilter {
        contact: Some(contact),
        template: query.template,
        status: query.status,
        include_superseded: query.include_superseded,
        client_id: query.client_id.clone(),
    };
    let stored = SubmissionQuery { filter, window: part.window() };
    let found = platform.storage.submissions(agent, &stored).await?;
    Ok(part.page(found.submissions, found.total, |last, page| cursors.issue(last, page)))
}

pub(in crate::platform) async fn latest(
    platform: &Platform,
    caller: &Caller,
    request: LatestSubmission,
) -> Result<Submission, ApiError> {
    let agent = &caller.agent_id;
    let contact = contacts::find(platform, agent, &request.contact).await?.id;
    let template = platform.path_template(agent, &request.template, false).await?.template().id;
    let include_drafts = request.include_drafts.check()?;
    let query = LatestQuery { contact, template, include_drafts };
    if let Some(latest) = platform.storage.latest_submission(agent, &query).await? {
        return Ok(latest);
    }
    let with_drafts = LatestQuery { include_drafts: true, ..query };
    let has_draft =
        !include_drafts && platform.storage.latest_submission(agent, &with_drafts).await?.is_some();
    Err(crate::platform::errors::no_latest_submission(&request.template, has_draft))
}

pub(in crate::platform) async fn list_templates(
    platform: &Platform,
    caller: &Caller,
    request: ListTemplates,
) -> Result<Page<TemplateSummary>, ApiError> {
    let agent = &caller.agent_id;
    let page = request.page.check()?;
    let cursors = TemplateCursors { keys: &platform.ports.server_keys, agent, limit: page.limit };
    let part = Part::of(&page, |text| cursors.read(text))?;
    let stored = TemplateQuery { only_active: true, window: part.window() };
    let found = platform.storage.templates(agent, &stored).await?;
    Ok(part.page(found.templates, found.total, |last, page| cursors.issue(last, page)))
}
