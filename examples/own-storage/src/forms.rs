//! Form templates and submissions.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use openapi_core::audit::AuditEntry;
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission, TemplateStatus, TemplateSummary};
use openapi_core::storage::StorageErrorKind::{AlreadyExists, Missing, Stale};
use openapi_core::storage::{
    FormStore, LatestQuery, NewSubmission, Result, SubmissionChange, SubmissionPage, SubmissionPosition,
    SubmissionQuery, SubmissionsWrite, Supersession, TemplatePage, TemplatePosition, TemplateQuery,
};
use openapi_core::values::{AgentId, ContactId, FileId, SubmissionId, TemplateId};

use crate::MapStorage;
use crate::tables::{SubmissionRow, Tables, TemplateRow, page, refuse_stale};

impl Tables {
    /// A submission under the external id that its contact has now.
    fn shown(&self, agent: &AgentId, submission: &Submission) -> Submission {
        let contact = self.contacts.row(agent, &submission.contact_id);
        let external_reference_id = contact.and_then(|(contact, _)| contact.external_reference_id.clone());
        Submission { external_reference_id, ..submission.clone() }
    }

    /// The same for lists, which show no history.
    fn listed(&self, agent: &AgentId, submission: &Submission) -> Submission {
        Submission { status_history: Vec::new(), ..self.shown(agent, submission) }
    }

    /// All that are handed in and not superseded, of a contact and a template.
    fn heads<'a>(
        &'a self,
        agent: &AgentId,
        contact: ContactId,
        template: TemplateId,
    ) -> impl Iterator<Item = &'a Submission> {
        let all = self.submissions.of(agent).map(|(_, row)| &row.submission);
        all.filter(move |it| it.contact_id == contact && it.template_id == template && it.is_head())
    }

    /// The newest of them.
    fn head(&self, agent: &AgentId, contact: ContactId, template: TemplateId) -> Option<&Submission> {
        self.heads(agent, contact, template).max_by_key(|head| (head.submitted_at, head.id))
    }

    fn refuse_other_generation(&self, agent: &AgentId, template: TemplateId, generation: u64) -> Result<()> {
        let row = self.templates.row(agent, &template).ok_or(Missing)?;
        if row.current.generation == generation { Ok(()) } else { Err(Stale.into()) }
    }

    fn refuse_other_head(
        &self,
        agent: &AgentId,
        submission: &Submission,
        succession: Option<Supersession>,
    ) -> Result<()> {
        let head = self.head(agent, submission.contact_id, submission.template_id).map(|head| head.id);
        if succession.is_some_and(|seen| seen.head != head) { Err(Stale.into()) } else { Ok(()) }
    }

    fn check_new(&self, agent: &AgentId, new: &NewSubmission) -> Result<()> {
        let submission = &new.submission;
        self.refuse_other_generation(agent, submission.template_id, new.template_generation)?;
        self.refuse_other_head(agent, submission, new.succession)?;
        match self.submissions.row(agent, &submission.id) {
            Some(_) => Err(AlreadyExists.into()),
            None => Ok(()),
        }
    }

    /// Makes every other head of its contact and template superseded by a submission.
    fn supersede(&mut self, agent: &AgentId, by: &Submission) {
        let heads = self.heads(agent, by.contact_id, by.template_id).map(|head| head.id);
        let others: Vec<SubmissionId> = heads.filter(|head| *head != by.id).collect();
        for other in others {
            if let Some(SubmissionRow { submission, .. }) = self.submissions.row_mut(agent, &other) {
                submission.superseded_by = Some(by.id);
                submission.superseded_at = Some(by.updated_at);
                submission.updated_at = submission.updated_at.max(by.updated_at);
                submission.version += 1;
            }
        }
    }
}

#[async_trait]
impl FormStore for MapStorage {
    async fn template(&self, agent: &AgentId, template: TemplateId) -> Result<Option<FormTemplate>> {
        let Some(tables) = self.of(agent) else { return Ok(None) };
        Ok(tables.templates.row(agent, &template).map(|row| row.current.clone()))
    }

    async fn template_version(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: u64,
    ) -> Result<Option<FormTemplate>> {
        let Some(tables) = self.of(agent) else { return Ok(None) };
        let Some(row) = tables.templates.row(agent, &template) else { return Ok(None) };
        Ok(row.versions.get(&version).map(|then| FormTemplate {
            name: then.name.clone(),
            description: then.description.clone(),
            fields: then.fields.clone(),
            version,
            ..row.current.clone()
        }))
    }

    async fn templates(&self, agent: &AgentId, query: &TemplateQuery) -> Result<TemplatePage> {
        let Some(tables) = self.of(agent) else { return Ok(TemplatePage::default()) };
        let found: Vec<(TemplatePosition, TemplateSummary)> = tables
            .templates
            .of(agent)
            .map(|(_, row)| &row.current)
            .filter(|template| !query.only_active || template.status == TemplateStatus::Active)
            .map(TemplateSummary::from)
            .map(|summary| (TemplatePosition::of(&summary), summary))
            .collect();
        let total = found.len() as u64;
        Ok(TemplatePage { templates: page(found, &query.window, Ord::cmp), total })
    }

    async fn insert_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        audit: &AuditEntry,
    ) -> Result<()> {
        let mut tables = self.change(agent)?;
        if tables.templates.row(agent, &template.id).is_some() {
            return Err(AlreadyExists.into());
        }
        let versions = BTreeMap::from([(template.version, template.clone())]);
        tables.templates.put(agent, template.id, TemplateRow { current: template.clone(), versions });
        tables.note(audit);
        Ok(())
    }

    async fn replace_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        audit: &AuditEntry,
    ) -> Result<()> {
        let mut tables = self.change(agent)?;
        let row = tables.templates.row_mut(agent, &template.id).ok_or(Missing)?;
        refuse_stale(Some(row.current.generation), template.generation)?;
        row.current = FormTemplate { created_at: row.current.created_at, ..template.clone() };
        row.versions.insert(template.version, template.clone());
        tables.note(audit);
        Ok(())
    }

    async fn submission(&self, agent: &AgentId, submission: SubmissionId) -> Result<Option<Submission>> {
        let Some(tables) = self.of(agent) else { return Ok(None) };
        let row = tables.submissions.row(agent, &submission);
        Ok(row.map(|row| tables.shown(agent, &row.submission)))
    }

    async fn submissions(&self, agent: &AgentId, query: &SubmissionQuery) -> Result<SubmissionPage> {
        let Some(tables) = self.of(agent) else { return Ok(SubmissionPage::default()) };
        let found: Vec<(SubmissionPosition, &Submission)> = tables
            .submissions
            .of(agent)
            .map(|(_, row)| &row.submission)
            .filter(|submission| query.filter.admits(submission))
            .map(|submission| (SubmissionPosition::of(submission), submission))
            .collect();
        let total = found.len() as u64;
        let newest_first = page(found, &query.window, |a, b| b.cmp(a));
        let submissions = newest_first.into_iter().map(|it| tables.listed(agent, it)).collect();
        Ok(SubmissionPage { submissions, total })
    }

    async fn head_submission(
        &self,
        agent: &AgentId,
        contact: ContactId,
        template: TemplateId,
    ) -> Result<Option<Submission>> {
        let Some(tables) = self.of(agent) else { return Ok(None) };
        Ok(tables.head(agent, contact, template).map(|head| tables.listed(agent, head)))
    }

    async fn latest_submission(&self, agent: &AgentId, query: &LatestQuery) -> Result<Option<Submission>> {
        let Some(tables) = self.of(agent) else { return Ok(None) };
        let all = tables.submissions.of(agent).map(|(_, row)| &row.submission);
        let latest = all.filter(|it| query.rank(it).is_some()).max_by_key(|it| query.rank(it));
        Ok(latest.map(|latest| tables.shown(agent, latest)))
    }

    async fn files_of_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        files: &[FileId],
    ) -> Result<Vec<bool>> {
        let Some(tables) = self.of(agent) else { return Ok(vec![false; files.len()]) };
        Ok(files.iter().map(|file| tables.is_file_of(agent, contact, *file)).collect())
    }

    async fn insert_submissions(&self, agent: &AgentId, write: &SubmissionsWrite) -> Result<()> {
        let mut tables = self.change(agent)?;
        tables.refuse_other_contact(agent, write.contact, write.contact_version)?;
        tables.refuse_answered(agent, write.replay.as_ref(), write.at)?;
        let mut ids = BTreeSet::new();
        for new in &write.submissions {
            tables.check_new(agent, new)?;
            if !ids.insert(new.submission.id) {
                return Err(AlreadyExists.into());
            }
        }
        for NewSubmission { submission, succession, audit, .. } in &write.submissions {
            if succession.is_some() {
                tables.supersede(agent, submission);
            }
            let row = SubmissionRow { submission: submission.clone(), revisions: Vec::new() };
            tables.submissions.put(agent, submission.id, row);
            tables.note(audit);
        }
        tables.keep_answer(agent, write.replay.as_ref());
        Ok(())
    }

    async fn update_submission(&self, agent: &AgentId, change: &SubmissionChange) -> Result<()> {
        let mut tables = self.change(agent)?;
        let submission = &change.submission;
        let stored = tables.submissions.row(agent, &submission.id).ok_or(Missing)?;
        if stored.submission.version != change.expected_version {
            return Err(Stale.into());
        }
        tables.refuse_other_contact(agent, submission.contact_id, change.contact_version)?;
        if let Some(generation) = change.template_generation {
            tables.refuse_other_generation(agent, submission.template_id, generation)?;
        }
        tables.refuse_other_head(agent, submission, change.succession)?;
        if change.succession.is_some() {
            tables.supersede(agent, submission);
        }
        let row = tables.submissions.row_mut(agent, &submission.id).ok_or(Missing)?;
        row.submission = submission.clone();
        row.revisions.extend(change.replaced.clone());
        tables.note(&change.audit);
        Ok(())
    }

    async fn form_data_revisions(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Vec<FormDataRevision>> {
        let Some(tables) = self.of(agent) else { return Ok(Vec::new()) };
        Ok(tables.submissions.row(agent, &submission).map(|row| row.revisions.clone()).unwrap_or_default())
    }
}
