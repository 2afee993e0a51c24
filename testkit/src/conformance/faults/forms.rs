//! Faults in the forms.

use super::*;

impl Faulty {
    /// All submissions of an agent, superseded ones included, newest first.
    async fn every_submission(&self, agent: &AgentId) -> Result<Vec<Submission>> {
        let filter = SubmissionFilter { include_superseded: true, ..SubmissionFilter::default() };
        let query = SubmissionQuery { filter, window: Window::Page { offset: 0, limit: 1_000 } };
        Ok(self.inner.submissions(agent, &query).await?.submissions)
    }

    /// A submission with the contact name at the time of writing.
    fn named_as_written(&self, submission: Submission) -> Submission {
        let written = self.submissions.lock().expect("lock");
        let known = written.iter().find(|known| known.id == submission.id);
        match known.filter(|_| self.is(PlantedFault::SubmissionKeepsContactName)) {
            Some(known) => {
                Submission { external_reference_id: known.external_reference_id.clone(), ..submission }
            }
            None => submission,
        }
    }

    async fn contact_version(&self, agent: &AgentId, contact: ContactId, read: u64) -> Result<u64> {
        let stored = self.inner.contact(agent, &ContactRef::Id(contact)).await?;
        Ok(stored
            .filter(|_| self.is(PlantedFault::SubmissionIgnoresContact))
            .map_or(read, |stored| stored.version))
    }

    /// The supersession with the stored head, for faults that ignore the one that was read.
    async fn succession(
        &self,
        agent: &AgentId,
        of: &Submission,
        read: Option<Supersession>,
    ) -> Result<Option<Supersession>> {
        match self.fault {
            Some(PlantedFault::NothingSuperseded) => Ok(None),
            Some(PlantedFault::HeadIgnored) if read.is_some() => {
                let head = self.inner.head_submission(agent, of.contact_id, of.template_id).await?;
                Ok(Some(Supersession { head: head.map(|head| head.id) }))
            }
            _ => Ok(read),
        }
    }

    /// Restores submissions that only the head should have superseded.
    async fn restore_all_but(
        &self,
        agent: &AgentId,
        head: Option<SubmissionId>,
        before: &[Submission],
        contact_version: u64,
    ) -> Result<()> {
        for earlier in before.iter().filter(|earlier| earlier.is_head() && Some(earlier.id) != head) {
            let Some(now) = self.inner.submission(agent, earlier.id).await? else { continue };
            if !now.is_superseded() {
                continue;
            }
            let change = SubmissionChange {
                submission: Submission { superseded_by: None, superseded_at: None, ..now.clone() },
                expected_version: now.version,
                contact_version,
                template_generation: None,
                succession: None,
                replaced: None,
                effects: Effects::default(),
            };
            self.inner.update_submission(agent, &change).await?;
        }
        Ok(())
    }
}

impl Faulty {
    pub(super) async fn template(
        &self,
        agent: &AgentId,
        template: TemplateId,
    ) -> Result<Option<FormTemplate>> {
        let own = self.inner.template(agent, template).await?;
        if own.is_none() && self.is(PlantedFault::TemplateCrossesAgents) {
            for other in self.others(agent) {
                if let Some(template) = self.inner.template(&other, template).await? {
                    return Ok(Some(template));
                }
            }
        }
        Ok(own)
    }

    pub(super) async fn template_version(
        &self,
        agent: &AgentId,
        template: TemplateId,
        version: u64,
    ) -> Result<Option<FormTemplate>> {
        let then = self.inner.template_version(agent, template, version).await?;
        Ok(match (self.fault, then) {
            (Some(PlantedFault::VersionsNotStored), Some(_)) => self.inner.template(agent, template).await?,
            (Some(PlantedFault::VersionKeepsItsState), Some(then)) => {
                Some(FormTemplate { status: TemplateStatus::Active, ..then })
            }
            (_, then) => then,
        })
    }

    pub(super) async fn templates(&self, agent: &AgentId, query: &TemplateQuery) -> Result<TemplatePage> {
        let only_active = query.only_active && !self.is(PlantedFault::InactiveTemplatesListed);
        let all = TemplateQuery { only_active, window: Window::Page { offset: 0, limit: 1_000 } };
        let mut all = self.inner.templates(agent, &all).await?.templates;
        if self.is(PlantedFault::TemplateNamesSortByCase) {
            all.sort_by(|a, b| (a.name.as_str(), a.id).cmp(&(b.name.as_str(), b.id)));
        }
        let total = all.len() as u64;
        let templates: Vec<TemplateSummary> = match &query.window {
            Window::Page { offset, limit } => {
                all.into_iter().skip(*offset as usize).take(*limit as usize).collect()
            }
            Window::After { position, limit } => {
                let inclusive = self.is(PlantedFault::TemplatePositionInclusive);
                let following = |template: &TemplateSummary| {
                    let candidate = TemplatePosition::of(template);
                    candidate > *position || inclusive && candidate == *position
                };
                all.into_iter().filter(following).take(*limit as usize).collect()
            }
        };
        let total = if self.is(PlantedFault::TemplateTotalOfPage) { templates.len() as u64 } else { total };
        Ok(TemplatePage { templates, total })
    }

    pub(super) async fn replace_template(
        &self,
        agent: &AgentId,
        template: &FormTemplate,
        effects: &Effects,
    ) -> Result<()> {
        let (mut template, mut effects) = (template.clone(), effects.clone());
        if self.is(PlantedFault::TemplateGenerationIgnored)
            && let Some(stored) = self.inner.template(agent, template.id).await?
        {
            template.generation = stored.generation + 1;
        }
        if self.is(PlantedFault::TemplateChangeWithoutAudit) {
            effects.audit.clear();
        }
        self.inner.replace_template(agent, &template, &effects).await
    }

    pub(super) async fn submission(
        &self,
        agent: &AgentId,
        submission: SubmissionId,
    ) -> Result<Option<Submission>> {
        let own = self.inner.submission(agent, submission).await?;
        if own.is_none() && self.is(PlantedFault::SubmissionCrossesAgents) {
            for other in self.others(agent) {
                if let Some(submission) = self.inner.submission(&other, submission).await? {
                    return Ok(Some(submission));
                }
            }
        }
        if own.is_none() && self.is(PlantedFault::EraseKeepsSubmissions) {
            let written = self.submissions.lock().expect("lock");
            let mut own = written.iter().filter(|known| known.agent_id == *agent);
            return Ok(own.find(|known| known.id == submission).cloned());
        }
        Ok(own.map(|own| self.named_as_written(own)))
    }

    pub(super) async fn submissions(
        &self,
        agent: &AgentId,
        query: &SubmissionQuery,
    ) -> Result<SubmissionPage> {
        let mut filter = query.filter.clone();
        filter.include_superseded |= self.is(PlantedFault::SupersededListed);
        let client_id = filter.client_id.clone();
        if self.is(PlantedFault::ClientIdIgnoresCase) {
            filter.client_id = None;
        }
        let is_alike = |submission: &Submission| {
            client_id.as_ref().is_none_or(|known| {
                submission.client_id.as_ref().is_some_and(|own| own.as_str().eq_ignore_ascii_case(known))
            })
        };
        let mut all = self.every_submission(agent).await?;
        all.retain(|submission| filter.admits(submission) && is_alike(submission));
        if self.is(PlantedFault::SubmissionsOldestFirst) {
            all.reverse();
        }
        let total = all.len() as u64;
        let mut submissions: Vec<Submission> = match &query.window {
            Window::Page { offset, limit } => {
                all.into_iter().skip(*offset as usize).take(*limit as usize).collect()
            }
            Window::After { position, limit } => {
                let inclusive = self.is(PlantedFault::SubmissionPositionInclusive);
                let following = |submission: &Submission| {
                    let candidate = SubmissionPosition::of(submission);
                    candidate < *position || inclusive && candidate == *position
                };
                all.into_iter().filter(following).take(*limit as usize).collect()
            }
        };
        if self.is(PlantedFault::SubmissionHistoryListed) {
            for submission in &mut submissions {
                let whole = self.inner.submission(agent, submission.id).await?;
                submission.status_history = whole.map(|whole| whole.status_history).unwrap_or_default();
            }
        }
        let total =
            if self.is(PlantedFault::SubmissionTotalOfPage) { submissions.len() as u64 } else { total };
        Ok(SubmissionPage { submissions, total })
    }

    pub(super) async fn head_submission(
        &self,
        agent: &AgentId,
        contact: ContactId,
        template: TemplateId,
    ) -> Result<Option<Submission>> {
        let head = self.inner.head_submission(agent, contact, template).await?;
        let skips = self.is(PlantedFault::HeadSkipsArchived);
        Ok(head.filter(|head| !skips || head.status != SubmissionStatus::Archived))
    }

    pub(super) async fn latest_submission(
        &self,
        agent: &AgentId,
        query: &LatestQuery,
    ) -> Result<Option<Submission>> {
        if self.is(PlantedFault::LatestIsArchived) {
            return self.inner.head_submission(agent, query.contact, query.template).await;
        }
        let include_drafts = query.include_drafts || self.is(PlantedFault::LatestIsDraft);
        self.inner.latest_submission(agent, &LatestQuery { include_drafts, ..*query }).await
    }

    pub(super) async fn files_of_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        files: &[FileId],
    ) -> Result<Vec<bool>> {
        let mut own = self.inner.files_of_contact(agent, contact, files).await?;
        for (file, own) in files.iter().zip(&mut own) {
            *own |=
                self.is(PlantedFault::FilesOfAnyContact) && self.inner.file(agent, *file).await?.is_some();
            *own |= self.is(PlantedFault::DeletedFilesReferred)
                && self.inner.file_tombstone(agent, *file).await?.is_some();
        }
        Ok(own)
    }

    pub(super) async fn insert_submissions(&self, agent: &AgentId, write: &SubmissionsWrite) -> Result<()> {
        let mut write = write.clone();
        write.contact_version = self.contact_version(agent, write.contact, write.contact_version).await?;
        if self.is(PlantedFault::SubmissionAnswerNotStored) {
            write.effects.replay = None;
        }
        for new in &mut write.submissions {
            new.succession = self.succession(agent, &new.submission, new.succession).await?;
            let template = self.inner.template(agent, new.submission.template_id).await?;
            if let Some(template) = template.filter(|_| self.is(PlantedFault::SubmissionIgnoresTemplate)) {
                new.template_generation = template.generation;
            }
        }
        let before = self.every_submission(agent).await?;
        if self.is(PlantedFault::SubmissionsStoredOneByOne) {
            for new in &write.submissions {
                let effects = Effects::default();
                let one = SubmissionsWrite { submissions: vec![new.clone()], effects, ..write.clone() };
                self.inner.insert_submissions(agent, &one).await?;
            }
            write.submissions.clear();
        }
        self.inner.insert_submissions(agent, &write).await?;
        if self.is(PlantedFault::OnlyHeadSuperseded) {
            for new in &write.submissions {
                let head = new.succession.and_then(|succession| succession.head);
                self.restore_all_but(agent, head, &before, write.contact_version).await?;
            }
        }
        let written = write.submissions.into_iter().map(|new| new.submission);
        self.submissions.lock().expect("lock").extend(written);
        Ok(())
    }

    pub(super) async fn update_submission(&self, agent: &AgentId, change: &SubmissionChange) -> Result<()> {
        let mut change = change.clone();
        let contact = change.submission.contact_id;
        change.contact_version = self.contact_version(agent, contact, change.contact_version).await?;
        change.succession = self.succession(agent, &change.submission, change.succession).await?;
        if self.is(PlantedFault::ChangeIgnoresTemplate) {
            change.template_generation = None;
        }
        if self.is(PlantedFault::RevisionsLost) {
            change.replaced = None;
        }
        if self.is(PlantedFault::SubmissionVersionIgnored)
            && let Some(stored) = self.inner.submission(agent, change.submission.id).await?
        {
            change.expected_version = stored.version;
        }
        self.inner.update_submission(agent, &change).await
    }
}
