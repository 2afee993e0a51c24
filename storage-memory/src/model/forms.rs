//! Form templates and submissions in the model.

use std::collections::{BTreeMap, HashSet};

use super::stored::{StoredSubmission, StoredTemplate};
use super::{Tenant, World, window};
use openapi_core::forms::{FormDataRevision, FormTemplate, Submission, TemplateStatus, TemplateSummary};
use openapi_core::storage::{
    Effects, LatestQuery, NewSubmission, Result, StorageErrorKind, SubmissionChange, SubmissionPage,
    SubmissionPosition, SubmissionQuery, SubmissionsWrite, Supersession, TemplatePage, TemplatePosition,
    TemplateQuery,
};
use openapi_core::values::{AgentId, ContactId, FileId, SubmissionId, TemplateId};

impl Tenant {
    /// A submission as readers see it.
    pub(super) fn shown(&self, submission: &Submission) -> Submission {
        let contact = self.contacts.get(&submission.contact_id);
        let external_reference_id = contact.and_then(|(contact, _)| contact.external_reference_id.clone());
        Submission { external_reference_id, ..submission.clone() }
    }

    fn head(&self, contact: ContactId, template: TemplateId) -> Option<&Submission> {
        self.submissions
            .values()
            .map(|stored| &stored.submission)
            .filter(|submission| submission.contact_id == contact && submission.template_id == template)
            .filter(|submission| submission.is_head())
            .max_by_key(|submission| (submission.submitted_at, submission.id))
    }

    fn refuse_other_head(
        &self,
        contact: ContactId,
        template: TemplateId,
        succession: Option<Supersession>,
    ) -> Result<()> {
        let head = self.head(contact, template).map(|head| head.id);
        match succession {
            Some(seen) if seen.head != head => Err(StorageErrorKind::Stale.into()),
            _ => Ok(()),
        }
    }

    fn check_new(&self, new: &NewSubmission) -> Result<()> {
        let submission = &new.submission;
        let template = self.templates.get(&submission.template_id).ok_or(StorageErrorKind::Missing)?;
        if template.current.generation != new.template_generation {
            return Err(StorageErrorKind::Stale.into());
        }
        self.refuse_other_head(submission.contact_id, submission.template_id, new.succession)?;
        if self.submissions.contains_key(&submission.id) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        Ok(())
    }

    /// Marks all active submissions of a pair as superseded by another one.
    fn supersede(&mut self, by: &Submission) {
        for stored in self.submissions.values_mut() {
            let earlier = &mut stored.submission;
            let is_pair = earlier.contact_id == by.contact_id && earlier.template_id == by.template_id;
            if is_pair && earlier.is_head() && earlier.id != by.id {
                earlier.superseded_by = Some(by.id);
                earlier.superseded_at = Some(by.updated_at);
                earlier.updated_at = earlier.updated_at.max(by.updated_at);
                earlier.version += 1;
            }
        }
    }
}

impl World {
    pub(crate) fn template(&self, agent: &AgentId, template: TemplateId) -> Option<FormTemplate> {
        Some(self.tenant(agent)?.templates.get(&template)?.current.clone())
    }

    pub(crate) fn template_version(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: u64,
    ) -> Option<FormTemplate> {
        self.tenant(agent)?.templates.get(&template)?.at_version(version)
    }

    pub(crate) fn templates(&self, agent: &AgentId, query: &TemplateQuery) -> TemplatePage {
        let Some(tenant) = self.tenant(agent) else { return TemplatePage::default() };
        let summaries: Vec<TemplateSummary> = tenant
            .templates
            .values()
            .map(|stored| &stored.current)
            .filter(|template| !query.only_active || template.status == TemplateStatus::Active)
            .map(TemplateSummary::from)
            .collect();
        let found = summaries.iter().map(|template| (TemplatePosition::of(template), template)).collect();
        TemplatePage { templates: window(found, &query.window, Ord::cmp), total: summaries.len() as u64 }
    }

    pub(crate) fn insert_template(
        &mut self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        if tenant.templates.contains_key(&template.id) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        let versions = BTreeMap::from([(template.version, template.clone())]);
        tenant.templates.insert(template.id, StoredTemplate { current: template.clone(), versions });
        self.apply(agent, effects);
        Ok(())
    }

    pub(crate) fn replace_template(
        &mut self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        let stored = tenant.templates.get_mut(&template.id).ok_or(StorageErrorKind::Missing)?;
        if stored.current.generation + 1 != template.generation {
            return Err(StorageErrorKind::Stale.into());
        }
        stored.current = FormTemplate { created_at: stored.current.created_at, ..template.clone() };
        stored.versions.insert(template.version, template.clone());
        self.apply(agent, effects);
        Ok(())
    }

    pub(crate) fn submission(&self, agent: &AgentId, submission: SubmissionId) -> Option<Submission> {
        let tenant = self.tenant(agent)?;
        Some(tenant.shown(&tenant.submissions.get(&submission)?.submission))
    }

    pub(crate) fn submissions(&self, agent: &AgentId, query: &SubmissionQuery) -> SubmissionPage {
        let Some(tenant) = self.tenant(agent) else { return SubmissionPage::default() };
        let found: Vec<(SubmissionPosition, &Submission)> = tenant
            .submissions
            .values()
            .map(|stored| &stored.submission)
            .filter(|submission| query.filter.admits(submission))
            .map(|submission| (SubmissionPosition::of(submission), submission))
            .collect();
        let total = found.len() as u64;
        let listed = window(found, &query.window, |a, b| b.cmp(a)).into_iter();
        let submissions = listed
            .map(|submission| Submission { status_history: Vec::new(), ..tenant.shown(&submission) })
            .collect();
        SubmissionPage { submissions, total }
    }

    pub(crate) fn head_submission(
        &self,
        agent: &AgentId,
        contact: ContactId,
        template: TemplateId,
    ) -> Option<Submission> {
        let tenant = self.tenant(agent)?;
        let head = tenant.head(contact, template)?;
        Some(Submission { status_history: Vec::new(), ..tenant.shown(head) })
    }

    pub(crate) fn latest_submission(&self, agent: &AgentId, query: &LatestQuery) -> Option<Submission> {
        let tenant = self.tenant(agent)?;
        let ranked = tenant.submissions.values().filter_map(|stored| {
            let rank = query.rank(&stored.submission)?;
            Some((rank, &stored.submission))
        });
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, latest)| tenant.shown(latest))
    }

    pub(crate) fn files_of_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        files: &[FileId],
    ) -> Vec<bool> {
        let own = |id: &FileId| {
            let mut live = self.tenant(agent).into_iter().flat_map(Tenant::live_files);
            live.any(|file| file.id == *id && file.contact_id == contact)
        };
        files.iter().map(own).collect()
    }

    pub(crate) fn insert_submissions(&mut self, agent: &AgentId, write: &SubmissionsWrite) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        tenant.refuse_stale(write.contact, write.contact_version)?;
        tenant.refuse_replayed(&write.effects, write.at)?;
        let mut ids = HashSet::new();
        for new in &write.submissions {
            tenant.check_new(new)?;
            if !ids.insert(new.submission.id) {
                return Err(StorageErrorKind::AlreadyExists.into());
            }
        }
        for new in &write.submissions {
            let submission = new.submission.clone();
            if new.succession.is_some() {
                tenant.supersede(&submission);
            }
            tenant.submissions.insert(submission.id, StoredSubmission { submission, revisions: Vec::new() });
        }
        self.apply(agent, &write.effects);
        Ok(())
    }

    pub(crate) fn update_submission(&mut self, agent: &AgentId, change: &SubmissionChange) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        let submission = &change.submission;
        let stored = tenant.submissions.get(&submission.id).ok_or(StorageErrorKind::Missing)?;
        if stored.submission.version != change.expected_version {
            return Err(StorageErrorKind::Stale.into());
        }
        tenant.refuse_stale(submission.contact_id, change.contact_version)?;
        if let Some(seen) = change.template_generation {
            let template = tenant.templates.get(&submission.template_id).ok_or(StorageErrorKind::Missing)?;
            if template.current.generation != seen {
                return Err(StorageErrorKind::Stale.into());
            }
        }
        tenant.refuse_other_head(submission.contact_id, submission.template_id, change.succession)?;
        if change.succession.is_some() {
            tenant.supersede(submission);
        }
        if let Some(stored) = tenant.submissions.get_mut(&submission.id) {
            stored.submission = submission.clone();
            stored.revisions.extend(change.replaced.clone());
        }
        self.apply(agent, &change.effects);
        Ok(())
    }

    pub(crate) fn form_data_revisions(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Vec<FormDataRevision> {
        let stored = self.tenant(agent).and_then(|tenant| tenant.submissions.get(&submission));
        stored.map(|stored| stored.revisions.clone()).unwrap_or_default()
    }
}
